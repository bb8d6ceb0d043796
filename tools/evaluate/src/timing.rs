//! How fast a correct candidate is, in batches taken in turns with the baselines.
//!
//! The baselines' process is believed, and tells the time of its batches. The candidate's is not: its time is the supervisor's, from the
//! question to the answer, less what asking for a batch takes. Waking a process takes a little longer one time than another, so what the
//! candidate's clock says is taken instead where it is less by next to nothing: a clock that lies gains no more than that.

use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Baseline, BaselineKind, Nanoseconds, Timing, Trials};

use crate::batch::{Calls, Footprint, Room, wanted};
use crate::calibration::{calibrate, overhead};
use crate::candidate::{Batch, Candidate};
use crate::checks::{BatchNumber, Checks};
use crate::clocks::{self, disagreement, time_of};
use crate::cores::SameCore;
use crate::correctness::{Returned, returned_inputs};
use crate::draws::{DrawKind, random_below};
use crate::interrupted;
use crate::late::{self, Ready, Unseen};
use crate::preparation;
use crate::problem::{BaselineBatch, Placed, Problem, TimedOutcomes};
use crate::remarks;
use crate::samples::{FEWEST_PAIRS, Samples};
use crate::singles;
use crate::statistics::{median, spread};
use crate::verdict::Stop;
use crate::waits::Waits;
use crate::wire::share_memory;

/// The most pairs where the request names no number: a device of one's own is quieter than processors that others use too.
fn most_pairs(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 17,
        Backend::Cuda => 10,
    }
}

/// How many pairs more there are, once. On a GPU where the most of them do not tell which side is faster and differ by more than would matter, or
/// where a few were disturbed so much that a fast kernel would rank below a slow one: what disturbed a few of them weighs less among many. On a CPU
/// where other work disturbed too many of them. Their number is fixed before they are taken, since going on until the interval says something would
/// have it say too much.
fn more_pairs(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 17,
        Backend::Cuda => 20,
    }
}

/// How long the pairs may go on beyond the fewest.
const BUDGET: Duration = Duration::from_secs(8);

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

/// What is needed beside the two workers.
pub(crate) struct Session {
    /// The baselines that could be the fastest, with what is known of their time of one call; at least one.
    pub(crate) contenders: Vec<(BaselineKind, Nanoseconds)>,
    pub(crate) backend: Backend,
    pub(crate) room: Room,
    pub(crate) pairs: Option<usize>,
    /// What one call of the candidate takes at most.
    pub(crate) at_most: Duration,
    pub(crate) build: Duration,
    pub(crate) first_call: Duration,
    pub(crate) returned: Returned,
    /// Whether outputs may lie in the memory of inputs.
    pub(crate) returns_inputs: bool,
    pub(crate) trials: Trials,
    /// What inputs of timed calls may be drawn as beside the problem's own way.
    pub(crate) decisive: Vec<DrawKind>,
    /// What inputs beyond the problem's range may be drawn as.
    pub(crate) beyond: Vec<DrawKind>,
}

impl Session {
    /// The calls of a batch of a baseline of which one call is expected to take so long.
    fn batch(&self, calls: &mut Calls, expected: Nanoseconds) -> Vec<Placed> {
        calls.fresh(self.room.calls(wanted(self.backend, expected.seconds()), expected.seconds()))
    }

    /// Those of the first contender's next batch.
    fn first_batch(&self, calls: &mut Calls) -> Vec<Placed> {
        self.contenders.first().map(|&(_, expected)| self.batch(calls, expected)).unwrap_or_default()
    }
}

/// A time, and what was verified while it was taken.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) timing: Timing,
    pub(crate) verified: u32,
    pub(crate) error_over_tolerance: f64,
}

