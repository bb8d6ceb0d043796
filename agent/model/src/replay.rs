//! The answers of a recorded run, given again in their order. Nothing is spent, and nothing leaves the machine.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Answer, ModelError, Piece, Place, ReplaySettings, TextSink};

/// The file of a run's folder that holds its events.
const EVENTS: &str = "events.jsonl";

/// A recorded run's answers.
#[derive(Clone, Debug)]
pub struct Replay {
    path: PathBuf,
    answers: Vec<Answer>,
}

impl Replay {
    /// Reads a recording: the lines of type `model_answered`, in order.
    pub fn open(settings: &ReplaySettings) -> Result<Self, ModelError> {
        let path = if settings.path.is_dir() { settings.path.join(EVENTS) } else { settings.path.clone() };
        let answers = read(&path).map_err(|reason| ModelError::BadRecording { path: path.clone(), reason })?;
        Ok(Self { path, answers })
    }

    /// How many answers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether nothing was answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn answer(&self, place: Place, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        let index = usize::try_from(place.ask).ok().and_then(|ask| ask.checked_sub(1));
        let Some(answer) = index.and_then(|index| self.answers.get(index)) else {
            return Err(ModelError::ReplayExhausted { path: self.path.clone(), asked: place.ask, available: self.answers.len() as u64 });
        };
        if let Some(text) = &answer.text {
            sink.take(Piece::Text(text));
        }
        for call in &answer.calls {
            sink.take(Piece::Call(&call.name));
        }
        Ok(answer.clone())
    }
}

fn read(path: &Path) -> Result<Vec<Answer>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut answers = Vec::new();
    let mut broken: Option<String> = None;
    for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(|error| error.to_string())?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        // A run that was killed may have left half a line at the end, which says nothing. Anywhere else it means a damaged file.
        if let Some(reason) = broken {
            return Err(reason);
        }
        let mut record: Value = match serde_json::from_slice(&line) {
            Ok(record) => record,
            Err(error) => {
                broken = Some(format!("line {} is not JSON: {error}", index + 1));
                continue;
            }
        };
        if record["type"] == "model_answered" {
            let answer = serde_json::from_value(record["answer"].take());
            answers.push(answer.map_err(|error| format!("line {} holds no answer: {error}", index + 1))?);
        }
    }
    Ok(answers)
}
