//! Batches that are interrupted: calls that have not begun get other inputs.
//!
//! While time runs, the candidate's process holds the inputs of a whole batch, and its first call could make all of them together: what many calls
//! cost is then saved, and every output is right. So there are batches, in places that nobody can foresee, which are stopped several times. Calls
//! that have not begun by then have to give what their new inputs ask for. The time of such a batch does not count.

use std::time::Duration;

use kernelwright_harness::Part;
use kernelwright_protocol::{Backend, Trials};

use crate::candidate::Candidate;
use crate::checks::Checks;
use crate::draws::random_below;
use crate::late;
use crate::problem::{Inputs, Placed, Problem};
use crate::verdict::Stop;

/// How many there are: each costs a GPU's verdict a tenth of its time.
const fn count(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 2,
        Backend::Cuda => 1,
    }
}

/// A batch of fewer calls is over too soon.
const FEWEST_CALLS: usize = 3;

/// On a GPU it is stopped first when the second call has begun, or one of the next: who makes all in the first only has to launch that, and has it behind
/// him then. On a processor that takes as long as the batch, and what is left is over sooner than anybody is stopped.
const FIRST: (u64, usize) = (2, 3);

/// After which parts of the time that a batch takes it is stopped, give or take a half.
const fn parts(backend: Backend) -> &'static [f64] {
    match backend {
        Backend::Cpu => &[0.01, 0.06, 0.2, 0.4],
        Backend::Cuda => &[0.2],
    }
}

/// The pairs with which such batches go, of so many.
pub(crate) fn pairs(backend: Backend, of: usize) -> Vec<usize> {
    (0..count(backend)).map(|_| random_below(of)).collect()
}

/// Runs one such batch, which takes about `lasting`, and verifies the calls that got other inputs.
pub(crate) async fn check(
    problem: &mut Problem,
    candidate: &mut Candidate,
    (calls, lasting): (Vec<Placed>, Duration),
    unseen: &Inputs,
    pair: usize,
    checks: &mut Checks,
    trials: &Trials,
) -> Result<(), Stop> {
    let count = calls.len();
    if count < FEWEST_CALLS {
        return Ok(());
    }
    let mut ready = late::place(problem, candidate, calls, Some(unseen), 0).await?;
    let counter = ready.placed.counter.ok_or_else(|| Stop::rejected("channel_tampering", "it does not say where it counts calls"))?;
    let backend = problem.setting.target.backend;
    let begun = FIRST.0 + random_below(FIRST.1.min(count - 2)) as u64;
    let at_first = (backend == Backend::Cuda).then_some(Part { lasts: lasting, until: Some(begun), counter });
    let later = parts(backend).iter().map(|part| Part {
        lasts: lasting.mul_f64(part * (0.5 + random_below(1001) as f64 / 1000.0)),
        until: None,
        counter,
    });
    let mut parts = at_first.into_iter().chain(later);
    let Some(first) = parts.next() else { return Ok(()) };
    let mut exchanged: Vec<(usize, u64)> = vec![];
    let mut halted = candidate.time_in_parts(&ready.calls, first).await?;
    while let Some((begun, asked)) = halted {
        let numbers = to_exchange(usize::try_from(begun).unwrap_or(usize::MAX), count);
        late::exchange(problem, candidate, &mut ready, unseen, &numbers).await?;
        exchanged.retain(|(number, _)| !numbers.contains(number));
        exchanged.extend(numbers.iter().map(|&number| (number, begun)));
        halted = candidate.go_on(asked, parts.next().filter(|_| !numbers.is_empty())).await?;
    }
    tracing::debug!(count, ?exchanged, "a batch was interrupted");
    let (outputs, _) = candidate.held().await?;
    if outputs.count() != count {
        return Err(Stop::rejected("channel_tampering", "it speaks of other calls than it was asked to make"));
    }
    let lasts = outputs.lasting();
    exchanged.retain(|&(number, _)| lasts[number]);
    if exchanged.is_empty() {
        return Ok(());
    }
    let numbers: Vec<usize> = exchanged.iter().map(|&(number, _)| number).collect();
    let outcomes = candidate.read_calls(&ready.calls, &numbers, &outputs, &ready.placed).await?;
    for ((number, begun), comparison) in exchanged.iter().zip(problem.verify(&outcomes).await?) {
        let Some(comparison) = comparison else { continue };
        let label = format!("call {} of {count} in pair {}, whose inputs came while call {begun} was made", number + 1, pair + 1);
        let error = comparison.outcome(&label).map_err(|mismatches| Stop::incorrect(mismatches, trials.clone()))?;
        checks.note(error);
    }
    Ok(())
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
    fn only_calls_that_have_not_begun_get_other_inputs() {
        for _ in 0..50 {
            let numbers = to_exchange(3, 10);
            assert!(numbers.len() == 2 && numbers[0] == 3 && (4..10).contains(&numbers[1]), "{numbers:?}");
        }
        assert_eq!(to_exchange(9, 10), [9]);
        assert!(to_exchange(10, 10).is_empty() && to_exchange(usize::MAX, 10).is_empty());
    }
}
