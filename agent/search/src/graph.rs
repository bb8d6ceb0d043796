//! The fold over a run's events.

mod learnt;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kernelwright_protocol::{
    BaselineReport, CandidateId, ContentHash, Evaluation, Nanoseconds, Profile, Target, TargetDescription, Verdict,
};
use serde_json::Value;

use crate::{AskId, Event, NodeId, Phase, ProblemName, Record, RunId, RunOutcome, Seed, Settings, Spend, StepId, StopReason};

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

/// A step that has begun and not ended: everything needed to go on with its conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenStep {
    /// Its number.
    pub id: StepId,
    /// Where it started from.
    pub parent: Option<NodeId>,
    /// Why it is taken.
    pub phase: Phase,
    /// The questions so far, in order.
    pub turns: Vec<Turn>,
    /// Set once the step's node is in the graph and only its end is missing.
    pub node: Option<NodeId>,
}

/// One question to the model and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Which question of the run.
    pub ask: AskId,
    /// The hash of the request.
    pub request_hash: ContentHash,
    /// The answer, once there is one.
    pub answer: Option<Value>,
    /// The answer's tool calls that were begun, in order.
    pub calls: Vec<Call>,
    /// What the model was told when it called no tool.
    pub nudge: Option<String>,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which call of the answer.
    pub index: u32,
    /// The provider's name for it.
    pub call_id: String,
    /// Which tool.
    pub tool: String,
    /// As the model wrote them.
    pub arguments: Value,
    /// The result, once there is one.
    pub returned: Option<Returned>,
}

/// A tool's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// What the model is told.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The result in full.
    pub structured: Option<Value>,
}

/// How good a verdict is, in rising order: wrong, right without a time, right with a speedup.
///
/// Speedups are ranked by the lower ends of their intervals: what is sure. Ranked by their medians, the noisiest measurement would win.
/// A wrapper around the library ranks as no faster than the baseline.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Standing {
    /// It does not build, faults, is wrong or cheats.
    Wrong,
    /// It is correct, and nobody knows how fast.
    Untimed,
    /// It is correct and at least this much faster.
    Timed(f64),
}

impl Standing {
    /// Where a verdict stands.
    #[must_use]
    pub fn of(evaluation: &Evaluation) -> Self {
        match &evaluation.verdict {
            Verdict::Correct(_) => evaluation.sure_speedup().map_or(Self::Untimed, Self::Timed),
            _ => Self::Wrong,
        }
    }
}

/// The events do not fit together: the log is not one run's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// An event is missing, doubled or out of order.
    #[error("event {found} follows event {last}")]
    Gap {
        /// The last number in order.
        last: u64,
        /// The number that came instead of the next one.
        found: u64,
    },
    /// The first event is not the start of a run.
    #[error("event 1 does not start a run")]
    NoStart,
    /// An event speaks of a step, question or call that is not open.
    #[error("event {seq} belongs to nothing that is open at that point")]
    Stray {
        /// Which event.
        seq: u64,
    },
}

