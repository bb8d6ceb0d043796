//! Writing indexes so that a kill at any point leaves what was committed before, and two processes do not disturb each other.
//!
//! - The **built-in packs** never change under a running executable: their index is written beside its place, which is named by their
//!   content, and renamed.
//! - A **user's pack** has an index that is brought up to date file by file: size and time say what may have changed, the content's hash
//!   what has. One process writes (tantivy's lock, which the system drops with the process); another one meanwhile searches what is
//!   committed, and waits only if that is nothing.
//!
//! Without a usable folder both are built in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use kernelwright_packs::{Document, Entry, Pack, Structure};
use kernelwright_protocol::{Bottleneck, ContentHash, EntryKind, Phase};
use tantivy::directory::error::LockError;
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::{Index, IndexWriter, TantivyDocument, TantivyError, Term};
use thiserror::Error;

use super::state::{Stamp, State, document_key, manifest};
use super::{ANY, FORMAT, Fields, Freshness, Nature, PackIndex, entry_id, schema, tokenizers};
use crate::chunk::{Chunk, chunks};

/// The writer's buffer. A pack of 20 MB fits; larger ones are written in pieces, which keeps memory bounded.
const WRITER_BYTES: usize = 128 << 20;

/// A small buffer for small changes, which is what most openings bring.
const SMALL_WRITER_BYTES: usize = 16 << 20;

/// More text than this is committed in pieces, so that a kill does not lose all of it.
const COMMIT_BYTES: u64 = 96 << 20;

/// More text of one chunk is not kept: lines of such a length are data.
const MAX_STORED_BYTES: usize = 16 << 10;

/// How often a process that has nothing to search looks whether another one has finished writing.
const PATIENCE: Duration = Duration::from_millis(40);

/// Numbers the builds of this process, so that each has a place of its own.
static BUILDS: AtomicUsize = AtomicUsize::new(0);

