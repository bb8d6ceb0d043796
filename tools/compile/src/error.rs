//! What keeps a compilation from being tried at all.

use kernelwright_harness::{AskError, HarnessError, LaunchError, Refusal, WorkerLogs};

use crate::UnknownArch;

/// The request, the problem or the environment does not allow a compilation.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// An architecture that is not known here.
    #[error(transparent)]
    Arch(#[from] UnknownArch),
    /// No architecture was named.
    #[error("no architecture was named")]
    NoArch,
    /// No usable Python, or no place to write.
    #[error(transparent)]
    Environment(#[from] HarnessError),
    /// The worker did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The problem file does not import, has not the right shape, or raises.
    #[error("the problem is invalid ({}): {}", .0.kind, .0.message)]
    Problem(Refusal),
    /// The two sides do not understand each other; a defect of ours.
    #[error("the worker protocol was broken: {0}")]
    Protocol(String),
    /// An artefact could not be kept.
    #[error("cannot keep an artefact: {0}")]
    Keep(std::io::Error),
}

impl CompileError {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Arch(_) | Self::NoArch => "invalid_arguments",
            Self::Environment(_) | Self::Launch(LaunchError::Refused(_)) => "python_unusable",
            Self::Launch(_) => "worker_failed",
            Self::Problem(_) => "problem_invalid",
            Self::Protocol(_) => "internal",
            Self::Keep(_) => "cache_unwritable",
        }
    }

    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        let text = match self {
            Self::Arch(error) => return error.hint(),
            Self::NoArch => "name at least one, e.g. sm_90",
            Self::Environment(error) => error.hint(),
            Self::Launch(error) => error.hint(),
            Self::Problem(refusal) => refusal.problem_hint(),
            Self::Protocol(_) => WorkerLogs::HINT,
            Self::Keep(_) => "check free space and permissions, or name another cache folder with XDG_CACHE_HOME",
        };
        text.to_owned()
    }

    /// Python's own account, where there is one.
    #[must_use]
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Problem(refusal) if !refusal.traceback.is_empty() => Some(&refusal.traceback),
            _ => None,
        }
    }

    pub(crate) fn problem(kind: String, message: String, traceback: String) -> Self {
        Self::Problem(Refusal { kind, phase: "compile".to_owned(), message, traceback })
    }

    pub(crate) fn unanswered(error: &AskError) -> Self {
        Self::Protocol(error.to_string())
    }
}
