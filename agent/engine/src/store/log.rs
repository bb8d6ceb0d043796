//! The run's events on disk: one line a record, written by one agent at a time, read as far as it is whole.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use kernelwright_search::{Event, FORMAT_VERSION, Record};

use super::StoreError;

/// A run's events.
pub(crate) const LOG: &str = "events.jsonl";

/// How long a run's folder may seem to be in use before another agent is believed to have it.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// Opens the log and takes its lock.
pub(super) fn open_log(dir: &Path, options: &OpenOptions) -> Result<File, StoreError> {
    let path = dir.join(LOG);
    let log = options.open(&path).map_err(StoreError::io("open", &path))?;
    // A process that is being started holds a copy of the lock between its fork and its exec, even after its parent was killed.
    let given_up = Instant::now() + LOCK_PATIENCE;
    loop {
        match log.try_lock() {
            Ok(()) => return Ok(log),
            Err(TryLockError::WouldBlock) if Instant::now() < given_up => std::thread::sleep(LOCK_PATIENCE / 10),
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { dir: dir.to_path_buf() }),
            Err(TryLockError::Error(source)) => return Err(StoreError::io("lock", &path)(source)),
        }
    }
}

/// The whole records of a log, how many bytes they take, and how many bytes there are.
pub(super) fn read_records(dir: &Path, mut log: &File) -> Result<(Vec<Record>, u64, u64), StoreError> {
    let path = dir.join(LOG);
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes).map_err(StoreError::io("read", &path))?;
    let mut records = Vec::new();
    let mut whole = 0;
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        match parse(dir, line)? {
            Ok(record) if line.ends_with(b"\n") => records.push(record),
            // The last line may be torn: the process or the machine died while it was written.
            _ if lines.peek().is_none() => break,
            Ok(_) => break,
            Err(source) => return Err(StoreError::Damaged { path, line: index + 1, source }),
        }
        whole += line.len() as u64;
    }
    Ok((records, whole, bytes.len() as u64))
}

/// The version is looked at first: a newer line need not have the form of a record.
fn parse(dir: &Path, line: &[u8]) -> Result<Result<Record, serde_json::Error>, StoreError> {
    #[derive(serde::Deserialize)]
    struct Version {
        v: u64,
    }
    match serde_json::from_slice::<Version>(line) {
        Ok(Version { v }) if v > u64::from(FORMAT_VERSION) => Err(StoreError::NewerFormat { dir: dir.to_path_buf(), found: v }),
        _ => Ok(serde_json::from_slice(line)),
    }
}

/// Whether losing the event would cost more than doing something free once more.
pub(super) fn is_dear(event: &Event) -> bool {
    match event {
        Event::RunStarted { .. }
        | Event::ModelProbed { .. }
        | Event::TargetDescribed { .. }
        | Event::BaselineMeasured { .. }
        | Event::ProfileTaken { .. }
        | Event::ModelAnswered { .. }
        | Event::CandidateEvaluated { .. }
        | Event::WarmStart { .. }
        | Event::LessonRecorded { .. }
        | Event::LessonsRated { .. }
        | Event::StepFinished { .. }
        | Event::RunPaused { .. }
        | Event::RunResumed { .. }
        | Event::RunFinished { .. } => true,
        Event::ProfileFailed { .. }
        | Event::StepStarted { .. }
        | Event::LessonsShown { .. }
        | Event::ModelAsked { .. }
        | Event::ModelNudged { .. }
        | Event::ToolCalled { .. }
        | Event::ToolReturned { .. }
        | Event::ToolServerStarted { .. }
        | Event::ToolServerRestarted { .. }
        | Event::NoteTaken { .. }
        | Event::NodeAdded { .. }
        | Event::Unknown => false,
    }
}
