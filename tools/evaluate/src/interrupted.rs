//! Batches that are interrupted: calls that have not begun get other inputs.
//!
//! While time runs, the candidate's process holds the inputs of a whole batch, and its first call could make all of them together: what many calls
//! cost is then saved, and every output is right. So there are batches, in places that nobody can foresee, which are stopped several times. Calls
//! that have not begun by then have to give what their new inputs ask for, which lie beyond the problem's range if there are such. The time of such a
//! batch does not count.

use std::time::{Duration, Instant};

use kernelwright_harness::Part;
use kernelwright_protocol::Backend;

use crate::draws::random_below;
use crate::late::{self, Ready, Source, Unseen};
use crate::turns::Course;
use crate::verdict::Stop;
use crate::waits::Denials;

/// How many there are: each costs a GPU's verdict a tenth of its time.
const fn count(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 2,
        Backend::Cuda => 1,
    }
}

/// A batch of fewer calls is over too soon.
const FEWEST_CALLS: usize = 3;

/// How often one is tried that was over before anybody could stop it: where other work has the processors, whoever stops it comes late. On a GPU calls are
/// begun within a millisecond, long before they are done.
const fn attempts(backend: Backend, others_are_busy: bool) -> usize {
    match backend {
        Backend::Cpu if others_are_busy => 16,
        Backend::Cpu => 4,
        Backend::Cuda => 8,
    }
}

/// On a GPU the first stop comes when call 2, 3 or 4 has begun: a candidate that makes all calls in its first one has only to launch them, and has done so
/// by then. On a CPU such a first call lasts as long as the batch, and the rest is over before anybody can stop it.
const FIRST: (u64, usize) = (2, 3);

/// After which parts of the time that a batch takes it is stopped, give or take a half.
const fn parts(backend: Backend) -> &'static [f64] {
    match backend {
        Backend::Cpu => &[0.01, 0.06, 0.2, 0.4, 0.6, 0.8],
        Backend::Cuda => &[0.2],
    }
}

/// The pairs with which such batches go.
#[derive(Debug)]
pub(crate) struct Due {
    pairs: Vec<usize>,
    /// Of so many.
    of: usize,
    backend: Backend,
}

impl Due {
    /// In places that nobody can foresee, each another one.
    pub(crate) fn among(backend: Backend, of: usize) -> Self {
        let mut left: Vec<usize> = (0..of).collect();
        let pairs = (0..count(backend).min(of)).map(|_| left.swap_remove(random_below(left.len()))).collect();
        Self { pairs, of, backend }
    }

    /// Whether one goes with this pair.
    pub(crate) fn with(&self, pair: usize) -> bool {
        self.pairs.contains(&pair)
    }

    /// Whoever was to stop it came late each time. On a CPU others have the processors, and may have less of them a pair later; on a GPU this takes long, and
    /// would come late then, too.
    fn missed(&mut self, pair: usize) {
        if self.backend == Backend::Cpu && pair + 1 < self.of {
            self.pairs.push(pair + 1);
        }
    }
}

/// Where such a batch stands in a session.
struct Place<'a> {
    pair: usize,
    /// What the batch's inputs are made from.
    unseen: &'a Unseen,
    /// What those that are exchanged are made from.
    source: Source<'a>,
}

/// Runs one such batch, beside the other batches of a pair, and verifies the calls that got other inputs.
pub(crate) async fn check(course: &mut Course<'_>, (pair, unseen): (usize, &Unseen), due: &mut Due) -> Result<(), Stop> {
    if course.in_batch < FEWEST_CALLS {
        // Before anything is drawn, for which problems of so few calls may have no memory.
        return Ok(());
    }
    let beyond = late::beyond(course.problem, &course.session.beyond).await?;
    let checked = attempt(course, &Place { pair, unseen, source: Source::of(beyond.as_ref(), unseen) }).await;
    late::forget_beyond(course.problem, beyond.as_ref()).await?;
    if !checked? {
        due.missed(pair);
    }
    Ok(())
}

