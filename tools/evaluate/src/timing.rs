//! How fast a correct candidate is, in batches taken in turns with the baselines.
//!
//! The baselines' process is believed, and tells the time of its batches. The candidate's is not: its time is the supervisor's, from the
//! question to the answer, less what an empty batch takes. Waking a process takes a little longer one time than another, so what the
//! candidate's clock says is taken instead where it is less by next to nothing: a clock that lies gains no more than that.

use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Baseline, BaselineKind, Control, Nanoseconds, Severity, Timing, Trials};

use crate::batch::{Calls, Room, wanted};
use crate::candidate::{Batch, Candidate};
use crate::checks::{Checks, Turn};
use crate::draws::random_below;
use crate::late::{self, Ready};
use crate::problem::{BASE, Placed, Problem, TimedOutcomes};
use crate::statistics::{median, median_interval, spread};
use crate::verdict::Stop;

/// The fewest pairs where the request names no number: their range is a 95 % interval.
const FEWEST_PAIRS: usize = 6;

/// The most pairs where the request names no number: a device of one's own is quieter than processors that others use too.
fn most_pairs(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 17,
        Backend::Cuda => 10,
    }
}

/// A speedup whose interval is no wider than this share of it needs no more pairs than the fewest.
const NARROW: f64 = 0.02;

/// How long the pairs may go on beyond the fewest.
const BUDGET: Duration = Duration::from_secs(8);

/// How far the two sides' clocks may differ, as a share of a batch, and in any case. The batch in which they differ least is judged: a
/// busy machine delays messages in most batches, a candidate that works outside its calls or has patched its clock differs in all. A
/// batch's time is the supervisor's in any case.
const CLOCKS_SHARE: f64 = 0.1;
const CLOCKS_SLACK: Duration = Duration::from_millis(1);

/// What naming a call in a request takes beside its time.
const CLOCKS_PER_CALL: Duration = Duration::from_micros(2);

/// What saying where outputs lie may take, in any case and for each call; more than that is work, and counts as time of the batch. Batches on
/// a CPU are verdicts' longest part, and short.
fn held_slack(backend: Backend) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_micros(500),
        Backend::Cuda => Duration::from_millis(1),
    }
}

/// On a GPU the driver is asked which allocation holds an output. Its handle is known from batches that were not measured: making one
/// takes tens of microseconds, in which a candidate could do what it has left out.
fn held_per_call(backend: Backend) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_micros(3),
        Backend::Cuda => Duration::from_micros(8),
    }
}

/// By how much of a batch the candidate's clock may say less than the supervisor's and be taken for the time.
const BELIEVED: f64 = 0.015;

/// The part of a batch that may be taken for what it takes to ask for one: of a batch that came out too short, more would be nothing but guessing.
const ASKING: f64 = 0.25;

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
    pub(crate) trials: Trials,
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

/// Seconds of one call, batch by batch.
#[derive(Default)]
struct Samples {
    /// In the order of the session's contenders.
    baselines: Vec<Vec<f64>>,
    candidate: Vec<f64>,
    /// What the candidate's clock says beyond the supervisor's, as shares of the batches.
    clocks: Vec<f64>,
}

impl Samples {
    fn none(session: &Session) -> Self {
        Self { baselines: vec![vec![]; session.contenders.len()], ..Self::default() }
    }
}

