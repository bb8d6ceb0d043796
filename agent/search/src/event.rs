//! What can happen in a run. One event is one line of `events.jsonl`, and the list of them is the run.

use std::collections::BTreeMap;

use kernelwright_protocol::{
    BaselineReport, CandidateId, ContentHash, Dollars, Effect, Evaluation, Nanoseconds, ProblemId, Profile, Target, TargetDescription,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AskId, NodeId, RunId, Seed, Settings, StepId, StopReason, Usage};

/// The version of the event format. A reader refuses lines of a newer version; inside one version it ignores fields and event types it
/// does not know, so that these can be added without a new version.
pub const FORMAT_VERSION: u32 = 1;

/// One line of the log: an event, its number, and when it happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The format's version.
    pub v: u32,
    /// Counts up from 1 without gaps.
    pub seq: u64,
    /// When it happened, RFC 3339 in UTC.
    pub at: String,
    /// How long the run had been active by then, all its sessions added up.
    pub elapsed_ns: Nanoseconds,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The run began; always the first event.
    RunStarted {
        /// The run's name.
        run: RunId,
        /// What is to be made faster.
        problem: ProblemName,
        /// Where kernels run.
        target: Target,
        /// What the run was told to do.
        settings: Settings,
        /// Versions of the agent and of what it talks to.
        #[serde(default)]
        versions: BTreeMap<String, String>,
    },
    /// The model answered a first question, with a tool call.
    ModelProbed {
        /// What that took.
        usage: Usage,
        /// What it cost, where the price is known.
        #[serde(default)]
        cost: Option<Dollars>,
    },
    /// The target was read and measured.
    TargetDescribed {
        /// What it is and can do.
        description: Box<TargetDescription>,
    },
    /// What there is to beat was measured.
    BaselineMeasured {
        /// The times.
        report: Box<BaselineReport>,
    },
    /// It is known where the time of a kernel goes.
    ProfileTaken {
        /// Which node; the problem itself when absent.
        #[serde(default)]
        node: Option<NodeId>,
        /// The figures.
        profile: Box<Profile>,
    },
    /// A profile was asked for and could not be had. The run goes on without.
    ProfileFailed {
        /// Which node; the problem itself when absent.
        #[serde(default)]
        node: Option<NodeId>,
        /// Why.
        reason: String,
    },
    /// Earlier runs were looked through, once, for kernels to begin with.
    WarmStart {
        /// How many earlier runs had a verified kernel for something similar.
        runs: u32,
        /// What is begun with, the most promising first. Each is evaluated like any candidate, in step 0, and becomes a node.
        seeds: Vec<Seed>,
    },
    /// An application of the operator began.
    StepStarted {
        /// Its number.
        step: StepId,
        /// The node to start from; absent for a draft.
        #[serde(default)]
        parent: Option<NodeId>,
        /// Why this step is taken.
        phase: Phase,
    },
    /// The opening of a step tells lessons of earlier runs.
    LessonsShown {
        /// Which step.
        step: StepId,
        /// Which lessons.
        lessons: Vec<String>,
    },
    /// The model is about to be asked. A later record with the same `ask` answers it.
    ModelAsked {
        /// In which step.
        step: StepId,
        /// Which question of the step, counted from 1.
        turn: u32,
        /// Which question of the run.
        ask: AskId,
        /// The hash of the whole request. The text of the step's first request is kept under this name.
        request_hash: ContentHash,
    },
    /// The model answered.
    ModelAnswered {
        /// Which question.
        ask: AskId,
        /// The answer, in the model crate's form; a replay reads it from here.
        answer: Value,
        /// Tokens.
        usage: Usage,
        /// What it cost, where the price is known.
        #[serde(default)]
        cost: Option<Dollars>,
    },
    /// The model gave an answer without a tool call and was told to go on.
    ModelNudged {
        /// In which step.
        step: StepId,
        /// After which question of the step.
        turn: u32,
        /// What it was told.
        text: String,
    },
    /// The model calls a tool. A later `tool_returned` with the same step, turn and index answers it.
    ToolCalled {
        /// In which step.
        step: StepId,
        /// In the answer to which question of the step.
        turn: u32,
        /// Which call of that answer, counted from 0. Providers' call ids need not be unique; this is.
        index: u32,
        /// The provider's name for the call.
        call_id: String,
        /// Which tool.
        tool: String,
        /// As the model wrote them; a string when they were no JSON.
        arguments: Value,
    },
    /// A tool's result, as the model is told it.
    ToolReturned {
        /// In which step.
        step: StepId,
        /// In the answer to which question of the step.
        turn: u32,
        /// Which call of that answer.
        index: u32,
        /// The provider's name for the call.
        call_id: String,
        /// What the model is told.
        text: String,
        /// Whether the call failed.
        is_error: bool,
        /// The result in full, where the tool gave one that no other event carries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<Value>,
    },
    /// A tool server is up, for the first time or in another version than before.
    ToolServerStarted {
        /// Which one.
        server: String,
        /// Its version, as it gives it.
        version: String,
    },
    /// A tool server died or hung and was started again.
    ToolServerRestarted {
        /// Which one.
        server: String,
        /// What was wrong with the old one.
        reason: String,
    },
    /// A candidate has a verdict.
    CandidateEvaluated {
        /// In which step; 0 before the first one.
        step: StepId,
        /// Which candidate: its text is kept under this name.
        candidate: CandidateId,
        /// The verdict.
        evaluation: Box<Evaluation>,
    },
    /// The model wrote something down for later steps.
    NoteTaken {
        /// In which step.
        step: StepId,
        /// The note.
        text: String,
    },
    /// A step's best evaluated candidate became a node.
    NodeAdded {
        /// Its number.
        node: NodeId,
        /// What it was made from; absent for a draft.
        #[serde(default)]
        parent: Option<NodeId>,
        /// In which step.
        step: StepId,
        /// Which candidate.
        candidate: CandidateId,
        /// Its speedup; 0 when it is not correct, absent when it is correct but was not timed.
        #[serde(default)]
        fitness: Option<f64>,
        /// The verdict's status.
        status: String,
        /// What was done and why, in the model's words.
        summary: String,
    },
    /// An application of the operator came to its end.
    StepFinished {
        /// Which one.
        step: StepId,
        /// What came of it; absent when nothing was evaluated.
        #[serde(default)]
        node: Option<NodeId>,
    },
    /// What verdicts of this run prove is kept for later runs.
    LessonRecorded {
        /// The lesson's name in the knowledge base.
        lesson: String,
        /// The kernel that the change led to.
        candidate: CandidateId,
        /// The kernel it was made from; absent for one made from nothing.
        #[serde(default)]
        parent: Option<CandidateId>,
        /// What the change did.
        effect: Effect,
    },
    /// It is known whether a step that was shown lessons made something of them.
    LessonsRated {
        /// Which step.
        step: StepId,
        /// Which lessons.
        lessons: Vec<String>,
        /// Whether its kernel improved for sure.
        helped: bool,
    },
    /// The run stopped with its work undone, e.g. because the model is out of reach.
    RunPaused {
        /// Why.
        reason: String,
    },
    /// A stopped or killed run goes on.
    RunResumed {
        /// What it is told to do from here on.
        settings: Settings,
    },
    /// The run came to its end; it can still be resumed with a larger budget.
    RunFinished {
        /// What it found.
        outcome: RunOutcome,
        /// Why it ended.
        reason: StopReason,
    },
    /// An event type of a later minor version. It is passed over.
    #[serde(other)]
    Unknown,
}

/// What a run is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemName {
    /// The file's name without its ending.
    pub name: String,
    /// The hash of its source.
    pub id: ProblemId,
}

/// Why a step is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A first kernel, from the problem alone.
    Draft,
    /// A kernel made from an earlier one.
    Expand,
}

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// A correct kernel whose speedup is above 1 with its whole interval.
    Improved,
    /// A correct kernel, but not one that is faster for sure.
    NotImproved,
    /// No correct kernel.
    NothingCorrect,
}
