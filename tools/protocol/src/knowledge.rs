//! What the knowledge server hands out: passages found by a query, whole entries, places in code, and the packs they come from.

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
    /// What a verified run taught.
    Lesson,
    /// A text without front matter: documentation, a notebook, source code.
    Document,
}

impl EntryKind {
    /// All of them, in the order of the format's documentation.
    pub const ALL: [Self; 10] = [
        Self::Constraint,
        Self::Guidance,
        Self::Hardware,
        Self::Pattern,
        Self::Pitfall,
        Self::Error,
        Self::Api,
        Self::Example,
        Self::Lesson,
        Self::Document,
    ];

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
            Self::Lesson => "lesson",
            Self::Document => "document",
        }
    }
}

/// What keeps a kernel from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Bytes per second between memory and chip.
    MemoryBandwidth,
    /// Operations per second.
    Compute,
    /// Waiting for single loads or dependent operations.
    Latency,
    /// The fixed cost of each launch or call.
    LaunchOverhead,
    /// Too little parallel work on the chip to hide latency.
    Occupancy,
    /// Barriers, atomics and serial sections.
    Synchronization,
    /// Registers, shared memory or cache that do not suffice.
    Capacity,
}

impl Bottleneck {
    /// All of them, in the order of the format's documentation.
    pub const ALL: [Self; 7] =
        [Self::MemoryBandwidth, Self::Compute, Self::Latency, Self::LaunchOverhead, Self::Occupancy, Self::Synchronization, Self::Capacity];

    /// The wire name, as in front matter and filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MemoryBandwidth => "memory_bandwidth",
            Self::Compute => "compute",
            Self::Latency => "latency",
            Self::LaunchOverhead => "launch_overhead",
            Self::Occupancy => "occupancy",
            Self::Synchronization => "synchronization",
            Self::Capacity => "capacity",
        }
    }
}

/// When in the making of a kernel an entry is worth reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before code is written.
    Analyse,
    /// While it is written.
    Write,
    /// When it does not compile or gives wrong results.
    Debug,
    /// When it is right and should be faster.
    Tune,
    /// When its speed and its results are to be believed.
    Verify,
}

impl Phase {
    /// All of them, in the order of the work.
    pub const ALL: [Self; 5] = [Self::Analyse, Self::Write, Self::Debug, Self::Tune, Self::Verify];

    /// The wire name, as in front matter and filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Analyse => "analyse",
            Self::Write => "write",
            Self::Debug => "debug",
            Self::Tune => "tune",
            Self::Verify => "verify",
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
    /// How many documents it holds; absent when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub documents: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The answer of `find_code`: like grep's, in the order of packs, files and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeMatches {
    /// One page of what was found.
    pub matches: Vec<CodeMatch>,
    /// Where to go on: `offset` of the next call; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// One line that fits, or one file when only names were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeMatch {
    /// The entry or document it is in: `pack/entry`, for `read_entry`.
    pub entry: String,
    /// The line, counted from 1; absent when only file names were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The line's text without its indentation, cut when it is very long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}
