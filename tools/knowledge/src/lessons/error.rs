//! Why a lesson cannot be kept.

use std::io;
use std::path::{Path, PathBuf};

use kernelwright_packs::{Fault, HomeError};
use kernelwright_protocol::CandidateId;
use kernelwright_server::ToolFailure;
use thiserror::Error;

/// A lesson could not be recorded, found or rated.
#[derive(Debug, Error)]
pub enum LessonError {
    /// There is no folder for the user's packs.
    #[error("this server has no place for lessons")]
    NoHome,
    /// Nothing says what was changed.
    #[error("the change is not described")]
    NoChange,
    /// The file of a verdict cannot be read.
    #[error("the evidence cannot be read: {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file of a verdict is named from a folder that is not known.
    #[error("the evidence is not named by an absolute path: {}", path.display())]
    Relative {
        /// What was named.
        path: PathBuf,
    },
    /// There is no verdict where one should be.
    #[error("there is no verdict {} {}", event.map_or_else(|| "in".to_owned(), |event| format!("in event {event} of")), path.display())]
    NoVerdict {
        /// The file.
        path: PathBuf,
        /// Which record of it.
        event: Option<u64>,
    },
    /// The verdict is on something else.
    #[error("the verdict is on candidate {found}, not on {named}")]
    OtherCandidate {
        /// What it was said to be on.
        named: CandidateId,
        /// What it is on.
        found: CandidateId,
    },
    /// The two verdicts cannot be compared.
    #[error("the two verdicts are on different problems or targets")]
    Unrelated,
    /// The subject and the verdict do not go together.
    #[error("the verdict was given on another kind of device than the subject names")]
    OtherBackend,
    /// The verdicts decide nothing.
    #[error("the verdicts prove nothing: the intervals overlap, there is no time, or the kernel leaves the work to the library")]
    NothingProven,
    /// A name that no lesson can have.
    #[error("`{lesson}` is no lesson")]
    NoLesson {
        /// What was named.
        lesson: String,
    },
    /// A lesson was changed by hand and cannot be read any more.
    #[error("{} cannot be read as a lesson: {fault}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The packs cannot be looked through.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The file system refuses.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl LessonError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NoHome => "lessons_unavailable",
            Self::NoChange => "change_missing",
            Self::Unreadable { .. } | Self::Relative { .. } | Self::NoVerdict { .. } => "evidence_missing",
            Self::OtherCandidate { .. } | Self::Unrelated | Self::OtherBackend => "evidence_mismatch",
            Self::NothingProven => "nothing_proven",
            Self::NoLesson { .. } => "lesson_unknown",
            Self::Damaged { .. } => "lesson_damaged",
            Self::Home(_) | Self::Io { .. } => "lessons_unwritable",
        }
    }

    /// What the user, or a host's model, can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoHome => "start the server with --home, or set paths.packs",
            Self::NoChange => "say in a sentence what was changed",
            Self::Unreadable { .. } | Self::Relative { .. } | Self::NoVerdict { .. } => {
                "name the absolute path of a run's events.jsonl with the seq of a candidate_evaluated record, or a file that \
                 `kernelwright evaluate --json` printed"
            }
            Self::OtherCandidate { .. } | Self::Unrelated | Self::OtherBackend => {
                "name the verdicts of the kernels that the change is about"
            }
            Self::NothingProven => "evaluate again with more pairs, or leave it",
            Self::NoLesson { .. } => "take a name from find_lessons",
            Self::Damaged { .. } => "mend or remove the file",
            Self::Home(_) | Self::Io { .. } => "check the path and its permissions",
        }
    }
}

impl From<LessonError> for ToolFailure {
    fn from(error: LessonError) -> Self {
        Self::new(error.code(), error.to_string(), error.hint())
    }
}
