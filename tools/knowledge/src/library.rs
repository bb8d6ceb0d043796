//! A set of packs to ask, which looks by itself for what has changed in them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernelwright_packs::Problem;
use kernelwright_protocol::{Entry, PackSummary, Passages};

use crate::error::LibraryError;
use crate::index;
use crate::packs::{self, Users};
use crate::search::Query;
use crate::shelves::Shelves;

/// How long what was seen of the user's packs is taken for what is there.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How long the question that sets it off has the processors to itself.
const AFTER: Duration = Duration::from_millis(50);

/// Whether the packs inside the executable belong to a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// They do.
    #[default]
    Included,
    /// Only the user's packs are searched.
    LeftOut,
}

/// Which packs, and where their index may be kept.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether the built-in packs are searched.
    pub built_in: BuiltIn,
    /// Folders of the user: each a pack or a folder of packs.
    pub packs: Vec<PathBuf>,
    /// The folder of installed packs, which need not be there; lessons are kept in its pack `learnt`, and nowhere without it.
    pub home: Option<PathBuf>,
    /// Where indexes are kept between processes; in memory without it.
    pub cache_dir: Option<PathBuf>,
}

/// A searchable set of packs. Cheap to open: packs are read and indexed at the first question.
///
/// The user's packs are looked at again now and then, so that what was added or changed is found without a new process. A thread of its own
/// does that: the question that sets it off is answered from what is known.
#[derive(Debug)]
pub struct Library {
    settings: Settings,
    known: Arc<Mutex<Option<Known>>>,
}

/// What was seen, and when. There is nothing after a failure, so that the next question tries again: the user may have mended the pack.
#[derive(Debug)]
struct Known {
    shelves: Arc<Shelves>,
    looked: Instant,
}

impl Library {
    /// A library of the settings' packs. Reads nothing yet.
    #[must_use]
    pub fn open(settings: Settings) -> Self {
        Self { settings, known: Arc::default() }
    }

    /// Whether packs and indexes are open, so that a search takes no more than a millisecond or two.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.known.try_lock().is_ok_and(|known| known.is_some())
    }

    /// The passages that fit a question best. A question without words has none; odd characters are not an error.
    ///
    /// The first call reads the packs and brings their indexes up to date, which takes some tens of milliseconds for what is indexed
    /// already and seconds for tens of megabytes that are not.
    pub fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        self.shelves()?.search(query)
    }

    /// An entry's text after its front matter, or a document's, from `offset` on, counted in characters. `index` is what there is to read.
    pub fn read(&self, id: &str, offset: usize) -> Result<Entry, LibraryError> {
        self.shelves()?.read(id, offset)
    }

    /// The packs there are.
    pub fn packs(&self) -> Result<Vec<PackSummary>, LibraryError> {
        Ok(self.shelves()?.packs.iter().map(packs::summary).collect())
    }

    /// Files of installed packs that cannot be read: they are passed over, and the rest of their packs is searched.
    pub fn damaged(&self) -> Result<Vec<Problem>, LibraryError> {
        Ok(self.shelves()?.damaged.clone())
    }

    /// Looks at the user's packs now instead of within some seconds, and indexes what has changed: for whoever has just written one.
    pub fn refresh(&self) -> Result<(), LibraryError> {
        let before = self.shelves()?;
        let shelves = Arc::new(Shelves::again(&before, &self.settings)?);
        *lock(&self.known) = Some(Known { shelves, looked: Instant::now() });
        Ok(())
    }

    /// Brings the index of one pack up to date and leaves the others as they are. The built-in packs share one.
    pub fn index(&self, id: &str) -> Result<PackSummary, LibraryError> {
        let built_in = packs::inside(&self.settings)?;
        let users = Users::of(&self.settings, &built_in)?.packs;
        let cache = self.settings.cache_dir.as_deref();
        if let Some(pack) = users.iter().find(|pack| pack.id == id) {
            index::of_pack(pack, cache)?;
            return Ok(packs::summary(pack));
        }
        match built_in.iter().find(|pack| pack.id == id) {
            Some(pack) => {
                index::built_in(&built_in, cache)?;
                Ok(packs::summary(pack))
            }
            None => Err(packs::unknown(id, built_in.iter().chain(&users))),
        }
    }

    pub(crate) fn shelves(&self) -> Result<Arc<Shelves>, LibraryError> {
        let mut known = lock(&self.known);
        if let Some(Known { shelves, looked }) = &mut *known {
            let is_fixed = self.settings.packs.is_empty() && self.settings.home.is_none();
            if !is_fixed && looked.elapsed() > LOOK_AGAIN {
                *looked = Instant::now();
                self.look_again(Arc::clone(shelves));
            }
            return Ok(Arc::clone(shelves));
        }
        let shelves = Arc::new(Shelves::fill(&self.settings)?);
        *known = Some(Known { shelves: Arc::clone(&shelves), looked: Instant::now() });
        Ok(shelves)
    }

    fn look_again(&self, before: Arc<Shelves>) {
        let (settings, known) = (self.settings.clone(), Arc::clone(&self.known));
        std::thread::spawn(move || {
            std::thread::sleep(AFTER);
            match Shelves::again(&before, &settings) {
                Ok(shelves) => {
                    // Unless someone who could not wait has looked meanwhile.
                    if let Some(known) = lock(&known).as_mut().filter(|known| Arc::ptr_eq(&known.shelves, &before)) {
                        *known = Known { shelves: Arc::new(shelves), looked: Instant::now() };
                    }
                }
                // A pack that is being written is not whole for a moment; answers are of what was there before.
                Err(error) => tracing::warn!(%error, "packs not read again"),
            }
        });
    }
}

fn lock(known: &Mutex<Option<Known>>) -> MutexGuard<'_, Option<Known>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
