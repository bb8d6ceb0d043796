//! What is asked: its words with their weights, and what kind of question it is.

use crate::tokenize::{forms, words};

use super::vocabulary::{CODE_WORDS, DOING_WORDS, FILLERS, QUESTION_WORDS, STOP_WORDS, equivalents};

/// What sort of answer a question wants, as far as its form tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// An explanation or instruction.
    Explanation,
    /// Where an identifier is defined or described.
    Identifier,
    /// A message of a compiler or a runtime, to be matched as closely as possible.
    Message,
    /// Source code.
    Code,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    /// Its place in the question; a word and its equivalents share one.
    pub(crate) place: usize,
    /// The term to be found.
    pub(crate) term: String,
    /// How much of a match it is.
    pub(crate) weight: f32,
}

/// A question as it is searched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    /// The distinct terms.
    pub(crate) words: Vec<Word>,
    /// How many places its words have.
    pub(crate) places: usize,
    /// What it wants.
    pub(crate) want: Want,
    /// The words that follow each other in it, as they stand, in lower case.
    pub(crate) pairs: Vec<(String, String)>,
}

/// What an equivalent of a word counts.
const EQUIVALENT: f32 = 0.5;

/// What words count that questions have and answers rarely need.
const FILLER: f32 = 0.4;

/// More words are a file, not a question: the rest is left out.
const MAX_WORDS: usize = 200;

impl Question {
    /// Reads a question. Any text is one.
    pub(crate) fn read(text: &str) -> Self {
        let mut question = Self { words: Vec::new(), places: 0, want: want(text), pairs: Vec::new() };
        let lower = text.to_lowercase();
        let plain: Vec<&str> = words(&lower).take(MAX_WORDS).collect();
        question.pairs = plain.windows(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
        let telling = |word: &&str| !STOP_WORDS.contains(&word.to_ascii_lowercase().as_str());
        let mut all: Vec<&str> = words(text).filter(telling).take(MAX_WORDS).collect();
        if all.is_empty() {
            // Nothing but words that say nothing: then they are what is asked.
            all = words(text).take(MAX_WORDS).collect();
        }
        let stems: Vec<String> = all.iter().map(|word| forms(word).whole).collect();
        for (i, word) in all.iter().enumerate() {
            let place = question.places;
            let is_filler = FILLERS.contains(&word.to_ascii_lowercase().as_str());
            let weight = if is_filler { FILLER } else { 1.0 };
            let found = forms(word);
            let known = question.words.len();
            for part in found.parts {
                question.add(Word { place, term: part, weight });
            }
            if !found.whole.is_empty() {
                question.add(Word { place, term: found.whole, weight });
            }
            for other in equivalents(&stems[i..]) {
                question.add(Word { place, term: other, weight: weight * EQUIVALENT });
            }
            question.places += usize::from(question.words.len() > known);
        }
        question
    }

    /// Each term once, with its best weight.
    fn add(&mut self, word: Word) {
        match self.words.iter_mut().find(|known| known.term == word.term) {
            Some(known) => known.weight = known.weight.max(word.weight),
            None => self.words.push(word),
        }
    }
}

fn want(text: &str) -> Want {
    let lower = text.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    let is_message = has(&[
        "error:",
        "error ",
        "exception",
        "assert",
        "undefined",
        "cannot ",
        "can't ",
        "failed",
        "invalid",
        "not supported",
        "unsupported",
        "illegal",
        "must be",
        "mismatch",
    ]) && (text.contains(':') || text.contains(['"', '\'']) || has(&["error", "exception"]));
    if is_message {
        return Want::Message;
    }
    let all: Vec<&str> = words(&lower).collect();
    let first = all.first().copied().unwrap_or_default();
    let is_asked =
        QUESTION_WORDS.contains(&first) || DOING_WORDS.contains(&first) || text.contains('?') || has(&[" vs ", " vs. ", " versus "]);
    if !is_asked && all.iter().any(|word| CODE_WORDS.contains(word)) {
        return Want::Code;
    }
    let identifiers = words(text).filter(|word| word.contains(['_', '.', ':']) || word.chars().skip(1).any(char::is_uppercase)).count();
    if identifiers > 0 { Want::Identifier } else { Want::Explanation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_count_with_their_parts_and_abbreviations_with_their_words() {
        let check = |text: &str, expected: &str| {
            let words: Vec<String> = Question::read(text).words.into_iter().map(|word| format!("{}:{}", word.term, word.weight)).collect();
            assert_eq!(words.join(" "), expected, "{text}");
        };
        check("How do I use the num_warps of a kernel?", "use:0.4 num:1 warp:1 num_warps:1 kernel:1");
        check("smem size", "smem:1 share:0.5 memori:0.5 size:1");
        check("shared memory", "share:1 smem:0.5 memori:1");
        check("what is it", "what:1 is:1 it:1");
        check("((( ~!@ \"' AND ^2 +-", "2:1");
        assert!(Question::read(&"tile ".repeat(10_000)).pairs.len() < 1_000);
    }

    #[test]
    fn questions_want_different_answers() {
        let check = |text: &str, expected: Want| assert_eq!(Question::read(text).want, expected, "{text}");
        check("why are bank conflicts slow", Want::Explanation);
        check("compute the occupancy of a kernel", Want::Explanation);
        check("transpose kernel with a padded tile", Want::Code);
        check("T.alloc_tmem", Want::Identifier);
        check("RuntimeError: CUDA error: an illegal memory access was encountered", Want::Message);
    }
}
