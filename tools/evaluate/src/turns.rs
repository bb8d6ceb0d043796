//! The two sides' batches, one at a time, and what a batch came to.

use std::time::Duration;

use kernelwright_protocol::{Backend, Trials};

use crate::batch::{Calls, wanted};
use crate::calibration::{calibrate, overhead};
use crate::candidate::{Batch, Candidate};
use crate::checks::{BatchNumber, Checks};
use crate::clocks::{disagreement, time_of};
use crate::correctness::{Returned, returned_inputs};
use crate::draws::{DrawKind, random_below};
use crate::late::{self, Ready, Unseen};
use crate::problem::{BaselineBatch, Placed, Problem, TimedOutcomes};
use crate::samples::Samples;
use crate::timing::Session;
use crate::verdict::Stop;
use crate::waits::Waits;

/// What saying where outputs lie may take, in any case and for each call; more than that is work, and counts as time of the batch. Batches on
/// a CPU are verdicts' longest part, and short.
fn held_slack(backend: Backend) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_micros(500),
        Backend::Cuda => Duration::from_millis(1),
    }
}

/// On a GPU the driver is asked which allocation holds an output. Its handle is known from batches that were not measured: making one
/// takes tens of microseconds, in which a candidate could do what it has left out. What is no list of plain tensors is taken apart first.
fn held_per_call(backend: Backend, Returned { tensors, is_plain }: Returned) -> Duration {
    let (call, tensor) = match (backend, is_plain) {
        (Backend::Cpu, true) => (3, 2),
        (Backend::Cpu, false) => (30, 15),
        (Backend::Cuda, true) => (8, 4),
        (Backend::Cuda, false) => (60, 25),
    };
    Duration::from_micros(call + tensor * u64::from(tensors.saturating_sub(1)))
}

/// How much longer than the batch `held` may take. Naming outputs is quicker than making the calls; where it is not, work was put off until then. On a CPU
/// calls can be so short that naming them takes longer: half of what is allowed for each call is added there.
const TELLING: Duration = Duration::from_micros(300);

/// What a candidate may take to say where the outputs of a batch lie that took `wall`.
fn telling(backend: Backend, returned: Returned, calls: usize, wall: Duration) -> Duration {
    let of_calls = held_per_call(backend, returned) * calls as u32;
    let beyond = if backend == Backend::Cpu { TELLING + of_calls / 2 } else { TELLING };
    (held_slack(backend) + of_calls).min(wall + beyond)
}

/// What it may take to stop a candidate that has answered: each of its threads has to be given a processor for it, of which a GPU's process has dozens. A
/// system call that goes on meanwhile could do all the work of a batch.
fn to_stop(backend: Backend) -> Duration {
    Duration::from_millis(match backend {
        Backend::Cpu => 1,
        Backend::Cuda => 3,
    })
}

/// A batch that lasts less than this part of what is wanted was measured wrongly when its length was chosen.
const TOO_SHORT: f64 = 0.3;

/// Batches of the candidate are shorter than wanted by up to one call in so many.
const VARIED: usize = 5;

/// Both sides of a session, and how far it has come.
pub(crate) struct Course<'a> {
    pub(crate) problem: &'a mut Problem,
    pub(crate) candidate: &'a mut Candidate,
    pub(crate) session: &'a Session,
    pub(crate) calls: Calls,
    pub(crate) checks: Checks,
    pub(crate) samples: Samples,
    /// What it takes to ask the candidate for a batch of no calls.
    empty: Duration,
    /// How many calls a batch of the candidate has, or up to one in [`VARIED`] fewer.
    pub(crate) in_batch: usize,
}

impl<'a> Course<'a> {
    /// Finds out what it takes to ask for a batch, and how many calls make one.
    pub(crate) async fn begin(problem: &'a mut Problem, candidate: &'a mut Candidate, session: &'a Session) -> Result<Self, Stop> {
        let mut calls = Calls::of(problem);
        (problem.timed, candidate.timed) = (Duration::ZERO, Duration::ZERO);
        let empty = overhead(problem, candidate, session.backend).await?;
        let in_batch = calibrate(candidate, &mut calls, session, empty).await?;
        let checks = Checks::within(problem.facts.reference_ns, session.room.bytes_per_call, session.fewest_pairs());
        let samples = Samples::none(session.contenders.len());
        Ok(Self { problem, candidate, session, calls, checks, samples, empty, in_batch })
    }