/// Times the candidate against the session's baselines.
pub(crate) async fn measure(
    problem: &mut Problem,
    candidate: &mut Candidate,
    session: Session,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<Measured, Stop> {
    let mut calls = Calls::new();
    let overhead = overhead(problem, candidate, session.backend).await?;
    let mut candidate_calls = calibrate(candidate, &mut calls, &session, overhead).await?;
    let mut is_confirmed = false;
    let pairs = session.pairs.unwrap_or(FEWEST_PAIRS).max(2);
    let mut checks = Checks::within(problem.facts.reference_ns, session.room.bytes_per_call, pairs);
    let mut overwritten = false;
    let (mut unseen, mut unverified) = (None, None);
    let mut samples = Samples::none(&session);
    let started = Instant::now();
    let most = session.pairs.unwrap_or(most_pairs(session.backend));
    'pairs: while samples.candidate.len() < most {
        let pair = samples.candidate.len();
        let enough = || started.elapsed() > BUDGET || narrow(&samples);
        if session.pairs.is_none() && pair >= FEWEST_PAIRS && enough() {
            break;
        }
        say(&format!("timing pair {} of {most}", pair + 1));
        let is_renewed = checks.late.contains(&pair);
        if is_renewed {
            // These were made from the inputs that there have been so far.
            verify(problem, unverified.take(), &mut checks, &session.trials).await?;
            unseen = late::unseen(problem).await?;
        }
        // Of a length that nobody knows: a candidate that skips calls cannot tell which one is the last.
        let length = || candidate_calls - random_below(candidate_calls / VARIED + 1);
        let (mut ours, mut theirs) = (None, None);
        if let Some(unseen) = unseen.as_ref().filter(|_| session.backend == Backend::Cpu) {
            let batches = (session.first_batch(&mut calls), calls.fresh(length()));
            let prepare = async {
                verify(problem, unverified.take(), &mut checks, &session.trials).await?;
                Ok::<_, Stop>(problem.refill(&batches.0).await?)
            };
            // Side by side, in two processes. Both come to an end: who was asked halfway answers no other question.
            let (prepared, written) = tokio::join!(prepare, late::write(candidate, batches.1, unseen));
            prepared?;
            (ours, theirs) = (Some(batches.0), Some(written?));
        }
        // A B, B A, A B, ...: what drifts hits both sides alike.
        if pair.is_multiple_of(2) {
            time_baselines(problem, &session, &mut calls, &mut samples, ours.take()).await?;
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
            let turn = Turn { pair, left: most - pair };
            let timed = time_candidate(candidate, &ready, overhead, turn, &checks, session.backend).await?;
            let is_too_short = timed.is_too_short(session.backend) && candidate_calls < session.room.most();
            unverified = timed.unverified;
            if !is_early {
                verify(problem, unverified.take(), &mut checks, &session.trials).await?;
                late::forget(problem, &ready.late).await?;
            }
            if purpose == Use::Time && !is_confirmed {
                is_confirmed = true;
                if is_too_short {
                    candidate_calls = calibrate(candidate, &mut calls, &session, overhead).await?;
                    samples = Samples::none(&session);
                    continue 'pairs;
                }
            }
            if purpose == Use::Time {
                samples.candidate.push(timed.per_call);
            }
            samples.clocks.push(timed.clock);
            overwritten |= timed.overwritten;
        }
        if !pair.is_multiple_of(2) {
            time_baselines(problem, &session, &mut calls, &mut samples, ours).await?;
        }
    }
    verify(problem, unverified, &mut checks, &session.trials).await?;
    agree(&samples.clocks)?;
    candidate.clear().await?;
    late::forget_unseen(problem, unseen.as_ref()).await?;
    if overwritten {
        let message = "calls return the same memory again: a result is right until the next call, and has to be copied by who keeps it";
        candidate.note("reused_output", Severity::Note, message);
    }
    let mut timing = summarize(&samples, &session, problem, candidate_calls);
    timing.device_state = problem.device_state().await?;
    Ok(Measured { timing, verified: checks.done, error_over_tolerance: checks.error_over_tolerance })
}

/// Whether the speedup so far, against the baseline that is the fastest so far, is known well enough.
fn narrow(samples: &Samples) -> bool {
    let Some(fastest) = samples.baselines.iter().min_by(|a, b| median(a).total_cmp(&median(b))) else { return false };
    let ratios: Vec<f64> = fastest.iter().zip(&samples.candidate).map(|(baseline, candidate)| baseline / candidate).collect();
    let (low, high) = median_interval(&ratios);
    high - low <= NARROW * median(&ratios)
}

fn summarize(samples: &Samples, session: &Session, problem: &Problem, calls_per_batch: usize) -> Timing {
    let (baseline, times) = fastest(&session.contenders, &samples.baselines);
    let ratios: Vec<f64> = times.iter().zip(&samples.candidate).map(|(baseline, candidate)| baseline / candidate).collect();
    let (speedup_low, speedup_high) = median_interval(&ratios);
    let live = |known: &Baseline| {
        let Some(at) = session.contenders.iter().position(|(kind, _)| *kind == known.kind) else { return known.clone() };
        let times = &samples.baselines[at];
        Baseline { time_ns: Some(Nanoseconds::from_seconds(median(times))), spread: Some(spread(times)), ..known.clone() }
    };
    Timing {
        speedup: median(&ratios),
        speedup_low,
        speedup_high,
        candidate_ns: Nanoseconds::from_seconds(median(&samples.candidate)),
        candidate_spread: spread(&samples.candidate),
        baseline,
        baselines: problem.baselines.iter().map(live).collect(),
        pairs: ratios.len() as u32,
        calls_per_batch: calls_per_batch as u32,
        control: control(times, &samples.candidate),
        device_state: None,
        build_ns: session.build.into(),
        first_call_ns: session.first_call.into(),
    }
}