/// Whether any calls got other inputs.
async fn attempt(course: &mut Course<'_>, place: &Place<'_>) -> Result<bool, Stop> {
    let others_are_busy = course.samples.others_are_busy();
    let mut attempt = 0;
    while attempt < attempts(course.session.backend, others_are_busy || course.checks.in_a_row > 0) {
        attempt += 1;
        let outcome = interrupt(course, place).await?;
        let checks = &mut course.checks;
        match outcome {
            Interruption::Exchanged => {
                checks.in_a_row = 0;
                return Ok(true);
            }
            Interruption::Claimed => (checks.claims, checks.in_a_row) = (checks.claims + 1, checks.in_a_row + 1),
            Interruption::Excused => checks.in_a_row += 1,
            Interruption::Late => {}
        }
        if checks.claims >= claims(others_are_busy) || checks.in_a_row >= IN_A_ROW {
            let message = "it says again and again that the last call of a batch has begun, and goes on for longer than calls take";
            return Err(Stop::rejected("channel_tampering", message));
        }
    }
    Ok(false)
}

/// What became of a batch that was to be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interruption {
    /// Calls got other inputs.
    Exchanged,
    /// It was over before it was stopped, or next to it.
    Late,
    /// All calls had begun by its own count, which lies in the candidate's memory, and much of it was to come.
    Claimed,
    /// The same, and others had the processors meanwhile.
    Excused,
}

/// How many such claims count as a lie. A single one may mean that another process had the processor; where the baselines waited for theirs, several may.
const fn claims(others_are_busy: bool) -> u32 {
    if others_are_busy { 5 } else { 3 }
}

/// So many of either kind in a row are one too many: whoever counts right has calls left to be exchanged soon.
const IN_A_ROW: u32 = 5;

/// How long a batch may go on after its last call has begun; more, and its count must be wrong. On a GPU calls are launched ahead of what they do.
fn longest_rest(backend: Backend, per_call: f64, lasting: Duration) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_secs_f64(2.0 * per_call).max(lasting / 4),
        Backend::Cuda => Duration::MAX,
    }
}

/// Runs one batch, stops it at each of its parts, and gives calls that have not begun other inputs.
async fn interrupt(course: &mut Course<'_>, place: &Place<'_>) -> Result<Interruption, Stop> {
    let calls = course.candidate_batch();
    let count = calls.len();
    // Of the shortest batch: one that waited for processors would put every stop behind the end of this one.
    let per_call = course.samples.candidate.iter().copied().min_by(f64::total_cmp).unwrap_or_default();
    let lasting = Duration::from_secs_f64(per_call * count as f64);
    let mut ready = late::place(course.problem, course.candidate, calls, Some(place.unseen), 0).await?;
    let counter = ready.placed.counter.ok_or_else(|| Stop::rejected("channel_tampering", "it does not say where it counts calls"))?;
    let backend = course.session.backend;
    let longest = longest_rest(backend, per_call, lasting);
    let stops = stops(backend, count, lasting, counter);
    let Some(stops) = stops.split_first() else { return Ok(Interruption::Late) };
    let Exchanges { mut exchanged, claimed } = halt(course, place.source, &mut ready, stops, longest).await?;
    tracing::debug!(count, ?lasting, ?exchanged, ?claimed, "a batch was interrupted");
    let (outputs, _) = course.candidate.held().await?;
    if outputs.count() != count {
        return Err(Stop::rejected("channel_tampering", "it speaks of other calls than it was asked to make"));
    }
    if exchanged.is_empty() {
        return Ok(claimed.unwrap_or(Interruption::Late));
    }
    let lasts = outputs.lasting();
    exchanged.retain(|&(number, _)| lasts[number]);
    let numbers: Vec<usize> = exchanged.iter().map(|&(number, _)| number).collect();
    let outcomes = course.candidate.read_calls(&ready.calls, &numbers, &outputs, &ready.placed).await?;
    for ((number, begun), comparison) in exchanged.iter().zip(course.problem.verify(&outcomes).await?) {
        let Some(comparison) = comparison else { continue };
        let label = format!("call {} of {count} in pair {}, whose inputs came while call {begun} was made", number + 1, place.pair + 1);
        let error = comparison.outcome(&label).map_err(|mismatches| Stop::incorrect(mismatches, course.session.trials.clone()))?;
        course.checks.note(error);
    }
    // Before the first call nothing is known of who makes the next ones' work in it.
    let tells = exchanged.iter().any(|&(_, begun)| begun > 0);
    Ok(claimed.filter(|claimed| !tells || *claimed == Interruption::Claimed).unwrap_or(if tells {
        Interruption::Exchanged
    } else {
        Interruption::Late
    }))
}

