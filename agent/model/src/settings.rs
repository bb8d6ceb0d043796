//! Which model to ask, where, and how patiently. Deserialised from settings files; never serialised, because headers may be secret.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::{HeaderSource, KeySource, Price};

/// Which model to ask. In a settings file the field `provider` says which: `openai`, `anthropic`, `replay` or `mailbox`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "provider", rename_all = "lowercase")]
pub enum ClientSettings {
    /// A server that speaks `OpenAI`'s chat completions.
    OpenAi(HostedSettings),
    /// A server that speaks Anthropic's messages.
    Anthropic(HostedSettings),
    /// The answers of a recorded run.
    Replay(ReplaySettings),
    /// Files that somebody or something else answers.
    Mailbox(MailboxSettings),
}

/// A model behind HTTP.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostedSettings {
    /// The model's name, as the server knows it.
    pub model: String,
    /// Where the server is: with or without `/v1`, or the whole path of the endpoint. The provider's own when absent.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Where the key is. When absent: the provider's usual environment variable for the provider's own address, no key for any other.
    #[serde(default)]
    pub key: Option<KeySource>,
    /// Extra headers for every request.
    #[serde(default)]
    pub headers: BTreeMap<String, HeaderSource>,
    /// How answers come.
    #[serde(default)]
    pub transfer: Transfer,
    /// What chat completions call the limit on the answer's length.
    #[serde(default)]
    pub limit_field: LimitField,
    /// The longest answer when a request does not say, in tokens. Anthropic's interface demands one and gets 32,000 when absent.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature when a request does not say.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Fields added to every request body, e.g. `reasoning_effort` or `thinking`; they win over ours.
    #[serde(default)]
    pub extra_body: Map<String, Value>,
    /// When to give up.
    #[serde(default)]
    pub patience: Patience,
    /// Prices by model name, before the built-in ones.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
}

impl HostedSettings {
    /// A model at its provider, everything else as usual.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: None,
            key: None,
            headers: BTreeMap::new(),
            transfer: Transfer::default(),
            limit_field: LimitField::default(),
            max_output_tokens: None,
            temperature: None,
            extra_body: Map::new(),
            patience: Patience::default(),
            prices: BTreeMap::new(),
        }
    }
}

/// How answers come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transfer {
    /// Piece by piece: progress can be shown, and a long answer is not mistaken for a dead server.
    #[default]
    Streamed,
    /// All at once, for servers whose stream has no tool calls.
    Whole,
}

/// What chat completions call the limit on the answer's length: hosts of reasoning models take one name, most other servers the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitField {
    /// `max_completion_tokens` at `OpenAI`'s own address, `max_tokens` at any other.
    #[default]
    Auto,
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// When to give up. In settings files all times are seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Patience {
    /// For a connection.
    #[serde(deserialize_with = "seconds")]
    pub connect: Duration,
    /// Between two pieces of a streamed answer, or before the first. A whole answer comes in one piece and has all of `attempt`.
    #[serde(deserialize_with = "seconds")]
    pub idle: Duration,
    /// For one attempt, however lively.
    #[serde(deserialize_with = "seconds")]
    pub attempt: Duration,
    /// From the first failure until the run pauses. Zero: one attempt only.
    #[serde(deserialize_with = "seconds")]
    pub outage: Duration,
    /// Before the second attempt; doubled before each later one, and shortened by up to half at random.
    #[serde(deserialize_with = "seconds")]
    pub first_delay: Duration,
    /// The longest such delay. A server that asks for a longer one gets it.
    #[serde(deserialize_with = "seconds")]
    pub longest_delay: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(300),
            attempt: Duration::from_secs(1800),
            outage: Duration::from_secs(900),
            first_delay: Duration::from_secs(1),
            longest_delay: Duration::from_secs(60),
        }
    }
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplaySettings {
    /// Its `events.jsonl`, or the folder with that.
    pub path: PathBuf,
}

/// A folder of questions and answers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailboxSettings {
    /// The folder; made when it is not there.
    pub dir: PathBuf,
    /// The model named in the requests, for batch services that want one.
    #[serde(default)]
    pub model: Option<String>,
    /// Fields added to every request body; they win over ours.
    #[serde(default)]
    pub extra_body: Map<String, Value>,
    /// Prices by model name, before the built-in ones.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
}

impl MailboxSettings {
    /// A folder, everything else as usual.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), model: None, extra_body: Map::new(), prices: BTreeMap::new() }
    }
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}