/// Times the candidate against the session's baselines.
pub(crate) async fn measure(
    problem: &mut Problem,
    candidate: &mut Candidate,
    session: Session,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<Measured, Stop> {
    // On a CPU both sides have the same processors from the start.
    let _together = (session.backend == Backend::Cuda).then(|| SameCore::of(problem.pid(), candidate.pid()));
    let mut calls = Calls::of(problem);
    (problem.timed, candidate.timed) = (Duration::ZERO, Duration::ZERO);
    let empty = overhead(problem, candidate, session.backend).await?;
    let mut candidate_calls = calibrate(candidate, &mut calls, &session, empty).await?;
    let mut is_confirmed = false;
    let pairs = session.pairs.unwrap_or(FEWEST_PAIRS).max(2);
    let mut checks = Checks::within(problem.facts.reference_ns, session.room.bytes_per_call, pairs);
    let mut interrupted = interrupted::Due::among(session.backend, pairs);
    let (mut unseen, mut unverified) = (None, None);
    let mut samples = Samples::none(session.contenders.len());
    let started = Instant::now();
    let mut most = session.pairs.unwrap_or(most_pairs(session.backend));
    let mut more = if session.pairs.is_none() { more_pairs(session.backend) } else { 0 };
    'pairs: loop {
        let pair = samples.candidate.len();
        if pair == most {
            if more == 0 || !is_unclear(&samples, &session) {
                break;
            }
            most += std::mem::take(&mut more);
            checks.go_on(pair, most);
        }
        let enough = || started.elapsed() > BUDGET || samples.are_enough(&session.contenders);
        if session.pairs.is_none() && pair >= FEWEST_PAIRS && enough() {
            break;
        }
        say(&format!("timing pair {} of {most}", pair + 1));
        let is_renewed = checks.late.contains(&pair);
        // Of a length that nobody knows: a candidate that skips calls cannot tell which one is the last.
        let length = || candidate_calls - random_below(candidate_calls / VARIED + 1);
        let is_first = unseen.is_none();
        if is_renewed && (is_first || session.backend == Backend::Cuda) {
            // These were made from the inputs that there have been so far.
            verify(problem, unverified.take(), &mut checks, &session.trials).await?;
            unseen = late::unseen(problem, &session.decisive).await?;
        }
        let (mut ours, mut theirs) = (None, None);
        if let Some(known) = unseen.take_if(|_| session.backend == Backend::Cpu) {
            let batches = (session.first_batch(&mut calls), calls.fresh(length()));
            let known = Some(known).filter(|_| is_first || !is_renewed);
            let ready = preparation::pair(problem, candidate, &session, batches, known, (unverified.take(), &mut checks)).await?;
            (unseen, (ours, theirs)) = (ready.unseen, ready.batches.unzip());
        }
        // A B, B A, A B, ...: what drifts hits both sides alike.
        if pair.is_multiple_of(2) {
            time_baselines(problem, &session, &mut calls, &mut samples, (pair, unseen.as_ref()), ours.take()).await?;
        }
        let batches = if is_renewed && unseen.is_none() { [Use::Late, Use::Time].as_slice() } else { &[Use::Time] };
        for &purpose in batches {
            let is_early = theirs.is_some();
            let ready = if let Some(ready) = theirs.take() {
                ready
            } else {
                let late_calls = if purpose == Use::Late { checks.late_calls } else { 0 };
                late::place(problem, candidate, calls.fresh(length()), unseen.as_ref(), late_calls).await?
            };
            let turn = BatchNumber { pair, left: most - pair };
            let timed = time_candidate(candidate, &ready, samples.overhead(empty), turn, &checks, &session).await?;
            let is_too_short = timed.is_too_short(session.backend) && candidate_calls < session.room.most();
            unverified = timed.unverified;
            if !is_early {
                verify(problem, unverified.take(), &mut checks, &session.trials).await?;
                late::forget(problem, &ready.late).await?;
            }
            let is_first = purpose == Use::Time && !std::mem::replace(&mut is_confirmed, true);
            if timed.overwritten && !candidate.copy_results() {
                return Err(Stop::rejected("output_memory", "its results lie in the same memory although each of them was copied"));
            }
            if timed.overwritten || is_first && is_too_short {
                candidate_calls = calibrate(candidate, &mut calls, &session, empty).await?;
                samples = Samples::none(session.contenders.len());
                continue 'pairs;
            }
            if purpose == Use::Time {
                samples.candidate.push(timed.per_call);
                samples.note_wait(pair, timed.disturbed);
            }
            samples.clocks.push(timed.clock);
        }
        if let Some(unseen) = unseen.as_ref().filter(|_| interrupted.with(pair)) {
            let (samples, beyond, trials) = (&samples, session.beyond.as_slice(), &session.trials);
            let place = interrupted::InSession { pair, calls: candidate_calls, samples, unseen, beyond, trials };
            interrupted::check(problem, candidate, || calls.fresh(length()), place, &mut interrupted, &mut checks).await?;
        }
        if !pair.is_multiple_of(2) {
            time_baselines(problem, &session, &mut calls, &mut samples, (pair, unseen.as_ref()), ours).await?;
        }
    }
    verify(problem, unverified, &mut checks, &session.trials).await?;
    clocks::settle(problem, candidate, &session, &mut calls, &mut checks, &mut samples, (empty, candidate_calls)).await?;
    late::forget_unseen(problem, unseen.as_ref()).await?;
    singles::charge(problem, candidate, &session, &mut calls, &mut checks, &mut samples, (empty, candidate_calls)).await?;
    candidate.clear().await?;
    problem.footprint = Footprint::like(candidate_calls, problem.base_size(), session.room.bytes_per_call);
    problem.beside = samples.beside(&session.contenders);
    remarks::note(candidate, &samples, &session, problem.beside.as_ref());
    let batches_ns = Some((problem.timed + candidate.timed).into());
    let timing =
        Timing { batches_ns, device_state: problem.device_state().await?, ..summarize(&samples, &session, problem, candidate_calls) };
    Ok(Measured { timing, verified: checks.done, error_over_tolerance: checks.error_over_tolerance })
}

