//! Words as people and compilers write them.
//!
//! An identifier is kept whole (`cp.async.bulk.tensor`, `num_warps`) and gives its parts as well, at dots, underscores, digits and
//! changes of case: a question may have either. Text and questions go through the same function, so that they meet; a stemmer after
//! it brings `warps` and `warp` together.

use tantivy::tokenizer::{Language, Stemmer, TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longer words are data, not language.
const MAX_WORD_BYTES: usize = 120;

/// Words that fit every question and say nothing about any.
const STOP_WORDS: [&str; 38] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "if", "in", "is", "it", "its", "my",
    "of", "on", "or", "should", "so", "than", "that", "the", "this", "to", "what", "when", "which", "why", "with", "without", "you",
];

/// The analyzer of all text fields.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(CodeTokenizer::default()).filter(Stemmer::new(Language::English)).build()
}

/// The distinct terms of a question, without words that say nothing (unless there are no others).
pub(crate) fn question_terms(question: &str) -> Vec<String> {
    let terms_of = |text: &str| {
        let mut terms: Vec<String> = Vec::new();
        let mut analyzer = analyzer();
        analyzer.token_stream(text).process(&mut |token| {
            if !terms.contains(&token.text) {
                terms.push(token.text.clone());
            }
        });
        terms
    };
    let is_telling = |word: &&str| !STOP_WORDS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str());
    let telling: Vec<&str> = question.split_whitespace().filter(is_telling).collect();
    let terms = terms_of(&telling.join(" "));
    if terms.is_empty() { terms_of(question) } else { terms }
}

/// Splits text into identifiers and their parts, in lower case.
#[derive(Clone, Default)]
pub(crate) struct CodeTokenizer {
    tokens: Vec<Token>,
}

impl Tokenizer for CodeTokenizer {
    type TokenStream<'a> = CodeTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> CodeTokens<'a> {
        self.tokens.clear();
        let tokens = &mut self.tokens;
        for_each_word(text, |word, offset| {
            let position = tokens.len();
            for_each_form(word, |form| {
                tokens.push(Token { offset_from: offset, offset_to: offset + word.len(), position, text: form, position_length: 1 });
            });
        });
        CodeTokens { tokens, next: 0 }
    }
}

/// The tokens of one text.
pub(crate) struct CodeTokens<'a> {
    tokens: &'a mut [Token],
    next: usize,
}

impl TokenStream for CodeTokens<'_> {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.next - 1]
    }
}

/// Calls `found` with every word and its offset: runs of letters, digits and `_`, joined by `.` or `::` where both sides are such.
fn for_each_word<'a>(text: &'a str, mut found: impl FnMut(&'a str, usize)) {
    let mut at = 0;
    while let Some(start) = text[at..].find(is_word).map(|offset| at + offset) {
        let mut end = start;
        loop {
            end += text[end..].find(|c| !is_word(c)).unwrap_or(text.len() - end);
            let rest = &text[end..];
            let joint = ["::", "."].into_iter().find(|joint| rest.strip_prefix(joint).is_some_and(|next| next.starts_with(is_word)));
            match joint {
                Some(joint) => end += joint.len(),
                None => break,
            }
        }
        // The language's name is the one word that ends in signs.
        if text[start..end].eq_ignore_ascii_case("c") && text[end..].starts_with("++") {
            found("cpp", start);
        } else if end - start <= MAX_WORD_BYTES {
            found(&text[start..end], start);
        }
        at = end;
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Calls `form` with the whole word, its dotted components and their parts, each once and in lower case.
fn for_each_form(word: &str, mut form: impl FnMut(String)) {
    let whole = word.trim_matches('_').to_lowercase();
    if whole.is_empty() {
        return;
    }
    let components: Vec<&str> = word.split(['.', ':']).map(|component| component.trim_matches('_')).filter(|c| !c.is_empty()).collect();
    for component in &components {
        let parts = parts(component);
        let lower = component.to_lowercase();
        if parts.len() > 1 {
            parts.into_iter().filter(|part| part.chars().count() > 1).for_each(&mut form);
            if lower != whole {
                form(lower);
            }
        } else if lower != whole {
            form(lower);
        }
    }
    form(whole);
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
                let next_is_lower = characters.get(i + 1).is_some_and(|next| next.is_lowercase());
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
        check("num_warps", "num warps num_warps");
        check("cp.async.bulk.tensor", "cp async bulk tensor cp.async.bulk.tensor");
        check("tl.num_programs(0)", "tl num programs num_programs tl.num_programs 0");
        check("std::vector", "std vector std::vector");
        check("_mm512_fmadd_ps", "mm 512 fmadd ps mm512_fmadd_ps");
        check("__syncthreads();", "syncthreads");
        check("ModelNew WGMMAShape", "model new modelnew wgmma shape wgmmashape");
        check("sm_90a bf16", "sm 90 sm_90a bf 16 bf16");
    }

    #[test]
    fn prose_is_words() {
        check("One pass. Two-pass softmax, e.g. (rows)!", "one pass two pass softmax e g e.g rows");
        check("C++ and c", "cpp and c");
        check("Grüße 😀 ___ \u{0}", "grüße");
    }

    #[test]
    fn questions_lose_what_says_nothing() {
        assert_eq!(question_terms("How do I use the num_warps of a kernel?"), ["use", "num", "warp", "num_warp", "kernel"]);
        assert_eq!(question_terms("what is it"), ["what", "is", "it"]);
        assert_eq!(question_terms("((( ~!@ \"' AND ^2 +-"), ["2"]);
    }
}