    /// Finds the length of the candidate's batches anew; what was timed with another does not count.
    pub(crate) async fn begin_anew(&mut self) -> Result<(), Stop> {
        self.in_batch = calibrate(self.candidate, &mut self.calls, self.session, self.empty).await?;
        self.samples = Samples::none(self.session.contenders.len());
        Ok(())
    }

    /// The calls of the candidate's next batch, of a length that nobody knows: a candidate that skips calls cannot tell which one is the last.
    pub(crate) fn candidate_batch(&mut self) -> Vec<Placed> {
        self.calls.fresh(self.in_batch - random_below(self.in_batch / VARIED + 1))
    }

    /// One batch of the candidate, with what is to be verified of it.
    pub(crate) async fn time_candidate(&mut self, Ready { calls, placed, late }: &Ready, turn: BatchNumber) -> Result<Timed, Stop> {
        let &Session { backend, returned, ref in_inputs, .. } = self.session;
        let overhead = self.samples.overhead(self.empty);
        let waits = Waits::of(self.candidate.pid(), backend);
        let Batch { wall, stopping, denied, inner } = self.candidate.time().await?;
        let waits = waits.share(wall);
        // It is stopped now. What it still does while it is asked where its outputs lie is charged to the batch, and nobody asks it again.
        let (outputs, asked) = self.candidate.held().await?;
        if outputs.count() != calls.len() {
            return Err(Stop::rejected("channel_tampering", "it speaks of other calls than it was asked to make"));
        }
        let allowed = overhead + telling(backend, returned, calls.len(), wall);
        let afterwards = stopping.saturating_sub(to_stop(backend)) + asked.saturating_sub(allowed);
        let charged = time_of(wall, overhead, inner) + afterwards;
        let disturbed = disturbance(waits, denied + afterwards, wall);
        // On a CPU all threads of the candidate are looked at, and nobody stays awake for it.
        let waited = if backend == Backend::Cpu { waits } else { disturbed };
        let lasting = outputs.lasting();
        let chosen = self.checks.choose(&lasting, late, turn);
        let is_returned = |&call: &usize| {
            outputs.call(call).zip(placed.call(call)).is_some_and(|((tree, own), (_, given))| in_inputs.are_others(tree, &own, &given))
        };
        if chosen.iter().any(is_returned) {
            return Err(returned_inputs());
        }
        let unverified = if chosen.is_empty() {
            None
        } else {
            let outcomes = self.candidate.read_calls(calls, &chosen, &outputs, placed).await?;
            Some(Unverified { pair: turn.pair, outcomes, chosen })
        };
        Ok(Timed {
            calls: calls.len(),
            per_call: charged.as_secs_f64().max(1e-9) / calls.len() as f64,
            clock: disagreement(wall.saturating_sub(overhead), inner),
            waited,
            disturbed,
            overwritten: lasting.contains(&false),
            unverified,
        })
    }

    /// One batch of each contender; that of the first may be ready.
    pub(crate) async fn time_baselines(
        &mut self,
        pair: usize,
        unseen: Option<&Unseen>,
        mut ready: Option<Vec<Placed>>,
    ) -> Result<(), Stop> {
        let Self { problem, session, calls, samples, .. } = self;
        let (backend, returned) = (session.backend, session.returned);
        for (at, &(kind, expected)) in session.contenders.iter().enumerate() {
            let batch = if let Some(batch) = ready.take() {
                batch
            } else {
                let batch = session.batch(calls, expected);
                late::place_baseline(problem, &batch, unseen).await?;
                batch
            };
            let waits = Waits::of(problem.pid(), backend);
            // Telling where many outputs lie takes longer than what is allowed: it then counts for both sides.
            let tell = backend == Backend::Cpu && (returned.tensors > 1 || !returned.is_plain);
            let BaselineBatch { time, told, asking } = problem.time_telling(kind, tell).await?;
            let time = time + told.saturating_sub(telling(backend, returned, batch.len(), time));
            samples.note_baseline(pair, waits.share(time), asking);
            if backend == Backend::Cuda {
                problem.release(&batch).await?;
            }
            samples.baselines[at].push(time.as_secs_f64().max(1e-9) / batch.len() as f64);
        }
        samples.drawn.push(unseen.map_or(DrawKind::Problem, |unseen| unseen.kind));
        Ok(())
    }

