//! What a pack holds once it has been read.

use std::path::PathBuf;

use kernelwright_protocol::{Bottleneck, EntryKind, Phase};
use serde::{Deserialize, Serialize};

use crate::document::DocumentFile;

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
    /// What its documents hold for, and its entries unless they say otherwise; empty for any.
    pub architectures: Vec<String>,
    /// The same for languages.
    pub languages: Vec<String>,
    /// Where the pack as a whole comes from; documents have no other source.
    pub sources: Vec<String>,
    /// The tags that its entries may use.
    pub tags: Vec<String>,
    /// Entries and examples, in the order of their paths.
    pub entries: Vec<Entry>,
    /// The problems that its examples solve, in the order of their paths.
    pub problems: Vec<ProblemFile>,
    /// The documents below `documents/`, in the order of their paths. Only a listing: nothing of them has been read.
    pub documents: Vec<DocumentFile>,
    /// The pack's folder; `None` for a pack inside the executable.
    pub root: Option<PathBuf>,
}

/// A problem file, as the evaluator takes it: `Model`, `get_inputs`, `get_init_inputs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemFile {
    /// The file inside the pack, e.g. `problems/row_softmax.py`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// One entry or example kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file's name without extension; unique in its pack.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it is for; never a document, which is no entry.
    pub kind: EntryKind,
    /// Languages it holds for; empty for any.
    pub languages: Vec<String>,
    /// Architectures it holds for; empty for any.
    pub architectures: Vec<String>,
    /// Which bottleneck it is about.
    pub bottleneck: Option<Bottleneck>,
    /// When in the work on a kernel it helps most.
    pub phase: Option<Phase>,
    /// Where its facts come from.
    pub sources: Vec<String>,
    /// Out of the pack's tags.
    pub tags: Vec<String>,
    /// Of an example: the problem that it solves, a path inside the pack.
    pub problem: Option<String>,
    /// What is known of it by trying, target by target.
    pub evidence: Vec<Evidence>,
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

/// What was found by trying something on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// An architecture, e.g. `sm_90` or `x86_64-avx2`.
    pub target: String,
    /// How far the trial went.
    pub status: EvidenceStatus,
    /// The figures, with shapes and machine, in a line.
    pub text: String,
}

/// How far something was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceStatus {
    /// The evaluator ran it and found it correct.
    Correct,
    /// It was compiled for the target, not run.
    Compiled,
    /// Neither; the text says why.
    NotRun,
}
