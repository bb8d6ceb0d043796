//! Words that stand for each other in this field, out of `thesaurus.txt`.
//!
//! A question is put in the words of whoever has the problem, an answer in those of whoever knows it: "two runs differ in the low bits" is
//! answered under "determinism". Statistics of the texts hardly bring the two together (`tests/retrieval/README.md` says what was tried); a
//! table does, where it has the words.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::tokenize::forms;

/// What a phrase counts that means the same as the question's.
const SAME: f32 = 0.3;

/// What a word counts that answers to the question's words usually have.
const HINT: f32 = 0.4;

/// The table, read once.
static THESAURUS: LazyLock<Thesaurus> = LazyLock::new(|| Thesaurus::of(include_str!("thesaurus.txt")));

/// The table by the first term of what has to be in a question.
#[derive(Debug, Default)]
struct Thesaurus {
    phrases: HashMap<String, Vec<Phrase>>,
    hints: HashMap<String, Vec<Hint>>,
}

/// Terms that follow each other, and the terms of the phrases that mean the same.
#[derive(Debug)]
struct Phrase {
    terms: Vec<String>,
    same: Vec<String>,
}

/// Terms that are in a question in whatever order, and terms of its answers.
#[derive(Debug)]
struct Hint {
    all: Vec<String>,
    answers: Vec<String>,
}

impl Thesaurus {
    fn of(text: &str) -> Self {
        let terms = |phrase: &str| -> Vec<String> { phrase.split_whitespace().map(|word| forms(word).whole).collect() };
        let mut read = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some((all, answers)) = line.split_once('>') {
                let hint = Hint { all: terms(all), answers: terms(answers) };
                read.hints.entry(hint.all.first().cloned().unwrap_or_default()).or_default().push(hint);
                continue;
            }
            let group: Vec<Vec<String>> = line.split('|').map(terms).collect();
            for (number, phrase) in group.iter().enumerate() {
                let others = group.iter().enumerate().filter(|(other, _)| *other != number);
                let same = others.flat_map(|(_, terms)| terms.iter().cloned()).collect();
                let first = phrase.first().cloned().unwrap_or_default();
                read.phrases.entry(first).or_default().push(Phrase { terms: phrase.clone(), same });
            }
        }
        read
    }
}

/// The terms to look for beside those at the start of `rest`, each with what it counts; `all` are the terms of the whole question.
pub(super) fn others<'a>(rest: &'a [String], all: &'a [String]) -> impl Iterator<Item = (&'static str, f32)> + 'a {
    let first = rest.first().map_or("", String::as_str);
    let phrases = THESAURUS.phrases.get(first).into_iter().flatten().filter(|phrase| rest.starts_with(&phrase.terms));
    let hints = THESAURUS.hints.get(first).into_iter().flatten().filter(|hint| hint.all.iter().all(|term| all.contains(term)));
    let same = phrases.flat_map(|phrase| phrase.same.iter().map(|term| (term.as_str(), SAME)));
    same.chain(hints.flat_map(|hint| hint.answers.iter().map(|term| (term.as_str(), HINT))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &[&str], expected: &[&str]) {
        let terms: Vec<String> = question.iter().map(|word| forms(word).whole).collect();
        let found: Vec<&str> = (0..terms.len()).flat_map(|at| others(&terms[at..], &terms).map(|(term, _)| term)).collect();
        for term in expected {
            assert!(found.contains(term), "{question:?}: {term} not in {found:?}");
        }
        assert_eq!(found.is_empty(), expected.is_empty(), "{question:?}: {found:?}");
    }

    #[test]
    fn abbreviations_and_their_words_bring_each_other() {
        check(&["SMEM"], &["share", "memori"]);
        check(&["shared", "memory"], &["smem"]);
        check(&["memory", "shared"], &[]);
    }

    #[test]
    fn what_is_asked_brings_what_is_answered() {
        check(&["threads", "take", "the", "else", "branch"], &["diverg"]);
        check(&["some", "else"], &[]);
    }

    #[test]
    fn every_line_has_two_sides() {
        for line in include_str!("thesaurus.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let sides: Vec<&str> = line.split(['|', '>']).map(str::trim).collect();
            assert!(sides.len() > 1 && sides.iter().all(|side| !side.is_empty()), "{line}");
            assert!(line.matches(" > ").count() < 2 && !(line.contains('>') && line.contains('|')), "{line}");
        }
    }
}
