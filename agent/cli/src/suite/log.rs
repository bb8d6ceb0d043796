//! The log of a suite: JSON lines, one per problem that was dealt with, and the only truth about what was done.
//!
//! A line counts for a problem only where problem, candidate, target, options and judge are what they were. A file may therefore be gone on with
//! after a problem has changed, or with another filter: what is known is not done again, the rest is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use kernelwright_evaluate::EvaluateError;
use kernelwright_harness::Exit;
use kernelwright_protocol::{Evaluation, Nanoseconds, Verdict};
use serde::{Deserialize, Serialize};

/// One problem of a suite that was dealt with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "result")]
pub struct Entry {
    /// The suite.
    pub suite: String,
    /// The problem's name in it.
    pub name: String,
    /// The content hash of problem, candidate, target, options and judge together.
    pub key: String,
    /// Who gave the verdict: the built-in evaluator with its version, or a hash of what took its place. Logs of before this was told have none.
    #[serde(default)]
    pub judge: String,
    /// How it ended.
    #[serde(flatten)]
    pub ending: Ending,
    /// Wall time.
    pub wall_ns: Nanoseconds,
}

/// A verdict, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The evaluation.
    Evaluation(Box<Evaluation>),
    /// Why there is none.
    NoVerdict(NoVerdict),
}

/// Why a problem got no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoVerdict {
    /// In a word.
    pub status: Unjudged,
    /// In a sentence.
    pub reason: String,
}

/// Why a problem got no verdict, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unjudged {
    /// The problem file cannot be used.
    ProblemInvalid,
    /// The problem needs more memory than there is.
    TooLarge,
    /// The problem takes longer than it may.
    TooSlow,
    /// The folder of candidates holds none for it.
    NoCandidate,
}

impl Unjudged {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProblemInvalid => "problem_invalid",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::NoCandidate => "no_candidate",
        }
    }
}

impl Ending {
    /// The status of the verdict, or why there is none, in a word.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Evaluation(evaluation) => evaluation.verdict.status(),
            Self::NoVerdict(none) => none.status.as_str(),
        }
    }

    /// Whether there was too little memory, which others may have had.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::NoVerdict(none) => none.status == Unjudged::TooLarge,
            Self::Evaluation(evaluation) => match &evaluation.verdict {
                Verdict::BuildFailed(fault) | Verdict::Faulted(fault) => {
                    speaks_of_memory(&fault.summary) || speaks_of_memory(&fault.diagnostics)
                }
                _ => false,
            },
        }
    }

    /// What an error says about the problem; the error itself where it is about the machine, and no other problem would fare better.
    pub fn of_error(error: EvaluateError) -> Result<Self, EvaluateError> {
        let status = match &error {
            EvaluateError::ProblemSlow { .. } => Unjudged::TooSlow,
            EvaluateError::ProblemCrashed { exit, tail } if matches!(exit, Exit::Signal(9)) || speaks_of_memory(tail) => Unjudged::TooLarge,
            EvaluateError::Problem(refusal) if speaks_of_memory(&refusal.message) => Unjudged::TooLarge,
            EvaluateError::Problem(_) | EvaluateError::ProblemCrashed { .. } => Unjudged::ProblemInvalid,
            _ => return Err(error),
        };
        let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
        Ok(Self::NoVerdict(NoVerdict { status, reason }))
    }
}

fn speaks_of_memory(text: &str) -> bool {
    ["allocate memory", "out of memory", "MemoryError"].iter().any(|words| text.contains(words))
}

/// A log that is being written.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    /// Everything in it, in its order.
    pub entries: Vec<Entry>,
}

/// The log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Reading or writing failed.
    #[error("cannot use the log {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("line {line} of {} is no record of a suite: {source}", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

impl Log {
    /// Opens or creates the log. A last line that was cut short by a kill is dropped; anything else that is no record is an error, because
    /// the file may be somebody's.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: path.to_path_buf(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).map_err(failed)?;
        let mut entries = Vec::new();
        let mut whole = 0;
        let mut reader = BufReader::new(&mut file);
        let mut text = String::new();
        while reader.read_line(&mut text).map_err(failed)? > 0 {
            if !text.ends_with('\n') {
                break;
            }
            let line = entries.len() + 1;
            entries.push(serde_json::from_str(&text).map_err(|source| LogError::NotALog { path: path.to_path_buf(), line, source })?);
            whole += text.len() as u64;
            text.clear();
        }
        if !text.is_empty() && entries.is_empty() {
            let source = serde_json::from_str::<Entry>(&text).err();
            return Err(source.map_or_else(
                || failed(io::Error::other("it has no end of line")),
                |source| LogError::NotALog { path: path.to_path_buf(), line: 1, source },
            ));
        }
        file.set_len(whole).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), file, entries })
    }

    /// What is known of a problem as it is now: the last line about it.
    pub fn known(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// Writes a line, to the disk.
    pub fn append(&mut self, entry: Entry) -> Result<(), LogError> {
        let failed = |source| LogError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_string(&entry).map_err(|error| failed(error.into()))?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)?;
        self.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, key: &str) -> Entry {
        let none = NoVerdict { status: Unjudged::TooLarge, reason: "r".to_owned() };
        Entry {
            suite: "s".into(),
            name: name.into(),
            key: key.into(),
            judge: "j".into(),
            ending: Ending::NoVerdict(none),
            wall_ns: Nanoseconds(3),
        }
    }

    #[test]
    fn what_was_written_is_read_and_a_line_cut_short_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/log.jsonl");
        let mut log = Log::open(&path).unwrap();
        log.append(entry("one", "1")).unwrap();
        log.append(entry("two", "2")).unwrap();
        drop(log);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let mut log = Log::open(&path).unwrap();
        assert_eq!((log.known("1"), log.known("2")), (Some(&entry("one", "1")), None));
        log.append(entry("two", "2")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn somebody_elses_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["import torch\n", "a note without an end", "{\"type\": \"run_started\"}\n"] {
            let path = folder.path().join("file");
            fs::write(&path, text).unwrap();
            assert!(matches!(Log::open(&path), Err(LogError::NotALog { line: 1, .. })), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn errors_of_a_problem_are_told_from_those_of_the_machine() {
        let refused = |kind: &str, message: &str| {
            EvaluateError::Problem(kernelwright_harness::Refusal {
                kind: kind.into(),
                phase: String::new(),
                message: message.into(),
                traceback: String::new(),
            })
        };
        let status = |error| Ending::of_error(error).map(|ending| ending.status());
        assert_eq!(status(refused("problem_import", "SyntaxError")).unwrap(), "problem_invalid");
        assert_eq!(status(refused("problem_run", "RuntimeError: can't allocate memory: you tried 16 GB")).unwrap(), "too_large");
        assert_eq!(status(EvaluateError::ProblemCrashed { exit: Exit::Signal(9), tail: String::new() }).unwrap(), "too_large");
        assert_eq!(status(EvaluateError::ProblemSlow { op: "load".into(), limit: std::time::Duration::from_secs(1) }).unwrap(), "too_slow");
        assert!(status(EvaluateError::NoDevice("no device cuda:1".into())).is_err());
        assert!(status(EvaluateError::Protocol(String::new())).is_err());
    }
}
