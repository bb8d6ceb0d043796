//! The log of a suite: JSON lines, one per problem that was dealt with, and the only truth about what was done.
//!
//! A line counts for a problem only where its name, problem, candidate, target, options with their limits and judge are what they were. A file may therefore be gone on with
//! after a problem has changed, or with another filter: what is known is not done again, the rest is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use kernelwright_engine::{ServerFailure, ToolRefusal};
use kernelwright_evaluate::EvaluateError;
use kernelwright_harness::Exit;
use kernelwright_protocol::{Evaluation, Nanoseconds, Verdict};
use serde::{Deserialize, Serialize};

use crate::judge::JudgeError;

/// One problem of a suite that was dealt with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "result")]
pub struct Entry {
    /// The suite.
    pub suite: String,
    /// The problem's name in it.
    pub name: String,
    /// The content hash of name, problem, candidate, target, options and judge together.
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
    /// The file, and what Python says about it.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What the problem was given in all, where that was not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<Nanoseconds>,
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
    /// The candidate is there and cannot be read.
    CandidateUnreadable,
    /// The evaluator failed, which says nothing about problem and candidate.
    EvaluatorFailed,
}

impl Unjudged {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProblemInvalid => "problem_invalid",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::NoCandidate => "no_candidate",
            Self::CandidateUnreadable => "candidate_unreadable",
            Self::EvaluatorFailed => "evaluator_failed",
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

    /// Whether it is worth another try with this much time in all: another day may be better for the evaluator, and a longer one for the problem.
    pub fn is_tried_again(&self, limit: Nanoseconds) -> bool {
        match self {
            Self::NoVerdict(none) => none.status == Unjudged::EvaluatorFailed || none.limit_ns.is_some_and(|given| given < limit),
            Self::Evaluation(_) => false,
        }
    }
}

impl NoVerdict {
    pub fn new(status: Unjudged, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), place: None, limit_ns: None }
    }

    /// What an error says about the problem in this file, or about the evaluator on it; none where it is about the machine, and no other
    /// problem would fare better.
    pub fn of_error(error: &JudgeError, path: Option<&Path>) -> Option<Self> {
        let (status, said, details) = match error {
            JudgeError::BuiltIn(error) => (of_built_in(error)?, without_command(error), error.details()),
            JudgeError::Refused(refusal) => (of_refusal(refusal)?, refusal_without_command(refusal), None),
            JudgeError::Server(failed) => match failed.what {
                ServerFailure::Died { .. }
                | ServerFailure::Silent { .. }
                | ServerFailure::TooLong { .. }
                | ServerFailure::NotUnderstood { .. } => (Unjudged::EvaluatorFailed, error.to_string(), None),
                _ => return None,
            },
        };
        let path = path.filter(|_| status == Unjudged::ProblemInvalid).map(|path| path.display().to_string());
        let place: Vec<&str> = path.as_deref().into_iter().chain(details).collect();
        let place = (!place.is_empty()).then(|| place.join("\n"));
        let reason = said.lines().next().unwrap_or_default().to_owned();
        Some(Self { place, ..Self::new(status, reason) })
    }
}

fn of_built_in(error: &EvaluateError) -> Option<Unjudged> {
    Some(match error {
        EvaluateError::ProblemSlow { .. } => Unjudged::TooSlow,
        EvaluateError::ProblemCrashed { exit, tail } if matches!(exit, Exit::Signal(9)) || speaks_of_memory(tail) => Unjudged::TooLarge,
        EvaluateError::Problem(refusal) if speaks_of_memory(&refusal.message) => Unjudged::TooLarge,
        // A command that cannot even be started is a shell or a cache folder that is not there.
        EvaluateError::CommandStart { .. } => return None,
        other => of_code(other.code())?,
    })
}

fn of_refusal(refusal: &ToolRefusal) -> Option<Unjudged> {
    match &refusal.code {
        Some(code) if code.starts_with("problem") && speaks_of_memory(&refusal.reason) => Some(Unjudged::TooLarge),
        Some(code) => of_code(code),
        None => Some(Unjudged::EvaluatorFailed),
    }
}

/// Of the words that our own evaluator has for errors; others may have further ones.
fn of_code(code: &str) -> Option<Unjudged> {
    match code {
        "python_unusable" | "device_unavailable" | "deep_check_unavailable" | "memory_unreadable" | "cancelled" => None,
        code if code.starts_with("problem") => Some(Unjudged::ProblemInvalid),
        _ => Some(Unjudged::EvaluatorFailed),
    }
}

/// What an error says, for a log, where no command may stand: it may hold a key.
fn without_command(error: &EvaluateError) -> String {
    match error {
        EvaluateError::CommandFailed { command, .. }
        | EvaluateError::CommandSlow { command, .. }
        | EvaluateError::CommandAnswer { command, .. } => error.to_string().replace(&format!(" `{command}`"), ""),
        _ => error.to_string(),
    }
}

