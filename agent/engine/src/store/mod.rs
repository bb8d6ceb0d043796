//! The run's folder: all that the engine writes, but for the copy of the best kernel that the user asked for.
//!
//! ```text
//! <runs_dir>/<problem>-<yyyymmdd-hhmmss>-<4 hex digits>/
//!   events.jsonl      one record per line, appended before its effect is visible; everything else follows from it
//!   problem.py        the problem as it was when the run began
//!   candidates/       <hash>.py: every kernel that was written
//!   requests/         <hash>.json: the first request of every step
//!   best.py           the best correct kernel, its text unchanged
//!   report.md         what was found
//!   logs/             what the tool servers print
//! ```
//!
//! A record that is appended survives the end of this process, however it comes. Records that cost money or minutes are synced at once,
//! and with them everything before, so that a power cut takes no more of them than those of the last few milliseconds. Nobody waits for
//! that: see `disk`.
//!
//! One agent at a time: the open log holds an advisory lock that dies with its process. Readers need none.
//!
//! Test only: with `KERNELWRIGHT_CRASH_AFTER_EVENT=N` in the environment the process kills itself with SIGKILL as soon as event N is on
//! disk, so that a test can resume after every event of a run.

mod error;
mod log;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use kernelwright_protocol::{CandidateId, ContentHash, Nanoseconds};
use kernelwright_search::{Event, FORMAT_VERSION, Record, RunId};

use self::log::{is_dear, open_log, read_records};
use crate::disk::{Settler, write, write_whole};

pub use self::error::StoreError;
pub(crate) use self::log::LOG;

/// A run's folder, open for writing by this process alone.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    log: Arc<File>,
    settler: Settler,
    /// Bytes of whole records; what a failed write left behind it is cut off again.
    log_bytes: u64,
    last_seq: u64,
    /// How long the run was active before this session.
    earlier: Nanoseconds,
    opened: Instant,
    crash_after: Option<u64>,
}

/// A run's folder, opened to go on.
#[derive(Debug)]
pub struct Opened {
    /// The folder.
    pub store: Store,
    /// Everything that happened.
    pub records: Vec<Record>,
    /// Bytes of a torn last line that were cut off; 0 when the last line was whole.
    pub cut: u64,
}

impl Store {
    /// Makes the folder of a new run, with the problem in it and no event.
    pub fn create(runs_dir: &Path, problem_name: &str, problem_source: &str) -> Result<Self, StoreError> {
        let now = Timestamp::now();
        // Enough to keep two runs of one second apart; `create_dir` decides in the end.
        let salt = ContentHash::of(format!("{} {}", now.as_nanosecond(), std::process::id()));
        let name = format!("{}-{}-{}", file_stem(problem_name), now.strftime("%Y%m%d-%H%M%S"), &salt.as_str()[..4]);
        let dir = runs_dir.join(name);
        fs::create_dir_all(runs_dir).map_err(StoreError::io("make", runs_dir))?;
        fs::create_dir(&dir).map_err(StoreError::io("make", &dir))?;
        for folder in ["candidates", "requests", "logs"] {
            let folder = dir.join(folder);
            fs::create_dir(&folder).map_err(StoreError::io("make", &folder))?;
        }
        // Tool servers are given paths and run elsewhere.
        let dir = dir.canonicalize().map_err(StoreError::io("find", &dir))?;
        write_whole(&dir.join("problem.py"), problem_source)?;
        let log = open_log(&dir, OpenOptions::new().append(true).create_new(true))?;
        Ok(Self::over(dir, log, 0, 0, Nanoseconds(0)))
    }