/// The baseline with the smallest median in this session, and its times: what a candidate is measured against.
fn fastest<'a>(contenders: &[(BaselineKind, Nanoseconds)], times: &'a [Vec<f64>]) -> (BaselineKind, &'a [f64]) {
    let measured = contenders.iter().zip(times).map(|(&(kind, _), times)| (kind, times.as_slice()));
    measured.min_by(|(_, a), (_, b)| median(a).total_cmp(&median(b))).unwrap_or((BaselineKind::Eager, &[]))
}

/// Neighbouring batches of one side over each other: in A B, B A, A B, ... every batch but the first and the last has such a neighbour. The
/// first over the second and the second over the first in turns, as the sides stand in pairs: what coming second makes of a time cancels here
/// as it does there.
fn control(baseline: &[f64], candidate: &[f64]) -> Option<Control> {
    let later = baseline.get(1..).unwrap_or_default();
    let neighbours = candidate.chunks_exact(2).chain(later.chunks_exact(2)).enumerate();
    let ratios: Vec<f64> = neighbours.map(|(i, pair)| if i.is_multiple_of(2) { pair[0] / pair[1] } else { pair[1] / pair[0] }).collect();
    let (low, high) = median_interval(&ratios);
    (ratios.len() + 1 >= FEWEST_PAIRS).then(|| Control { ratio: median(&ratios), low, high })
}

/// What a batch of the candidate is for. The candidate cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Its time counts.
    Time,
    /// Some of its calls get their inputs late and are verified. Its time does not count: another process has used the device or its
    /// memory right before it.
    Late,
}

/// What a batch of the candidate came to.
struct Timed {
    calls: usize,
    /// Seconds of one call.
    per_call: f64,
    /// By how much its clock disagrees.
    clock: f64,
    /// Whether calls wrote their outputs where those of other calls lay.
    overwritten: bool,
    unverified: Option<Unverified>,
}

impl Timed {
    fn is_too_short(&self, backend: Backend) -> bool {
        self.per_call * (self.calls as f64) < wanted(backend, self.per_call).as_secs_f64() * TOO_SHORT
    }
}

/// What some calls of a batch have left behind, nobody having looked at it yet. On a GPU it still lies in the candidate's memory.
struct Unverified {
    pair: usize,
    outcomes: TimedOutcomes,
    /// The calls' numbers.
    chosen: Vec<usize>,
}

/// One batch of the candidate, with what is to be verified of it.
async fn time_candidate(
    candidate: &mut Candidate,
    Ready { calls, placed, late }: &Ready,
    overhead: Duration,
    turn: Turn,
    checks: &Checks,
    backend: Backend,
) -> Result<Timed, Stop> {
    let Batch { wall, inner } = candidate.time(calls).await?;
    // It is stopped now. What it still does while it is asked where its outputs lie is charged to the batch, and nobody asks it again.
    let (outputs, asked) = candidate.held().await?;
    if outputs.count() != calls.len() {
        return Err(Stop::rejected("channel_tampering", "it speaks of other calls than it was asked to make"));
    }
    let allowed = overhead + held_slack(backend) + held_per_call(backend) * calls.len() as u32;
    let charged = time_of(wall, overhead, inner) + asked.saturating_sub(allowed);
    let lasting = outputs.lasting();
    let chosen = checks.choose(&lasting, late, turn);
    let unverified = if chosen.is_empty() {
        None
    } else {
        let outcomes = candidate.read_calls(calls, &chosen, &outputs, placed).await?;
        Some(Unverified { pair: turn.pair, outcomes, chosen })
    };
    Ok(Timed {
        calls: calls.len(),
        per_call: charged.as_secs_f64().max(1e-9) / calls.len() as f64,
        clock: disagreement(wall.saturating_sub(overhead), inner, calls.len()),
        overwritten: lasting.contains(&false),
        unverified,
    })
}

