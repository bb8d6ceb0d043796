//! What can go wrong with the pack home.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::documents::Skipped;
use crate::problem::PackError;

/// Why nothing was added, changed or found. Whatever it is, the packs are as they were.
#[derive(Debug, Error)]
pub enum HomeError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// What it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process changes the packs.
    #[error("another process is changing the packs in {0}")]
    Busy(PathBuf),
    /// No such pack.
    #[error("there is no installed pack `{id}`")]
    Unknown {
        /// What was asked for.
        id: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// There is one of that id.
    #[error("a pack `{0}` is installed already")]
    AlreadyThere(String),
    /// The id is that of a built-in pack.
    #[error("`{0}` is a built-in pack")]
    BuiltIn(String),
    /// The pack was put there by hand.
    #[error("nothing is known of where the pack `{0}` came from")]
    NoOrigin(String),
    /// The id that was asked for is not the pack's.
    #[error("the pack calls itself `{found}`, not `{asked}`")]
    OtherId {
        /// The id that was asked for.
        asked: String,
        /// What its `pack.toml` says.
        found: String,
    },
    /// No id can be made of the source's name.
    #[error("`{0}` is no id: use lower-case letters, digits and `-`, beginning with a letter or digit")]
    Id(String),
    /// A source that is none.
    #[error("{0}: neither a folder, an archive, a document nor a git address")]
    Source(String),
    /// Nothing in the source can be read.
    #[error("{name}: no document that can be read{}", listed(skipped))]
    Nothing {
        /// What the user calls it.
        name: String,
        /// What was passed over, and why.
        skipped: Vec<Skipped>,
    },
    /// More than a pack may hold.
    #[error("{name}: more than {limit}")]
    TooMuch {
        /// What the user calls it.
        name: String,
        /// What is allowed.
        limit: String,
    },
    /// An archive with something in it that no pack has.
    #[error("{archive}: {member}: {reason}; nothing was unpacked")]
    Unsafe {
        /// The archive.
        archive: PathBuf,
        /// The member of it.
        member: String,
        /// Why not.
        reason: &'static str,
    },
    /// An archive that cannot be read.
    #[error("{archive}: no archive that can be read: {reason}")]
    Archive {
        /// The archive.
        archive: PathBuf,
        /// Why not.
        reason: String,
    },
    /// git did not fetch it.
    #[error("git cannot fetch {address}: {reason}")]
    Git {
        /// From where.
        address: String,
        /// What git said.
        reason: String,
    },
    /// The pack's own files.
    #[error(transparent)]
    Pack(PackError),
}

impl HomeError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space, or name another folder with paths.packs".to_owned()
            }
            Self::Io { .. } => "check the path and its permissions; paths.packs names the folder of installed packs".to_owned(),
            Self::Busy(_) => "try again when it is done".to_owned(),
            Self::Unknown { known, .. } if known.is_empty() => "none is installed; `kernelwright knowledge add` installs one".to_owned(),
            Self::Unknown { known, .. } => format!("installed: {}", known.join(", ")),
            Self::AlreadyThere(id) => {
                format!(
                    "`kernelwright knowledge update {id}` fetches it again, `kernelwright knowledge remove {id}` makes room, --id names another"
                )
            }
            Self::BuiltIn(_) => "give the pack an id of its own, with --id or in its pack.toml".to_owned(),
            Self::NoOrigin(id) => format!("remove it and add it again: kernelwright knowledge remove {id}"),
            Self::OtherId { .. } => "leave out --id, or change the id in its pack.toml".to_owned(),
            Self::Id(_) => "name one with --id".to_owned(),
            Self::Source(_) => {
                "zip, tar, tar.gz and tgz archives can be read; a git address begins with https://, ssh:// or git@".to_owned()
            }
            Self::Nothing { .. } => "md, rst, txt, html, ipynb, pdf, py, rs and C, C++ or CUDA sources can be read".to_owned(),
            Self::TooMuch { .. } => "add a part of it".to_owned(),
            Self::Unsafe { .. } => "do not trust this archive; unpack it somewhere else, look at it, and add the folder".to_owned(),
            Self::Archive { .. } => "fetch it again, or unpack it and add the folder".to_owned(),
            Self::Git { .. } => "check the address and that git can reach it without asking; or clone it and add the folder".to_owned(),
            Self::Pack(error) => error.hint().to_owned(),
        }
    }
}

/// The first reasons, for a message that still fits a screen.
fn listed(skipped: &[Skipped]) -> String {
    const SHOWN: usize = 5;
    let mut lines: Vec<String> = skipped.iter().take(SHOWN).map(|skipped| format!("\n  {skipped}")).collect();
    if skipped.len() > SHOWN {
        lines.push(format!("\n  and {} more", skipped.len() - SHOWN));
    }
    lines.concat()
}
