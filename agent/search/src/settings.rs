//! What a run was told to do: how much it may spend, when to stop early, and how parents are picked.

use std::fmt;
use std::path::PathBuf;

use kernelwright_protocol::{BaselineKind, Dollars, Nanoseconds, Tokens};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Spend;

/// The settings a run works under, as recorded in its first event; a resume may record new ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What may be spent.
    pub budget: Budget,
    /// When to stop before the budget is spent.
    #[serde(default)]
    pub stop: StopRules,
    /// How parents are picked.
    pub policy: Policy,
    /// Model answers in one step.
    pub inner_turns: u32,
    /// Kernels of earlier runs to begin with, at most; none in runs from before there was a warm start.
    #[serde(default)]
    pub seeds: u32,
    /// The part of the run's active time that profiles may take; no bound in runs from before there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_share: Option<f64>,
    /// What candidates are compared with.
    pub baselines: Vec<BaselineKind>,
    /// Options handed to the evaluate server unchanged.
    #[serde(default)]
    pub evaluation: Map<String, Value>,
    /// Where the best kernel is also written, beside the run's own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// Which model answers: provider, address and name. Never a key.
    #[serde(default)]
    pub model: Value,
}

/// Limits on what a run may use; an absent limit is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Applications of the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Candidates evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluations: Option<u32>,
    /// Model tokens, input plus output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Money for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<Dollars>,
    /// Time the run is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<Nanoseconds>,
}

/// Which limit of a [`Budget`] is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKind {
    /// Applications of the operator.
    Steps,
    /// Candidates evaluated.
    Evaluations,
    /// Model tokens.
    Tokens,
    /// Money for the model.
    Dollars,
    /// Active time.
    Wall,
}

impl fmt::Display for BudgetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "steps",
            Self::Evaluations => "evaluations",
            Self::Tokens => "tokens",
            Self::Dollars => "money",
            Self::Wall => "wall time",
        })
    }
}

impl Budget {
    /// The first limit that has been reached, in the order of the fields.
    #[must_use]
    pub fn spent(&self, spend: &Spend) -> Option<BudgetKind> {
        self.spent_beside(spend, &[])
    }

    /// The same, without looking at some of the limits.
    #[must_use]
    pub fn spent_beside(&self, spend: &Spend, ignored: &[BudgetKind]) -> Option<BudgetKind> {
        let reached = [
            (self.steps.is_some_and(|limit| spend.steps >= limit), BudgetKind::Steps),
            (self.evaluations.is_some_and(|limit| spend.evaluations >= limit), BudgetKind::Evaluations),
            (self.tokens.is_some_and(|limit| spend.usage.total() >= limit), BudgetKind::Tokens),
            (self.dollars.is_some_and(|limit| spend.dollars >= limit), BudgetKind::Dollars),
            (self.wall.is_some_and(|limit| spend.wall >= limit), BudgetKind::Wall),
        ];
        reached.into_iter().find_map(|(reached, kind)| (reached && !ignored.contains(&kind)).then_some(kind))
    }

    /// What is left, one phrase per limit, e.g. `3 of 8 steps`; empty when nothing is limited.
    #[must_use]
    pub fn left(&self, spend: &Spend) -> Vec<String> {
        let count = |limit: u32, used: u32, what: &str| format!("{} of {limit} {what}", limit.saturating_sub(used));
        let mut left = Vec::new();
        left.extend(self.steps.map(|limit| count(limit, spend.steps, "steps")));
        left.extend(self.evaluations.map(|limit| count(limit, spend.evaluations, "evaluations")));
        left.extend(self.tokens.map(|limit| {
            let rest = Tokens(limit.0.saturating_sub(spend.usage.total().0));
            format!("{rest} of {limit}")
        }));
        left.extend(self.dollars.map(|limit| format!("{} of {limit}", Dollars::new(limit.value() - spend.dollars.value()))));
        left.extend(self.wall.map(|limit| format!("{} of {limit}", Nanoseconds(limit.0.saturating_sub(spend.wall.0)))));
        left
    }
}

/// Reasons to stop although there is budget left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopRules {
    /// Stop after this many steps in a row that brought no better kernel. Drafts do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_steps: Option<u32>,
    /// Stop once the lower end of the best kernel's interval is at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_speedup: Option<f64>,
}

/// How the parent of the next step is picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Policy {
    /// First `drafts` kernels that know nothing of each other, then always the best kernel so far.
    Greedy {
        /// How many independent first kernels.
        drafts: u32,
    },
}

impl Default for Policy {
    fn default() -> Self {
        Self::Greedy { drafts: 2 }
    }
}