/// Compares what timed calls have left behind with what the reference gives.
async fn verify(problem: &mut Problem, unverified: Option<Unverified>, checks: &mut Checks, trials: &Trials) -> Result<(), Stop> {
    let Some(Unverified { pair, outcomes, chosen }) = unverified else { return Ok(()) };
    for (call, comparison) in chosen.iter().zip(problem.verify(&outcomes).await?) {
        let Some(comparison) = comparison else { continue };
        let label = format!("timed call {} of pair {}", call + 1, pair + 1);
        let error = comparison.outcome(&label).map_err(|mismatches| Stop::incorrect(mismatches, trials.clone()))?;
        checks.error_over_tolerance = checks.error_over_tolerance.max(error);
        checks.done += 1;
    }
    Ok(())
}

/// The time of a batch that took `wall` here, `overhead` of it to be asked for, and `inner` on the candidate's clock. A clock that says more
/// than that is believed: nobody gains by it.
fn time_of(wall: Duration, overhead: Duration, inner: Duration) -> Duration {
    let beyond = wall.saturating_sub(overhead.min(wall.mul_f64(ASKING)));
    inner.max(beyond.mul_f64(1.0 - BELIEVED)).min(wall)
}

/// One batch of each contender; that of the first may be ready.
async fn time_baselines(
    problem: &mut Problem,
    session: &Session,
    calls: &mut Calls,
    samples: &mut Samples,
    mut ready: Option<Vec<Placed>>,
) -> Result<(), Stop> {
    for (&(kind, expected), times) in session.contenders.iter().zip(&mut samples.baselines) {
        let batch = if let Some(batch) = ready.take() {
            batch
        } else {
            let batch = session.batch(calls, expected);
            match session.backend {
                Backend::Cpu => problem.refill(&batch).await?,
                Backend::Cuda => problem.place(&batch).await?,
            }
            batch
        };
        let time = problem.time(kind, &batch).await?;
        if session.backend == Backend::Cuda {
            problem.release(&batch).await?;
        }
        times.push(time.as_secs_f64().max(1e-9) / batch.len() as f64);
    }
    Ok(())
}

/// How far the candidate's clock is from the supervisor's, in units of what is tolerated.
fn disagreement(wall: Duration, inner: Duration, calls: usize) -> f64 {
    let tolerated = wall.as_secs_f64() * CLOCKS_SHARE + (CLOCKS_SLACK + CLOCKS_PER_CALL * calls as u32).as_secs_f64();
    wall.abs_diff(inner).as_secs_f64() / tolerated
}

fn agree(clocks: &[f64]) -> Result<(), Stop> {
    let least = clocks.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
    if least > 1.0 {
        let explanation = format!(
            "in every batch the candidate's process reports a time at least {least:.1} times further from the supervisor's than is tolerated: \
             work outside the timed calls, or a patched clock"
        );
        return Err(Stop::rejected("clock_disagreement", explanation));
    }
    Ok(())
}

/// How many calls make a batch of the wanted length.
async fn calibrate(candidate: &mut Candidate, calls: &mut Calls, session: &Session, overhead: Duration) -> Result<usize, Stop> {
    let room = session.room;
    let at_most = session.at_most.as_secs_f64();
    let mut count = room.calls(wanted(session.backend, at_most) / WARM_UP_PART, at_most);
    let (mut last, mut quickest) = (0, f64::INFINITY);
    // The first batch warms up; the first call of all is no measure of the others.
    for round in 0..=ROUNDS {
        let placed = calls.fresh(count);
        match session.backend {
            // What lies there already does for this.
            Backend::Cpu => candidate.reserve(&placed).await?,
            Backend::Cuda => candidate.place(&placed).await?,
        };
        let wall = candidate.time(&placed).await?.wall.saturating_sub(overhead);
        // What is said of memory for the first time takes longer, and is not charged here.
        candidate.held().await?;
        // What delays one of these batches does not make calls slower: the first one of its length touches memory for the first time, which can
        // take as long as many calls.
        quickest = wall.as_secs_f64().min(quickest * count as f64) / count as f64;
        let wanted = wanted(session.backend, quickest);
        let lasts = quickest * count as f64 >= wanted.as_secs_f64() * LASTING;
        if round > 0 && (lasts && count <= last || count == room.most()) {
            break;
        }
        last = count;
        if round > 0 && lasts {
            continue;
        }
        // One call can be mistaken by a lot: grow step by step.
        let next = room.calls(wanted.mul_f64(1.1), quickest);
        count = if round == 0 { next.min(count * 16) } else { next.clamp((count + 1).min(room.most()), count * 16) };
    }
    Ok(count)
}

