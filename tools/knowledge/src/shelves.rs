//! The packs of a library and the indexes over them, as they were read.

use std::time::Instant;

use kernelwright_packs::{Pack, Problem};

use crate::error::LibraryError;
use crate::index::entry_id;
use crate::library::Settings;
use crate::packs::{self, Unreadable, Users};
use crate::rank::Searched;
use crate::slot::{Place, Slot};

/// A library that has been read.
pub(crate) struct Shelves {
    /// The built-in packs first.
    pub(crate) packs: Vec<Pack>,
    /// How many of them are built in.
    pub(crate) built_in: usize,
    /// Files of installed packs that cannot be read.
    pub(crate) damaged: Vec<Problem>,
    /// Installed packs of which nothing can be read.
    pub(crate) unreadable: Vec<Unreadable>,
    /// The built-in packs' index, if there are such packs, then one for each of the user's.
    indexes: Vec<Slot>,
    place: Place,
}

impl std::fmt::Debug for Shelves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelves").field("packs", &self.packs.len()).finish_non_exhaustive()
    }
}

impl Shelves {
    pub(crate) fn fill(settings: &Settings, place: &Place) -> Result<Self, LibraryError> {
        let started = Instant::now();
        let packs = packs::inside(settings)?;
        let built_in = packs.len();
        let indexes = if packs.is_empty() { Vec::new() } else { vec![Slot::default()] };
        let empty = Self { built_in, packs, damaged: Vec::new(), unreadable: Vec::new(), indexes, place: place.clone() };
        let shelves = empty.with_packs_of(settings, None)?;
        tracing::info!(packs = shelves.packs.len(), elapsed = ?started.elapsed(), "library opened");
        Ok(shelves)
    }

    /// The same built-in packs with the user's as they are now.
    pub(crate) fn again(before: &Self, settings: &Settings) -> Result<Self, LibraryError> {
        let packs = before.packs[..before.built_in].to_vec();
        let indexes = before.indexes[..usize::from(before.built_in > 0)].iter().map(Slot::again).collect();
        let place = before.place.clone();
        let built_in = Self { packs, built_in: before.built_in, damaged: Vec::new(), unreadable: Vec::new(), indexes, place };
        built_in.with_packs_of(settings, Some(before))
    }

    fn with_packs_of(mut self, settings: &Settings, before: Option<&Self>) -> Result<Self, LibraryError> {
        let Users { packs, damaged, unreadable } = Users::of(settings, &self.packs)?;
        for pack in &packs {
            let unchanged = before.and_then(|before| before.slot_of(pack)).map(Slot::again);
            self.indexes.push(unchanged.unwrap_or_default());
        }
        self.packs.extend(packs);
        self.damaged = damaged;
        self.unreadable = unreadable;
        Ok(self)
    }

    /// The index of a user's pack that is exactly this one.
    fn slot_of(&self, pack: &Pack) -> Option<&Slot> {
        let place = self.packs[self.built_in..].iter().position(|known| known == pack)?;
        self.indexes.get(place + usize::from(self.built_in > 0))
    }

    /// The packs of the user.
    pub(crate) fn users(&self) -> &[Pack] {
        &self.packs[self.built_in..]
    }

    /// The numbers of the indexes in which a pack's chunks are, or of all.
    fn numbers(&self, pack: Option<&str>) -> std::ops::Range<usize> {
        let first_users = usize::from(self.built_in > 0);
        let Some(id) = pack else { return 0..self.indexes.len() };
        match self.packs.iter().position(|pack| pack.id == id) {
            None => 0..0,
            Some(place) if place < self.built_in => 0..1,
            Some(place) => place - self.built_in + first_users..place - self.built_in + first_users + 1,
        }
    }

    /// Whether the indexes of a pack, or all, are open.
    pub(crate) fn is_open(&self, pack: Option<&str>) -> bool {
        self.numbers(pack).all(|number| self.indexes[number].get().is_some())
    }

    /// Whether an open index lacks what another process was writing.
    pub(crate) fn is_behind(&self) -> bool {
        self.indexes.iter().filter_map(Slot::get).any(|index| !index.is_current())
    }

    /// The indexes in which a pack's chunks are, or all, as they are now; those that are not open are brought up to date first.
    pub(crate) fn searched(&self, pack: Option<&str>) -> Result<Vec<Searched<'_>>, LibraryError> {
        let first_users = usize::from(self.built_in > 0);
        let open = |number: usize| {
            let packs = match number.checked_sub(first_users) {
                Some(users) => std::slice::from_ref(&self.packs[self.built_in + users]),
                None => &self.packs[..self.built_in],
            };
            let index = self.indexes[number].open(packs, &self.place)?;
            Ok(Searched { index, searcher: index.searcher() })
        };
        self.numbers(pack).map(open).collect()
    }

    /// Refuses a pack that does not exist or cannot be read.
    pub(crate) fn require(&self, pack: Option<&str>) -> Result<(), LibraryError> {
        let Some(id) = pack.filter(|id| self.packs.iter().all(|pack| pack.id != *id)) else { return Ok(()) };
        match self.unreadable.iter().find(|pack| pack.id == id) {
            Some(Unreadable { id, reason }) => Err(LibraryError::UnreadablePack { id: id.clone(), reason: reason.clone() }),
            None => Err(packs::unknown(id, self.packs.iter())),
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
