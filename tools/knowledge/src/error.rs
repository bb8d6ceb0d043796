//! Why a library cannot answer.

use kernelwright_packs::PackError;
use kernelwright_server::ToolFailure;
use thiserror::Error;

/// A question could not be answered.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// A pack cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// Two packs have the same id, so that entry ids would be ambiguous.
    #[error("two packs have the id `{0}`")]
    DuplicatePack(String),
    /// There is no such entry.
    #[error("there is no entry `{id}`")]
    UnknownEntry {
        /// What was asked for.
        id: String,
        /// The ids that come closest.
        nearest: Vec<String>,
    },
    /// The search engine failed.
    #[error("the index cannot be used")]
    Index(#[from] tantivy::TantivyError),
}

impl LibraryError {
    /// What the user, or a host's model, can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Pack(error) => error.hint().to_owned(),
            Self::DuplicatePack(_) => "change the id in one pack.toml, or leave one pack out".to_owned(),
            Self::UnknownEntry { nearest, .. } if nearest.is_empty() => "take an id from search_knowledge or list_packs".to_owned(),
            Self::UnknownEntry { nearest, .. } => format!("take an id from search_knowledge; similar ids: {}", nearest.join(", ")),
            Self::Index(_) => "remove the index folder in the cache; it is built again".to_owned(),
        }
    }
}

impl From<LibraryError> for ToolFailure {
    fn from(error: LibraryError) -> Self {
        let code = match &error {
            LibraryError::Pack(_) => "pack_unreadable",
            LibraryError::DuplicatePack(_) => "pack_duplicate",
            LibraryError::UnknownEntry { .. } => "entry_unknown",
            LibraryError::Index(_) => "index_unusable",
        };
        let fix = error.hint();
        Self::new(code, error.to_string(), fix)
    }
}
