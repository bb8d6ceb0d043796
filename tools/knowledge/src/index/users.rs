//! The index of a user's pack, brought up to date file by file: size and time say what may have changed, the content's hash what has.
//!
//! A kill at any point leaves what was committed before. One process writes (tantivy's lock, which the system drops with the process); another
//! one meanwhile searches what is committed, and waits only if that is nothing. Without a usable folder the index is built in memory.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use kernelwright_packs::{Document, Pack};
use kernelwright_protocol::ContentHash;
use tantivy::directory::MmapDirectory;
use tantivy::directory::error::LockError;
use tantivy::{Index, IndexWriter, TantivyError, Term};

use super::add::{add_document, add_entry, file_number};
use super::changes::Changes;
use super::error::{IndexError, io};
use super::state::{Stamp, State, document_key};
use super::{FORMAT, Fields, Freshness, PackIndex, WRITER_BYTES, schema, tokenizers};

/// A small buffer for small changes, which is what most openings bring.
const SMALL_WRITER_BYTES: usize = 16 << 20;

/// More text than this is committed in pieces, so that a kill does not lose all of it.
const COMMIT_BYTES: u64 = 96 << 20;

/// How often a process that has nothing to search looks whether another one has finished writing.
const PATIENCE: Duration = Duration::from_millis(40);

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