/// The same of a server that is ours and has a command. Where that ends in the text is not known for sure; rather too much is left out.
fn refusal_without_command(refusal: &ToolRefusal) -> String {
    let parts = || {
        let (before, rest) = refusal.reason.split_once("command `")?;
        Some(format!("{before}command {}", rest.rsplit_once("` ").map_or("", |(_, after)| after)))
    };
    parts().unwrap_or_else(|| refusal.reason.clone())
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
        // What was cut short may end within a character.
        let mut text = Vec::new();
        while reader.read_until(b'\n', &mut text).map_err(failed)? > 0 {
            if !text.ends_with(b"\n") {
                break;
            }
            let line = entries.len() + 1;
            entries.push(serde_json::from_slice(&text).map_err(|source| LogError::NotALog { path: path.to_path_buf(), line, source })?);
            whole += text.len() as u64;
            text.clear();
        }
        if !text.is_empty() && entries.is_empty() {
            let source = serde_json::from_slice::<Entry>(&text).err();
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
        let none = NoVerdict::new(Unjudged::TooLarge, "r");
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
        log.append(entry("zwölf", "2")).unwrap();
        drop(log);
        let text = fs::read(&path).unwrap();
        let within_a_character = text.iter().position(|&byte| byte == "ö".as_bytes()[0]).unwrap() + 1;
        for end in [text.len() - 5, within_a_character] {
            fs::write(&path, &text[..end]).unwrap();
            let mut log = Log::open(&path).unwrap();
            assert_eq!((log.known("1"), log.known("2")), (Some(&entry("one", "1")), None));
            log.append(entry("zwölf", "2")).unwrap();
            assert_eq!(fs::read(&path).unwrap(), text);
        }
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

    fn refused(kind: &str, message: &str, traceback: &str) -> EvaluateError {
        EvaluateError::Problem(kernelwright_harness::Refusal {
            kind: kind.into(),
            phase: String::new(),
            message: message.into(),
            traceback: traceback.into(),
        })
    }

    fn none(error: EvaluateError) -> Option<NoVerdict> {
        NoVerdict::of_error(&error.into(), Some(Path::new("p.py")))
    }

    #[test]
    fn errors_of_a_problem_are_told_from_those_of_the_evaluator_and_the_machine() {
        let status = |error| none(error).map(|none| none.status.as_str());
        let second = std::time::Duration::from_secs(1);
        assert_eq!(status(refused("problem_import", "SyntaxError", "")), Some("problem_invalid"));
        assert_eq!(status(refused("problem_run", "RuntimeError: can't allocate memory: you tried 16 GB", "")), Some("too_large"));
        assert_eq!(status(EvaluateError::ProblemCrashed { exit: Exit::Signal(9), tail: String::new() }), Some("too_large"));
        assert_eq!(status(EvaluateError::ProblemSlow { op: "load".into(), limit: second }), Some("too_slow"));
        assert_eq!(status(EvaluateError::Protocol(String::new())), Some("evaluator_failed"));
        assert_eq!(status(EvaluateError::Launch(kernelwright_harness::LaunchError::Slow(second))), Some("evaluator_failed"));
        assert_eq!(status(EvaluateError::CommandSlow { command: "c".into(), limit: second }), Some("evaluator_failed"));
        assert_eq!(status(EvaluateError::NoDevice("no device cuda:1".into())), None);
        assert_eq!(status(EvaluateError::Cancelled), None);
        assert_eq!(status(EvaluateError::CommandStart { command: "c".into(), source: io::Error::other("full") }), None);
    }

    #[test]
    fn refusals_of_a_server_are_told_apart_in_the_same_way() {
        let status = |code: Option<&str>| {
            let refusal = ToolRefusal { code: code.map(str::to_owned), reason: "r".into(), fix: None };
            NoVerdict::of_error(&refusal.into(), None).map(|none| none.status.as_str())
        };
        assert_eq!(status(Some("problem_invalid")), Some("problem_invalid"));
        assert_eq!(status(Some("internal")), Some("evaluator_failed"));
        assert_eq!(status(None), Some("evaluator_failed"));
        assert_eq!(status(Some("python_unusable")), None);
    }

    #[test]
    fn an_invalid_problem_is_recorded_with_pythons_own_account() {
        let invalid = none(refused("problem_run", "boom\nmore", "File \"p.py\", line 3\nboom")).unwrap();
        assert_eq!(invalid.reason, "the problem is invalid (problem_run): boom");
        assert_eq!(serde_json::to_value(&invalid).unwrap()["where"], "p.py\nFile \"p.py\", line 3\nboom");
    }

    #[test]
    fn a_log_holds_no_command() {
        let command = "KEY=s3cret sh -c 'exit `true` 3'";
        let failed =
            EvaluateError::CommandFailed { command: command.into(), status: "exit status: 3".into(), last: "l".into(), log: "x".into() };
        let over_there = ToolRefusal { code: Some("evaluator_failed".into()), reason: failed.to_string(), fix: None };
        assert_eq!(none(failed).unwrap().reason, "the evaluator's command failed (exit status: 3): l");
        let refused = NoVerdict::of_error(&over_there.into(), None).unwrap();
        assert_eq!(refused.reason, "the evaluator's command failed (exit status: 3): l");
    }

    #[test]
    fn failures_of_the_evaluator_and_limits_that_are_raised_are_worth_another_try() {
        let again = |none: NoVerdict| Ending::NoVerdict(none).is_tried_again(Nanoseconds(20));
        let slow = |limit_ns| NoVerdict { limit_ns, ..NoVerdict::new(Unjudged::TooSlow, "r") };
        assert!(again(NoVerdict::new(Unjudged::EvaluatorFailed, "r")));
        assert!(!again(NoVerdict::new(Unjudged::ProblemInvalid, "r")));
        assert!(again(slow(Some(Nanoseconds(10)))));
        assert!(!again(slow(Some(Nanoseconds(20)))));
        assert!(!again(slow(None)), "the evaluator's own limit stays as it is");
    }
}
