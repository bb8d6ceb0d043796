//! The packs and the indexes over them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernelwright_packs::{Document, Pack, Problem};
use kernelwright_protocol::{Bottleneck, Entry, EntryKind, PackSummary, Passage, Passages, Phase};
use tantivy::Searcher;

use crate::contents;
use crate::error::LibraryError;
use crate::index::{self, PackIndex, Stored, entry_id};
use crate::packs::{self, Users};
use crate::passages::{Hit, joined, shown};
use crate::rank::{Filters, Searched, rank};

/// How much of an entry is read at once: more than any entry has, so that only long examples and documents need a second call.
const PAGE_CHARACTERS: usize = 12_000;

/// What the note under a passage that was cut takes at most.
const MARK_BYTES: usize = 40;

/// How many similar ids a wrong one is answered with.
const NEAREST_IDS: usize = 5;

/// How long what was seen of the user's packs is taken for what is there.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

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

/// A question.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words, identifiers, an error message; any text will do.
    pub text: String,
    /// Only what holds for this vendor, e.g. `nvidia`.
    pub vendor: Option<String>,
    /// Only what holds for this architecture, e.g. `sm_90` or `x86_64-avx512`.
    pub arch: Option<String>,
    /// Only what holds for this language, e.g. `triton`.
    pub language: Option<String>,
    /// Only entries of this kind.
    pub kind: Option<EntryKind>,
    /// Only entries about this bottleneck.
    pub bottleneck: Option<Bottleneck>,
    /// Only entries for this part of the work.
    pub phase: Option<Phase>,
    /// Only entries of this pack.
    pub pack: Option<String>,
    /// At most this many passages.
    pub limit: usize,
    /// At most this many bytes of text in all passages together; whole chunks without it.
    pub max_bytes: Option<usize>,
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
        std::thread::spawn(move || match Shelves::again(&before, &settings) {
            Ok(shelves) => {
                // Unless someone who could not wait has looked meanwhile.
                if let Some(known) = lock(&known).as_mut().filter(|known| Arc::ptr_eq(&known.shelves, &before)) {
                    *known = Known { shelves: Arc::new(shelves), looked: Instant::now() };
                }
            }
            // A pack that is being written is not whole for a moment; answers are of what was there before.
            Err(error) => tracing::warn!(%error, "packs not read again"),
        });
    }
}

fn lock(known: &Mutex<Option<Known>>) -> MutexGuard<'_, Option<Known>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A library that has been read.
pub(crate) struct Shelves {
    /// The built-in packs first.
    pub(crate) packs: Vec<Pack>,
    built_in: usize,
    damaged: Vec<Problem>,
    /// The built-in packs' index, if there are such packs, then one for each of the user's.
    indexes: Vec<Arc<PackIndex>>,
}

impl std::fmt::Debug for Shelves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelves").field("packs", &self.packs.len()).finish_non_exhaustive()
    }
}

impl Shelves {
    fn fill(settings: &Settings) -> Result<Self, LibraryError> {
        let started = Instant::now();
        let cache = settings.cache_dir.as_deref();
        let packs = packs::inside(settings)?;
        let indexes = if packs.is_empty() { Vec::new() } else { vec![Arc::new(index::built_in(&packs, cache)?)] };
        let shelves = Self { built_in: packs.len(), packs, damaged: Vec::new(), indexes }.with_packs_of(settings, None)?;
        tracing::info!(packs = shelves.packs.len(), elapsed = ?started.elapsed(), "library opened");
        Ok(shelves)
    }

    /// The same built-in packs with the user's as they are now.
    fn again(before: &Self, settings: &Settings) -> Result<Self, LibraryError> {
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

    fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        self.require(query.pack.as_deref())?;
        // A user's pack has an index of its own, in which nothing has to be filtered.
        let shares_index = |id: &String| self.packs[..self.built_in].iter().any(|pack| pack.id == *id);
        let filters = Filters {
            pack: query.pack.clone().filter(shares_index),
            kind: query.kind,
            vendor: query.vendor.clone(),
            architecture: query.arch.clone(),
            language: query.language.clone(),
            bottleneck: query.bottleneck,
            phase: query.phase,
        };
        if query.limit == 0 {
            return Ok(Passages::default());
        }
        let searched = self.searched(query.pack.as_deref());
        let found = rank(&searched, &query.text, &filters)?;
        let mut passages = joined(&found, query.limit)
            .iter()
            .map(|hit| passage(&searched[hit.index], hit))
            .collect::<Result<Vec<Passage>, LibraryError>>()?;
        if let Some(budget) = query.max_bytes {
            let budget = budget.saturating_sub(passages.len() * MARK_BYTES);
            let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
            let shown = shown(&texts, budget);
            for (passage, shown) in passages.iter_mut().zip(shown) {
                cut(passage, shown);
            }
            passages.retain(|passage| !passage.text.is_empty());
        }
        Ok(Passages { passages })
    }

