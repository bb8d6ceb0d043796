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
use super::{Fields, Freshness, PackIndex, WRITER_BYTES, kept, schema, tokenizers};
use crate::slot::{Waiting, Waits};

/// A small buffer for small changes, which is what most openings bring.
const SMALL_WRITER_BYTES: usize = 16 << 20;

/// More text than this is committed in pieces, so that a kill does not lose all of it.
const COMMIT_BYTES: u64 = 96 << 20;

/// How often a process that has nothing to search looks whether another one has finished writing.
const PATIENCE: Duration = Duration::from_millis(40);

/// The index of a user's pack, brought up to date.
pub(crate) fn of_pack(pack: &Pack, cache: Option<&Path>, waits: &Waits) -> Result<PackIndex, IndexError> {
    if let Some(cache) = cache {
        let root = pack.root.as_deref().unwrap_or(Path::new(""));
        let place = kept::place(cache, &pack.id, root);
        match on_disk(pack, &place, waits) {
            Ok(index) => return Ok(index),
            Err(error) => tracing::warn!(%error, place = %place.display(), "index not cached; building it in memory"),
        }
    }
    let (schema, fields) = schema();
    let index = Index::builder().schema(schema).tokenizers(tokenizers()).create_in_ram()?;
    let changes = Changes::since(State::default(), pack);
    write(writer(&index, &changes)?, &index, &fields, pack, changes)?;
    Ok(PackIndex::reading(index, Freshness::Current)?)
}

fn on_disk(pack: &Pack, place: &Path, waits: &Waits) -> Result<PackIndex, IndexError> {
    let open = || -> Result<PackIndex, IndexError> {
        let index = opened(place)?;
        kept::sign(place, pack.root.as_deref())?;
        let freshness = up_to_date(pack, &index, waits)?;
        Ok(PackIndex::reading(index, freshness)?)
    };
    match open() {
        Ok(index) => Ok(index),
        Err(error) if !error.is_damage() => Err(error),
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
fn up_to_date(pack: &Pack, index: &Index, waits: &Waits) -> Result<Freshness, IndexError> {
    let fields = schema().1;
    let mut waiting: Option<Waiting<'_>> = None;
    loop {
        let committed = committed(index)?;
        let is_first = committed.is_none();
        let changes = Changes::since(committed.unwrap_or_default(), pack);
        if changes.is_empty() && !is_first {
            return Ok(Freshness::Current);
        }
        match writer(index, &changes) {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) if is_first => {
                waiting.get_or_insert_with(|| waits.begin(&pack.id));
                thread::sleep(PATIENCE);
            }
            // What is committed can be searched; the next look brings the rest.
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(Freshness::Behind),
            writer => {
                drop(waiting);
                return write(writer?, index, &fields, pack, changes).map(|()| Freshness::Current);
            }
        }
    }
}

/// The state of the last commit; `None` before the first.
fn committed(index: &Index) -> Result<Option<State>, IndexError> {
    let payload = index.load_metas()?.payload;
    Ok(payload.and_then(|payload| serde_json::from_str(&payload).ok()))
}

/// Takes the lock for what has to be done.
fn writer(index: &Index, changes: &Changes<'_>) -> Result<IndexWriter, TantivyError> {
    let size: u64 = changes.documents.iter().map(|file| file.bytes).chain(changes.entries.iter().map(|(_, stamp)| stamp.bytes)).sum();
    let buffer = if size > 1 << 20 { WRITER_BYTES } else { SMALL_WRITER_BYTES };
    index.writer_with_num_threads(1, buffer)
}

fn write(mut writer: IndexWriter, index: &Index, fields: &Fields, pack: &Pack, changes: Changes<'_>) -> Result<(), IndexError> {
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use kernelwright_packs::load;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn who_waits_for_another_process_is_known_while_that_lasts() {
        let (folder, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::create_dir_all(folder.path().join("documents")).unwrap();
        fs::write(folder.path().join("documents/a.md"), "# Tiles\n").unwrap();
        fs::write(folder.path().join("pack.toml"), "id = \"p\"\nversion = \"1\"\nlicence = \"MIT\"\ndescription = \"P.\"\n").unwrap();
        let pack = load(folder.path()).unwrap().remove(0);
        let place = kept::place(cache.path(), "p", folder.path());
        let index = opened(&place).unwrap();
        let other: IndexWriter = index.writer_with_num_threads(1, SMALL_WRITER_BYTES).unwrap();
        let waits = Waits::default();
        thread::scope(|scope| {
            let opening = scope.spawn(|| of_pack(&pack, Some(cache.path()), &waits).map(|index| index.searcher().num_docs()));
            let began = Instant::now();
            while waits.first().is_none() && began.elapsed() < Duration::from_secs(10) {
                thread::sleep(PATIENCE);
            }
            assert_eq!(waits.first().as_deref(), Some("p"));
            drop(other);
            assert_eq!(opening.join().unwrap().unwrap(), 1);
        });
        assert_eq!(waits.first(), None);
    }
}
