//! The search, without a machine around it: what happened in a run, what that adds up to, and what to do next.
//!
//! A run is a list of [`Event`]s. [`Graph`] is the fold over them: nodes (kernels), edges (which kernel was made from which), attempts,
//! notes, what was spent, and the step that was open when the list ends. [`decide`] looks at a graph and says the next [`Move`];
//! [`Context::select`] says what the operator should be told when it makes that move. [`choose_seeds`] says which kernels of earlier runs a run
//! begins with, [`worth_profiling`] which kernels are worth a profile, and [`worth_keeping`] what it has to teach later ones.
//!
//! Nothing here reads a file, asks a clock, draws a random number or waits: the same events give the same decisions, on any machine.
//! Times and durations come in with the records, put there by whoever wrote them.

mod context;
mod decide;
mod event;
mod graph;
mod ids;
mod lessons;
mod operators;
mod profiling;
mod seeds;
mod settings;
mod spend;

#[cfg(test)]
mod tests;

pub use context::{Context, ContextLimits};
pub use decide::{Move, StopReason, decide, target_reached};
pub use event::{Event, FORMAT_VERSION, Phase, ProblemName, Record, RunOutcome};
pub use graph::{
    Attempt, Call, Graph, GraphError, Node, Note, OpenStep, Profiled, Returned, RunHead, Standing, StepRecord, Turn, WarmStart,
};
pub use ids::{AskId, NodeId, RunId, StepId};
pub use lessons::{Change, improved, worth_keeping};
pub use operators::operators;
pub use profiling::worth_profiling;
pub use seeds::{EarlierRun, Seed, choose_seeds};
pub use settings::{Budget, BudgetKind, Policy, Settings, StopRules};
pub use spend::{Spend, Usage};