    /// Opens the folder of an earlier run to go on with it. A torn last line, as a crash leaves it, is cut off.
    pub fn open(dir: &Path) -> Result<Opened, StoreError> {
        let no_run = || StoreError::NoRun { dir: dir.to_path_buf() };
        if !dir.join(LOG).is_file() {
            return Err(no_run());
        }
        let dir = dir.canonicalize().map_err(StoreError::io("find", dir))?;
        let log = open_log(&dir, OpenOptions::new().read(true).append(true))?;
        let (records, whole, total) = read_records(&dir, &log)?;
        let last = records.last().ok_or_else(no_run)?;
        if whole < total {
            log.set_len(whole).and_then(|()| log.sync_all()).map_err(StoreError::io("cut", dir.join(LOG)))?;
        }
        let store = Self::over(dir.clone(), log, whole, last.seq, last.elapsed_ns);
        Ok(Opened { store, records, cut: total - whole })
    }

    fn over(dir: PathBuf, log: File, log_bytes: u64, last_seq: u64, earlier: Nanoseconds) -> Self {
        let crash_after = std::env::var("KERNELWRIGHT_CRASH_AFTER_EVENT").ok().and_then(|n| n.parse().ok());
        Self { dir, log: Arc::new(log), settler: Settler::default(), log_bytes, last_seq, earlier, opened: Instant::now(), crash_after }
    }

