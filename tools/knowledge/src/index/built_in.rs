//! The index of the packs inside the executable, which never change while it runs: written beside its place, which is named by their content,
//! and renamed. Without a usable folder it is built in memory.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernelwright_packs::Pack;
use kernelwright_protocol::ContentHash;
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::{Index, IndexWriter, TantivyError};

use super::add::add_entry;
use super::error::{IndexError, io};
use super::state::manifest;
use super::{FORMAT, Freshness, PackIndex, WRITER_BYTES, schema, tokenizers};

/// Numbers the builds of this process, so that each has a place of its own.
static BUILDS: AtomicUsize = AtomicUsize::new(0);

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
