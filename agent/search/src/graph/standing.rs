//! Which kernels are better than others, and which is the best.

use kernelwright_protocol::{Evaluation, Verdict};

use super::{Attempt, Graph, Node};
use crate::{RunOutcome, StepId};

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

impl Graph {
    /// Where a node stands among others.
    #[must_use]
    pub fn standing(&self, node: &Node) -> Standing {
        self.verdict(&node.candidate).map_or(Standing::Wrong, Standing::of)
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

    /// Finished steps since the best attempt changed, or since the start when there is none; the first `drafts` do not count.
    #[must_use]
    pub fn steps_without_progress(&self, drafts: u32) -> u32 {
        self.spend.steps.saturating_sub(self.best_since.max(drafts))
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
