//! The two wire formats behind one interface: a request into a body, and a body or stream into a draft of an answer.

mod chat;
mod chat_answer;
mod draft;
mod messages;
mod messages_answer;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::{LimitField, Request, Secret, TextSink, Transfer, sse::Event};
pub(crate) use chat::body as chat_body;
pub(crate) use chat_answer::ChatAssembly;
pub(crate) use draft::Draft;
pub(crate) use messages_answer::MessagesAssembly;

/// A provider's way of talking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// `OpenAI`'s chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
}

/// How a body is to be written.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) model: String,
    pub(crate) transfer: Transfer,
    pub(crate) limit_field: LimitField,
    /// The wish for a count of tokens at the end of a stream.
    pub(crate) usage_chunk: Field,
    /// The demand for a tool call.
    pub(crate) tool_choice: Field,
    pub(crate) extra_body: Map<String, Value>,
}

/// Whether a field that not every server knows is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// It is, where a request asks for it.
    Sent,
    /// It is not, because the server refused it or has no use for it.
    Refused,
}

impl Wire {
    /// The provider's own address.
    pub(crate) fn home(self) -> &'static str {
        match self {
            Self::Chat => "https://api.openai.com/v1",
            Self::Messages => "https://api.anthropic.com/v1",
        }
    }

    /// The environment variable that usually holds the provider's key.
    pub(crate) fn usual_variable(self) -> &'static str {
        match self {
            Self::Chat => "OPENAI_API_KEY",
            Self::Messages => "ANTHROPIC_API_KEY",
        }
    }

    /// The endpoint's path after the version.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Messages => "/messages",
        }
    }

    /// The provider's name in settings and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "openai",
            Self::Messages => "anthropic",
        }
    }

    /// The header that carries the key, and the text in it.
    pub(crate) fn key_header(self, key: &Secret) -> (HeaderName, String) {
        match self {
            Self::Chat => (HeaderName::from_static("authorization"), format!("Bearer {}", key.expose())),
            Self::Messages => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
        }
    }

    /// Headers that every request needs.
    pub(crate) fn fixed_headers(self) -> Vec<(HeaderName, HeaderValue)> {
        match self {
            Self::Chat => Vec::new(),
            Self::Messages => vec![(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"))],
        }
    }

    /// The request as a JSON body.
    pub(crate) fn body(self, request: &Request, style: &Style) -> Value {
        match self {
            Self::Chat => chat::body(request, style),
            Self::Messages => messages::body(request, style),
        }
    }

    /// Something to put the answer together with.
    pub(crate) fn assembly(self) -> Assembly {
        match self {
            Self::Chat => Assembly::Chat(ChatAssembly::default()),
            Self::Messages => Assembly::Messages(MessagesAssembly::default()),
        }
    }
}

/// An answer being put together.
#[derive(Debug)]
pub(crate) enum Assembly {
    Chat(ChatAssembly),
    Messages(MessagesAssembly),
}

/// What an event of the stream meant for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// There may be more.
    More,
    /// That was all.
    Done,
}

/// Why an answer cannot be put together.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The server sent an error instead of the rest: this JSON.
    Error(Value),
    /// What it sent makes no sense.
    Garbled(String),
    /// It stopped before the answer was complete.
    Unfinished,
}

impl Assembly {
    /// Takes one event of a stream.
    pub(crate) fn event(&mut self, event: &Event, sink: &dyn TextSink) -> Result<Flow, Broken> {
        if event.data.trim() == "[DONE]" {
            return Ok(Flow::Done);
        }
        let value = serde_json::from_str(&event.data).map_err(|error| Broken::Garbled(format!("an event is not JSON: {error}")))?;
        match self {
            Self::Chat(assembly) => assembly.event(value, sink),
            Self::Messages(assembly) => assembly.event(value, sink),
        }
    }

    /// Takes a whole answer.
    pub(crate) fn whole(&mut self, value: Value, sink: &dyn TextSink) -> Result<(), Broken> {
        match self {
            Self::Chat(assembly) => assembly.whole(value, sink),
            Self::Messages(assembly) => assembly.whole(value, sink),
        }
    }

    /// What has come together, if that is a complete answer. `ended` says whether the server itself said that it was done.
    pub(crate) fn finish(self, ended: Flow) -> Result<Draft, Broken> {
        match self {
            Self::Chat(assembly) => assembly.finish(ended),
            Self::Messages(assembly) => assembly.finish(),
        }
    }
}

/// Moves a member out of an object; null where there is none, or no object. Indexing for this would panic on what a server may send.
fn take(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map(Value::take).unwrap_or_default()
}
