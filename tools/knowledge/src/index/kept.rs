//! Where the indexes of users' packs are kept, and which of them are of no use any more.
//!
//! An index holds its pack's text, so it goes with the pack: at once when the pack is removed, and otherwise (a folder of packs that was deleted by
//! hand, a kill) when a process next opens its library.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernelwright_protocol::ContentHash;

use super::FORMAT;
use super::error::{IndexError, io};

/// The file of an index that names its pack's folder.
const SIGN: &str = "pack-folder";

/// The folder of a pack's index. Packs of one id may lie in several places.
pub(super) fn place(cache: &Path, id: &str, root: &Path) -> PathBuf {
    let name = format!("{id}-{}", &ContentHash::of(&*root.to_string_lossy()).as_str()[..12]);
    cache.join(format!("knowledge-{FORMAT}")).join(name)
}

/// Notes in an index which pack it is of.
pub(super) fn sign(place: &Path, root: Option<&Path>) -> Result<(), IndexError> {
    let file = place.join(SIGN);
    match root {
        Some(root) if !file.exists() => fs::write(&file, root.to_string_lossy().as_bytes()).map_err(io(&file)),
        _ => Ok(()),
    }
}

/// Removes the index of a pack that is there no more.
pub(crate) fn forget(cache: &Path, id: &str, root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(place(cache, id, root)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes the indexes of packs whose folders are there no more. What cannot be removed costs room and nothing else.
pub(crate) fn sweep(cache: &Path) {
    let Ok(listed) = fs::read_dir(cache.join(format!("knowledge-{FORMAT}"))) else { return };
    for place in listed.flatten().map(|entry| entry.path()) {
        let Ok(root) = fs::read_to_string(place.join(SIGN)) else { continue };
        if fs::symlink_metadata(&root).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            tracing::info!(place = %place.display(), root, "the index of a pack that is gone is removed");
            let _ = fs::remove_dir_all(&place);
        }
    }
}
