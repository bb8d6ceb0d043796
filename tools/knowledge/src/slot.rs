//! The index of a pack, opened when a question first needs it: a question to one pack waits for no other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kernelwright_packs::Pack;

use crate::index::{self, IndexError, PackIndex};

/// Whose index some question waits for because another process makes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits(Arc<Mutex<Vec<String>>>);

impl Waits {
    /// A pack is waited for until what this returns is dropped.
    pub(crate) fn begin<'a>(&'a self, pack: &'a str) -> Waiting<'a> {
        self.lock().push(pack.to_owned());
        Waiting { waits: self, pack }
    }

    pub(crate) fn first(&self) -> Option<String> {
        self.lock().first().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That a pack is waited for.
pub(crate) struct Waiting<'a> {
    waits: &'a Waits,
    pack: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waits = self.waits.lock();
        if let Some(place) = waits.iter().position(|waiting| waiting == self.pack) {
            waits.remove(place);
        }
    }
}

/// Where indexes are kept, and who waits for one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) cache: Option<PathBuf>,
    pub(crate) waits: Waits,
}

/// An index that may not be open yet.
#[derive(Default)]
pub(crate) struct Slot {
    index: OnceLock<Arc<PackIndex>>,
    /// Held while it is opened, so that one thread does it.
    opening: Mutex<()>,
}

impl Slot {
    /// The same index, unless it is not open or lacks what another process was writing.
    pub(crate) fn again(&self) -> Self {
        match self.index.get().filter(|index| index.is_current()) {
            Some(index) => Self { index: OnceLock::from(Arc::clone(index)), opening: Mutex::default() },
            None => Self::default(),
        }
    }

    pub(crate) fn get(&self) -> Option<&Arc<PackIndex>> {
        self.index.get()
    }

    /// The index of the built-in packs, or of the one pack of a user.
    pub(crate) fn open(&self, packs: &[Pack], place: &Place) -> Result<&Arc<PackIndex>, IndexError> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let cache: Option<&Path> = place.cache.as_deref();
        let opened = match packs {
            [pack] if pack.root.is_some() => index::of_pack(pack, cache, &place.waits)?,
            packs => index::built_in(packs, cache)?,
        };
        Ok(self.index.get_or_init(|| Arc::new(opened)))
    }
}
