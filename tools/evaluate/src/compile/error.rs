//! What keeps a compilation from being tried at all.

use kernelwright_harness::{AskError, HarnessError, LaunchError, Refusal};

use super::UnknownArch;
use crate::EvaluateError;

/// The request, the problem or the environment does not allow a compilation.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// An architecture that is not known here.
    #[error(transparent)]
    Arch(#[from] UnknownArch),
    /// No architecture was named.
    #[error("no architecture was named")]
    NoArch,
    /// The problem or the environment.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// An artefact could not be kept.
    #[error("cannot keep an artefact: {0}")]
    Keep(std::io::Error),
}

impl From<HarnessError> for CompileError {
    fn from(error: HarnessError) -> Self {
        Self::Evaluate(error.into())
    }
}

impl From<LaunchError> for CompileError {
    fn from(error: LaunchError) -> Self {
        Self::Evaluate(error.into())
    }
}

impl CompileError {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Arch(_) | Self::NoArch => "invalid_arguments",
            Self::Evaluate(error) => error.code(),
            Self::Keep(_) => "cache_unwritable",
        }
    }

    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Arch(error) => error.hint(),
            Self::NoArch => "name at least one, e.g. sm_90".to_owned(),
            Self::Evaluate(error) => error.hint(),
            Self::Keep(_) => "check free space and permissions, or name another cache folder with XDG_CACHE_HOME".to_owned(),
        }
    }

    /// Python's own account, where there is one.
    #[must_use]
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Evaluate(error) => error.details(),
            _ => None,
        }
    }

    pub(super) fn problem(kind: String, message: String, traceback: String) -> Self {
        Self::Evaluate(EvaluateError::Problem(Refusal { kind, phase: "compile".to_owned(), message, traceback }))
    }

    pub(super) fn unanswered(error: &AskError) -> Self {
        Self::Evaluate(EvaluateError::Protocol(error.to_string()))
    }
}
