//! What `torch.compile` has made of problems, kept for a day: otherwise every server, and so every command, would compile the baselines of its
//! problems anew, which takes ten seconds to a minute each.
//!
//! It holds programs that the trusted process runs. So there is none where confined code could write to it: without Landlock it has the rights
//! of its user. What was tuned beside other work is not believed for longer than a day, and what depends on the number of threads and the
//! installation has a folder of its own. torch and Triton let several processes use one folder.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kernelwright_harness::{Interpreter, sandbox};
use kernelwright_protocol::{Bytes, ContentHash};

/// How long what was compiled is taken again.
const VALID: Duration = Duration::from_secs(24 * 3600);
/// A folder that has grown beyond this is not filled further by new servers. A problem that is tuned for a GPU leaves some 10 MB.
const FULL: Bytes = Bytes(4 << 30);
/// Held shared by every server that uses the folder, and by whoever removes it alone.
const LOCK: &str = "in-use";

/// A folder that no server removes while this one uses it.
#[derive(Debug)]
pub(crate) struct BaselineCache {
    folder: PathBuf,
    _in_use: File,
}

impl BaselineCache {
    /// The folder for an installation and a number of threads, below a cache folder; none where it could not be trusted. Removes old ones.
    pub(crate) fn open(cache: &Path, threads: usize, interpreter: &Interpreter) -> Option<Self> {
        if let Err(reason) = sandbox::confines_files() {
            tracing::debug!(reason, "what torch.compile makes is not kept");
            return None;
        }
        let Interpreter { path, version, torch, triton, .. } = interpreter;
        let key = ContentHash::of(format!("{} {threads} {} {version} {torch} {triton:?}", env!("CARGO_PKG_VERSION"), path.display()));
        let opened = Self::below(&cache.join("torch-compile"), &key.as_str()[..16], SystemTime::now());
        opened.inspect_err(|error| tracing::debug!(%error, "what torch.compile makes is not kept")).ok()
    }

    fn below(parent: &Path, key: &str, now: SystemTime) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let mut usable = Vec::new();
        for entry in fs::read_dir(parent)?.flatten() {
            let folder = entry.path();
            let name = entry.file_name();
            let Some((of, made)) = name.to_str().and_then(read_name) else { continue };
            let is_valid = now.duration_since(made).is_ok_and(|age| age < VALID) && kernelwright_builds::size(&folder) < FULL.0;
            if !is_valid {
                remove(&folder);
            } else if of == key {
                usable.push((made, folder));
            }
        }
        let newest = usable.into_iter().max().and_then(|(_, folder)| Self::take(folder).ok());
        newest.map_or_else(|| Self::make(parent, key, now), Ok)
    }

    fn make(parent: &Path, key: &str, now: SystemTime) -> io::Result<Self> {
        let made = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let folder = parent.join(format!("{key}-{made}"));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        File::options().create(true).append(true).open(folder.join(LOCK))?;
        Self::take(folder)
    }

    fn take(folder: PathBuf) -> io::Result<Self> {
        let in_use = File::open(folder.join(LOCK))?;
        in_use.try_lock_shared()?;
        // Somebody may have removed it between the two.
        fs::metadata(folder.join(LOCK))?;
        Ok(Self { folder, _in_use: in_use })
    }

    /// What a trusted worker is told, so that torch and Triton keep there what they compile.
    pub(crate) fn variables(&self) -> [(String, String); 2] {
        [("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")]
            .map(|(variable, name)| (variable.to_owned(), self.folder.join(name).to_string_lossy().into_owned()))
    }
}

/// The key of a folder, and when it was made.
fn read_name(name: &str) -> Option<(&str, SystemTime)> {
    let (key, made) = name.split_once('-')?;
    Some((key, UNIX_EPOCH + Duration::from_secs(made.parse().ok()?)))
}

/// Removes a folder that nobody uses.
fn remove(folder: &Path) {
    let Ok(lock) = File::open(folder.join(LOCK)) else { return };
    if lock.try_lock().is_ok() {
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_found_again_for_a_day_and_goes_when_nobody_uses_it() {
        let parent = tempfile::tempdir().unwrap();
        let start = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let open = |key, hours: u64| BaselineCache::below(parent.path(), key, start + Duration::from_secs(hours * 3600)).unwrap();
        let first = open("a", 0);
        assert!(first.variables().iter().all(|(_, path)| path.starts_with(first.folder.to_str().unwrap())));
        assert_eq!(open("a", 23).folder, first.folder);
        assert_ne!(open("b", 23).folder, first.folder, "another installation");
        let second = open("a", 25);
        assert_ne!(second.folder, first.folder);
        assert!(first.folder.is_dir(), "it is in use");
        let path = first.folder.clone();
        drop(first);
        assert_eq!(open("a", 26).folder, second.folder);
        assert!(!path.exists());
    }
}
