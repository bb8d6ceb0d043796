//! What a worker prints: a file that is kept for people, cut to a size, and never decides anything.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

use crate::scratch::random_name;

/// The log file of one worker.
#[derive(Clone, Debug)]
pub struct WorkerLog {
    path: PathBuf,
}

impl WorkerLog {
    /// How much of a log is kept once its worker has ended.
    const KEPT: u64 = 4 << 20;

    /// A log at `path`; the file is made when the worker starts.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it for whoever writes it. It is neither removed nor cut by anybody while it is open.
    pub fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = File::options().create(true).append(true).open(&self.path)?;
        // Held for as long as the worker has it open: see `prune`. Where locks cannot be had, only a log's text may be lost.
        let _ = flock(&file, FlockOperation::NonBlockingLockShared);
        Ok(file)
    }

    /// Removes the logs of a folder but the newest, and cuts those to their size; not those of workers that run, whichever process has started them.
    pub fn prune(folder: &Path, keep: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut logs: Vec<_> =
            entries.flatten().filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
        logs.sort_by(|a, b| b.cmp(a));
        for (place, (_, path)) in logs.into_iter().enumerate() {
            if File::open(&path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()) {
                if place < keep {
                    Self::at(path).shorten();
                } else {
                    let _ = std::fs::remove_file(path);
                }
            }
        }
    }

    /// The last `bytes` of it as text, without the line that the cut falls into.
    #[must_use]
    pub fn tail(&self, bytes: u64) -> String {
        let read = || -> io::Result<(Vec<u8>, bool)> {
            let mut file = File::open(&self.path)?;
            let start = file.metadata()?.len().saturating_sub(bytes);
            file.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            file.take(bytes).read_to_end(&mut text)?;
            Ok((text, start > 0))
        };
        let Ok((bytes, cut)) = read() else { return String::new() };
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, rest)) if cut => rest.to_owned(),
            _ => text.into_owned(),
        }
    }

    /// Where it lies, if anything is in it.
    #[must_use]
    pub fn told(&self) -> Option<&Path> {
        std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() > 0).then_some(&*self.path)
    }

    /// Cuts it to the size that is kept; an empty one goes.
    pub fn shorten(&self) {
        if self.told().is_none() {
            let _ = std::fs::remove_file(&self.path);
        } else if let Ok(file) = File::options().write(true).open(&self.path)
            && file.metadata().is_ok_and(|meta| meta.len() > Self::KEPT)
        {
            let _ = file.set_len(Self::KEPT);
        }
    }
}

/// The folder `logs` of the cache folder, where the workers of one server leave theirs, the newest of all servers' only.
#[derive(Debug)]
pub struct WorkerLogs {
    folder: PathBuf,
    prefix: &'static str,
    /// Of this process alone: in containers all have the same number.
    tag: u32,
    number: AtomicU32,
}

impl WorkerLogs {
    /// How many logs are kept.
    const KEPT: usize = 200;
    /// After how many new ones the oldest go.
    const MORE: u32 = 50;
    /// Where a report finds the log that belongs to it.
    pub const HINT: &'static str =
        "report this with the newest file in the folder `logs` of the cache folder, ~/.cache/kernelwright unless told otherwise";

    /// Logs below a cache folder, whose names begin with `prefix`. Nothing is written before the first is asked for.
    #[must_use]
    pub fn below(cache_dir: &Path, prefix: &'static str) -> Self {
        Self { folder: cache_dir.join("logs"), prefix, tag: random_name() as u32, number: AtomicU32::new(0) }
    }

    /// The log of one more worker.
    #[must_use]
    pub fn next(&self) -> WorkerLog {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        if number.is_multiple_of(Self::MORE) {
            WorkerLog::prune(&self.folder, Self::KEPT);
        }
        WorkerLog::at(self.folder.join(format!("{}{}-{:08x}-{number:04}.log", self.prefix, std::process::id(), self.tag)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn logs_of_running_workers_are_kept_whatever_their_age() {
        let folder = tempfile::tempdir().unwrap();
        let log = |name: &str| WorkerLog::at(folder.path().join(name));
        let running = log("a-running").open().unwrap();
        log("an-empty-one").open().unwrap();
        for name in ["b-old", "c-new"] {
            log(name).open().unwrap().write_all(b"said").unwrap();
            // The order of files of one moment is that of their names.
            std::thread::sleep(Duration::from_millis(20));
        }
        let names = || {
            let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        WorkerLog::prune(folder.path(), 1);
        assert_eq!(names(), ["a-running", "c-new"]);
        drop(running);
        // A process that another test starts at this moment holds a copy of the lock between its fork and its exec.
        let freed_by = Instant::now() + Duration::from_secs(20);
        while names() != ["c-new"] {
            assert!(Instant::now() < freed_by, "{:?}", names());
            std::thread::sleep(Duration::from_millis(10));
            WorkerLog::prune(folder.path(), 1);
        }
        WorkerLog::prune(&folder.path().join("nowhere"), 1);
    }

    #[test]
    fn the_newest_logs_are_kept() {
        let cache = tempfile::tempdir().unwrap();
        let logs = WorkerLogs::below(cache.path(), "compile-");
        let all = || std::fs::read_dir(cache.path().join("logs")).unwrap().count();
        for _ in 0..=WorkerLogs::KEPT {
            logs.next().open().unwrap().write_all(b"said").unwrap();
        }
        assert!(all() <= WorkerLogs::KEPT + 1, "{}", all());
        let log = logs.next();
        assert!(log.path().file_name().unwrap().to_str().unwrap().starts_with("compile-"), "{}", log.path().display());
    }
}
