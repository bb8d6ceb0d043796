//! Inputs of trials, and what the reference gives for them, made while the candidate's compilers work.
//!
//! The problem's process has nothing to do meanwhile, and a compiler has one processor. Only where that takes next to no time and memory: of a candidate
//! that is not built, or wrong in its first trial, all of it is in vain. On a GPU most kernels are known by then, and its memory is what is scarce.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kernelwright_protocol::Backend;

use crate::EvaluateError;
use crate::baselines::Reload;
use crate::correctness::transformed;
use crate::draws::{self, Draw, DrawKind};
use crate::problem::{BASE, Inputs, Problem};

/// The first of their entries, beside those of everything else.
const FIRST: u32 = BASE + 40;

/// What the reference may take for one of them, and bytes of inputs of all. It is run several times for each, in more digits as well.
const REFERENCE: Duration = Duration::from_millis(1);
const MOST_BYTES: u64 = 64 << 20;

/// No more are begun after this.
const BUDGET: Duration = Duration::from_millis(100);

/// Inputs under an entry of the problem's, or why there are none.
pub(crate) type Attempt = (u32, Result<Inputs, String>);

/// What was made ahead. Whoever finds nothing in it makes it anew.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// By the number of the trial.
    trials: HashMap<usize, Attempt>,
    /// The base entry's inputs with some elements changed, in the order of [`draws::changed_in_place`].
    changed: HashMap<usize, (DrawKind, Attempt)>,
}

impl Ahead {
    /// Makes those of the planned draws, once the base entry is there.
    pub(crate) async fn of(problem: &mut Problem, draws: &[Draw], reload: &Reload<'_>) -> Result<Self, EvaluateError> {
        let mut ahead = Self::default();
        let changed = draws::changed_in_place(&problem.facts, problem.is_quick());
        let count = (draws.len() + changed.len()) as u64;
        let costs_little = Duration::from_nanos(problem.facts.reference_ns) <= REFERENCE && problem.base_bytes() * count <= MOST_BYTES;
        if problem.setting.target.backend == Backend::Cuda || !costs_little {
            return Ok(ahead);
        }
        let (began, lost) = (Instant::now(), problem.lost_on.len());
        let changed = changed.into_iter().map(|draws| draws.first().copied()).enumerate().map(|(at, draw)| (at, draw, true));
        let trials = draws.iter().copied().enumerate().skip(1).map(|(at, draw)| (at, Some(draw), false));
        for (entry, (at, draw, is_changed)) in (FIRST..).zip(changed.chain(trials)) {
            let Some(draw) = draw.filter(|_| began.elapsed() < BUDGET) else { continue };
            let attempt = (entry, transformed(problem, entry, draw, reload).await?);
            if problem.lost_on.len() > lost {
                // The process that had the others is gone.
                return Ok(Self::default());
            }
            if is_changed {
                ahead.changed.insert(at, (draw.kind, attempt));
            } else {
                ahead.trials.insert(at, attempt);
            }
        }
        Ok(ahead)
    }

    /// Those of a later trial.
    pub(crate) fn trial(&mut self, number: usize) -> Option<Attempt> {
        self.trials.remove(&number)
    }

    /// Those with some elements changed, and how they are.
    pub(crate) fn changed(&mut self, number: usize) -> Option<(DrawKind, Attempt)> {
        self.changed.remove(&number)
    }
}
