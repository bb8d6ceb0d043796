//! Which packs a library is of, and what of them cannot be read.

use std::collections::HashSet;

use kernelwright_packs::{Home, Pack, Problem, built_in, load};
use kernelwright_protocol::PackSummary;

use crate::error::LibraryError;
use crate::library::{BuiltIn, Settings};

/// The packs inside the executable, if they belong to the library.
pub(crate) fn inside(settings: &Settings) -> Result<Vec<Pack>, LibraryError> {
    Ok(if settings.built_in == BuiltIn::Included { built_in()? } else { Vec::new() })
}

/// The user's packs.
#[derive(Debug, Default)]
pub(crate) struct Users {
    /// Those in folders of the settings first, then installed ones.
    pub(crate) packs: Vec<Pack>,
    /// Files of installed packs that are passed over.
    pub(crate) damaged: Vec<Problem>,
    /// Installed packs that are passed over as a whole.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// An installed pack of which nothing can be read, most often because its `pack.toml` cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its id, which is its folder's name.
    pub id: String,
    /// Why not.
    pub reason: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.id, self.reason)
    }
}

impl Users {
    /// Reads them. No two packs may have one id, those that are built in included.
    pub(crate) fn of(settings: &Settings, built_in: &[Pack]) -> Result<Self, LibraryError> {
        let mut users = Self::default();
        for folder in &settings.packs {
            users.packs.extend(load(folder)?);
        }
        if let Some(home) = &settings.home {
            users.install(&Home::at(home), built_in);
        }
        let mut ids = HashSet::new();
        match built_in.iter().chain(&users.packs).find(|pack| !ids.insert(&pack.id)) {
            Some(pack) => Err(LibraryError::DuplicatePack(pack.id.clone())),
            None => Ok(users),
        }
    }

    /// Takes the installed packs in. What cannot be read, or has the id of another, costs itself only: the user hears of it from the verbs
    /// for packs.
    fn install(&mut self, home: &Home, built_in: &[Pack]) {
        let packs = home.packs().unwrap_or_else(|error| {
            tracing::warn!(%error, "installed packs not read");
            Vec::new()
        });
        for installed in packs {
            match installed.pack {
                Ok(pack) if built_in.iter().chain(&self.packs).any(|other| other.id == pack.id) => {
                    tracing::warn!(pack = pack.id, "an installed pack has the id of another");
                    let reason = format!("its id `{}` is that of another pack", pack.id);
                    self.unreadable.push(Unreadable { id: installed.id, reason });
                }
                Ok(pack) => {
                    for problem in installed.damaged {
                        tracing::warn!(%problem, pack = pack.id, "a file of an installed pack is passed over");
                        self.damaged.push(problem);
                    }
                    self.packs.push(pack);
                }
                Err(error) => {
                    tracing::warn!(%error, pack = installed.id, "installed pack not read");
                    self.unreadable.push(Unreadable { id: installed.id, reason: error.to_string() });
                }
            }
        }
    }
}

/// A pack in a few words.
pub(crate) fn summary(pack: &Pack) -> PackSummary {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    PackSummary {
        id: pack.id.clone(),
        version: pack.version.clone(),
        description: pack.description.clone(),
        entries: number(pack.entries.len()),
        documents: number(pack.documents.len()),
    }
}

/// That there is no such pack among these.
pub(crate) fn unknown<'a>(id: &str, packs: impl Iterator<Item = &'a Pack>) -> LibraryError {
    LibraryError::UnknownPack { id: id.to_owned(), known: packs.map(|pack| pack.id.clone()).collect() }
}
