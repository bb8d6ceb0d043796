//! What the forms of a word have in common.

use frostem::{Algorithm, Stemmer};

/// Forms that the stemmer keeps apart, and the ones they are taken for: its rules are those of English, not of abbreviations and Latin.
const FORMS: [(&str, &str); 30] = [
    ("alus", "alu"),
    ("axes", "axis"),
    ("conversion", "convert"),
    ("conversions", "convert"),
    ("cpus", "cpu"),
    ("ctas", "cta"),
    ("cus", "cu"),
    ("determinism", "deterministic"),
    ("division", "divide"),
    ("fmas", "fma"),
    ("gpus", "gpu"),
    ("halves", "half"),
    ("indices", "index"),
    ("matrices", "matrix"),
    ("mmas", "mma"),
    ("multiplication", "multiply"),
    ("multiplications", "multiply"),
    ("nondeterminism", "nondeterministic"),
    ("npus", "npu"),
    ("reduction", "reduce"),
    ("reductions", "reduce"),
    ("sfus", "sfu"),
    ("sms", "sm"),
    ("tmas", "tma"),
    ("tpus", "tpu"),
    ("transposition", "transpose"),
    ("transpositions", "transpose"),
    ("vertices", "vertex"),
    ("wgmmas", "wgmma"),
    ("xpus", "xpu"),
];

/// British endings and American ones.
const ENDINGS: [(&str, &str); 6] =
    [("isation", "ization"), ("ising", "izing"), ("ised", "ized"), ("ise", "ize"), ("iser", "izer"), ("ises", "izes")];

/// The stem of a word in lower case; identifiers stay as they are.
pub(crate) fn stem(word: String) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    if let Ok(place) = FORMS.binary_search_by_key(&word.as_str(), |(form, _)| form) {
        return stem(FORMS[place].1.to_owned());
    }
    let american = ENDINGS
        .into_iter()
        .find_map(|(british, american)| Some(format!("{}{american}", word.strip_suffix(british)?)))
        // What only looks British changes in texts and questions alike.
        .filter(|word| word.len() > 6)
        .unwrap_or(word);
    Stemmer::new(Algorithm::English).stem(singular(&american)).to_string()
}

/// `vgprs`, `llms`: the stemmer takes only words with a vowel for plurals.
fn singular(word: &str) -> &str {
    let has_vowel = word.bytes().any(|byte| b"aeiouy".contains(&byte));
    match word.strip_suffix('s') {
        Some(one) if one.len() > 2 && !has_vowel && !one.ends_with('s') => one,
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        let check = |one: &str, other: &str| assert_eq!(stem(one.to_owned()), stem(other.to_owned()), "{one} {other}");
        check("warp", "warps");
        check("gpu", "gpus");
        check("vgpr", "vgprs");
        check("matrix", "matrices");
        check("reduce", "reductions");
        check("vectorised", "vectorize");
        check("deterministic", "determinism");
    }

    #[test]
    fn other_words_are_left_alone() {
        let check = |word: &str| assert_eq!(stem(word.to_owned()), word);
        check("rhs");
        check("bias");
        check("sm_90a");
    }

    #[test]
    fn forms_are_sorted() {
        assert!(FORMS.is_sorted());
    }
}
