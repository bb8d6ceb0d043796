//! Reads verdicts from where they were written down.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use kernelwright_protocol::{Evaluation, Evidence};
use serde::Deserialize;

use super::error::LessonError;

/// No verdict is near this size, nor is any other record. A log as a whole may be longer: it is read record by record.
const MAX_VERDICT_BYTES: u64 = 16 << 20;

/// A record's number stands within so many bytes of its line.
const HEAD_BYTES: usize = 64;

/// Linux's number, the same on x86-64 and Arm: to open a FIFO then waits for nobody.
const O_NONBLOCK: i32 = 0o4000;

/// What is read of a record: its number and its verdict.
#[derive(Deserialize)]
struct Record {
    seq: u64,
    evaluation: Evaluation,
}

/// The verdict that evidence points at.
pub(crate) fn verdict(evidence: &Evidence) -> Result<Evaluation, LessonError> {
    let path = Path::new(&evidence.file);
    // The folder that it would be looked for in is the server's, which who calls does not know.
    if path.is_relative() {
        return Err(LessonError::Relative { path: path.to_owned() });
    }
    let found = open(path).and_then(|file| match evidence.event {
        Some(event) => of_log(file, event),
        None => of_file(file),
    });
    let found = found.map_err(|source| LessonError::Unreadable { path: path.to_owned(), source })?;
    let found = found.ok_or_else(|| LessonError::NoVerdict { path: path.to_owned(), event: evidence.event })?;
    if found.candidate == evidence.candidate {
        Ok(found)
    } else {
        Err(LessonError::OtherCandidate { named: evidence.candidate.clone(), found: found.candidate })
    }
}

/// Opens a regular file and nothing else: a FIFO would wait for its writer, and a device may have no end.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    // Of the open file: what the path names may be another one by now.
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file")) }
}

/// Only the one line is parsed: a log holds every word of the model.
fn of_log(file: File, event: u64) -> io::Result<Option<Evaluation>> {
    let mark = format!("\"seq\":{event},");
    let mut log = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        log.by_ref().take(MAX_VERDICT_BYTES + 1).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        bounded(&line)?;
        if line[..line.len().min(HEAD_BYTES)].windows(mark.len()).any(|part| part == mark.as_bytes())
            && let Ok(record) = serde_json::from_slice::<Record>(&line)
            && record.seq == event
        {
            return Ok(Some(record.evaluation));
        }
    }
}

fn of_file(file: File) -> io::Result<Option<Evaluation>> {
    let mut text = Vec::new();
    file.take(MAX_VERDICT_BYTES + 1).read_to_end(&mut text)?;
    bounded(&text)?;
    Ok(serde_json::from_slice(&text).ok())
}

fn bounded(text: &[u8]) -> io::Result<()> {
    if text.len() as u64 <= MAX_VERDICT_BYTES {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::FileTooLarge, format!("it holds more than {} MiB in one piece", MAX_VERDICT_BYTES >> 20)))
}
