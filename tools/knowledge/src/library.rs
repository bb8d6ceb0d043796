//! A set of packs to ask, which looks by itself for what has changed in them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kernelwright_packs::Problem;
use kernelwright_protocol::{Entry, PackSummary, Passages};

use crate::error::LibraryError;
use crate::index;
use crate::packs::{self, Unreadable, Users};
use crate::search::Query;
use crate::shelves::Shelves;
use crate::slot::Place;
use crate::stamp::Stamp;

/// How long what was seen of the folders' times is taken for what is there.
const GLANCE: Duration = Duration::from_millis(500);

/// How long what was read of the user's packs is taken for what is there, when the folders' times say nothing else.
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

/// A searchable set of packs. Cheap to open: packs are read at the first question, and each is indexed at the first question that it may answer.
///
/// What was added to the user's packs, removed or replaced more than a second ago is seen by the next question: the times of their folders tell,
/// and reading the packs again takes some milliseconds. Files that were written over where they lie change no folder; a thread of its own looks
/// for those now and then, and the question that sets it off is answered from what is known.
#[derive(Debug)]
pub struct Library {
    settings: Settings,
    place: Place,
    known: Arc<Mutex<Option<Known>>>,
}

/// What was seen, and when. There is nothing after a failure, so that the next question tries again: the user may have mended the pack.
#[derive(Debug)]
struct Known {
    shelves: Arc<Shelves>,
    /// The folders' times; nothing if they were changing, so that the next look reads again.
    stamp: Option<Stamp>,
    /// When everything was last read.
    looked: Instant,
    /// When the times were.
    glanced: Instant,
}

impl Known {
    fn of(settings: &Settings, fill: impl FnOnce() -> Result<Shelves, LibraryError>) -> Result<Self, LibraryError> {
        let since = SystemTime::now();
        let shelves = fill()?;
        let stamp = Stamp::settled(settings, shelves.users(), since);
        Ok(Self { shelves: Arc::new(shelves), stamp, looked: Instant::now(), glanced: Instant::now() })
    }

    /// Whether the user's packs have changed as far as a cheap look can tell.
    fn is_stale(&mut self, settings: &Settings) -> bool {
        let is_fixed = settings.packs.is_empty() && settings.home.is_none();
        if is_fixed || self.glanced.elapsed() < GLANCE {
            return false;
        }
        if self.stamp.as_ref() != Some(&Stamp::of(settings, self.shelves.users())) || self.shelves.is_behind() {
            return true;
        }
        self.glanced = Instant::now();
        false
    }
}

impl Library {
    /// A library of the settings' packs. Reads nothing yet.
    #[must_use]
    pub fn open(settings: Settings) -> Self {
        let place = Place { cache: settings.cache_dir.clone(), ..Place::default() };
        Self { settings, place, known: Arc::default() }
    }

    /// Whether the packs are read and the indexes that such a question needs are open, so that it takes no more than a millisecond or two.
    #[must_use]
    pub fn is_ready(&self, query: &Query) -> bool {
        let Ok(mut known) = self.known.try_lock() else { return false };
        known.as_mut().is_some_and(|known| !known.is_stale(&self.settings) && known.shelves.is_open(query.pack.as_deref()))
    }