/// When a batch of `count` calls that takes so long is stopped.
fn stops(backend: Backend, count: usize, lasting: Duration, counter: u64) -> Vec<Part> {
    let begun = FIRST.0 + random_below(FIRST.1.min(count.saturating_sub(2))) as u64;
    let at_first = (backend == Backend::Cuda).then_some(Part { lasts: lasting, until: Some(begun), counter });
    let later = parts(backend).iter().map(|part| Part {
        lasts: lasting.mul_f64(part * (0.5 + random_below(1001) as f64 / 1000.0)),
        until: None,
        counter,
    });
    at_first.into_iter().chain(later).collect()
}

/// What became of a batch until it was over.
#[derive(Default)]
struct Exchanges {
    /// The calls that got other inputs, and how many had begun by then.
    exchanged: Vec<(usize, u64)>,
    claimed: Option<Interruption>,
}

/// Lets a batch run to each of its stops in turn, where calls that have not begun get other inputs, and to its end.
async fn halt(
    course: &mut Course<'_>,
    source: Source<'_>,
    ready: &mut Ready,
    (&first, later): (&Part, &[Part]),
    longest: Duration,
) -> Result<Exchanges, Stop> {
    let mut later = later.iter().copied();
    let mut told = Exchanges::default();
    let mut halted = course.candidate.time_in_parts(first).await?;
    while let Some((begun, asked)) = halted {
        let numbers = to_exchange(usize::try_from(begun).unwrap_or(usize::MAX), ready.calls.len());
        late::exchange(course.problem, course.candidate, ready, source, &numbers).await?;
        told.exchanged.retain(|(number, _)| !numbers.contains(number));
        told.exchanged.extend(numbers.iter().map(|&number| (number, begun)));
        let (denials, resumed) = (Denials::of(course.candidate.pid()), Instant::now());
        halted = course.candidate.go_on(asked, later.next().filter(|_| !numbers.is_empty())).await?;
        let rest = resumed.elapsed();
        let is_denied = || denials.explain(rest, longest);
        told.claimed =
            (numbers.is_empty() && rest > longest).then(|| if is_denied() { Interruption::Excused } else { Interruption::Claimed });
    }
    Ok(told)
}

/// The calls, by number, that get other inputs where so many of `count` have begun: the next one, in case they are made a few at a time, and one of those
/// after it.
fn to_exchange(begun: usize, count: usize) -> Vec<usize> {
    let later = begun.saturating_add(1);
    let mut numbers: Vec<usize> = (begun..count).take(1).collect();
    if later < count {
        numbers.push(later + random_below(count - later));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_two_of_them() {
        for _ in 0..50 {
            let due = Due::among(Backend::Cpu, 6);
            assert_eq!((0..6).filter(|&pair| due.with(pair)).count(), 2, "{due:?}");
        }
        assert_eq!((Due::among(Backend::Cpu, 1).pairs, Due::among(Backend::Cuda, 6).pairs.len()), (vec![0], 1));
    }

    #[test]
    fn what_was_missed_on_a_cpu_goes_with_the_next_pair() {
        let missed = |backend: Backend, pair: usize| {
            let mut due = Due { pairs: vec![], of: 6, backend };
            due.missed(pair);
            due.pairs
        };
        assert_eq!((missed(Backend::Cpu, 4), missed(Backend::Cpu, 5), missed(Backend::Cuda, 0)), (vec![5], vec![], vec![]));
    }

    #[test]
    fn a_batch_of_which_much_is_to_come_has_not_begun_its_last_call() {
        let lasting = Duration::from_millis(40);
        let longest = |calls: u32| longest_rest(Backend::Cpu, lasting.as_secs_f64() / f64::from(calls), lasting).as_millis();
        assert_eq!((longest(20), longest(4)), (10, 20));
        assert_eq!(longest_rest(Backend::Cuda, 1e-3, lasting), Duration::MAX);
    }

    #[test]
    fn only_calls_that_have_not_begun_get_other_inputs() {
        for _ in 0..50 {
            let numbers = to_exchange(3, 10);
            assert!(numbers.len() == 2 && numbers[0] == 3 && (4..10).contains(&numbers[1]), "{numbers:?}");
        }
        assert_eq!(to_exchange(9, 10), [9]);
        assert!(to_exchange(10, 10).is_empty() && to_exchange(usize::MAX, 10).is_empty());
    }
}