    /// Compares what timed calls have left behind with what the reference gives.
    pub(crate) async fn verify(&mut self, unverified: Option<Unverified>) -> Result<(), Stop> {
        verify(self.problem, unverified, &mut self.checks, &self.session.trials).await
    }
}

/// What a batch of the candidate came to.
pub(crate) struct Timed {
    calls: usize,
    /// Seconds of one call.
    pub(crate) per_call: f64,
    /// By how much its clock disagrees.
    pub(crate) clock: f64,
    /// The longest wait of one of its threads for a processor, as a share of the batch. On a GPU the same as `disturbed`.
    pub(crate) waited: f64,
    /// The larger of that wait and of what other work has cost it besides: the wait of whoever timed it, a late stop, a slow `held`. As a share of the batch.
    /// Pairs with a large value are left out while enough others remain.
    pub(crate) disturbed: f64,
    /// Whether calls wrote their outputs where those of other calls lay.
    pub(crate) overwritten: bool,
    pub(crate) unverified: Option<Unverified>,
}

impl Timed {
    /// Whether it lasted so much less than wanted that its length was measured wrongly.
    pub(crate) fn is_too_short(&self, backend: Backend) -> bool {
        self.per_call * (self.calls as f64) < wanted(backend, self.per_call).as_secs_f64() * TOO_SHORT
    }
}

/// What some calls of a batch have left behind, nobody having looked at it yet. On a GPU it still lies in the candidate's memory.
pub(crate) struct Unverified {
    pair: usize,
    outcomes: TimedOutcomes,
    /// The calls' numbers.
    chosen: Vec<usize>,
}

/// What kept a batch of `wall` from being what it is, as a share of it: what its threads have waited, of which `waits` is a share already, or what it was denied and
/// charged.
fn disturbance(waits: f64, charged: Duration, wall: Duration) -> f64 {
    waits.max(charged.as_secs_f64() / wall.as_secs_f64().max(1e-9))
}

/// Compares what timed calls have left behind with what the reference gives.
pub(crate) async fn verify(
    problem: &mut Problem,
    unverified: Option<Unverified>,
    checks: &mut Checks,
    trials: &Trials,
) -> Result<(), Stop> {
    let Some(Unverified { pair, outcomes, chosen }) = unverified else { return Ok(()) };
    for (call, comparison) in chosen.iter().zip(problem.verify(&outcomes).await?) {
        let Some(comparison) = comparison else { continue };
        let label = format!("timed call {} of pair {}", call + 1, pair + 1);
        let error = comparison.outcome(&label).map_err(|mismatches| Stop::incorrect(mismatches, trials.clone()))?;
        checks.note(error);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_is_charged_for_more_than_itself_is_disturbed() {
        let percent = |waits, charged| disturbance(waits, Duration::from_micros(charged), Duration::from_millis(5)) * 100.0;
        // To be stopped it needs a processor, which others had in the last two.
        assert_eq!(
            [(0.02, 0), (0.02, 3_000), (0.8, 3_000)].map(|(waits, charged)| format!("{:.0}", percent(waits, charged))),
            ["2", "60", "80"]
        );
    }

    #[test]
    fn nothing_is_gained_by_doing_the_work_when_asked_for_it() {
        let us = Duration::from_micros;
        // Three hundred calls of 30 us, made as they should be, and left for later.
        let one = Returned { tensors: 1, is_plain: true };
        assert_eq!(telling(Backend::Cuda, one, 300, us(9_000)), us(1_000 + 2_400));
        assert_eq!(telling(Backend::Cuda, one, 300, us(500)), us(800));
        assert_eq!(telling(Backend::Cpu, one, 4, us(30_000)), us(512));
        assert_eq!(telling(Backend::Cpu, one, 2000, us(100)), us(100 + 300 + 3_000), "as little as naming so many takes");
        assert_eq!(telling(Backend::Cpu, one, 2000, us(3_600)), us(500 + 6_000), "calls that take less than to be named");
        assert_eq!(telling(Backend::Cpu, Returned { tensors: 100, is_plain: true }, 50, us(30_000)), us(500 + 50 * 201));
        assert_eq!(telling(Backend::Cpu, Returned { tensors: 3, is_plain: false }, 50, us(30_000)), us(500 + 50 * 60));
    }
}
