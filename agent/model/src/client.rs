//! The one way to ask a model, whatever stands behind it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Answer, ClientSettings, Hosted, Mailbox, ModelError, Replay, Request, TextSink, Usage, wire::Wire};

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
    /// A model behind HTTP, at `OpenAI`, Anthropic, or any server that speaks like one of them.
    Hosted(Box<Hosted>),
    /// The answers of a recorded run.
    Replay(Replay),
    /// A folder of questions and answers.
    Mailbox(Mailbox),
}

impl Client {
    /// Makes a client. Reads keys and recordings and makes the mailbox's folder, but does not reach out yet: see [`Client::probe`].
    pub fn open(settings: &ClientSettings) -> Result<Self, ModelError> {
        let hosted = |wire, settings| Hosted::open(wire, settings).map(Box::new).map(Self::Hosted);
        match settings {
            ClientSettings::OpenAi(settings) => hosted(Wire::Chat, settings),
            ClientSettings::Anthropic(settings) => hosted(Wire::Messages, settings),
            ClientSettings::Replay(settings) => Replay::open(settings).map(Self::Replay),
            ClientSettings::Mailbox(settings) => Mailbox::open(settings).map(Self::Mailbox),
        }
    }

    /// Asks a question and waits for the whole answer, which the sink sees grow. Failures that may pass are retried inside, as long as
    /// patience lasts. Dropping the future ends the request.
    pub async fn ask(&self, request: &Request, place: Place, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        match self {
            Self::Hosted(hosted) => hosted.ask(request, sink).await,
            Self::Replay(replay) => replay.answer(place, sink),
            Self::Mailbox(mailbox) => mailbox.answer(request, place, sink),
        }
    }

    /// Asks for one tool call, to find a wrong key, address or name, or a model without function calling, before anything is spent on a
    /// run. Returns the tokens that took: none for a replay and a mailbox, which are not asked. The sink sees what keeps it waiting.
    pub async fn probe(&self, sink: &dyn TextSink) -> Result<Usage, ModelError> {
        match self {
            Self::Hosted(hosted) => hosted.probe(sink).await,
            Self::Replay(_) | Self::Mailbox(_) => Ok(Usage::default()),
        }
    }

    /// Dollars for these tokens of the model an [`Answer`] names; `None` when its price is not known. A replay costs nothing.
    #[must_use]
    pub fn cost(&self, usage: &Usage, model: &str) -> Option<f64> {
        match self {
            Self::Hosted(hosted) => hosted.cost(usage, model),
            Self::Replay(_) => Some(0.0),
            Self::Mailbox(mailbox) => mailbox.cost(usage, model),
        }
    }

    /// Whether the price of the model that is asked is known; an answer may still name another, or be longer than the price holds for.
    #[must_use]
    pub fn has_price(&self) -> bool {
        match self {
            Self::Hosted(hosted) => hosted.has_price(),
            Self::Replay(_) => true,
            Self::Mailbox(mailbox) => mailbox.has_price(),
        }
    }

    /// Which model this is, for people and run logs: provider, and name and address or path. Never a key.
    #[must_use]
    pub fn describe(&self) -> Value {
        match self {
            Self::Hosted(hosted) => hosted.describe(),
            Self::Replay(replay) => json!({"provider": "replay", "path": replay.path()}),
            Self::Mailbox(mailbox) => mailbox.describe(),
        }
    }
}
