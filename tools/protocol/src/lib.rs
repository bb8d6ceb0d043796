//! The wire vocabulary that the agent and the tool servers share.
//!
//! Everything that crosses MCP is a type of this crate: what a [`Problem`] is, what an [`Evaluation`] says, what a
//! [`Profile`] holds, what a [`Passage`] is. The crate does no IO and depends on nothing of ours, so that the agent can know
//! the words without knowing a tool server, and the other way round.

mod compile;
mod deep_check;
mod evaluation;
mod hash;
mod knowledge;
mod lesson;
mod profile;
mod subject;
mod target;
mod units;

pub use compile::{
    ArchCompilation, Artifact, Compilation, CompilationStatus, CompileOutcome, Compiled, Diagnostics, KernelCompilation, KernelFigures,
    Limiter, NotCompiled, Occupancy, Part, Stopped,
};
pub use deep_check::{CheckOutcome, DeepCheck, Reports, SanitizerReport, SanitizerTool, ToolCheck};
pub use evaluation::{
    Baseline, BaselineKind, BaselineReport, Control, Correct, DeviceState, Evaluation, Fault, Finding, Mismatch, NO_CUSTOM_KERNEL,
    NotMeasured, Sandbox, SetResult, Severity, TRIAL_SKIPPED, Timeout, Timing, Trials, Verdict,
};
pub use hash::{CandidateId, ContentHash, ProblemId};
pub use knowledge::{Bottleneck, CodeMatch, CodeMatches, Entry, EntryKind, PackSummary, Passage, Passages, Phase};
pub use lesson::{Effect, Evidence, FoundLesson, LessonQuery, LessonUse, Lessons, NewLesson, Proof, RatedLessons, Ratio, RecordedLesson};
pub use profile::{
    Cause, Diagnosis, FigureMove, Figures, Headroom, HotLine, KernelMove, KernelProfile, KernelTime, LaunchShape, Metric, Profile,
    ProfileComparison, ProfilePage, ProfileSide, ProfilerKind, Remedy, RuledOut, Sign, Stall, StallReason, Stop, TargetDescription,
    TargetFact, Unit,
};
pub use subject::{Likeness, Subject};
pub use target::{Backend, Target, TargetParseError};
pub use units::{Bytes, Dollars, Nanoseconds, Tokens};
