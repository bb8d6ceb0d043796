//! What keeps an evaluation from reaching a verdict: never the candidate's doing.

use std::path::PathBuf;
use std::time::Duration;

use kernelwright_harness::{AskError, Exit, HarnessError, LaunchError, Refusal, WorkerLogs};

/// The problem, the environment or the request does not allow an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// No usable Python, or no place to write.
    #[error(transparent)]
    Environment(#[from] HarnessError),
    /// A worker did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A file of the request cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no such device here.
    #[error("{0}")]
    NoDevice(String),
    /// The problem file does not import, has not the right shape or raises.
    #[error("the problem is invalid ({}): {}", .0.kind, .0.message)]
    Problem(Refusal),
    /// The problem takes too long.
    #[error("the problem's `{op}` took longer than {} s", limit.as_secs())]
    ProblemSlow {
        /// Which operation.
        op: String,
        /// What it was given.
        limit: Duration,
    },
    /// The problem ends its process, twice in a row.
    #[error("the problem's process ended ({exit}){}", told(tail))]
    ProblemCrashed {
        /// How.
        exit: Exit,
        /// The end of what it printed.
        tail: String,
    },
    /// The two sides do not understand each other; a defect of ours.
    #[error("the worker protocol was broken: {0}")]
    Protocol(String),
    /// What is to be said to a worker is more than a message may hold, in bytes.
    #[error("a message of {0} bytes to a worker is too long")]
    TooLong(usize),
    /// A task of the evaluator's own panicked.
    #[error("a task of the evaluator panicked: {0}")]
    Task(String),
    /// The problem gave inputs before, and gives none now that its worker was started again.
    #[error("the problem's own inputs cannot be drawn again: {0}")]
    BaseDraw(String),
    /// The device is there, but not inside the sandbox.
    #[error("the candidate's process cannot use the device: {0}")]
    DeviceHidden(String),
    /// A deep check was asked for that cannot be had.
    #[error("there is no deep check here: {reason}")]
    NoDeepCheck {
        /// Why.
        reason: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// The command that takes the evaluator's place could not be started.
    #[error("the evaluator's command `{command}` cannot be started: {source}")]
    CommandStart {
        /// The command.
        command: String,
        /// Why.
        source: std::io::Error,
    },
    /// The command ended in failure.
    #[error("the evaluator's command `{command}` failed ({status}): {last}")]
    CommandFailed {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
        /// The last line of its messages.
        last: String,
        /// Where all of them are.
        log: PathBuf,
    },
    /// The command took too long.
    #[error("the evaluator's command `{command}` took longer than {} s", limit.as_secs())]
    CommandSlow {
        /// The command.
        command: String,
        /// What it was given.
        limit: Duration,
    },
    /// The command's answer has not the agreed form.
    #[error("the answer of the evaluator's command `{command}` is not understood: {reason}")]
    CommandAnswer {
        /// The command.
        command: String,
        /// What is wrong with it.
        reason: String,
        /// How it begins.
        text: String,
    },
    /// Whoever asked does not want the verdict any more.
    #[error("the evaluation was cancelled")]
    Cancelled,
    /// The kernel does not let the supervisor read the candidate's memory.
    #[error("a worker's memory cannot be read: {0}")]
    Memory(std::io::Error),
}

/// The end of what a process printed, behind what became of it.
fn told(tail: &str) -> String {
    if tail.trim().is_empty() { ", and printed nothing".to_owned() } else { format!(": {tail}") }
}

impl EvaluateError {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Environment(_) | Self::Launch(LaunchError::Refused(_)) => "python_unusable",
            Self::Launch(_) => "worker_failed",
            Self::File { .. } => "file_unreadable",
            Self::NoDevice(_) | Self::DeviceHidden(_) => "device_unavailable",
            Self::Problem(_) | Self::ProblemSlow { .. } | Self::ProblemCrashed { .. } => "problem_invalid",
            Self::NoDeepCheck { .. } => "deep_check_unavailable",
            Self::Protocol(_) | Self::TooLong(_) | Self::Task(_) | Self::BaseDraw(_) => "internal",
            Self::CommandStart { .. } | Self::CommandFailed { .. } | Self::CommandSlow { .. } | Self::CommandAnswer { .. } => {
                "evaluator_failed"
            }
            Self::Cancelled => "cancelled",
            Self::Memory(_) => "memory_unreadable",
        }
    }

    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        let text = match self {
            Self::Environment(error) => error.hint(),
            Self::Launch(error) => error.hint(),
            Self::File { .. } => "give the path of a readable file, or the source itself",
            Self::NoDevice(_) => "use the target `cpu`, or a machine with that device and a torch built for it",
            Self::Problem(refusal) => refusal.problem_hint(),
            Self::ProblemSlow { .. } => "make the problem smaller",
            Self::ProblemCrashed { exit: Exit::Signal(9), .. } => "make the problem smaller: memory has probably run out",
            Self::ProblemCrashed { .. } => "run the problem by hand: its own code ends the process, or a library that it calls does",
            Self::DeviceHidden(_) => "the sandbox hides something the driver needs: report the driver's version and `kernelwright doctor`",
            Self::NoDeepCheck { fix, .. } => fix,
            Self::Protocol(_) | Self::TooLong(_) | Self::Task(_) | Self::BaseDraw(_) => WorkerLogs::HINT,
            Self::CommandStart { .. } => "the command is run by /bin/sh; try it there",
            Self::CommandFailed { .. } => "run the command by hand with the JSON object on its standard input",
            Self::CommandSlow { .. } => "raise the limits of build, run and time, or make the command faster",
            Self::CommandAnswer { .. } => {
                "it has to print one JSON object with speedup, original_time, optimized_time and error, and nothing else"
            }
            Self::Cancelled => "call again to start over",
            Self::Memory(_) => "set /proc/sys/kernel/yama/ptrace_scope to 1 or less, and in a container allow process_vm_readv",
        };
        text.to_owned()
    }

    /// Python's own account, where there is one.
    #[must_use]
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Problem(refusal) if !refusal.traceback.is_empty() => Some(&refusal.traceback),
            Self::CommandAnswer { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// What a question to the trusted worker ended in; `tail` is the end of what that worker printed.
    pub(crate) fn trusted(error: AskError, tail: impl FnOnce() -> String) -> Self {
        match error {
            AskError::Refused(refusal) if refusal.kind == "internal" => Self::Protocol(refusal.message),
            AskError::Refused(refusal) if refusal.kind == "device" => Self::NoDevice(refusal.message),
            AskError::Refused(refusal) => Self::Problem(refusal),
            AskError::Deadline { op, limit } => Self::ProblemSlow { op, limit },
            AskError::Ended(exit) => Self::ProblemCrashed { exit, tail: tail() },
            AskError::TooLong(bytes) => Self::TooLong(bytes),
            AskError::Violation(detail) => Self::Protocol(detail),
            AskError::Freeze(error) => Self::Protocol(error.to_string()),
        }
    }
}
