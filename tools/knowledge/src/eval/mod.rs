//! How good retrieval is on questions whose answers are known, beside tantivy's defaults on the same chunks.
//!
//! A question names the passages that answer it as ranges of lines. A passage that was found is **relevant** to such a range if both are of
//! the same file and the lines that they share are at least a third of the shorter of the two, and at least a tenth of the longer: a passage of
//! two thousand lines does not win, nor does one that touches the range. A range counts once, at the first passage that is relevant to it.
//!
//! - Hit@5: whether one of the first five passages is relevant. R@10: which part of the ranges the first ten find.
//! - MRR@10: one over the place of the first relevant passage. nDCG@10: every range gains 1 where it is first found, discounted by the
//!   logarithm of the place, over what the best order could gain.
//!
//! Passages are judged by all of their lines, as the ranking finds them, and once more by the lines that an answer of `search_knowledge` has room
//! for: Hit@5 of its five passages, R@10 when it is asked for ten.
//!
//! Everything is averaged over questions. The difference to the defaults comes with the 95 % interval of a paired bootstrap.

mod plain;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kernelwright_protocol::Passage;
use serde::Deserialize;
use thiserror::Error;

use crate::error::LibraryError;
use crate::library::Library;
use crate::search::Query;
use crate::server::{ANSWER_BYTES, DEFAULT_LIMIT};
use plain::Plain;
pub use report::{Figures, Interval, Report, Row, Shown};

/// How many passages are judged.
const DEPTH: usize = 10;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum EvalError {
    /// The library cannot answer.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The questions cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is no question.
    #[error("{path}:{line}: {message}")]
    Form {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// There are no questions.
    #[error("{0}: no questions")]
    Empty(PathBuf),
}

impl EvalError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Library(error) => error.hint(),
            Self::Io { .. } => "check the path and its permissions".to_owned(),
            Self::Form { .. } | Self::Empty(_) => {
                "one JSON object per line: {\"kind\", \"question\", \"gold\": [{\"path\", \"start_line\", \"end_line\"}]}".to_owned()
            }
        }
    }
}

/// A question with its answers, one line of the file. Other keys are left alone.
#[derive(Clone, Debug, Deserialize)]
struct Asked {
    /// What kind of question it is; the report has a row for each.
    kind: String,
    question: String,
    gold: Vec<Gold>,
}

/// Lines that answer a question.
#[derive(Clone, Debug, Deserialize)]
struct Gold {
    /// As passages have it.
    path: String,
    start_line: u32,
    end_line: u32,
}

/// A place that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: String,
    start_line: u32,
    end_line: u32,
}

impl Place {
    /// Whether this passage is relevant to a range; see the module.
    fn answers(&self, gold: &Gold) -> bool {
        let shared = (self.end_line.min(gold.end_line) + 1).saturating_sub(self.start_line.max(gold.start_line));
        let own = (self.end_line + 1).saturating_sub(self.start_line).max(1);
        let wanted = (gold.end_line + 1).saturating_sub(gold.start_line).max(1);
        self.path == gold.path && shared > 0 && shared * 3 >= own.min(wanted) && shared * 10 >= own.max(wanted)
    }
}

/// Asks every question of a file and compares the answers with those of tantivy's defaults. `pack`: only this pack is searched.
pub fn eval(library: &Library, questions: &Path, pack: Option<&str>) -> Result<Report, EvalError> {
    let asked = read(questions)?;
    let mut ours = Vec::new();
    let mut shown = Vec::new();
    let mut latencies = Vec::new();
    // The first question opens the indexes.
    library.search(&Query { text: "warm up".to_owned(), pack: pack.map(str::to_owned), limit: 1, ..Query::default() })?;
    for asked in &asked {
        let started = Instant::now();
        let query = Query { text: asked.question.clone(), pack: pack.map(str::to_owned), limit: DEPTH, ..Query::default() };
        let found = library.search(&query)?.passages;
        latencies.push(started.elapsed());
        ours.push(figures(&asked.gold, &places(found)));
        shown.push(shown_figures(library, &query, &asked.gold)?);
    }
    let plain = Plain::of(library, pack)?;
    let theirs = asked
        .iter()
        .map(|asked| Ok(figures(&asked.gold, &plain.search(&asked.question, DEPTH)?)))
        .collect::<Result<Vec<Figures>, LibraryError>>()?;
    let kinds: Vec<&str> = asked.iter().map(|asked| asked.kind.as_str()).collect();
    Ok(Report::of(&kinds, &ours, &theirs, &shown, &mut latencies))
}