/// Whether more pairs are worth their time.
fn is_unclear(samples: &Samples, session: &Session) -> bool {
    let is_wide = || samples.counted(&session.contenders).is_undecided() || samples.are_disturbed(&session.contenders);
    samples.wants_quiet() || session.backend == Backend::Cuda && is_wide()
}

fn summarize(samples: &Samples, session: &Session, problem: &Problem, calls_per_batch: usize) -> Timing {
    let counted = samples.counted(&session.contenders);
    let control = samples.control(counted.baseline, &session.contenders);
    let (speedup, (speedup_low, speedup_high)) = counted.speedup_beside(control.as_ref());
    let live = |known: &Baseline| {
        let Some(at) = session.contenders.iter().position(|(kind, _)| *kind == known.kind) else { return known.clone() };
        let times = samples.of_contender(at);
        Baseline { time_ns: Some(Nanoseconds::from_seconds(median(&times))), spread: Some(spread(&times)), ..known.clone() }
    };
    Timing {
        speedup,
        speedup_low,
        speedup_high,
        candidate_ns: Nanoseconds::from_seconds(median(&counted.candidate)),
        candidate_spread: spread(&counted.candidate),
        baseline: counted.baseline,
        baselines: problem.baselines.iter().map(live).collect(),
        pairs: counted.ratios.len() as u32,
        calls_per_batch: calls_per_batch as u32,
        batches_ns: None,
        control,
        device_state: None,
        build_ns: session.build.into(),
        first_call_ns: session.first_call.into(),
    }
}

/// What a batch of the candidate is for. The candidate cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Its time counts.
    Time,
    /// Some of its calls get their inputs late and are verified. Its time does not count: the memory of a few calls was written right before
    /// it, and not that of the others.
    Late,
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
    disturbed: f64,
    /// Whether calls wrote their outputs where those of other calls lay.
    overwritten: bool,
    pub(crate) unverified: Option<Unverified>,
}

impl Timed {
    fn is_too_short(&self, backend: Backend) -> bool {
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

/// One batch of the candidate, with what is to be verified of it.
pub(crate) async fn time_candidate(
    candidate: &mut Candidate,
    Ready { calls, placed, late }: &Ready,
    overhead: Duration,
    turn: BatchNumber,
    checks: &Checks,
    &Session { backend, returned, returns_inputs, .. }: &Session,
) -> Result<Timed, Stop> {
    let waits = Waits::of(candidate.pid(), backend);
    let Batch { wall, stopping, denied, inner } = candidate.time().await?;
    let waits = waits.share(wall);
    // It is stopped now. What it still does while it is asked where its outputs lie is charged to the batch, and nobody asks it again.
    let (outputs, asked) = candidate.held().await?;
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
    let chosen = checks.choose(&lasting, late, turn);
    let is_returned = |&call: &usize| outputs.call(call).zip(placed.call(call)).is_some_and(|(own, given)| share_memory(&own.1, &given.1));
    if !returns_inputs && chosen.iter().any(is_returned) {
        return Err(returned_inputs());
    }
    let unverified = if chosen.is_empty() {
        None
    } else {
        let outcomes = candidate.read_calls(calls, &chosen, &outputs, placed).await?;
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

/// One batch of each contender; that of the first may be ready.
async fn time_baselines(
    problem: &mut Problem,
    session: &Session,
    calls: &mut Calls,
    samples: &mut Samples,
    (pair, unseen): (usize, Option<&Unseen>),
    mut ready: Option<Vec<Placed>>,
) -> Result<(), Stop> {
    for (at, &(kind, expected)) in session.contenders.iter().enumerate() {
        let batch = if let Some(batch) = ready.take() {
            batch
        } else {
            let batch = session.batch(calls, expected);
            late::place_baseline(problem, &batch, unseen).await?;
            batch
        };
        let waits = Waits::of(problem.pid(), session.backend);
        // Telling where many outputs lie takes longer than what is allowed: it then counts for both sides.
        let tell = session.backend == Backend::Cpu && (session.returned.tensors > 1 || !session.returned.is_plain);
        let BaselineBatch { time, told, asking } = problem.time_telling(kind, tell).await?;
        let time = time + told.saturating_sub(telling(session.backend, session.returned, batch.len(), time));
        samples.note_baseline(pair, waits.share(time), asking);
        if session.backend == Backend::Cuda {
            problem.release(&batch).await?;
        }
        samples.baselines[at].push(time.as_secs_f64().max(1e-9) / batch.len() as f64);
    }
    samples.drawn.push(unseen.map_or(DrawKind::Problem, |unseen| unseen.kind));
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
