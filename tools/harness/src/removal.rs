//! Removes what confined code has made: a tree of any depth, in room that does not grow with it.
//!
//! `std::fs::remove_dir_all` calls itself for every level and keeps a descriptor open for each, so that a candidate that nests folders ends
//! the supervisor, and every later one that sweeps up after it. Here a folder that is not empty is moved up to the top before its turn comes:
//! each is moved once, and two descriptors are all that is ever open.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmod, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes a folder with everything in it; links are removed, never followed. Nobody else may work in it any more.
///
/// What cannot be removed stays, and the rest goes all the same.
pub(crate) fn remove_tree(folder: &Path) -> io::Result<()> {
    let top = open_as_own(CWD, &CString::new(folder.as_os_str().as_encoded_bytes())?)?;
    let mut lifted = Lifted::default();
    loop {
        // Reading a folder that changes may miss what was put in meanwhile, so it is read until it stays empty or nothing helps any more.
        let before = lifted.progress;
        for_each_entry(&top, |name| lifted.remove(&top, name))?;
        if lifted.progress == before {
            break;
        }
    }
    Ok(unlinkat(CWD, folder, AtFlags::REMOVEDIR)?)
}

/// Folders on their way to the top, and how much was removed or moved so far.
#[derive(Debug, Default)]
struct Lifted {
    progress: u64,
    /// Part of every name that is given at the top, so that no candidate has taken it.
    prefix: Option<u64>,
}

impl Lifted {
    /// Removes one entry of the top; the folders in it that are not empty become entries of the top themselves.
    fn remove(&mut self, top: &OwnedFd, name: &CStr) {
        if self.remove_simple(top, name) {
            return;
        }
        let Ok(folder) = open_as_own(top.as_fd(), name) else { return };
        loop {
            let before = self.progress;
            let read = for_each_entry(&folder, |inner| {
                if !self.remove_simple(&folder, inner) {
                    self.lift(top, &folder, inner);
                }
            });
            if read.is_err() || self.remove_simple(top, name) || self.progress == before {
                return;
            }
        }
    }

    /// Removes whatever is no folder, or an empty one.
    fn remove_simple(&mut self, parent: &OwnedFd, name: &CStr) -> bool {
        let removed = match unlinkat(parent, name, AtFlags::empty()) {
            // Linux says the first, POSIX the second.
            Err(Errno::ISDIR | Errno::PERM) => unlinkat(parent, name, AtFlags::REMOVEDIR),
            other => other,
        };
        self.progress += u64::from(removed.is_ok());
        removed.is_ok()
    }

    fn lift(&mut self, top: &OwnedFd, parent: &OwnedFd, name: &CStr) {
        // A folder that is not writable cannot change its parent.
        let _ = open_as_own(parent.as_fd(), name);
        let prefix = *self.prefix.get_or_insert_with(crate::scratch::random_name);
        let moved = renameat(parent, name, top, format!("{prefix:016x}-{}", self.progress));
        self.progress += u64::from(moved.is_ok());
    }
}

/// Opens a folder without following a link, and takes back the rights to it that its maker may have given up.
fn open_as_own(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let place = openat(parent, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if !Mode::from_raw_mode(fstat(&place)?.st_mode).contains(Mode::RWXU) {
        // By its descriptor: a name could be a link, and descriptors of this kind have no call of their own for it.
        let _ = chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU);
    }
    Ok(openat(&place, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn for_each_entry(folder: &OwnedFd, mut visit: impl FnMut(&CStr)) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            visit(entry.file_name());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_tree_of_any_depth_is_removed() {
        let around = tempfile::tempdir().unwrap();
        let top = around.path().join("top");
        fs::create_dir(&top).unwrap();
        let mut inner = openat(CWD, &top, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        for level in 0..8_000 {
            rustix::fs::mkdirat(&inner, "d", Mode::RWXU).unwrap();
            if level % 100 == 0 {
                rustix::fs::mkdirat(&inner, "beside", Mode::RWXU).unwrap();
            }
            inner = openat(&inner, "d", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        drop(inner);
        remove_tree(&top).unwrap();
        assert!(!top.exists());
    }

    #[test]
    fn links_are_removed_and_locked_folders_are_opened() {
        let around = tempfile::tempdir().unwrap();
        let (top, kept) = (around.path().join("top"), around.path().join("kept"));
        fs::create_dir_all(top.join("a/b/c")).unwrap();
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        symlink(&kept, top.join("a/link")).unwrap();
        symlink(&kept, top.join("link")).unwrap();
        for number in 0..3000 {
            fs::write(top.join(format!("a/b/{number}")), "x").unwrap();
        }
        for locked in ["a/b/c", "a/b", "a", ""] {
            fs::set_permissions(top.join(locked), fs::Permissions::from_mode(0o0)).unwrap();
        }
        remove_tree(&top).unwrap();
        assert!(!top.exists() && kept.join("file").exists());
        symlink(&kept, &top).unwrap();
        assert!(remove_tree(&top).is_err() && kept.join("file").exists());
    }
}
