//! Moving a finished pack to where it belongs, at once.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::error::HomeError;

/// What happens to a pack that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occupied {
    /// It stays, and the new one is refused.
    Refused,
    /// It goes.
    Replaced,
}

/// Moves `pack` to `folder`. `old` is a free name beside `pack`, used where the file system cannot exchange two folders.
pub(super) fn put(pack: &Path, folder: &Path, old: &Path, occupied: Occupied) -> Result<(), HomeError> {
    let failed = |source: std::io::Error| HomeError::io(folder, source);
    if fs::symlink_metadata(folder).is_err() {
        return fs::rename(pack, folder).map_err(failed);
    }
    if occupied == Occupied::Refused {
        return Err(HomeError::AlreadyThere(folder.file_name().unwrap_or_default().to_string_lossy().into_owned()));
    }
    match renameat_with(CWD, pack, CWD, folder, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::rename(folder, old).map_err(failed)?;
            fs::rename(pack, folder).map_err(failed)
        }
        Err(errno) => Err(failed(errno.into())),
    }
}
