//! Model clients: OpenAI-compatible, Anthropic, mailbox and replay.
//!
//! A [`Client`] takes a [`Request`] in no provider's words and gives an [`Answer`]; what is between them (wire formats, streams, retries,
//! keys) stays in here. The crate knows no run, no kernel and no search: a conversation comes in whole, and nothing is remembered.
//!
//! Limits: text and tool calls only, no images; chat completions and messages, not the providers' stateful interfaces.

mod address;
mod arguments;
mod client;
mod conversation;
mod endpoint;
mod error;
mod hosted;
mod mailbox;
mod prices;
mod probe;
mod refusal;
mod replay;
mod retry;
mod secret;
mod settings;
mod sink;
mod sse;
mod usage;
mod wire;

pub use address::without_secrets;
pub use arguments::Arguments;
pub use client::{Client, Place};
pub use conversation::{Answer, Finish, Message, Request, ToolCall, ToolChoice, ToolSpec};
pub use error::{Fault, MissingKey, ModelError};
pub use hosted::Hosted;
pub use mailbox::Mailbox;
pub use prices::Price;
pub use replay::Replay;
pub(crate) use secret::Secret;
pub use secret::{HeaderSource, KeySource};
pub use settings::{ClientSettings, HostedSettings, LimitField, MailboxSettings, Patience, ReplaySettings, Transfer};
pub use sink::{NoSink, Piece, TextSink};
pub use usage::{Counted, Usage};