    /// Reads a run's events without locking it; a torn last line is passed over.
    pub fn read(dir: &Path) -> Result<Vec<Record>, StoreError> {
        let path = dir.join(LOG);
        let log = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::NoRun { dir: dir.to_path_buf() },
            _ => StoreError::io("open", &path)(error),
        })?;
        let (records, ..) = read_records(dir, &log)?;
        if records.is_empty() { Err(StoreError::NoRun { dir: dir.to_path_buf() }) } else { Ok(records) }
    }

    /// The folders of all runs, the newest first. Whether they can be read shows when they are.
    pub fn list(runs_dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match fs::read_dir(runs_dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(StoreError::io("list", runs_dir)(error)),
        };
        let mut runs = Vec::new();
        for entry in entries {
            let dir = entry.map_err(StoreError::io("list", runs_dir))?.path();
            if dir.join(LOG).is_file() {
                runs.push(dir);
            }
        }
        // By the time in the name, not by the problem's name in front of it.
        runs.sort_by_cached_key(|dir| std::cmp::Reverse(started_of(dir)));
        Ok(runs)
    }

    /// The newest run.
    pub fn find_last(runs_dir: &Path) -> Result<PathBuf, StoreError> {
        Self::list(runs_dir)?.into_iter().next().ok_or_else(|| StoreError::NoRuns { dir: runs_dir.to_path_buf() })
    }

    /// The run's name: its folder's.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        RunId(self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The run's folder, absolute.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The problem's file in the run's folder.
    #[must_use]
    pub fn problem_path(&self) -> PathBuf {
        self.dir.join("problem.py")
    }

    /// How long the run has been active, all sessions added up.
    #[must_use]
    pub fn elapsed(&self) -> Nanoseconds {
        self.earlier + self.opened.elapsed().into()
    }

    /// Writes the next event, and sees to it that one that must not be lost gets to the disk at once.
    ///
    /// The error can also be an earlier one, of something that was still on its way to the disk. The record is then written all the same.
    pub fn append(&mut self, event: Event) -> Result<Record, StoreError> {
        let seq = self.last_seq + 1;
        let at = format!("{:.3}", Timestamp::now());
        let record = Record { v: FORMAT_VERSION, seq, at, elapsed_ns: self.elapsed(), event };
        let mut line = serde_json::to_vec(&record).map_err(|source| self.unwritable(source))?;
        line.push(b'\n');
        if let Err(error) = (&*self.log).write_all(&line) {
            // Half a line must not stay; if this fails too, opening the run cuts it off.
            let _ = self.log.set_len(self.log_bytes);
            return Err(StoreError::io("write", self.dir.join(LOG))(error));
        }
        self.log_bytes += line.len() as u64;
        self.last_seq = seq;
        if self.crash_after == Some(seq) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
        if is_dear(&record.event) {
            self.settle_later(Arc::clone(&self.log), self.dir.join(LOG))?;
        }
        Ok(record)
    }

    /// Waits until the disk has everything.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.settler.finish()
    }

    fn settle_later(&mut self, file: Arc<File>, path: PathBuf) -> Result<(), StoreError> {
        self.settler.leave(move || file.sync_data().map_err(StoreError::io("write", path)))
    }

    /// Something could not be put into the log's form.
    pub(crate) fn unwritable(&self, source: serde_json::Error) -> StoreError {
        StoreError::Io { action: "encode an event for", path: self.dir.join(LOG), source: source.into() }
    }

    /// Keeps a candidate's text under its hash.
    pub fn keep_candidate(&mut self, source: &str) -> Result<CandidateId, StoreError> {
        let id = CandidateId::of(source);
        let path = self.candidate_path(&id);
        // A power cut may have left an empty file of that name.
        if !fs::read(&path).is_ok_and(|kept| kept == source.as_bytes()) {
            self.keep(path, source)?;
        }
        Ok(id)
    }

    fn keep(&mut self, path: PathBuf, text: &str) -> Result<(), StoreError> {
        let file = write(&path, text)?;
        self.settle_later(Arc::new(file), path)
    }

    /// Where a candidate's text is.
    #[must_use]
    pub fn candidate_path(&self, id: &CandidateId) -> PathBuf {
        candidate_path(&self.dir, id)
    }

    /// A candidate's text.
    pub fn candidate(&self, id: &CandidateId) -> Result<String, StoreError> {
        read_text(&self.candidate_path(id))
    }

    /// The problem's text.
    pub fn problem(&self) -> Result<String, StoreError> {
        read_text(&self.problem_path())
    }

    /// Keeps a request to the model under its hash.
    pub fn keep_request(&mut self, hash: &ContentHash, text: &str) -> Result<(), StoreError> {
        self.keep(self.request_path(hash), text)
    }

    /// A request to the model.
    pub fn request(&self, hash: &ContentHash) -> Result<String, StoreError> {
        read_text(&self.request_path(hash))
    }

    pub(crate) fn request_path(&self, hash: &ContentHash) -> PathBuf {
        self.dir.join("requests").join(format!("{}.json", hash.as_str()))
    }

    /// Where a tool server's messages go.
    #[must_use]
    pub fn server_log(&self, server: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{}.log", file_stem(server)))
    }

    /// Makes this the best kernel. Readers see the old file or the new one, never half of one, and the new one some milliseconds later.
    pub fn keep_best(&mut self, source: &str) -> Result<(), StoreError> {
        let (path, source) = (self.best_path(), source.to_owned());
        self.settler.leave(move || write_whole(&path, &source))
    }

    /// Where the best kernel is, once there is one.
    #[must_use]
    pub fn best_path(&self) -> PathBuf {
        self.dir.join("best.py")
    }

    /// Writes the report, some milliseconds later: replacing a file waits for the disk on some file systems, and it can be made again.
    pub fn keep_report(&mut self, text: String) -> Result<(), StoreError> {
        let path = self.dir.join("report.md");
        self.settler.leave(move || write(&path, &text).map(drop))
    }
}

/// Where a run keeps a candidate's text.
pub(crate) fn candidate_path(dir: &Path, id: &CandidateId) -> PathBuf {
    dir.join("candidates").join(format!("{}.py", id.as_str()))
}

/// Reads a text of the run's folder.
pub(crate) fn read_text(path: &Path) -> Result<String, StoreError> {
    fs::read_to_string(path).map_err(StoreError::io("read", path))
}

/// The part of a run's name that says when it began, and then the rest, to order runs.
fn started_of(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let cut = name.len().saturating_sub("yyyymmdd-hhmmss-ffff".len());
    name.get(cut..).unwrap_or(&name).to_owned()
}

