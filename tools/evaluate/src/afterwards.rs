//! The baseline once more on a GPU, after the candidate's process has ended.
//!
//! A candidate is stopped while the other side is timed, but what it has launched goes on: a kernel that spins, or copies without an end, take a GPU's
//! time from every other process, and their own would look quick beside what they slow down. Nothing in a stopped process can be asked about it. So
//! the baseline is measured without it, for the first candidate of a problem that gains anything, and again where it was slower beside another one than it was
//! then. What counts is what it took in most batches, as it is for the speedup: a few may find the GPU idle.

use std::time::Duration;

use kernelwright_protocol::{Backend, Baseline, BaselineKind, Correct, Finding, Nanoseconds, Severity, Timing};

use crate::EvaluateError;
use crate::batch::{Calls, wanted};
use crate::draws::DrawKind;
use crate::late::{self, Unseen};
use crate::problem::Problem;
use crate::samples::Beside;
use crate::statistics::median;

/// How much slower the baseline may be beside the candidate: clocks and temperatures differ by less.
const SLOWER: f64 = 1.15;

/// The same where a call takes less than this many seconds: it is then as slow as the processor that submits it, which other work slows down by a half.
const SHORT: f64 = 50e-6;
const SLOWER_IF_SHORT: f64 = 1.7;

/// Batches, after one that warms up, at least; and at most where they say that it was slowed down, some time apart: what makes a processor slower for a
/// second may come again.
const BATCHES: usize = 3;
const MOST_BATCHES: usize = 12;
const APART: Duration = Duration::from_millis(50);

/// The session on the set of inputs that was last: the one that is still selected.
fn last(correct: &Correct) -> Option<&Timing> {
    correct.sets.last().map_or(correct.timing.as_ref(), |set| set.timing.as_ref())
}

/// What one call of a baseline took in that session, in seconds, and on which draw.
fn in_session(problem: &Problem, timing: &Timing) -> Option<(DrawKind, f64)> {
    let Beside { draw, baselines } = problem.beside.as_ref()?;
    baselines.iter().find(|(kind, _)| *kind == timing.baseline).map(|&(_, seconds)| (*draw, seconds))
}

/// Whether the baseline has to be measured once more.
pub(crate) fn is_called_for(problem: &Problem, correct: &Correct) -> bool {
    let gains = |timing: &&Timing| problem.setting.target.backend == Backend::Cuda && timing.speedup > 1.0;
    let Some(timing) = last(correct).filter(gains) else { return false };
    in_session(problem, timing).is_some_and(|(draw, session)| {
        let alone = problem.alone.iter().find(|(kind, on, _)| (*kind, *on) == (timing.baseline, draw));
        alone.is_none_or(|&(.., alone)| is_slowed(session, alone))
    })
}

fn is_slowed(session: f64, alone: f64) -> bool {
    session > alone * if alone < SHORT { SLOWER_IF_SHORT } else { SLOWER }
}

/// Measures the baseline now that the candidate is gone. Where it was slower beside that, all speedups are against what it takes by itself.
pub(crate) async fn charge(problem: &mut Problem, correct: &mut Correct) -> Result<Option<Finding>, EvaluateError> {
    let Some(timing) = last(correct) else { return Ok(None) };
    let (kind, calls) = (timing.baseline, timing.calls_per_batch as usize);
    let Some((draw, session)) = in_session(problem, timing) else { return Ok(None) };
    let unseen = if draw == DrawKind::Problem { None } else { late::unseen_of(problem, draw).await? };
    if draw != DrawKind::Problem && unseen.is_none() {
        return Ok(None);
    }
    let times = measure(problem, kind, unseen.as_ref(), calls, session).await?;
    late::forget_unseen(problem, unseen.as_ref()).await?;
    let slowest = times.iter().copied().fold(0.0, f64::max);
    problem.alone.retain(|(known, on, _)| (*known, *on) != (kind, draw));
    problem.alone.push((kind, draw, slowest));
    if !is_slowed(session, slowest) {
        return Ok(None);
    }
    let alone = median(&times);
    for timing in correct.timing.iter_mut().chain(correct.sets.iter_mut().filter_map(|set| set.timing.as_mut())) {
        slow_down(timing, alone / session);
    }
    let message = format!(
        "a call of the {kind} baseline took {:.1} us beside the candidate's process and takes {:.1} us without it: something of it goes on while it is \
         stopped; speedups are against what the baseline takes by itself",
        session * 1e6,
        alone * 1e6
    );
    Ok(Some(Finding { rule: "slows_the_baseline".to_owned(), severity: Severity::Warning, message }))
}

/// Has the baselines of a session, and with them the speedup, be this part of what they were.
fn slow_down(timing: &mut Timing, part: f64) {
    for figure in [&mut timing.speedup, &mut timing.speedup_low, &mut timing.speedup_high] {
        *figure *= part;
    }
    for Baseline { time_ns, .. } in &mut timing.baselines {
        *time_ns = time_ns.map(|time| Nanoseconds::from_seconds(time.seconds() * part));
    }
}

/// Seconds of one call of a baseline, with nothing else on the GPU, in batches of no more calls than the session's.
async fn measure(
    problem: &mut Problem,
    kind: BaselineKind,
    unseen: Option<&Unseen>,
    most: usize,
    session: f64,
) -> Result<Vec<f64>, EvaluateError> {
    let count = ((wanted(Backend::Cuda, session).as_secs_f64() / session.max(1e-9)).ceil() as usize).clamp(1, most.max(1));
    let (mut calls, mut times) = (Calls::of(problem), vec![]);
    for batch in 0..=MOST_BATCHES {
        let placed = calls.fresh(count);
        late::place_baseline(problem, &placed, unseen).await?;
        let time = problem.time(kind).await?;
        problem.release(&placed).await?;
        if batch > 0 {
            times.push(time.as_secs_f64() / count as f64);
        }
        if batch >= BATCHES {
            if times.iter().any(|&alone| !is_slowed(session, alone)) {
                break;
            }
            tokio::time::sleep(APART).await;
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slowed_loses_its_gain_and_nothing_else() {
        let baseline = |kind, ns| serde_json::json!({"kind": kind, "time_ns": ns, "spread": 0.0, "first_call_ns": 1});
        let mut timing: Timing = serde_json::from_value(serde_json::json!({
            "speedup": 8.0, "speedup_low": 7.0, "speedup_high": 9.0, "candidate_ns": 100, "candidate_spread": 0.0, "baseline": "eager",
            "baselines": [baseline("eager", 800), baseline("compile", 1000)], "pairs": 6, "calls_per_batch": 9, "build_ns": 1, "first_call_ns": 1,
        }))
        .unwrap();
        slow_down(&mut timing, 0.125);
        assert_eq!((timing.speedup, timing.speedup_low, timing.speedup_high, timing.candidate_ns.0), (1.0, 0.875, 1.125, 100));
        assert_eq!(timing.baselines.iter().map(|baseline| baseline.time_ns.unwrap().0).collect::<Vec<_>>(), [100, 125]);
    }

    #[test]
    fn clocks_and_processors_are_no_finding() {
        assert!(!is_slowed(112e-6, 100e-6) && is_slowed(120e-6, 100e-6));
        assert!(!is_slowed(13e-6, 8.4e-6) && !is_slowed(65e-6, 42e-6) && is_slowed(20e-6, 8.4e-6), "other work on the processor");
    }
}
