//! The packs, their chunks and the index over them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use kernelwright_packs::{Kind, Pack, built_in, load};
use kernelwright_protocol::{ContentHash, Entry, EntryKind, PackSummary, Passage, Passages};

use crate::chunk::{Chunk, chunks};
use crate::error::LibraryError;
use crate::index::{ChunkIndex, Document, Facets, Filters};
use crate::passages::{Hit, Repeats, fitted, joined};

/// How much of an entry is read at once: more than any entry has, so that only long examples need a second call.
const PAGE_CHARACTERS: usize = 12_000;

/// How many similar ids a wrong one is answered with.
const NEAREST_IDS: usize = 5;

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
    /// Only entries of this pack.
    pub pack: Option<String>,
    /// At most this many passages.
    pub limit: usize,
    /// At most this many bytes of text in all passages together; whole chunks without it.
    pub max_bytes: Option<usize>,
}

/// A searchable set of packs. Cheap to open: packs are read and indexed at the first question.
#[derive(Debug)]
pub struct Library {
    settings: Settings,
    /// Stays empty after a failure, so that the next question tries again: the user may have mended the pack.
    shelves: Mutex<Option<Arc<Shelves>>>,
}

impl Library {
    /// A library of the settings' packs. Reads nothing yet.
    #[must_use]
    pub fn open(settings: Settings) -> Self {
        Self { settings, shelves: Mutex::new(None) }
    }

    /// The passages that fit a question best. A question without words has none; odd characters are not an error.
    ///
    /// The first call reads the packs and may take some tens of milliseconds.
    pub fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        self.shelves()?.search(query)
    }

    /// An entry's text after its front matter, from `offset` on, counted in characters.
    pub fn read(&self, id: &str, offset: usize) -> Result<Entry, LibraryError> {
        self.shelves()?.read(id, offset)
    }

    /// The packs there are.
    pub fn packs(&self) -> Result<Vec<PackSummary>, LibraryError> {
        let summary = |pack: &Pack| PackSummary {
            id: pack.id.clone(),
            version: pack.version.clone(),
            description: pack.description.clone(),
            entries: u32::try_from(pack.entries.len()).unwrap_or(u32::MAX),
        };
        Ok(self.shelves()?.packs.iter().map(summary).collect())
    }

    fn shelves(&self) -> Result<Arc<Shelves>, LibraryError> {
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelves) = &*shelves {
            return Ok(Arc::clone(shelves));
        }
        let filled = Arc::new(Shelves::fill(&self.settings)?);
        *shelves = Some(Arc::clone(&filled));
        Ok(filled)
    }
}

/// A library that has been read.
struct Shelves {
    packs: Vec<Pack>,
    /// In the order of packs, entries and lines; the index knows a chunk by its place here.
    chunks: Vec<Placed>,
    index: ChunkIndex,
}

impl std::fmt::Debug for Shelves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelves").field("packs", &self.packs.len()).field("chunks", &self.chunks.len()).finish_non_exhaustive()
    }
}

/// A chunk and where it is.
struct Placed {
    pack: usize,
    entry: usize,
    chunk: Chunk,
}

impl Shelves {
    fn fill(settings: &Settings) -> Result<Self, LibraryError> {
        let started = std::time::Instant::now();
        let mut packs = if settings.built_in == BuiltIn::Included { built_in()? } else { Vec::new() };
        for folder in &settings.packs {
            packs.extend(load(folder)?);
        }
        for (i, pack) in packs.iter().enumerate() {
            if packs[..i].iter().any(|other| other.id == pack.id) {
                return Err(LibraryError::DuplicatePack(pack.id.clone()));
            }
        }

        let mut placed = Vec::new();
        for (pack_number, pack) in packs.iter().enumerate() {
            for (entry_number, entry) in pack.entries.iter().enumerate() {
                placed.extend(chunks(entry).into_iter().map(|chunk| Placed { pack: pack_number, entry: entry_number, chunk }));
            }
        }
        let index = ChunkIndex::open(&content(&packs), settings.cache_dir.as_deref(), |add| {
            for (number, placed) in (0..).zip(&placed) {
                let pack = &packs[placed.pack];
                let entry = &pack.entries[placed.entry];
                let kind = wire_kind(entry.kind);
                add(Document {
                    number,
                    body: &lines_of(&entry.text, &placed.chunk),
                    breadcrumb: &format!("{} {} {}", entry.title, placed.chunk.heading.join(" "), entry.tags.join(" ")),
                    path: &format!("{} {}", pack.id, entry.path),
                    facets: Facets {
                        pack: &pack.id,
                        kind: kind.as_str(),
                        vendor: pack.vendor.as_deref(),
                        architectures: &entry.architectures,
                        languages: &entry.languages,
                    },
                })?;
            }
            Ok(())
        })?;
        tracing::info!(packs = packs.len(), chunks = placed.len(), elapsed = ?started.elapsed(), "library opened");
        Ok(Self { packs, chunks: placed, index })
    }

    fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        let filters = Filters {
            pack: query.pack.clone(),
            kind: query.kind.map(|kind| kind.as_str().to_owned()),
            vendor: query.vendor.clone(),
            architecture: query.arch.clone(),
            language: query.language.clone(),
        };
        // Joined neighbours and repeats free places, which what follows them takes.
        let found = self.index.search(&query.text, &filters, query.limit.saturating_mul(4))?;
        let places: Vec<(&Placed, Vec<&str>, f32)> = found
            .into_iter()
            .filter_map(|(number, score)| {
                let placed = self.chunks.get(usize::try_from(number).ok()?)?;
                Some((placed, self.packs[placed.pack].entries[placed.entry].text.lines().collect(), score))
            })
            .collect();
        let hits = places
            .iter()
            .map(|(placed, lines, score)| Hit {
                entry: (placed.pack, placed.entry),
                lines,
                chunk: placed.chunk.clone(),
                repeats: match self.packs[placed.pack].entries[placed.entry].kind {
                    Kind::Example => Repeats::Dropped,
                    _ => Repeats::Kept,
                },
                score: *score,
            })
            .collect();
        let mut hits = joined(hits, query.limit);
        if let Some(budget) = query.max_bytes {
            hits = fitted(hits, budget);
        }
        Ok(Passages { passages: hits.iter().map(|hit| self.passage(hit)).collect() })
    }

    fn passage(&self, hit: &Hit<'_>) -> Passage {
        let pack = &self.packs[hit.entry.0];
        let entry = &pack.entries[hit.entry.1];
        let heading: Vec<&str> = [entry.title.as_str()].into_iter().chain(hit.chunk.heading.iter().map(String::as_str)).collect();
        Passage {
            entry: format!("{}/{}", pack.id, entry.name),
            heading: heading.join(" > "),
            kind: wire_kind(entry.kind),
            path: entry.path.clone(),
            start_line: hit.chunk.start_line,
            end_line: hit.chunk.end_line,
            score: f64::from(hit.score),
            text: hit.text(),
        }
    }

    fn read(&self, id: &str, offset: usize) -> Result<Entry, LibraryError> {
        let known = |id: &str| {
            let (pack, name) = id.split_once('/')?;
            self.packs.iter().find(|known| known.id == pack)?.entries.iter().find(|entry| entry.name == name)
        };
        let Some(entry) = known(id.trim()) else {
            return Err(LibraryError::UnknownEntry { id: id.to_owned(), nearest: self.nearest(id)? });
        };
        let text: String = entry.body().chars().skip(offset).take(PAGE_CHARACTERS).collect();
        let end = offset + text.chars().count();
        let is_more = entry.body().chars().nth(end).is_some();
        Ok(Entry {
            id: id.trim().to_owned(),
            title: entry.title.clone(),
            kind: wire_kind(entry.kind),
            sources: entry.sources.clone(),
            text,
            next_offset: if is_more { u32::try_from(end).ok() } else { None },
        })
    }

    /// Ids of entries that a wrong id may have meant.
    fn nearest(&self, id: &str) -> Result<Vec<String>, LibraryError> {
        let mut ids = Vec::new();
        for (number, _) in self.index.search(id, &Filters::default(), NEAREST_IDS * 4)? {
            let Some(placed) = usize::try_from(number).ok().and_then(|number| self.chunks.get(number)) else { continue };
            let pack = &self.packs[placed.pack];
            let id = format!("{}/{}", pack.id, pack.entries[placed.entry].name);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids.truncate(NEAREST_IDS);
        Ok(ids)
    }
}

fn lines_of(text: &str, chunk: &Chunk) -> String {
    let (skip, take) = (chunk.start_line as usize - 1, (chunk.end_line + 1 - chunk.start_line) as usize);
    text.lines().skip(skip).take(take).collect::<Vec<_>>().join("\n")
}

/// Names everything that is indexed: packs of the same content share an index.
fn content(packs: &[Pack]) -> ContentHash {
    let mut all = String::new();
    for pack in packs {
        for entry in &pack.entries {
            let vendor = pack.vendor.as_deref().unwrap_or_default();
            // The text holds everything that the front matter says; what it leaves to the pack is added.
            let parts = [&pack.id, vendor, &entry.path, &entry.architectures.join(" "), &entry.languages.join(" "), &entry.text];
            for part in parts {
                all.push_str(part);
                all.push('\0');
            }
        }
    }
    ContentHash::of(all)
}

/// The packs' word for a kind and the wire's are the same; the crates do not know each other.
fn wire_kind(kind: Kind) -> EntryKind {
    match kind {
        Kind::Constraint => EntryKind::Constraint,
        Kind::Guidance => EntryKind::Guidance,
        Kind::Hardware => EntryKind::Hardware,
        Kind::Pattern => EntryKind::Pattern,
        Kind::Pitfall => EntryKind::Pitfall,
        Kind::Error => EntryKind::Error,
        Kind::Api => EntryKind::Api,
        Kind::Example => EntryKind::Example,
    }
}