    fn read(&self, id: &str, offset: usize) -> Result<Entry, LibraryError> {
        let id = id.trim();
        if id == contents::ID {
            return Ok(page(contents::of(&self.packs), offset));
        }
        if let Some((pack, name)) = id.split_once('/')
            && let Some(pack) = self.packs.iter().find(|known| known.id == pack)
        {
            if let Some(entry) = pack.entries.iter().find(|entry| entry.name == name) {
                let whole = Entry {
                    id: id.to_owned(),
                    title: entry.title.clone(),
                    kind: entry.kind,
                    sources: entry.sources.clone(),
                    text: entry.body().to_owned(),
                    next_offset: None,
                };
                return Ok(page(whole, offset));
            }
            if let Some((file, root)) = pack.documents.iter().find(|file| file.path == name).zip(pack.root.as_deref()) {
                let document = Document::read(root, Path::new(&file.path))?;
                let whole = Entry {
                    id: id.to_owned(),
                    title: document.path,
                    kind: EntryKind::Document,
                    sources: pack.sources.clone(),
                    text: document.text,
                    next_offset: None,
                };
                return Ok(page(whole, offset));
            }
        }
        Err(LibraryError::UnknownEntry { id: id.to_owned(), nearest: self.nearest(id)? })
    }

    /// Ids of entries that a wrong id may have meant.
    fn nearest(&self, id: &str) -> Result<Vec<String>, LibraryError> {
        let searched = self.searched(None);
        let mut ids: Vec<String> = Vec::new();
        for found in rank(&searched, id, &Filters::default())? {
            if ids.len() == NEAREST_IDS {
                break;
            }
            let Searched { index, searcher } = &searched[found.index];
            let id = index.stored(searcher, found.address)?.entry;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// The ids of all entries and documents, in the order of packs.
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> {
        self.packs.iter().flat_map(|pack| {
            let documents = pack.documents.iter().map(|file| format!("{}/{}", pack.id, file.path));
            pack.entries.iter().map(|entry| entry_id(pack, entry)).chain(documents)
        })
    }
}

/// A hit as it is handed out.
fn passage(searched: &Searched<'_>, hit: &Hit) -> Result<Passage, LibraryError> {
    let Searched { index, searcher } = searched;
    let mut whole: Option<Passage> = None;
    for &address in &hit.chunks {
        let (first, last) = lines(searcher, address)?;
        let stored = index.stored(searcher, address)?;
        match &mut whole {
            None => {
                let Stored { entry, place, title, kind, text } = stored;
                let heading = if title.is_empty() { place.clone() } else { title };
                let score = f64::from(hit.score);
                whole = Some(Passage { entry, heading, kind, path: place, start_line: first, end_line: last, score, text });
            }
            Some(passage) => {
                // What lies between neighbours is blank.
                let gap = first.saturating_sub(passage.end_line).clamp(1, 3);
                passage.text.push_str(&"\n".repeat(gap as usize));
                passage.text.push_str(&stored.text);
                passage.end_line = passage.end_line.max(last);
            }
        }
    }
    // A hit has at least the chunk that it was made of.
    whole.ok_or_else(|| LibraryError::Index(tantivy::TantivyError::InternalError("a hit without chunks".to_owned()).into()))
}

/// The chunk's first and last line in its file.
pub(crate) fn lines(searcher: &Searcher, address: tantivy::DocAddress) -> Result<(u32, u32), LibraryError> {
    let columns = searcher.segment_reader(address.segment_ord).fast_fields();
    let line = |name: &str| -> Result<u32, tantivy::TantivyError> {
        let value = columns.u64(name)?.first(address.doc_id).unwrap_or(1);
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    };
    Ok((line("start_line")?, line("end_line")?))
}

/// Keeps the first lines of a passage and says what is missing: a list of rules that ends in the middle must not look complete.
fn cut(passage: &mut Passage, lines: usize) {
    let all = passage.text.lines().count();
    if lines >= all {
        return;
    }
    passage.text = passage.text.lines().take(lines).collect::<Vec<_>>().join("\n");
    if lines > 0 {
        let _ = write!(passage.text, "\n[{} more lines: read_entry]", all - lines);
    }
    let last = passage.start_line + u32::try_from(lines.max(1) - 1).unwrap_or(u32::MAX);
    passage.end_line = passage.end_line.min(last);
}

/// A page of an entry.
fn page(mut whole: Entry, offset: usize) -> Entry {
    let text: String = whole.text.chars().skip(offset).take(PAGE_CHARACTERS).collect();
    let end = offset.saturating_add(text.chars().count());
    let is_more = whole.text.chars().nth(end).is_some();
    whole.next_offset = if is_more { u32::try_from(end).ok() } else { None };
    whole.text = text;
    whole
}
