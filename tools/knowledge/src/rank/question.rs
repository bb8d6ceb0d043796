//! What is asked: its words with their weights, and what kind of question it is.

use crate::tokenize::{forms, words};

use super::thesaurus::others;
use super::vocabulary::{CODE_WORDS, DOING_WORDS, EVERYDAY_WORDS, FILLERS, QUESTION_WORDS, STOP_WORDS};

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
    /// Its place in the question; a word and what stands for it share one.
    pub(crate) place: usize,
    /// The term to be found.
    pub(crate) term: String,
    /// How much of a match it is.
    pub(crate) weight: f32,
    /// Whether the question itself has it.
    pub(crate) origin: Origin,
}

/// Where a term comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The question, as a word or part of one.
    Question,
    /// What else is written for its words.
    Otherwise,
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
    /// The telling words that follow each other in it, as terms.
    pub(crate) pairs: Vec<(String, String)>,
}

/// What two words count that are written as one: `stream-k` and `streamk`.
const JOINED: f32 = 0.5;

/// What words count that questions have and answers rarely need.
const FILLER: f32 = 0.4;

/// What words of everyday language count.
const EVERYDAY: f32 = 0.75;

/// More words are a file, not a question: the rest is left out.
const MAX_WORDS: usize = 200;

impl Question {
    /// Reads a question. Any text is one.
    pub(crate) fn read(text: &str) -> Self {
        let mut question = Self { words: Vec::new(), places: 0, want: want(text), pairs: Vec::new() };
        let mut all: Vec<&str> = words(text).filter(|word| is_telling(word)).take(MAX_WORDS).collect();
        if all.is_empty() {
            // Nothing but words that say nothing: then they are what is asked.
            all = words(text).take(MAX_WORDS).collect();
        }
        let terms: Vec<String> = all.iter().map(|word| forms(word).whole).collect();
        let everything: Vec<String> = words(text).take(MAX_WORDS).map(|word| forms(word).whole).collect();
        question.pairs = terms.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        question.places = all.len();
        for (place, word) in all.iter().enumerate() {
            let found = forms(word);
            let weight = weight(word);
            for term in found.parts.into_iter().chain([found.whole]) {
                question.add(Word { place, term, weight, origin: Origin::Question });
            }
        }
        for (place, word) in all.iter().enumerate() {
            let weight = weight(word);
            for (term, part) in others(&terms[place..], &everything) {
                question.add(Word { place, term: term.to_owned(), weight: weight * part, origin: Origin::Otherwise });
            }
            if let Some(next) = all.get(place + 1) {
                let term = forms(&format!("{word}{next}").to_lowercase()).whole;
                question.add(Word { place, term, weight: weight * JOINED, origin: Origin::Otherwise });
            }
        }
        question
    }

    /// Each term once, with its best weight; the question's own words are there before what is written for them.
    fn add(&mut self, word: Word) {
        if word.term.is_empty() {
            return;
        }
        match self.words.iter_mut().find(|known| known.term == word.term) {
            Some(known) if known.origin == word.origin => known.weight = known.weight.max(word.weight),
            Some(_) => {}
            None => self.words.push(word),
        }
    }
}

/// Whether a word says anything.
pub(super) fn is_telling(word: &str) -> bool {
    !STOP_WORDS.contains(&word.to_ascii_lowercase().as_str())
}

fn weight(word: &str) -> f32 {
    let word = word.to_ascii_lowercase();
    if FILLERS.contains(&word.as_str()) {
        FILLER
    } else if EVERYDAY_WORDS.contains(word.as_str()) {
        EVERYDAY
    } else {
        1.0
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
    fn a_question_brings_its_words_and_what_is_written_for_them() {
        let check = |text: &str, expected: &str| {
            let words: Vec<String> = Question::read(text).words.into_iter().map(|word| format!("{}:{}", word.term, word.weight)).collect();
            assert_eq!(words.join(" "), expected, "{text}");
        };
        check("How do I use the num_warps of a kernel?", "use:0.4 num:1 warp:1 num_warps:1 kernel:1 usenum_warps:0.2 num_warpskernel:0.5");
        check("TMEM width", "tmem:1 width:1 tensor:0.3 memori:0.3 tmemwidth:0.5 bit:0.3");
        check("tensor memory", "tensor:1 memori:1 tmem:0.3 tensormemori:0.5");
        check("stream-k", "stream:1 k:1 streamk:0.5");
        check("what is it", "what:1 is:1 it:1 whati:0.5 isit:0.5");
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
