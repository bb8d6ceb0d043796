//! Why a run's folder cannot be used.

use std::io;
use std::path::PathBuf;

use kernelwright_search::FORMAT_VERSION;

use super::log::LOG;

/// The run's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another agent works on it.
    #[error("another kernelwright process is working on {}", dir.display())]
    Locked {
        /// The run's folder.
        dir: PathBuf,
    },
    /// It was written by a later version.
    #[error("{} has format {found}; this version reads up to {FORMAT_VERSION}", dir.display())]
    NewerFormat {
        /// The run's folder.
        dir: PathBuf,
        /// Its format.
        found: u64,
    },
    /// A line in the middle of the log is no record.
    #[error("line {line} of {} is no record: {source}", path.display())]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There is no run in that folder.
    #[error("{} is no run: it has no {LOG}, or an empty one", dir.display())]
    NoRun {
        /// The folder.
        dir: PathBuf,
    },
    /// There is no run at all.
    #[error("there is no run in {}", dir.display())]
    NoRuns {
        /// The folder of runs.
        dir: PathBuf,
    },
    /// The disk, or the user's share of it, is full.
    #[error("no space left to write {}", path.display())]
    DiskFull {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// Anything else that the file system refuses.
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

impl StoreError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Locked { .. } => "wait for it or stop it; reading the run with `runs show` or `report` works meanwhile".to_owned(),
            Self::NewerFormat { .. } => "use the version of kernelwright that made the run, or a later one".to_owned(),
            Self::Damaged { .. } => "the file was changed by hand or the disk is failing; restore it, or start a new run".to_owned(),
            Self::NoRun { .. } | Self::NoRuns { .. } => "`kernelwright runs list` shows the runs; --runs-dir says where to look".to_owned(),
            Self::DiskFull { .. } => "free some space and resume; nothing that was recorded is lost".to_owned(),
            Self::Io { .. } => "check the path and its permissions".to_owned(),
        }
    }

    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => Self::DiskFull { path },
            _ => Self::Io { action, path, source },
        }
    }
}
