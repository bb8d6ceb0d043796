//! What to do next: a pure function of the graph.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BudgetKind, Graph, Node, NodeId, Phase, Policy, Standing, StepId};

/// The next thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Apply the operator.
    Step {
        /// The step's number.
        step: StepId,
        /// Where to start from; nowhere for a draft.
        parent: Option<NodeId>,
        /// Why.
        phase: Phase,
    },
    /// Come to an end.
    Stop(StopReason),
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopReason {
    /// A limit was reached.
    BudgetSpent {
        /// Which one.
        budget: BudgetKind,
    },
    /// Too many steps in a row brought nothing better.
    Stalled {
        /// How many.
        steps: u32,
    },
    /// The best kernel is as fast as was asked for.
    TargetReached {
        /// The lower end of its interval.
        speedup: f64,
    },
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BudgetSpent { budget } => write!(f, "the budget of {budget} is spent"),
            Self::Stalled { steps } => write!(f, "{steps} steps in a row brought nothing better"),
            Self::TargetReached { speedup } => write!(f, "the target speedup is reached: at least {speedup:.2}x"),
        }
    }
}

/// Says what to do next. Not to be asked while a step is open: that step is what to do next.
///
/// Before the first event there are no settings to go by; that is a finished budget of no steps.
#[must_use]
pub fn decide(graph: &Graph) -> Move {
    let Some(head) = graph.head() else { return Move::Stop(StopReason::BudgetSpent { budget: BudgetKind::Steps }) };
    let settings = &head.settings;
    if let Some(speedup) = target_reached(graph) {
        return Move::Stop(StopReason::TargetReached { speedup });
    }
    if let Some(budget) = settings.budget.spent(&graph.spend) {
        return Move::Stop(StopReason::BudgetSpent { budget });
    }
    let Policy::Greedy { drafts } = settings.policy;
    let drafts = graph.drafts_due(drafts);
    let drafting = graph.spend.steps < drafts;
    let idle = graph.steps_without_progress(drafts);
    if !drafting && settings.stop.stall_steps.is_some_and(|limit| idle >= limit) {
        return Move::Stop(StopReason::Stalled { steps: idle });
    }
    let parent = if drafting { None } else { greedy_parent(graph).map(|node| node.id) };
    let phase = if parent.is_some() { Phase::Expand } else { Phase::Draft };
    Move::Step { step: StepId::after(graph.steps().len()), parent, phase }
}

/// The best kernel's speedup, where it is as fast as was asked for: what is still open of a step is then not worth an answer.
///
/// The lower end counts, not the middle: a target is a promise.
#[must_use]
pub fn target_reached(graph: &Graph) -> Option<f64> {
    let target = graph.head()?.settings.stop.target_speedup?;
    graph.best()?.evaluation.sure_speedup().filter(|speedup| *speedup >= target)
}

/// The best correct node. While there is none, the newest wrong one that was not yet worked on, so that its messages are used once; after
/// that a fresh draft.
fn greedy_parent(graph: &Graph) -> Option<&Node> {
    graph.best_node().or_else(|| {
        let untouched = |node: &&Node| !graph.nodes().iter().any(|other| other.parent == Some(node.id));
        graph.nodes().last().filter(|node| graph.standing(node) == Standing::Wrong).filter(untouched)
    })
}
