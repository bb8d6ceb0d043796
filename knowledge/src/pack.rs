//! What a pack holds once it has been read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A pack: knowledge of one platform or subject under one licence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// The identifier, e.g. `nvidia-hopper`.
    pub id: String,
    /// The version, as its author counts.
    pub version: String,
    /// The licence of its text and kernels, an SPDX expression.
    pub licence: String,
    /// What it is about, in a line.
    pub description: String,
    /// The vendor it holds for; `None` for every vendor.
    pub vendor: Option<String>,
    /// The tags that its entries may use.
    pub tags: Vec<String>,
    /// Entries and examples, in the order of their paths.
    pub entries: Vec<Entry>,
}

/// One entry or example kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file's name without extension; unique in its pack.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub kind: Kind,
    /// Languages it holds for; empty for any.
    pub languages: Vec<String>,
    /// Architectures it holds for; empty for any.
    pub architectures: Vec<String>,
    /// Which bottleneck it is about.
    pub bottleneck: Option<Bottleneck>,
    /// Where its facts come from.
    pub sources: Vec<String>,
    /// Out of the pack's tags.
    pub tags: Vec<String>,
    /// The file inside the pack, e.g. `entries/occupancy.md`.
    pub path: String,
    /// The whole file, front matter included, so that line numbers are the file's.
    pub text: String,
    /// The line of the file with which the text after the front matter begins, counted from 1.
    pub body_line: u32,
}

impl Entry {
    /// The text after the front matter.
    #[must_use]
    pub fn body(&self) -> &str {
        let front: usize = self.text.split_inclusive('\n').take(self.body_line as usize - 1).map(str::len).sum();
        &self.text[front..]
    }
}

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A rule that code has to keep.
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

/// What keeps a kernel from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MemoryBandwidth => "memory bandwidth",
            Self::Compute => "compute",
            Self::Latency => "latency",
            Self::LaunchOverhead => "launch overhead",
            Self::Occupancy => "occupancy",
            Self::Synchronization => "synchronization",
            Self::Capacity => "capacity",
        })
    }
}
