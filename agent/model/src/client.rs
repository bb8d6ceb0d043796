//! The one way to ask a model, whatever stands behind it.

use serde::{Deserialize, Serialize};

use crate::{Answer, ClientSettings, ModelError, Replay, Request, TextSink, Usage};

/// Which question of a run this is. The same place always means the same question: a recorded or mailed answer is found by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Which question of the run, counted from 1.
    pub ask: u64,
    /// In which step.
    pub step: u32,
    /// Which question of the step, counted from 1.
    pub turn: u32,
}

/// A model that can be asked.
#[derive(Debug)]
pub enum Client {
    /// The answers of a recorded run.
    Replay(Replay),
}

impl Client {
    /// Makes a client. Reads keys and recordings, but does not reach out yet: see [`Client::probe`].
    pub fn open(settings: &ClientSettings) -> Result<Self, ModelError> {
        match settings {
            ClientSettings::Replay(settings) => Replay::open(settings).map(Self::Replay),
            other => Err(ModelError::BadAddress { url: format!("{other:?}"), reason: "not in this version".to_owned() }),
        }
    }

    /// Asks a question and waits for the whole answer, which the sink sees grow. Failures that may pass are retried inside, as long as
    /// patience lasts. Dropping the future ends the request.
    #[expect(clippy::unused_async, reason = "the hosted clients wait")]
    pub async fn ask(&self, request: &Request, place: Place, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        let _ = request;
        match self {
            Self::Replay(replay) => replay.answer(place, sink),
        }
    }

    /// Asks for one tool call, to find a wrong key, address or name, or a model without function calling, before anything is spent on a
    /// run. Returns the tokens that took: none for a replay and a mailbox, which are not asked.
    #[expect(clippy::unused_async, reason = "the hosted clients wait")]
    pub async fn probe(&self) -> Result<Usage, ModelError> {
        match self {
            Self::Replay(_) => Ok(Usage::default()),
        }
    }

    /// Dollars for these tokens of the model an [`Answer`] names; `None` when its price is not known. A replay costs nothing.
    #[must_use]
    pub fn cost(&self, usage: &Usage, model: &str) -> Option<f64> {
        let _ = (usage, model);
        match self {
            Self::Replay(_) => Some(0.0),
        }
    }

    /// Which model this is, for people and run logs: provider, name, address, never a key.
    #[must_use]
    pub fn describe(&self) -> serde_json::Value {
        match self {
            Self::Replay(replay) => serde_json::json!({"provider": "replay", "path": replay.path()}),
        }
    }
}
