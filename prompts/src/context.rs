//! What templates may speak of: one struct per template, every field always there.
//!
//! Figures arrive as text, in the units a reader expects: a template words things and computes nothing. A fact that is not known is `None`
//! or an empty list, and the templates pass over it. The doc comments here are the manual for whoever writes templates of their own.

use serde::Serialize;

/// A context that belongs to one template.
pub trait Context: Serialize {
    /// The file's name among the templates.
    const TEMPLATE: &'static str;
}

/// What holds for the whole run: the contract of a candidate, the rules of the evaluator, the tools. The model sees it with every request,
/// unchanged, so that providers can cache it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemContext {
    /// Which kind of kernel is asked for.
    pub backend: Form,
    /// The names of all tools the model may call.
    pub tools: Vec<String>,
    /// Model answers in one step.
    pub inner_turns: u32,
    /// Whether TF32 is allowed inside float32 matrix products.
    pub tf32: bool,
    /// The baselines in words, e.g. `eager`, `torch.compile`.
    pub baselines: Vec<String>,
}

impl Context for SystemContext {
    const TEMPLATE: &'static str = "system.md";
}

/// Which kind of kernel is asked for; picks `form-cpu.md` or `form-cuda.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// C++ on raw pointers.
    Cpu,
    /// Triton or inline CUDA.
    Cuda,
}

/// Everything that is known at the start of a step. There is one such template: what it says follows from what is known, not from a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorContext {
    /// What is to be made faster.
    pub problem: ProblemView,
    /// Where it has to be fast.
    pub target: TargetView,
    /// What there is to beat, the fastest marked.
    pub baselines: Vec<BaselineView>,
    /// The least time the memory traffic can take.
    pub floor: Option<FloorView>,
    /// Where the problem's own time goes.
    pub problem_profile: Option<ProfileView>,
    /// The kernel this step starts from; absent for a fresh start.
    pub parent: Option<KernelView>,
    /// The parent's ancestors, the eldest first, without the parent.
    pub ancestors: Vec<LineageView>,
    /// Other kernels of the run that are worth knowing, the best first.
    pub others: Vec<LineageView>,
    /// The best kernel of the run, where it is not the parent; absent for a draft.
    pub best: Option<LineageView>,
    /// Recent attempts that were not correct, the oldest first.
    pub failures: Vec<FailureView>,
    /// What earlier steps wrote down, the oldest first.
    pub notes: Vec<String>,
    /// Of a fresh start: kernels of earlier runs on similar problems, which are not correct here.
    pub seeds: Vec<SeedView>,
    /// What earlier runs proved on similar problems, the most useful first.
    pub lessons: Vec<LessonView>,
    /// What the knowledge base has to say.
    pub passages: Vec<PassageView>,
    /// What is left of the budget, one phrase per limit.
    pub budget: Vec<String>,
    /// Model answers in this step.
    pub turns: u32,
}

impl Context for OperatorContext {
    const TEMPLATE: &'static str = "operator.md";
}

/// The problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProblemView {
    /// Its name.
    pub name: String,
    /// The whole file.
    pub source: String,
    /// The inputs in words, e.g. `float32[4096, 4096]`.
    pub inputs: Vec<String>,
    /// The outputs in words.
    pub outputs: Vec<String>,
    /// What the evaluator remarked about the problem itself.
    pub findings: Vec<String>,
}

/// The target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetView {
    /// The product's name.
    pub name: String,
    /// The architecture, e.g. `sm_90`.
    pub arch: String,
    /// Limits and features.
    pub facts: Vec<FactView>,
    /// Versions of what builds and runs kernels.
    pub software: Vec<String>,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactView {
    /// What it is.
    pub name: String,
    /// The figure with its unit.
    pub value: String,
}

/// One baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BaselineView {
    /// Which one, e.g. `eager`.
    pub name: String,
    /// The time of one call; absent when it was not measured.
    pub time: Option<String>,
    /// Why there is no time.
    pub reason: Option<String>,
    /// Whether the speedup counts against this one.
    pub fastest: bool,
}

/// The least time the memory traffic can take: every input read once, every output written once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FloorView {
    /// The traffic, e.g. `192 MiB`.
    pub bytes: String,
    /// The measured bandwidth, e.g. `18.1 GB/s`.
    pub bandwidth: String,
    /// Their quotient, e.g. `11.1 ms`.
    pub time: String,
    /// The best time so far over the floor, e.g. `1.6`; the faster baseline's while there is no correct kernel.
    pub ratio: Option<String>,
    /// Whether that is the faster baseline's time.
    pub is_baselines: bool,
}