impl Graph {
    /// Folds a whole run.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, GraphError> {
        let mut graph = Self::default();
        for record in records {
            graph.apply(record)?;
        }
        Ok(graph)
    }

    /// Takes in the next event.
    pub fn apply(&mut self, record: &Record) -> Result<(), GraphError> {
        if record.seq != self.last_seq + 1 {
            return Err(GraphError::Gap { last: self.last_seq, found: record.seq });
        }
        if self.head.is_none() && !matches!(record.event, Event::RunStarted { .. }) {
            return Err(GraphError::NoStart);
        }
        self.last_seq = record.seq;
        if matches!(record.event, Event::ProfileTaken { .. } | Event::ProfileFailed { .. }) {
            // Nothing else happens between asking for a profile and its answer.
            self.profiling += Nanoseconds(record.elapsed_ns.0.saturating_sub(self.spend.wall.0));
        }
        self.spend.wall = record.elapsed_ns;
        self.take(record).ok_or(GraphError::Stray { seq: record.seq })
    }

    /// `None` for an event that belongs to nothing open.
    fn take(&mut self, record: &Record) -> Option<()> {
        match record.event.clone() {
            Event::RunStarted { run, problem, target, settings, versions } => {
                self.head = Some(RunHead { run, problem, target, settings, started: record.at.clone(), versions });
            }
            Event::ModelProbed { usage, cost } => {
                self.probed = true;
                self.spend.used(usage, cost);
            }
            Event::TargetDescribed { description } => self.target = Some(*description),
            Event::BaselineMeasured { report } => self.baseline = Some(*report),
            Event::ProfileTaken { node, profile } => {
                self.profiles.insert(node, Profiled::Taken(profile));
            }
            Event::ProfileFailed { node, reason } => {
                self.profiles.insert(node, Profiled::Failed(reason));
            }
            Event::StepStarted { step, parent, phase } => {
                self.steps.push(StepRecord { id: step, parent, phase, turns: 0, node: None });
                self.open = Some(OpenStep { id: step, parent, phase, turns: vec![], node: None });
            }
            Event::ModelAsked { ask, request_hash, .. } => {
                self.asks += 1;
                self.open.as_mut()?.turns.push(Turn { ask, request_hash, answer: None, calls: vec![], nudge: None });
            }
            Event::ModelAnswered { ask, answer, usage, cost } => {
                self.spend.used(usage, cost);
                self.spend.answers += 1;
                self.steps.last_mut()?.turns += 1;
                self.open_turn(|turn| turn.ask == ask)?.answer = Some(answer);
            }
            Event::ModelNudged { text, .. } => self.open_turn(|_| true)?.nudge = Some(text),
            Event::ToolCalled { index, call_id, tool, arguments, .. } => {
                self.open_turn(|_| true)?.calls.push(Call { index, call_id, tool, arguments, returned: None });
            }
            Event::ToolReturned { index, text, is_error, structured, .. } => {
                let call = self.open_turn(|_| true)?.calls.iter_mut().find(|call| call.index == index)?;
                call.returned = Some(Returned { text, is_error, structured });
            }
            Event::CandidateEvaluated { step, candidate, evaluation } => {
                self.spend.evaluations += 1;
                self.spend.evaluating += evaluation.wall_ns;
                let standing = Standing::of(&evaluation);
                if standing > self.best().map_or(Standing::Wrong, |best| Standing::of(&best.evaluation)) {
                    self.best = Some(self.attempts.len());
                    self.best_since = if step == StepId::WARM_START { 0 } else { self.spend.steps + 1 };
                }
                self.verdicts.insert(candidate.clone(), self.attempts.len());
                self.attempts.push(Attempt { seq: record.seq, step, candidate, evaluation: *evaluation });
            }
            Event::NoteTaken { step, text } => self.notes.push(Note { step, text }),
            Event::NodeAdded { node, parent, step, candidate, fitness, status, summary } => {
                if step != StepId::WARM_START {
                    self.open.as_mut()?.node = Some(node);
                }
                self.nodes.push(Node { id: node, parent, step, candidate, fitness, status, summary });
            }
            Event::StepFinished { node, .. } => {
                self.open.take()?;
                self.steps.last_mut()?.node = node;
                self.spend.steps += 1;
            }
            Event::WarmStart { runs, seeds } => self.warm_start = Some(WarmStart { runs, seeds }),
            Event::LessonsShown { step, lessons } => {
                self.shown.insert(step, lessons);
            }
            Event::LessonRecorded { candidate, .. } => {
                self.taught.insert(candidate);
            }
            Event::LessonsRated { step, .. } => {
                self.rated.insert(step);
            }
            Event::RunPaused { reason } => self.paused = Some(reason),
            Event::RunResumed { settings } => {
                self.head.as_mut()?.settings = settings;
                (self.paused, self.finished) = (None, None);
            }
            Event::RunFinished { outcome, reason } => self.finished = Some((outcome, reason)),
            Event::ToolServerStarted { server, version } => {
                self.head.as_mut()?.versions.insert(server, version);
            }
            Event::ToolServerRestarted { .. } | Event::Unknown => {}
        }
        Some(())
    }

    fn open_turn(&mut self, is_it: impl Fn(&Turn) -> bool) -> Option<&mut Turn> {
        self.open.as_mut()?.turns.last_mut().filter(|turn| is_it(turn))
    }

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

    /// The best correct attempt, the earliest of equals. Unless its step is still open it is a node too.
    #[must_use]
    pub fn best(&self) -> Option<&Attempt> {
        self.best.map(|index| &self.attempts[index])
    }

    /// The node of the best correct attempt; absent while its step is open.
    #[must_use]
    pub fn best_node(&self) -> Option<&Node> {
        let best = self.best()?;
        self.nodes.iter().find(|node| node.candidate == best.candidate)
    }

    /// Finished steps since the best attempt changed, or since the start when there is none; the first `drafts` do not count.
    #[must_use]
    pub fn steps_without_progress(&self, drafts: u32) -> u32 {
        self.spend.steps.saturating_sub(self.best_since.max(drafts))
    }

    /// Where a node stands among others.
    #[must_use]
    pub fn standing(&self, node: &Node) -> Standing {
        self.verdict(&node.candidate).map_or(Standing::Wrong, Standing::of)
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

    /// The best candidate evaluated in a step, the earliest of equals: what its node will be.
    #[must_use]
    pub fn best_attempt(&self, step: StepId) -> Option<&Attempt> {
        let mut best: Option<(&Attempt, Standing)> = None;
        for attempt in self.attempts.iter().filter(|attempt| attempt.step == step) {
            let standing = Standing::of(&attempt.evaluation);
            // Among wrong ones the last is the furthest: it was written with the others' messages in view.
            let better = best.is_none_or(|(_, held)| standing > held || (standing == Standing::Wrong && held == Standing::Wrong));
            if better {
                best = Some((attempt, standing));
            }
        }
        best.map(|(attempt, _)| attempt)
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

    /// What the run has found so far.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        let Some(best) = self.best() else { return RunOutcome::NothingCorrect };
        match best.evaluation.sure_speedup() {
            Some(speedup) if speedup > 1.0 => RunOutcome::Improved,
            _ => RunOutcome::NotImproved,
        }
    }
}
