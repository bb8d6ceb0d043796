//! What the knowledge server hands out: passages found by a query, whole entries, and the packs they come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A rule that code for the platform has to keep.
    Constraint,
    /// How to go about something.
    Guidance,
    /// A fact about a machine.
    Hardware,
    /// A transformation that pays, and when.
    Pattern,
    /// Something that goes wrong, and why.
    Pitfall,
    /// An error message, its cause and its cure.
    Error,
    /// How a named interface is called.
    Api,
    /// A complete kernel.
    Example,
}

impl EntryKind {
    /// The wire name, as in front matter and filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Guidance => "guidance",
            Self::Hardware => "hardware",
            Self::Pattern => "pattern",
            Self::Pitfall => "pitfall",
            Self::Error => "error",
            Self::Api => "api",
            Self::Example => "example",
        }
    }
}

/// The answer of `search_knowledge`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Passages {
    /// Best first.
    pub passages: Vec<Passage>,
}

/// A piece of an entry that fits a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Passage {
    /// The entry it is from: `pack/entry`, for `read_entry`.
    pub entry: String,
    /// The heading path inside the entry, e.g. `Softmax > One pass`.
    pub heading: String,
    /// The kind of entry.
    pub kind: EntryKind,
    /// The file inside the pack.
    pub path: String,
    /// First line in that file, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// The retrieval score; comparable within one answer only.
    pub score: f64,
    /// The passage itself.
    pub text: String,
}

/// The answer of `read_entry`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// `pack/entry`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The kind of entry.
    pub kind: EntryKind,
    /// Where its facts come from: addresses or documents.
    pub sources: Vec<String>,
    /// The text from the asked offset on.
    pub text: String,
    /// Where to read on, in characters; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// One pack of `list_packs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PackSummary {
    /// The pack's identifier.
    pub id: String,
    /// Its version.
    pub version: String,
    /// What it is about, in a line.
    pub description: String,
    /// How many entries it holds.
    pub entries: u32,
}