/// A batch that lasts this part of what is wanted does: calls become quicker while memory is touched for the first time, and looking for
/// the exact number takes as long as pairs do.
const LASTING: f64 = 0.75;

/// The first batch of all is shorter than wanted by this factor.
const WARM_UP_PART: u32 = 4;

/// The most rounds of finding a batch's length.
const ROUNDS: usize = 6;

const EMPTY_BATCHES: usize = 5;
const PAUSE: Duration = Duration::from_millis(1);

/// What it takes to ask for an empty batch, on a GPU that another process has used last. A candidate that makes its empty batches slow would make
/// its others look fast, so this is capped by what channels and devices take.
async fn overhead(problem: &mut Problem, candidate: &mut Candidate, backend: Backend) -> Result<Duration, Stop> {
    let mut times = Vec::new();
    for _ in 0..EMPTY_BATCHES {
        if backend == Backend::Cuda {
            problem.fill(BASE, &[]).await?;
        }
        // As between batches that are not empty: what has slept wakes up more slowly.
        tokio::time::sleep(PAUSE).await;
        times.push(candidate.time(&[]).await?.wall.as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(&times)).min(most_overhead(backend)))
}

fn most_overhead(backend: Backend) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_micros(250),
        Backend::Cuda => Duration::from_micros(800),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_disagree_are_a_finding() {
        let ms = Duration::from_millis;
        assert!(disagreement(ms(20), ms(20), 1) < 1.0 && disagreement(ms(20), ms(19), 1) < 1.0);
        assert!(disagreement(ms(20), ms(10), 2000) > 1.0 && disagreement(ms(20), ms(30), 2000) > 1.0);
        assert!(agree(&[1.5, 9.0, 0.2]).is_ok(), "disturbed batches decide nothing");
        let Err(Stop::Decided(verdict)) = agree(&[3.0, 9.0, 1.2]) else { panic!("no verdict") };
        assert_eq!(verdict.status(), "rejected");
    }

    #[test]
    fn the_candidate_s_clock_is_believed_in_next_to_nothing() {
        let us = Duration::from_micros;
        let time_of = |wall, overhead, inner| time_of(us(wall), us(overhead), us(inner)).as_micros();
        assert_eq!(time_of(10_300, 300, 9_900), 9_900, "waking up took longer than in an empty batch");
        assert_eq!(time_of(10_300, 300, 5_000), 9_850);
        assert_eq!(time_of(10_300, 300, 10_200), 10_200, "its own clock says that asking took less");
        assert_eq!(time_of(10_000, 0, 12_000), 10_000);
        assert_eq!(time_of(450, 800, 270), 332, "a batch is never all asking");
        assert_eq!(time_of(450, 800, 0), 332);
    }

    #[test]
    fn pairs_that_agree_are_enough() {
        let samples =
            |candidate: [f64; 6]| Samples { baselines: vec![vec![9.0; 6], vec![2.0; 6]], candidate: candidate.to_vec(), clocks: vec![] };
        assert!(narrow(&samples([1.0, 1.01, 1.0, 1.005, 1.0, 1.0])));
        assert!(!narrow(&samples([1.0, 1.05, 1.0, 1.005, 1.0, 1.0])));
    }

    #[test]
    fn the_baseline_is_the_one_that_was_faster_in_this_session() {
        let contenders = [(BaselineKind::Eager, Nanoseconds(10)), (BaselineKind::Compile, Nanoseconds(12))];
        let times = [vec![3.0, 3.1, 9.0], vec![1.0, 1.2, 1.1]];
        assert_eq!(fastest(&contenders, &times), (BaselineKind::Compile, times[1].as_slice()));
    }

    #[test]
    fn the_control_compares_neighbours_of_one_side() {
        // A B | B A | A B | B A | A B | B A: the batches drift, so that only neighbours are nearly equal.
        let baseline = [10.0, 20.0, 20.2, 30.0, 30.3, 40.0];
        let candidate = [1.0, 1.01, 2.0, 2.02, 3.0, 3.03];
        let control = control(&baseline, &candidate).unwrap();
        assert!((0.985..0.995).contains(&control.low) && (1.005..1.015).contains(&control.high), "{control:?}");
        assert!((0.985..1.015).contains(&control.ratio), "{control:?}");
        assert!(super::control(&baseline[..3], &candidate[..3]).is_none());
    }
}