    /// The pack whose index some question waits for at this moment because another process is making it.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        self.place.waits.first()
    }

    /// The passages that fit a question best. A question without words has none; odd characters are not an error.
    ///
    /// The first call reads the packs and brings the indexes that it needs up to date, which takes some tens of milliseconds for what is
    /// indexed already and seconds for tens of megabytes that are not.
    pub fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        self.shelves_with(query.pack.as_deref())?.search(query)
    }

    /// An entry's text after its front matter, or a document's, from `offset` on, counted in characters. `index` is what there is to read.
    pub fn read(&self, id: &str, offset: usize) -> Result<Entry, LibraryError> {
        self.shelves_with(id.trim().split_once('/').map(|(pack, _)| pack))?.read(id, offset)
    }

    /// The packs there are.
    pub fn packs(&self) -> Result<Vec<PackSummary>, LibraryError> {
        Ok(self.shelves()?.packs.iter().map(packs::summary).collect())
    }

    /// Files of installed packs that cannot be read: they are passed over, and the rest of their packs is searched.
    pub fn damaged(&self) -> Result<Vec<Problem>, LibraryError> {
        Ok(self.shelves()?.damaged.clone())
    }

    /// Installed packs of which nothing can be read: they are passed over.
    pub fn unreadable(&self) -> Result<Vec<Unreadable>, LibraryError> {
        Ok(self.shelves()?.unreadable.clone())
    }

    /// Looks at the user's packs now instead of within some seconds, and indexes what has changed: for whoever has just written one.
    pub fn refresh(&self) -> Result<(), LibraryError> {
        self.looked_again()?.searched(None)?;
        Ok(())
    }

    /// Brings all indexes up to date.
    pub fn index_all(&self) -> Result<Vec<PackSummary>, LibraryError> {
        self.shelves()?.searched(None)?;
        self.packs()
    }

    /// Removes the index of an installed pack that was removed; it holds the pack's text.
    pub fn forget_index(&self, id: &str) -> std::io::Result<()> {
        match self.settings.cache_dir.as_deref().zip(self.settings.home.as_deref()) {
            Some((cache, home)) => index::forget(cache, id, &home.join(id)),
            None => Ok(()),
        }
    }

    /// Brings the index of one pack up to date and leaves the others as they are. The built-in packs share one.
    pub fn index(&self, id: &str) -> Result<PackSummary, LibraryError> {
        let built_in = packs::inside(&self.settings)?;
        let users = Users::of(&self.settings, &built_in)?.packs;
        let cache = self.settings.cache_dir.as_deref();
        if let Some(pack) = users.iter().find(|pack| pack.id == id) {
            index::of_pack(pack, cache, &self.place.waits)?;
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
        let Some(seen) = &mut *known else {
            if let Some(cache) = &self.settings.cache_dir {
                index::sweep(cache);
            }
            let seen = known.insert(Known::of(&self.settings, || Shelves::fill(&self.settings, &self.place))?);
            return Ok(Arc::clone(&seen.shelves));
        };
        if seen.is_stale(&self.settings) {
            match Known::of(&self.settings, || Shelves::again(&seen.shelves, &self.settings)) {
                Ok(now) => *seen = now,
                Err(error) => {
                    not_read(&error);
                    seen.glanced = Instant::now();
                }
            }
        } else if seen.looked.elapsed() > LOOK_AGAIN && !(self.settings.packs.is_empty() && self.settings.home.is_none()) {
            seen.looked = Instant::now();
            self.look_aside(Arc::clone(&seen.shelves));
        }
        Ok(Arc::clone(&seen.shelves))
    }

    /// The same after a fresh look if there is no such pack: it may have come this moment.
    pub(crate) fn shelves_with(&self, pack: Option<&str>) -> Result<Arc<Shelves>, LibraryError> {
        let shelves = self.shelves()?;
        match pack {
            Some(id) if shelves.packs.iter().all(|pack| pack.id != id) => self.looked_again(),
            _ => Ok(shelves),
        }
    }

    fn looked_again(&self) -> Result<Arc<Shelves>, LibraryError> {
        let before = self.shelves()?;
        let now = Known::of(&self.settings, || Shelves::again(&before, &self.settings))?;
        let shelves = Arc::clone(&now.shelves);
        *lock(&self.known) = Some(now);
        Ok(shelves)
    }

    /// Reads everything again beside the questions, and opens what has changed.
    fn look_aside(&self, before: Arc<Shelves>) {
        let (settings, known) = (self.settings.clone(), Arc::clone(&self.known));
        std::thread::spawn(move || {
            std::thread::sleep(AFTER);
            let looked = Known::of(&settings, || Shelves::again(&before, &settings));
            let opened = looked.and_then(|now| {
                now.shelves.searched(None)?;
                Ok(now)
            });
            match opened {
                Ok(now) => {
                    // Unless someone who could not wait has looked meanwhile.
                    if let Some(known) = lock(&known).as_mut().filter(|known| Arc::ptr_eq(&known.shelves, &before)) {
                        *known = now;
                    }
                }
                Err(error) => not_read(&error),
            }
        });
    }
}

/// A pack that is being written is not whole for a moment; answers are of what was there before.
fn not_read(error: &LibraryError) {
    tracing::warn!(%error, "packs not read again");
}

fn lock(known: &Mutex<Option<Known>>) -> MutexGuard<'_, Option<Known>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
