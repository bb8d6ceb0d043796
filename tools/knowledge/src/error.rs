//! Why a library cannot answer.

use kernelwright_packs::{DocumentError, PackError};
use kernelwright_server::ToolFailure;
use thiserror::Error;

use crate::index::IndexError;
use crate::labels::Label;

/// A question could not be answered.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// A pack cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// Two packs have the same id, so that entry ids would be ambiguous.
    #[error("two packs have the id `{0}`")]
    DuplicatePack(String),
    /// There is no such pack.
    #[error("there is no pack `{id}`")]
    UnknownPack {
        /// What was asked for.
        id: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// There is one, and nothing of it can be read.
    #[error("the installed pack `{id}` is passed over: {reason}")]
    UnreadablePack {
        /// What was asked for.
        id: String,
        /// Why not.
        reason: String,
    },
    /// Nobody knows a vendor, an architecture or a language of this name.
    #[error("there is no {label} `{asked}` in the packs")]
    UnknownLabel {
        /// What it was to be.
        label: Label,
        /// What was asked for.
        asked: String,
        /// Those that the packs have.
        known: Vec<String>,
    },
    /// What is to be found is no regular expression.
    #[error("`{pattern}` is no regular expression: {message}")]
    Pattern {
        /// What was asked for.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// What is to be defined has no name.
    #[error("`{0}` names no symbol")]
    Symbol(String),
    /// What files are to fit is no pattern for them.
    #[error("`{files}` is no pattern for files: `{sign}` has no meaning in it")]
    Files {
        /// What was asked for.
        files: String,
        /// What is not understood.
        sign: char,
    },
    /// A document of a pack cannot be read any more.
    #[error(transparent)]
    Document(#[from] DocumentError),
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
    Index(#[from] IndexError),
}

impl From<tantivy::TantivyError> for LibraryError {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Index(error.into())
    }
}

impl LibraryError {
    /// What the user, or a host's model, can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Pack(error) => error.hint().to_owned(),
            Self::DuplicatePack(_) => "change the id in one pack.toml, or leave one pack out".to_owned(),
            Self::UnknownPack { known, .. } => format!("name one of: {}", known.join(", ")),
            Self::UnreadablePack { id, .. } => {
                format!("correct it, or fetch it again: kernelwright knowledge update {id}; the other packs are searched without `pack`")
            }
            Self::UnknownLabel { label, known, .. } if known.is_empty() => format!("leave `{}` out: the packs name none", label.argument()),
            Self::UnknownLabel { label, known, .. } => {
                format!("name one of: {}; or leave `{}` out", known.join(", "), label.argument())
            }
            Self::Pattern { .. } => "mend it, or look for the text as it stands".to_owned(),
            Self::Symbol(_) => "name a function, type, macro or constant".to_owned(),
            Self::Files { .. } => {
                "use `*` inside a folder, `**` for folders as well and `?` for any one character, or ask several times".to_owned()
            }
            Self::Document(error) => error.hint().to_owned(),
            Self::UnknownEntry { nearest, .. } if nearest.is_empty() => "take an id from search_knowledge or list_packs".to_owned(),
            Self::UnknownEntry { nearest, .. } => format!("take an id from search_knowledge; similar ids: {}", nearest.join(", ")),
            Self::Index(_) => "remove the index folder in the cache; it is built again".to_owned(),
        }
    }
}

impl From<LibraryError> for ToolFailure {
    fn from(error: LibraryError) -> Self {
        let code = match &error {
            LibraryError::Pack(_) | LibraryError::UnreadablePack { .. } => "pack_unreadable",
            LibraryError::DuplicatePack(_) => "pack_duplicate",
            LibraryError::UnknownPack { .. } => "pack_unknown",
            LibraryError::UnknownLabel { label: Label::Vendor, .. } => "vendor_unknown",
            LibraryError::UnknownLabel { label: Label::Arch, .. } => "arch_unknown",
            LibraryError::UnknownLabel { label: Label::Language, .. } => "language_unknown",
            LibraryError::Pattern { .. } => "pattern_invalid",
            LibraryError::Symbol(_) => "symbol_invalid",
            LibraryError::Files { .. } => "files_invalid",
            LibraryError::Document(_) => "document_unreadable",
            LibraryError::UnknownEntry { .. } => "entry_unknown",
            LibraryError::Index(_) => "index_unusable",
        };
        let fix = error.hint();
        Self::new(code, error.to_string(), fix)
    }
}
