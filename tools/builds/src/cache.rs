//! Built files by key, bounded: what was not used for longest goes first.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kernelwright_harness::{Scratch, copy_beneath};
use kernelwright_protocol::Bytes;

/// What is kept. An object is 1 to 20 MB.
const KEPT: Bytes = Bytes(2 << 30);
/// The largest file that is taken.
pub(super) const FILE: Bytes = Bytes(1 << 30);

/// A folder that only supervisors write to: this process, and servers beside it.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// A file that is there, which counts as a use of it.
    pub(super) fn get(&self, key: &str) -> Option<PathBuf> {
        let path = self.folder.join(key);
        touch(&path).ok()?;
        Some(path)
    }

    /// Takes files that confined code has left, each by a key, and removes the rest; each appears with all of its content or not at all.
    pub(super) async fn put(&self, scratch: Scratch, files: Vec<(String, String)>) -> io::Result<Vec<PathBuf>> {
        let cache = self.clone();
        let put = move || {
            std::fs::create_dir_all(&cache.folder)?;
            let taken = files.iter().map(|(key, name)| cache.take(&scratch, key, name)).collect();
            evict(&cache.folder, KEPT);
            taken
        };
        tokio::task::spawn_blocking(put).await.map_err(io::Error::other)?
    }

    fn take(&self, scratch: &Scratch, key: &str, name: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(key);
        let partial = self.folder.join(format!(".{key}-{}-{:?}", std::process::id(), std::thread::current().id()));
        let copied = copy_beneath(scratch.path(), name, FILE, &partial).and_then(|()| std::fs::rename(&partial, &path));
        if copied.is_err() {
            let _ = std::fs::remove_file(&partial);
        }
        copied.map(|()| path)
    }
}

/// Lets a folder appear that was made aside. Where another server has made the same one first, that one stays.
pub(super) fn appear(partial: &Path, folder: &Path) -> io::Result<()> {
    match std::fs::rename(partial, folder) {
        Err(_) if folder.is_dir() => std::fs::remove_dir_all(partial),
        renamed => renamed,
    }
}

/// Counts as a use of a file or a folder.
pub(super) fn touch(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.set_modified(SystemTime::now())
}

/// Removes entries of a folder, the longest unused first, until the others have at most `kept` bytes.
pub(super) fn evict(folder: &Path, kept: Bytes) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let dated = |entry: std::fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, size(&entry.path()), entry.path()));
    let mut entries: Vec<_> = entries.flatten().filter_map(dated).collect();
    entries.sort_by(|a, b| b.cmp(a));
    let mut total = 0;
    for (_, bytes, path) in entries {
        total += bytes;
        if total > kept.0 {
            let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        }
    }
}

/// The bytes of a file, or of all files below a folder.
#[must_use]
pub fn size(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_server_has_made_meanwhile_stays() {
        let all = tempfile::tempdir().unwrap();
        let (partial, folder) = (all.path().join("a.partial-1"), all.path().join("a"));
        for (place, text) in [(&partial, "mine"), (&folder, "theirs")] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join("header.h"), text).unwrap();
        }
        appear(&partial, &folder).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("header.h")).unwrap(), "theirs");
        assert!(!partial.exists());
    }

    #[tokio::test]
    async fn a_file_is_found_again_and_a_link_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("objects"));
        let left = || {
            let scratch = Scratch::new(folder.path()).unwrap();
            std::fs::write(scratch.path().join("main.o"), "object").unwrap();
            std::os::unix::fs::symlink("/etc/passwd", scratch.path().join("link.o")).unwrap();
            scratch
        };
        assert!(cache.get("k1").is_none());
        let named = |key: &str, name: &str| (key.to_owned(), name.to_owned());
        let put = cache.put(left(), vec![named("k1", "main.o")]).await.unwrap();
        assert_eq!(cache.get("k1").as_ref(), put.first());
        assert_eq!(std::fs::read(&put[0]).unwrap(), b"object");
        assert!(cache.put(left(), vec![named("k2", "link.o")]).await.is_err());
        assert_eq!(std::fs::read_dir(folder.path().join("objects")).unwrap().count(), 1);
    }

    #[test]
    fn the_longest_unused_go_first() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [("new", 1), ("old", 3), ("used", 9)] {
            let path = folder.path().join(name);
            std::fs::write(&path, "12345").unwrap();
            let time = SystemTime::now() - std::time::Duration::from_secs(age * 100);
            std::fs::File::open(&path).unwrap().set_modified(time).unwrap();
        }
        touch(&folder.path().join("used")).unwrap();
        evict(folder.path(), Bytes(10));
        let left = |name: &str| folder.path().join(name).exists();
        assert_eq!((left("used"), left("new"), left("old")), (true, true, false));
    }
}