/// Keeps letters, digits, `-` and `_`, so that any name makes a folder name that needs no quoting.
fn file_stem(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let stem: String = name.chars().map(safe).take(60).collect();
    if stem.is_empty() { "problem".to_owned() } else { stem }
}

#[cfg(test)]
mod tests {
    use kernelwright_search::{Event, Graph};

    use super::*;

    fn note(reason: &str) -> Event {
        Event::RunPaused { reason: reason.to_owned() }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(folder.path(), "a problem!", "x = 1\n").unwrap();
        (folder, store)
    }

    #[test]
    fn a_run_reads_back_as_it_was_written() {
        let (folder, mut store) = store();
        let written: Vec<Record> = ["a", "b"].into_iter().map(|text| store.append(note(text)).unwrap()).collect();
        assert_eq!(Store::read(store.dir()).unwrap(), written);
        assert!(store.run_id().0.starts_with("a_problem_-"), "{}", store.run_id());
        assert_eq!(Store::find_last(folder.path()).unwrap(), folder.path().join(&store.run_id().0));
        let dir = store.dir().to_path_buf();
        drop(store);
        let mut opened = Store::open(&dir).unwrap();
        assert_eq!((opened.records, opened.cut), (written, 0));
        let next = opened.store.append(note("c")).unwrap();
        assert_eq!(next.seq, 3);
        assert!(opened.store.elapsed() >= next.elapsed_ns);
    }

    #[test]
    fn a_full_disk_is_said_and_leaves_the_log_whole() {
        let (_folder, mut store) = store();
        store.append(note("before")).unwrap();
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let log = std::mem::replace(&mut store.log, Arc::new(full));
        let error = store.append(note("lost")).unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        store.log = log;
        assert_eq!(store.append(note("after")).unwrap().seq, 2);
        assert_eq!(Store::read(store.dir()).unwrap().len(), 2);
    }

    #[test]
    fn a_newer_format_is_refused_and_a_damaged_line_is_named() {
        let (_folder, mut store) = store();
        store.append(note("a")).unwrap();
        let path = store.dir().join(LOG);
        let whole = fs::read_to_string(&path).unwrap();
        let dir = store.dir().to_path_buf();
        drop(store);
        fs::write(&path, format!("{whole}{{\"v\": 2, \"kind\": \"other\"}}\n")).unwrap();
        assert!(matches!(Store::open(&dir).unwrap_err(), StoreError::NewerFormat { found: 2, .. }));
        fs::write(&path, format!("{whole}garbage\n{whole}")).unwrap();
        assert!(matches!(Store::open(&dir).unwrap_err(), StoreError::Damaged { line: 2, .. }));
        fs::write(&path, "").unwrap();
        assert!(matches!(Store::open(&dir).unwrap_err(), StoreError::NoRun { .. }));
        assert!(matches!(Store::open(Path::new("/nowhere")).unwrap_err(), StoreError::NoRun { .. }));
    }

    #[test]
    fn the_newest_run_is_found_whatever_its_problem_is_called() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["zebra-20260101-000000-aaaa", "ant-20260301-000000-0000", "moth-20260201-000000-ffff", "no-run-20270101-000000-0000"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            if !name.starts_with("no-run") {
                fs::write(folder.path().join(name).join(LOG), "").unwrap();
            }
        }
        assert!(Store::find_last(folder.path()).unwrap().ends_with("ant-20260301-000000-0000"));
        assert!(matches!(Store::find_last(&folder.path().join("moth-20260201-000000-ffff")), Err(StoreError::NoRuns { .. })));
        assert!(Store::list(Path::new("/nowhere")).unwrap().is_empty());
    }

    #[test]
    fn a_log_that_starts_with_anything_else_is_no_run() {
        let (_folder, mut store) = store();
        let record = store.append(note("a")).unwrap();
        assert!(Graph::fold(&[record]).is_err());
    }
}
