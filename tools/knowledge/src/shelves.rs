//! The packs of a library and the indexes over them, as they were read.

use std::sync::Arc;
use std::time::Instant;

use kernelwright_packs::{Pack, Problem};

use crate::error::LibraryError;
use crate::index::{self, PackIndex, entry_id};
use crate::library::Settings;
use crate::packs::{self, Users};
use crate::rank::Searched;

/// A library that has been read.
pub(crate) struct Shelves {
    /// The built-in packs first.
    pub(crate) packs: Vec<Pack>,
    /// How many of them are built in.
    pub(crate) built_in: usize,
    /// Files of installed packs that cannot be read.
    pub(crate) damaged: Vec<Problem>,
    /// The built-in packs' index, if there are such packs, then one for each of the user's.
    indexes: Vec<Arc<PackIndex>>,
}

impl std::fmt::Debug for Shelves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelves").field("packs", &self.packs.len()).finish_non_exhaustive()
    }
}

impl Shelves {
    pub(crate) fn fill(settings: &Settings) -> Result<Self, LibraryError> {
        let started = Instant::now();
        let cache = settings.cache_dir.as_deref();
        let packs = packs::inside(settings)?;
        let indexes = if packs.is_empty() { Vec::new() } else { vec![Arc::new(index::built_in(&packs, cache)?)] };
        let shelves = Self { built_in: packs.len(), packs, damaged: Vec::new(), indexes }.with_packs_of(settings, None)?;
        tracing::info!(packs = shelves.packs.len(), elapsed = ?started.elapsed(), "library opened");
        Ok(shelves)
    }

    /// The same built-in packs with the user's as they are now.
    pub(crate) fn again(before: &Self, settings: &Settings) -> Result<Self, LibraryError> {
        let packs = before.packs[..before.built_in].to_vec();
        let indexes = before.indexes[..usize::from(before.built_in > 0)].to_vec();
        Self { packs, built_in: before.built_in, damaged: Vec::new(), indexes }.with_packs_of(settings, Some(before))
    }

    fn with_packs_of(mut self, settings: &Settings, before: Option<&Self>) -> Result<Self, LibraryError> {
        let Users { packs, damaged } = Users::of(settings, &self.packs)?;
        self.packs.extend(packs);
        self.damaged = damaged;
        for pack in &self.packs[self.built_in..] {
            let unchanged = before.and_then(|before| before.index_of(pack)).filter(|index| index.is_current());
            let index = match unchanged {
                Some(index) => index,
                None => Arc::new(index::of_pack(pack, settings.cache_dir.as_deref())?),
            };
            self.indexes.push(index);
        }
        Ok(self)
    }

    /// The index of a user's pack that is exactly this one.
    fn index_of(&self, pack: &Pack) -> Option<Arc<PackIndex>> {
        let place = self.packs[self.built_in..].iter().position(|known| known == pack)?;
        self.indexes.get(place + usize::from(self.built_in > 0)).map(Arc::clone)
    }

    /// The indexes in which a pack's chunks are, or all, as they are now.
    pub(crate) fn searched(&self, pack: Option<&str>) -> Vec<Searched<'_>> {
        let position = pack.map(|id| self.packs.iter().position(|pack| pack.id == id));
        let is_asked = |number: usize| match position {
            None => true,
            Some(None) => false,
            Some(Some(place)) if place < self.built_in => number == 0,
            Some(Some(place)) => number == place - self.built_in + usize::from(self.built_in > 0),
        };
        let all = self.indexes.iter().enumerate();
        all.filter(|(number, _)| is_asked(*number)).map(|(_, index)| Searched { index, searcher: index.searcher() }).collect()
    }

    /// Refuses a pack that does not exist.
    pub(crate) fn require(&self, pack: Option<&str>) -> Result<(), LibraryError> {
        match pack {
            Some(id) if self.packs.iter().all(|pack| pack.id != id) => Err(packs::unknown(id, self.packs.iter())),
            _ => Ok(()),
        }
    }

    /// The ids of all entries and documents, in the order of packs.
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> {
        self.packs.iter().flat_map(|pack| {
            let documents = pack.documents.iter().map(|file| format!("{}/{}", pack.id, file.path));
            pack.entries.iter().map(|entry| entry_id(pack, entry)).chain(documents)
        })
    }
}