fn places(found: Vec<Passage>) -> Vec<Place> {
    found.into_iter().map(|found| Place { path: found.path, start_line: found.start_line, end_line: found.end_line }).collect()
}

/// The figures of the lines that `search_knowledge` shows: with as many passages as it gives by default, and with as many as are judged.
fn shown_figures(library: &Library, query: &Query, gold: &[Gold]) -> Result<Shown, LibraryError> {
    let ask = |limit: usize| {
        let query = Query { limit, max_bytes: Some(ANSWER_BYTES), ..query.clone() };
        Ok::<_, LibraryError>(figures(gold, &places(library.search(&query)?.passages)))
    };
    Ok(Shown { hit_at_5: ask(DEFAULT_LIMIT as usize)?.hit_at_5, recall_at_10: ask(DEPTH)?.recall_at_10 })
}

fn read(path: &Path) -> Result<Vec<Asked>, EvalError> {
    let text = fs::read_to_string(path).map_err(|source| EvalError::Io { path: path.to_owned(), source })?;
    let mut asked = Vec::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let form = |message: String| EvalError::Form { path: path.to_owned(), line, message };
        let question: Asked = serde_json::from_str(text).map_err(|error| form(error.to_string()))?;
        if question.gold.is_empty() {
            return Err(form("no passage answers it".to_owned()));
        }
        asked.push(question);
    }
    if asked.is_empty() { Err(EvalError::Empty(path.to_owned())) } else { Ok(asked) }
}

/// The figures of one question.
fn figures(gold: &[Gold], found: &[Place]) -> Figures {
    let mut is_open = vec![true; gold.len()];
    let mut gained = 0.0;
    let mut first = None;
    for (rank, place) in found.iter().take(DEPTH).enumerate() {
        if first.is_none() && gold.iter().any(|gold| place.answers(gold)) {
            first = Some(rank);
        }
        for (open, gold) in is_open.iter_mut().zip(gold) {
            if *open && place.answers(gold) {
                *open = false;
                gained += discount(rank);
            }
        }
    }
    let closed = is_open.iter().filter(|open| !**open).count();
    let ideal: f64 = (0..gold.len().min(DEPTH)).map(discount).sum();
    Figures {
        hit_at_5: if first.is_some_and(|rank| rank < 5) { 1.0 } else { 0.0 },
        recall_at_10: closed as f64 / gold.len() as f64,
        mrr_at_10: first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
        // A passage that spans two ranges gains both at its place.
        ndcg_at_10: (gained / ideal).min(1.0),
    }
}

fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 2.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gold(path: &str, start_line: u32, end_line: u32) -> Gold {
        Gold { path: path.to_owned(), start_line, end_line }
    }

    fn place(path: &str, start_line: u32, end_line: u32) -> Place {
        Place { path: path.to_owned(), start_line, end_line }
    }

    #[test]
    fn a_passage_answers_what_it_shares_enough_lines_with() {
        let check = |place: Place, expected: bool| assert_eq!(place.answers(&gold("a", 10, 19)), expected, "{place:?}");
        check(place("a", 10, 19), true);
        check(place("b", 10, 19), false);
        check(place("a", 17, 30), false);
        check(place("a", 16, 30), true);
        check(place("a", 12, 13), true);
        check(place("a", 12, 12), true);
        check(place("a", 1, 100), true);
        check(place("a", 1, 2_000), false);
        check(place("a", 20, 30), false);
    }

    #[test]
    fn figures_count_each_range_once_and_discount_by_place() {
        let two = [gold("a", 1, 10), gold("b", 1, 10)];
        let found = figures(&two, &[place("x", 1, 9), place("a", 1, 9), place("a", 2, 9)]);
        assert_eq!((found.hit_at_5, found.recall_at_10, found.mrr_at_10), (1.0, 0.5, 0.5));
        let best = 1.0 + 1.0 / 3_f64.log2();
        assert!((found.ndcg_at_10 - (1.0 / 3_f64.log2()) / best).abs() < 1e-9, "{found:?}");
        assert_eq!(figures(&two, &[]), Figures::default());
        assert!((figures(&two, &[place("b", 1, 9), place("a", 1, 9)]).ndcg_at_10 - 1.0).abs() < 1e-9);
    }
}
