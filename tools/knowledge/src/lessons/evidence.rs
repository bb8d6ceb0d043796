//! Reads verdicts from where they were written down.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use kernelwright_protocol::{Evaluation, Evidence};
use serde::Deserialize;

use super::error::LessonError;

/// No verdict is near this size.
const MAX_VERDICT_BYTES: u64 = 8 << 20;

/// A record's number stands within so many bytes of its line.
const HEAD_BYTES: usize = 64;

/// What is read of a record: its number and its verdict.
#[derive(Deserialize)]
struct Record {
    seq: u64,
    evaluation: Evaluation,
}

/// The verdict that evidence points at.
pub(crate) fn verdict(evidence: &Evidence) -> Result<Evaluation, LessonError> {
    let path = Path::new(&evidence.file);
    let unreadable = |source| LessonError::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let found = match evidence.event {
        Some(event) => of_log(file, event),
        None => of_file(file).map_err(unreadable)?,
    };
    let found = found.ok_or_else(|| LessonError::NoVerdict { path: path.to_owned(), event: evidence.event })?;
    if found.candidate == evidence.candidate {
        Ok(found)
    } else {
        Err(LessonError::OtherCandidate { named: evidence.candidate.clone(), found: found.candidate })
    }
}

/// Only the one line is parsed: a log holds every word of the model.
fn of_log(file: File, event: u64) -> Option<Evaluation> {
    let mark = format!("\"seq\":{event},");
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    let mut marked = lines.filter(|line| line[..line.len().min(HEAD_BYTES)].windows(mark.len()).any(|part| part == mark.as_bytes()));
    marked
        .find_map(|line| serde_json::from_slice::<Record>(&line).ok().filter(|record| record.seq == event))
        .map(|record| record.evaluation)
}

fn of_file(file: File) -> io::Result<Option<Evaluation>> {
    let mut text = Vec::new();
    file.take(MAX_VERDICT_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}
