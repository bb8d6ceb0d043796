//! What a graph is made of.

use std::collections::BTreeMap;

use kernelwright_protocol::{CandidateId, Evaluation, Profile, Target};

use crate::{NodeId, Phase, ProblemName, RunId, Seed, Settings, StepId};

/// What the first event says.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHead {
    /// The run's name.
    pub run: RunId,
    /// What is to be made faster.
    pub problem: ProblemName,
    /// Where kernels run.
    pub target: Target,
    /// What the run is told to do, by its start or by its last resume.
    pub settings: Settings,
    /// When it began, RFC 3339.
    pub started: String,
    /// Versions of the agent and of what it talks to.
    pub versions: BTreeMap<String, String>,
}

/// What a run begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmStart {
    /// How many earlier runs had a verified kernel for something similar.
    pub runs: u32,
    /// The kernels, the most promising first.
    pub seeds: Vec<Seed>,
}

/// One kernel of the graph; its edge is the step that made it from its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// What it was made from.
    pub parent: Option<NodeId>,
    /// In which step.
    pub step: StepId,
    /// Its text's hash.
    pub candidate: CandidateId,
    /// Its speedup; see [`Evaluation::fitness`].
    pub fitness: Option<f64>,
    /// Its verdict's status.
    pub status: String,
    /// What was done and why, in the model's words.
    pub summary: String,
}

/// One evaluated candidate, whether or not it became a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Which record of the run says so.
    pub seq: u64,
    /// In which step; see [`StepId::WARM_START`].
    pub step: StepId,
    /// Which candidate.
    pub candidate: CandidateId,
    /// The verdict.
    pub evaluation: Evaluation,
}

/// Something the model wrote down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// In which step.
    pub step: StepId,
    /// The note.
    pub text: String,
}

/// One step, finished or open, in brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRecord {
    /// Its number.
    pub id: StepId,
    /// Where it started from.
    pub parent: Option<NodeId>,
    /// Why it was taken.
    pub phase: Phase,
    /// Model answers in it.
    pub turns: u32,
    /// What came of it.
    pub node: Option<NodeId>,
}

/// What is known of a node's time.
#[derive(Clone, Debug, PartialEq)]
pub enum Profiled {
    /// Where it goes.
    Taken(Box<Profile>),
    /// Why that is not known.
    Failed(String),
}
