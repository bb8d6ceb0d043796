//! Why an index cannot be used.

use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use thiserror::Error;

/// An index cannot be written or read.
#[derive(Debug, Error)]
pub enum IndexError {
    /// The search engine refused.
    #[error(transparent)]
    Engine(#[from] TantivyError),
    /// The file system refused.
    #[error("cannot use {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl IndexError {
    /// Whether an index has to be built again. What the system refuses now (a full disk, a lock that another process holds) it may allow later, and
    /// another process may be at work on the same files.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Engine(TantivyError::IoError(error)) => error.raw_os_error().is_none(),
            Self::Engine(error) => !matches!(error, TantivyError::LockFailure(..)),
            Self::Io { .. } => false,
        }
    }
}

/// A failure of the file system at a place.
pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> IndexError + '_ {
    move |source| IndexError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_full_disk_is_no_damage() {
        let engine = |error: io::Error| IndexError::from(TantivyError::from(error)).is_damage();
        assert!(!engine(io::Error::from_raw_os_error(28)));
        assert!(engine(io::Error::new(io::ErrorKind::InvalidData, "the footer is not one")));
    }
}