/// Where the time of one call goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileView {
    /// Wall time of one call, where calls were timed.
    pub wall: Option<String>,
    /// Its name for `read_profile` and `compare_profiles`.
    pub id: Option<String>,
    /// Which profiler took the figures, e.g. `ncu`.
    pub profiler: String,
    /// The distance from the floor in a sentence.
    pub headroom: Option<String>,
    /// What limits it, the costliest first.
    pub diagnoses: Vec<DiagnosisView>,
    /// What is not the problem, with the figures that say so.
    pub ruled_out: Vec<String>,
    /// The problem's own kernels beside a candidate's, in a sentence.
    pub before: Option<String>,
    /// The most expensive first.
    pub kernels: Vec<KernelTimeView>,
    /// What the profiler could not know.
    pub limits: Vec<String>,
}

/// One thing that limits a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagnosisView {
    /// Why it is not faster, e.g. `bank conflicts`.
    pub cause: String,
    /// The kernel it was found in; absent for the call as a whole.
    pub kernel: Option<String>,
    /// The part of the call's time at stake, in per cent.
    pub at_stake: String,
    /// The figures that show it, in a sentence.
    pub summary: String,
    /// What to do about it, each with the entry that says how.
    pub remedies: Vec<String>,
}

/// One kernel or operator of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelTimeView {
    /// Its name.
    pub name: String,
    /// Launches in one call.
    pub launches: String,
    /// Its time in one call.
    pub time: String,
    /// Its share of all kernels' time, in per cent.
    pub share: String,
}

/// The kernel a step starts from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelView {
    /// Its number in the run.
    pub node: u32,
    /// The whole file.
    pub source: String,
    /// Whether it is correct.
    pub correct: bool,
    /// The verdict in a line, e.g. `correct, 2.31x (2.28x to 2.35x), 8.02 ms`.
    pub result: String,
    /// What is wrong with it: compiler messages, mismatches, the rule it broke. Empty when there is nothing to say.
    pub details: String,
    /// What else was noticed about it.
    pub findings: Vec<String>,
    /// What was done and why, in the words of the model that made it.
    pub summary: String,
    /// Of a kernel that an earlier run made: which run, on what, and how fast it was there.
    pub origin: Option<String>,
    /// Where its time goes.
    pub profile: Option<ProfileView>,
}

/// One other kernel of the run, in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineageView {
    /// Its number in the run.
    pub node: u32,
    /// The verdict in a line.
    pub result: String,
    /// What was done and why.
    pub summary: String,
}

/// One attempt that was not correct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureView {
    /// The verdict in a line, e.g. `build_failed in import: error: expected ';'`.
    pub result: String,
    /// Messages, cut to what helps. Empty when there are none.
    pub details: String,
}

/// A kernel of an earlier run that is not correct for this problem as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeedView {
    /// Its number in this run.
    pub node: u32,
    /// Which run it is from, on what, and how fast it was there.
    pub origin: String,
    /// The whole file.
    pub source: String,
    /// The verdict here in a line.
    pub result: String,
    /// What is wrong with it here. Empty when there is nothing to say.
    pub details: String,
    /// What was done and why, in the words of the model that made it.
    pub summary: String,
}

/// A lesson of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LessonView {
    /// Its name, for `read_entry`.
    pub lesson: String,
    /// How like this problem the one it was learnt on is.
    pub why: String,
    /// How often it was shown and helped; absent before anybody used it.
    pub used: Option<String>,
    /// The measured effect with its evidence, and the change in its author's words.
    pub text: String,
}

/// A passage of the knowledge base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassageView {
    /// The entry, for `read_entry`.
    pub entry: String,
    /// The heading path inside it.
    pub heading: String,
    /// The passage.
    pub text: String,
}

/// The model answered without a tool call and has to be told to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NudgeContext {
    /// Model answers left in this step.
    pub turns_left: u32,
    /// Whether a candidate has been written in this step.
    pub written: bool,
    /// Whether the answer was cut off by its length limit.
    pub cut_off: bool,
    /// The verdict of the step's best evaluated candidate in a line; absent when none was evaluated.
    pub best: Option<String>,
}

impl Context for NudgeContext {
    const TEMPLATE: &'static str = "nudge.md";
}
