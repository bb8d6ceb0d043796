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

/// A failure of the file system at a place.
pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> IndexError + '_ {
    move |source| IndexError::Io { path: path.to_owned(), source }
}
