//! Words as people and compilers write them.
//!
//! An identifier is kept whole (`cp.async.bulk.tensor`, `num_warps`) and gives its parts as well, at dots, underscores, digits and
//! changes of case: a question may have either. Text and questions go through the same function, so that they meet; a stemmer after
//! it brings `warps` and `warp` together, and British and American endings.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

use crate::stem::stem;

/// Longer words are data, not language.
const MAX_WORD_BYTES: usize = 120;

/// How many words' forms are remembered. Text has few words that it repeats all the time.
const REMEMBERED_WORDS: usize = 1 << 16;

/// The analyzer of all text fields.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(CodeTokenizer::default()).build()
}

/// What a word gives, in lower case and stemmed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forms {
    /// The parts of an identifier, each once; empty for a plain word.
    pub(crate) parts: Vec<String>,
    /// The word as it stands; empty if nothing is left of it.
    pub(crate) whole: String,
}

/// Splits text into identifiers and their parts.
#[derive(Clone, Default)]
pub(crate) struct CodeTokenizer {
    remembered: HashMap<String, Arc<[String]>>,
}

impl Tokenizer for CodeTokenizer {
    type TokenStream<'a> = CodeTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> CodeTokens<'a> {
        CodeTokens { tokenizer: self, text, at: 0, forms: Arc::new([]), next: 0, token: Token { position: 0, ..Token::default() } }
    }
}

impl CodeTokenizer {
    fn forms(&mut self, word: &str) -> Arc<[String]> {
        if let Some(forms) = self.remembered.get(word) {
            return Arc::clone(forms);
        }
        let Forms { parts, whole } = forms(word);
        let forms: Arc<[String]> = parts.into_iter().chain(Some(whole).filter(|whole| !whole.is_empty())).collect();
        if self.remembered.len() >= REMEMBERED_WORDS {
            self.remembered.clear();
        }
        self.remembered.insert(word.to_owned(), Arc::clone(&forms));
        forms
    }
}

/// The tokens of one text.
pub(crate) struct CodeTokens<'a> {
    tokenizer: &'a mut CodeTokenizer,
    text: &'a str,
    at: usize,
    forms: Arc<[String]>,
    next: usize,
    token: Token,
}

impl TokenStream for CodeTokens<'_> {
    fn advance(&mut self) -> bool {
        while self.next >= self.forms.len() {
            let Some((word, start, end)) = next_word(self.text, self.at) else { return false };
            self.forms = self.tokenizer.forms(word);
            self.next = 0;
            self.at = end;
            (self.token.offset_from, self.token.offset_to) = (start, end);
        }
        self.token.text.clear();
        self.token.text.push_str(&self.forms[self.next]);
        self.token.position = self.token.position.wrapping_add(1);
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The words of a text in their order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (word, _, end) = next_word(text, at)?;
        at = end;
        Some(word)
    })
}

/// The next word from `at` on, with its place: a run of letters, digits and `_`, joined by `.` or `::` where both sides are such.
fn next_word(text: &str, mut at: usize) -> Option<(&str, usize, usize)> {
    loop {
        let start = at + first(text, at, is_word)?;
        let mut end = start;
        loop {
            end += first(text, end, |c| !is_word(c)).unwrap_or(text.len() - end);
            let rest = &text[end..];
            let joint = ["::", "."].into_iter().find(|joint| rest.strip_prefix(joint).is_some_and(|next| next.starts_with(is_word)));
            match joint {
                Some(joint) => end += joint.len(),
                None => break,
            }
        }
        // The language's name is the one word that ends in signs.
        if text[start..end].eq_ignore_ascii_case("c") && text[end..].starts_with("++") {
            return Some(("cpp", start, end));
        }
        if end - start <= MAX_WORD_BYTES {
            return Some((&text[start..end], start, end));
        }
        at = end;
    }
}

/// How far from `at` the first character is for which `is` holds.
fn first(text: &str, at: usize, is: impl Fn(char) -> bool) -> Option<usize> {
    // Nearly all text is ASCII.
    for (offset, byte) in text.as_bytes()[at..].iter().enumerate() {
        if !byte.is_ascii() {
            return text[at + offset..].find(is).map(|further| offset + further);
        }
        if is(char::from(*byte)) {
            return Some(offset);
        }
    }
    None
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The whole word alone.
pub(crate) fn whole(word: &str) -> String {
    stem(lower(word))
}

fn lower(word: &str) -> String {
    word.trim_matches('_').to_lowercase()
}

/// The whole word, and its dotted components and their parts.
pub(crate) fn forms(word: &str) -> Forms {
    let whole = lower(word);
    if whole.is_empty() {
        return Forms::default();
    }
    let mut found: Vec<String> = Vec::new();
    let mut add = |part: String| {
        let part = stem(part);
        if !found.contains(&part) {
            found.push(part);
        }
    };
    for component in word.split(['.', ':']).map(|component| component.trim_matches('_')).filter(|component| !component.is_empty()) {
        let parts = parts(component);
        let lower = component.to_lowercase();
        if parts.len() > 1 {
            parts.into_iter().filter(|part| part.chars().count() > 1).for_each(&mut add);
        }
        if lower != whole {
            add(lower);
        }
    }
    let whole = stem(whole);
    found.retain(|part| *part != whole);
    Forms { parts: found, whole }
}

/// `num_warps`, `ModelNew`, `WGMMAShape`, `bf16`: the parts that each have a meaning of their own.
fn parts(component: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for piece in component.split('_').filter(|piece| !piece.is_empty()) {
        let characters: Vec<char> = piece.chars().collect();
        let mut part = String::new();
        for (i, &character) in characters.iter().enumerate() {
            let boundary = i > 0 && {
                let before = characters[i - 1];
                // `GPUs` are several GPUs, not a `GP` and `us`.
                let is_plural = characters.get(i + 1) == Some(&'s') && characters.get(i + 2).is_none_or(|next| !next.is_lowercase());
                let next_is_lower = characters.get(i + 1).is_some_and(|next| next.is_lowercase()) && !is_plural;
                before.is_numeric() != character.is_numeric()
                    || (before.is_lowercase() && character.is_uppercase())
                    || (before.is_uppercase() && character.is_uppercase() && next_is_lower)
            };
            if boundary {
                parts.push(std::mem::take(&mut part));
            }
            part.extend(character.to_lowercase());
        }
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut found = Vec::new();
        CodeTokenizer::default().token_stream(text).process(&mut |token| found.push(token.text.clone()));
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn identifiers_are_kept_whole_and_in_parts() {
        check("num_warps", "num warp num_warps");
        check("cp.async.bulk.tensor", "cp async bulk tensor cp.async.bulk.tensor");
        check("tl.num_programs(0)", "tl num program num_programs tl.num_programs 0");
        check("std::vector", "std vector std::vector");
        check("_mm512_fmadd_ps", "mm 512 fmadd ps mm512_fmadd_ps");
        check("__syncthreads();", "syncthread");
        check("ModelNew WGMMAShape", "model new modelnew wgmma shape wgmmashap");
        check("sm_90a bf16", "sm 90 sm_90a bf 16 bf16");
        check("GPUs numSMs CTAs2", "gpu num sm numsm cta ctas2");
    }

    #[test]
    fn prose_is_words() {
        check("One pass. Two-pass softmax, e.g. (rows)!", "one pass two pass softmax e g e.g row");
        check("C++ and c", "cpp and c");
        check("Grüße 😀 ___ \u{0}", "grüße");
    }
}
