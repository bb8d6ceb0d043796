//! Folders that live as long as one worker: the only place an untrusted one can write.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_protocol::Bytes;
use rustix::fs::{FlockOperation, Mode, OFlags, ResolveFlags, flock, openat2};

use crate::removal::remove_tree;
use crate::{HarnessError, surroundings};

/// Where unpacked packages, logs and scratch folders go unless settings say otherwise.
#[must_use]
pub fn default_cache() -> PathBuf {
    surroundings::cache_folder()
}

/// No folder is without its lock for as long as this where there are locks.
const UNLOCKED: Duration = Duration::from_secs(60);

/// A private folder, removed with everything in it when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    /// Open and locked as long as this lives: whoever shares the cache from another container sees no process of this number.
    _lock: Option<File>,
}

impl Scratch {
    /// Makes an empty folder below `cache`, readable by this user only.
    pub fn new(cache: &Path) -> Result<Self, HarnessError> {
        let name = format!("{}-{:016x}", std::process::id(), random_name());
        let folder = cache.join("scratch").join(name);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| HarnessError::Write { path: folder.clone(), source })?;
        // The sandbox rules name real paths; a link on the way would make them point elsewhere.
        let folder = folder.canonicalize().unwrap_or(folder);
        // A file system without locks is one that containers do not share, as a rule.
        let lock = File::open(&folder).ok().filter(|opened| flock(opened, FlockOperation::NonBlockingLockShared).is_ok());
        Ok(Self { folder, _lock: lock })
    }

    /// Removes what supervisors have left below `cache` that were killed, or ended in haste: folders that nobody has locked. Those of a process of this number
    /// only when they are old: it may be about to lock them, and in containers all processes have the same number.
    pub fn sweep(cache: &Path) {
        let is_free =
            |folder: &Path| File::open(folder).is_ok_and(|opened| flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok());
        let is_old = |entry: &fs::DirEntry| {
            let made = entry.metadata().and_then(|meta| meta.modified()).ok();
            made.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > UNLOCKED)
        };
        let Ok(entries) = fs::read_dir(cache.join("scratch")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let owner = name.to_str().and_then(|name| name.split_once('-')).and_then(|(pid, _)| pid.parse::<u32>().ok());
            let is_left = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists() || is_old(&entry);
            if owner.is_some_and(is_left) && is_free(&entry.path()) {
                let _ = remove_tree(&entry.path());
            }
        }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

/// Reads a file that confined code has left below its scratch folder: a plain file, without following any link, at most `limit` bytes.
pub fn read_beneath(folder: &Path, name: &str, limit: Bytes) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_beneath(folder, name, limit)?.take(limit.0).read_to_end(&mut content)?;
    Ok(content)
}

/// Copies a file that confined code has left, as [`read_beneath`] reads it, to a file that is not there yet.
pub fn copy_beneath(folder: &Path, name: &str, limit: Bytes, to: &Path) -> io::Result<()> {
    let from = open_beneath(folder, name, limit)?;
    io::copy(&mut from.take(limit.0), &mut File::create_new(to)?).map(drop)
}

fn open_beneath(folder: &Path, name: &str, limit: Bytes) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let folder = File::open(folder)?;
    let file = File::from(openat2(&folder, name, flags, Mode::empty(), beneath)?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > limit.0 {
        return Err(io::Error::other("not a plain file of the expected size"));
    }
    Ok(file)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove_tree(&self.folder);
    }
}

/// Unpredictable where the system has randomness, unique in any case.
pub(crate) fn random_name() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |elapsed| elapsed.as_nanos() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_goes_with_its_owner_and_leftovers_are_swept() {
        let cache = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(cache.path()).unwrap();
        fs::write(scratch.path().join("file"), "x").unwrap();
        let left = cache.path().join("scratch/4294967295-00");
        fs::create_dir(&left).unwrap();
        Scratch::sweep(cache.path());
        assert!(scratch.path().is_dir() && !left.exists());
        let path = scratch.path().to_path_buf();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_of_another_container_is_not_swept_while_it_is_in_use() {
        let cache = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(cache.path()).unwrap();
        // Where that lives, its supervisor has a number that nothing has here.
        let elsewhere = scratch.path().with_file_name("4294967295-01");
        fs::rename(scratch.path(), &elsewhere).unwrap();
        Scratch::sweep(cache.path());
        assert!(elsewhere.is_dir());
        drop(scratch);
        Scratch::sweep(cache.path());
        assert!(!elsewhere.exists());
    }

    #[test]
    fn what_a_process_of_the_same_number_has_left_is_swept_when_it_is_old() {
        let cache = tempfile::tempdir().unwrap();
        let left = cache.path().join(format!("scratch/{}-02", std::process::id()));
        fs::create_dir_all(&left).unwrap();
        Scratch::sweep(cache.path());
        assert!(left.exists(), "it may be about to be locked");
        File::open(&left).unwrap().set_modified(std::time::SystemTime::now() - 2 * UNLOCKED).unwrap();
        Scratch::sweep(cache.path());
        assert!(!left.exists());
    }

    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("secret"), "x").unwrap();
        let scratch = Scratch::new(cache.path()).unwrap();
        fs::create_dir(scratch.path().join("artifacts")).unwrap();
        fs::write(scratch.path().join("artifacts/a.ptx"), "ptx").unwrap();
        std::os::unix::fs::symlink(cache.path().join("secret"), scratch.path().join("artifacts/b.ptx")).unwrap();
        std::os::unix::fs::symlink(cache.path(), scratch.path().join("linked")).unwrap();
        assert_eq!(read_beneath(scratch.path(), "artifacts/a.ptx", Bytes(3)).unwrap(), b"ptx");
        for (name, limit) in [("artifacts/b.ptx", 9), ("linked/secret", 9), ("../../secret", 9), ("artifacts/a.ptx", 2), ("artifacts", 9)] {
            assert!(read_beneath(scratch.path(), name, Bytes(limit)).is_err(), "{name}");
        }
    }
}