/// An index cannot be written or read.
#[derive(Debug, Error)]
pub enum IndexError {
    /// The search engine refused.
    #[error(transparent)]
    Engine(#[from] TantivyError),
    /// The file system refused.
    #[error("cannot use {path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The index of packs that never change, from under `cache` or built there.
pub(crate) fn built_in(packs: &[Pack], cache: Option<&Path>) -> Result<PackIndex, IndexError> {
    if let Some(cache) = cache {
        match cached(packs, &cache.join(format!("knowledge-{FORMAT}")).join(format!("built-in-{}", content(packs).as_str()))) {
            Ok(index) => return Ok(index),
            // A full disk or a read-only home is no reason not to answer.
            Err(error) => tracing::warn!(%error, cache = %cache.display(), "index not cached; building it in memory"),
        }
    }
    Ok(PackIndex::reading(built(packs, RamDirectory::create())?, Freshness::Current)?)
}

fn cached(packs: &[Pack], place: &Path) -> Result<PackIndex, IndexError> {
    if place.is_dir() {
        match Index::open_in_dir(place).and_then(|index| PackIndex::reading(index, Freshness::Current)) {
            Ok(index) => return Ok(index),
            Err(error) => {
                tracing::warn!(%error, place = %place.display(), "index damaged; building it again");
                fs::remove_dir_all(place).map_err(io(place))?;
            }
        }
    }
    let beside = place.with_extension(format!("{}-{}.tmp", std::process::id(), BUILDS.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir_all(&beside).map_err(io(&beside))?;
    let renamed = MmapDirectory::open(&beside)
        .map_err(|error| IndexError::from(TantivyError::from(error)))
        .and_then(|directory| built(packs, directory))
        .and_then(|_| fs::rename(&beside, place).map_err(io(place)));
    if let Err(error) = renamed {
        // A leftover costs room and nothing else.
        let _ = fs::remove_dir_all(&beside);
        // Another process was faster with the same content.
        if !place.is_dir() {
            return Err(error);
        }
    }
    Ok(PackIndex::reading(Index::open_in_dir(place)?, Freshness::Current)?)
}

fn built(packs: &[Pack], directory: impl Into<Box<dyn Directory>>) -> Result<Index, IndexError> {
    let (schema, fields) = schema();
    let index = Index::builder().schema(schema).tokenizers(tokenizers()).open_or_create(directory)?;
    let mut writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
    for pack in packs {
        for entry in &pack.entries {
            add_entry(&writer, &fields, pack, entry)?;
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(index)
}

/// Names everything that is indexed: packs of the same content share an index.
fn content(packs: &[Pack]) -> ContentHash {
    let mut all = String::new();
    for pack in packs {
        all.push_str(&manifest(pack));
        for entry in &pack.entries {
            // What the front matter leaves to the pack is in the manifest.
            for part in [&entry.path, &entry.text] {
                all.push_str(part);
                all.push('\0');
            }
        }
    }
    ContentHash::of(all)
}

/// The index of a user's pack, brought up to date.
pub(crate) fn of_pack(pack: &Pack, cache: Option<&Path>) -> Result<PackIndex, IndexError> {
    if let Some(cache) = cache {
        // Packs of one id may lie in several places.
        let root = pack.root.as_deref().unwrap_or(Path::new("")).to_string_lossy();
        let name = format!("{}-{}", pack.id, &ContentHash::of(&*root).as_str()[..12]);
        let place = cache.join(format!("knowledge-{FORMAT}")).join(name);
        match on_disk(pack, &place) {
            Ok(index) => return Ok(index),
            Err(error) => tracing::warn!(%error, place = %place.display(), "index not cached; building it in memory"),
        }
    }
    let (schema, fields) = schema();
    let index = Index::builder().schema(schema).tokenizers(tokenizers()).create_in_ram()?;
    let changes = Changes::since(State::default(), pack);
    write(&index, &fields, pack, changes)?;
    Ok(PackIndex::reading(index, Freshness::Current)?)
}

fn on_disk(pack: &Pack, place: &Path) -> Result<PackIndex, IndexError> {
    let open = || -> Result<PackIndex, IndexError> {
        let index = opened(place)?;
        let freshness = up_to_date(pack, &index)?;
        Ok(PackIndex::reading(index, freshness)?)
    };
    match open() {
        Ok(index) => Ok(index),
        Err(error @ IndexError::Io { .. }) => Err(error),
        Err(error) => {
            // Damaged: it holds nothing that cannot be built again. A reader of the old files keeps them until it lets go.
            tracing::warn!(%error, place = %place.display(), "index damaged; building it again");
            fs::remove_dir_all(place).map_err(io(place))?;
            open()
        }
    }
}

fn opened(place: &Path) -> Result<Index, IndexError> {
    fs::create_dir_all(place).map_err(io(place))?;
    let directory = MmapDirectory::open(place).map_err(TantivyError::from)?;
    Ok(Index::builder().schema(schema().0).tokenizers(tokenizers()).open_or_create(directory)?)
}

/// Brings an index up to date unless another process is at it.
fn up_to_date(pack: &Pack, index: &Index) -> Result<Freshness, IndexError> {
    let fields = schema().1;
    loop {
        let committed = committed(index)?;
        let is_first = committed.is_none();
        let changes = Changes::since(committed.unwrap_or_default(), pack);
        if changes.is_empty() && !is_first {
            return Ok(Freshness::Current);
        }
        match write(index, &fields, pack, changes) {
            Err(IndexError::Engine(TantivyError::LockFailure(LockError::LockBusy, _))) if is_first => thread::sleep(PATIENCE),
            // What is committed can be searched; the next look brings the rest.
            Err(IndexError::Engine(TantivyError::LockFailure(LockError::LockBusy, _))) => return Ok(Freshness::Behind),
            written => return written.map(|()| Freshness::Current),
        }
    }
}

/// The state of the last commit; `None` before the first.
fn committed(index: &Index) -> Result<Option<State>, IndexError> {
    let payload = index.load_metas()?.payload;
    Ok(payload.and_then(|payload| serde_json::from_str(&payload).ok()))
}

/// What has to be done to an index.
struct Changes<'a> {
    state: State,
    /// Everything has to go first.
    restart: bool,
    removed: Vec<String>,
    entries: Vec<(&'a Entry, Stamp)>,
    documents: Vec<&'a kernelwright_packs::DocumentFile>,
}

impl<'a> Changes<'a> {
    fn since(mut state: State, pack: &'a Pack) -> Self {
        let manifest = manifest(pack);
        let restart = state.manifest != manifest && !state.manifest.is_empty();
        if restart {
            state.files.clear();
        }
        state.manifest = manifest;
        let entries: Vec<(&Entry, Stamp)> = pack
            .entries
            .iter()
            .map(|entry| {
                let hash = ContentHash::of(&entry.text).as_str().to_owned();
                (entry, Stamp { bytes: entry.text.len() as u64, modified: 0, hash })
            })
            .filter(|(entry, stamp)| state.files.get(&entry.path) != Some(stamp))
            .collect();
        let documents: Vec<_> = pack
            .documents
            .iter()
            .filter(|file| !state.files.get(&document_key(&file.path)).is_some_and(|stamp| stamp.is_same(file)))
            .collect();
        let there: std::collections::HashSet<String> =
            pack.entries.iter().map(|entry| entry.path.clone()).chain(pack.documents.iter().map(|file| document_key(&file.path))).collect();
        let removed = state.files.keys().filter(|path| !there.contains(*path)).cloned().collect();
        Self { state, restart, removed, entries, documents }
    }

    fn is_empty(&self) -> bool {
        !self.restart && self.removed.is_empty() && self.entries.is_empty() && self.documents.is_empty()
    }
}

fn write(index: &Index, fields: &Fields, pack: &Pack, changes: Changes<'_>) -> Result<(), IndexError> {
    let size: u64 = changes.documents.iter().map(|file| file.bytes).chain(changes.entries.iter().map(|(_, stamp)| stamp.bytes)).sum();
    let buffer = if size > 1 << 20 { WRITER_BYTES } else { SMALL_WRITER_BYTES };
    let mut writer: IndexWriter = index.writer_with_num_threads(1, buffer)?;
    // Another process may have written between the look and the lock.
    let changes = match committed(index)? {
        Some(state) => Changes::since(state, pack),
        None => changes,
    };
    let Changes { mut state, restart, removed, entries, documents } = changes;
    if restart {
        writer.delete_all_documents()?;
    }
    for path in removed {
        writer.delete_term(Term::from_field_u64(fields.file, file_number(pack, &path)));
        state.files.remove(&path);
    }
    for (entry, stamp) in entries {
        writer.delete_term(Term::from_field_u64(fields.file, file_number(pack, &entry.path)));
        add_entry(&writer, fields, pack, entry)?;
        state.files.insert(entry.path.clone(), stamp);
    }
    let mut uncommitted = 0;
    for file in documents {
        let key = document_key(&file.path);
        let mut stamp = Stamp::unread(file);
        match pack.root.as_deref().map(|root| Document::read(root, Path::new(&file.path))) {
            Some(Ok(document)) => {
                ContentHash::of(&document.text).as_str().clone_into(&mut stamp.hash);
                if state.files.get(&key).is_none_or(|known| known.hash != stamp.hash) {
                    writer.delete_term(Term::from_field_u64(fields.file, file_number(pack, &key)));
                    add_document(&writer, fields, pack, &document)?;
                }
                uncommitted += document.text.len() as u64;
            }
            Some(Err(error)) => {
                tracing::warn!(%error, pack = pack.id, "document left out");
                writer.delete_term(Term::from_field_u64(fields.file, file_number(pack, &key)));
            }
            None => {}
        }
        state.files.insert(key, stamp);
        if uncommitted > COMMIT_BYTES {
            commit(&mut writer, &state)?;
            uncommitted = 0;
        }
    }
    commit(&mut writer, &state)?;
    writer.wait_merging_threads()?;
    Ok(())
}

fn commit(writer: &mut IndexWriter, state: &State) -> Result<(), IndexError> {
    let mut prepared = writer.prepare_commit()?;
    // Strings and numbers only: it cannot fail.
    prepared.set_payload(&serde_json::to_string(state).unwrap_or_default());
    prepared.commit()?;
    Ok(())
}

fn add_entry(writer: &IndexWriter, fields: &Fields, pack: &Pack, entry: &Entry) -> Result<(), TantivyError> {
    let is_python = Path::new(&entry.path).extension().is_some_and(|extension| extension == "py");
    let structure = if is_python { Structure::Python } else { Structure::Markdown };
    let source = Source {
        id: entry_id(pack, entry),
        place: &entry.path,
        number: file_number(pack, &entry.path),
        title: &entry.title,
        tags: entry.tags.join(" "),
        text: &entry.text,
        nature: if entry.kind == EntryKind::Example { Nature::Example } else { Nature::Prose },
    };
    let chunks = chunks(structure, &entry.text, (entry.body_line as usize).saturating_sub(1));
    add_chunks(writer, fields, pack, &source, &chunks, |document, chunk| {
        document.add_text(fields.kind, entry.kind.as_str());
        document.add_text(fields.bottleneck, entry.bottleneck.map_or(ANY, Bottleneck::as_str));
        document.add_text(fields.phase, entry.phase.map_or(ANY, Phase::as_str));
        add_platforms(document, fields, &entry.architectures, &entry.languages);
        (chunk.start_line, chunk.end_line)
    })
}

fn add_document(writer: &IndexWriter, fields: &Fields, pack: &Pack, document: &Document) -> Result<(), TantivyError> {
    let source = Source {
        id: format!("{}/{}", pack.id, document.path),
        place: &document.path,
        number: file_number(pack, &document_key(&document.path)),
        title: "",
        tags: String::new(),
        text: &document.text,
        nature: nature(&document.path, document.structure),
    };
    let chunks = chunks(document.structure, &document.text, 0);
    add_chunks(writer, fields, pack, &source, &chunks, |indexed, chunk| {
        indexed.add_text(fields.kind, EntryKind::Document.as_str());
        indexed.add_text(fields.bottleneck, ANY);
        indexed.add_text(fields.phase, ANY);
        add_platforms(indexed, fields, &pack.architectures, &pack.languages);
        document.lines.originals(chunk.start_line, chunk.end_line)
    })
}

/// A text as a whole, and what holds for all of its chunks.
struct Source<'a> {
    id: String,
    place: &'a str,
    number: u64,
    title: &'a str,
    tags: String,
    text: &'a str,
    nature: Nature,
}

fn add_chunks(
    writer: &IndexWriter,
    fields: &Fields,
    pack: &Pack,
    source: &Source<'_>,
    chunks: &[Chunk],
    facets: impl Fn(&mut TantivyDocument, &Chunk) -> (u32, u32),
) -> Result<(), TantivyError> {
    let lines: Vec<&str> = source.text.lines().collect();
    for (ordinal, chunk) in (0_u64..).zip(chunks) {
        let mut text = lines[chunk.start_line as usize - 1..chunk.end_line as usize].join("\n");
        if text.len() > MAX_STORED_BYTES {
            let end = (0..=MAX_STORED_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
            text.truncate(end);
        }
        let titles: Vec<&str> =
            [source.title].into_iter().filter(|title| !title.is_empty()).chain(chunk.heading.iter().map(String::as_str)).collect();
        let mut document = TantivyDocument::default();
        document.add_text(fields.entry, &source.id);
        document.add_text(fields.place, source.place);
        document.add_text(fields.title, titles.join(" > "));
        document.add_u64(fields.bytes, text.len() as u64);
        let breadcrumb = format!("{} {}", titles.join(" "), source.tags);
        let path = format!("{} {}", pack.id, source.place);
        document.add_text(fields.body, format!("{breadcrumb}\n{path}\n{text}"));
        document.add_text(fields.text, text);
        document.add_text(fields.breadcrumb, breadcrumb);
        document.add_text(fields.path, path);
        document.add_text(fields.symbols, chunk.symbols.join(" "));
        document.add_text(fields.pack, &pack.id);
        document.add_text(fields.vendor, pack.vendor.as_deref().unwrap_or(ANY));
        document.add_u64(fields.file, source.number);
        document.add_u64(fields.ordinal, ordinal);
        document.add_u64(fields.nature, source.nature.number());
        let (start, end) = facets(&mut document, chunk);
        document.add_u64(fields.start_line, u64::from(start));
        document.add_u64(fields.end_line, u64::from(end));
        writer.add_document(document)?;
    }
    Ok(())
}

fn add_platforms(document: &mut TantivyDocument, fields: &Fields, architectures: &[String], languages: &[String]) {
    for (field, values) in [(fields.architecture, architectures), (fields.language, languages)] {
        if values.is_empty() {
            document.add_text(field, ANY);
        }
        for value in values {
            document.add_text(field, value);
        }
    }
}

/// A number for a file of a pack.
fn file_number(pack: &Pack, path: &str) -> u64 {
    u64::from_str_radix(&ContentHash::of(format!("{}/{path}", pack.id)).as_str()[..16], 16).unwrap_or_default()
}

fn nature(path: &str, structure: Structure) -> Nature {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let has_folder = |folder: &str| path.split('/').rev().skip(1).any(|part| part == folder);
    match structure {
        Structure::Python | Structure::CFamily | Structure::Rust => {
            let is_test = ["test", "tests", "unittest", "unit_tests", "testing"].into_iter().any(has_folder)
                || name.starts_with("test_")
                || name.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with("_test"));
            let is_sample = path.split('/').any(|part| ["example", "sample", "tutorial"].into_iter().any(|word| part.contains(word)));
            match (is_test, is_sample) {
                (true, _) => Nature::Test,
                (false, true) => Nature::Sample,
                (false, false) => Nature::Code,
            }
        }
        _ => {
            let is_notes = ["changelog", "changes", "release", "licen", "third_party", "contributing", "code_of_conduct"]
                .into_iter()
                .any(|start| name.starts_with(start));
            if is_notes { Nature::Notes } else { Nature::Prose }
        }
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> IndexError + '_ {
    move |source| IndexError::Io { path: path.to_owned(), source }
}
