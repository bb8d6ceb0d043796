//! What a run's events add up to, and what can be asked of it.

mod elements;
mod fold;
mod learnt;
mod open_step;
mod standing;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kernelwright_protocol::{BaselineReport, CandidateId, Evaluation, Nanoseconds, TargetDescription};

pub use self::elements::{Attempt, Node, Note, Profiled, RunHead, StepRecord, WarmStart};
pub use self::fold::GraphError;
pub use self::open_step::{Call, OpenStep, Returned, Turn};
pub use self::standing::Standing;
use crate::{AskId, NodeId, RunOutcome, Settings, Spend, StepId, StopReason};

/// Everything a run's events add up to.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    head: Option<RunHead>,
    /// The target, once described.
    pub target: Option<TargetDescription>,
    /// What there is to beat, once measured.
    pub baseline: Option<BaselineReport>,
    /// With what earlier runs found this one begins, once it was looked for.
    pub warm_start: Option<WarmStart>,
    profiles: BTreeMap<Option<NodeId>, Profiled>,
    /// Time that profiles took.
    profiling: Nanoseconds,
    nodes: Vec<Node>,
    attempts: Vec<Attempt>,
    verdicts: HashMap<CandidateId, usize>,
    steps: Vec<StepRecord>,
    notes: Vec<Note>,
    shown: BTreeMap<StepId, Vec<String>>,
    rated: BTreeSet<StepId>,
    /// The kernels whose changes are kept as lessons.
    taught: BTreeSet<CandidateId>,
    open: Option<OpenStep>,
    best: Option<usize>,
    /// How many steps will be finished once the one that found the best attempt is.
    best_since: u32,
    asks: usize,
    /// Whether the model was probed.
    pub probed: bool,
    /// What was used up.
    pub spend: Spend,
    /// How the run ended, where it did.
    pub finished: Option<(RunOutcome, StopReason)>,
    /// Why the run waits, where it does.
    pub paused: Option<String>,
    last_seq: u64,
}

impl Graph {
    /// What the first event says; absent only before any event.
    #[must_use]
    pub fn head(&self) -> Option<&RunHead> {
        self.head.as_ref()
    }

    /// The same graph as if a resume had recorded these settings: to look ahead.
    #[must_use]
    pub fn with_settings(mut self, settings: Settings) -> Self {
        if let Some(head) = &mut self.head {
            head.settings = settings;
        }
        self
    }

    /// Every node, in the order of their numbers.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node with that number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// A node and its ancestors, the eldest first.
    #[must_use]
    pub fn lineage(&self, id: NodeId) -> Vec<&Node> {
        let mut line: Vec<&Node> = std::iter::successors(self.node(id), |node| self.node(node.parent?)).take(self.nodes.len()).collect();
        line.reverse();
        line
    }

    /// The recorded verdict on a candidate.
    #[must_use]
    pub fn verdict(&self, candidate: &CandidateId) -> Option<&Evaluation> {
        self.attempt(candidate).map(|attempt| &attempt.evaluation)
    }

    /// The same with its place in the run.
    #[must_use]
    pub fn attempt(&self, candidate: &CandidateId) -> Option<&Attempt> {
        self.verdicts.get(candidate).map(|&index| &self.attempts[index])
    }

    /// Every evaluated candidate, in order.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Every step, in order; the last one may be open.
    #[must_use]
    pub fn steps(&self) -> &[StepRecord] {
        &self.steps
    }

    /// The step that has begun and not ended.
    #[must_use]
    pub fn open_step(&self) -> Option<&OpenStep> {
        self.open.as_ref()
    }

    /// What the model wrote down, in order.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What is known of where a node's time goes; `None` asks for the problem itself.
    #[must_use]
    pub fn profile(&self, node: Option<NodeId>) -> Option<&Profiled> {
        self.profiles.get(&node)
    }

    /// The time that profiles took.
    #[must_use]
    pub fn profiling(&self) -> Nanoseconds {
        self.profiling
    }

    /// The number of the next question to the model.
    #[must_use]
    pub fn next_ask(&self) -> AskId {
        AskId::after(self.asks)
    }

    /// The number of the next node.
    #[must_use]
    pub fn next_node(&self) -> NodeId {
        NodeId::after(self.nodes.len())
    }

    /// The number of the last event taken in; 0 before any.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }
}
