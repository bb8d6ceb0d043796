//! What a call takes by itself.
//!
//! Calls in a row have the same values in other places, and their inputs lie side by side in the candidate's process: who looks rows up that earlier
//! calls had, or makes all calls in one, is right, and quicker than any call by itself would be. So some batches have a single call, with inputs of a
//! draw of their own. What a call takes more there than among others is compared with what a call of the baseline takes more: caches that are cold and
//! threads that have slept delay both sides alike.
//!
//! Only on a CPU: on a GPU most calls are shorter than what it takes to come back to a process, and to tell it.

use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Severity};

use crate::checks::BatchNumber;
use crate::late;
use crate::preparation;
use crate::statistics::median;
use crate::turns::Course;
use crate::verdict::Stop;

/// How many there are of each side; the quickest counts. Fewer where calls, or drawing their inputs, take long, and more before a candidate is charged:
/// threads that have one processor between them, beside other work, may be slow to wake up in all of a few.
const ROUNDS: usize = 6;
const MOST_ROUNDS: usize = 40;
const BUDGET: Duration = Duration::from_millis(800);

/// How many times longer a call may take by itself, beyond what it is for the baseline and this.
const LONGER: f64 = 1.7;

/// The largest part of a call's time that is excused as waiting: threads that wait for each other, which a candidate can arrange, would excuse all of it.
const EXCUSED: f64 = 0.5;

/// Seconds: asking a process for a call, and waking it, takes some tenths of a millisecond one time and none another.
const SLACK: f64 = 500e-6;

/// Seconds of one call, by itself and among others.
#[derive(Clone, Copy, Debug)]
struct Call {
    single: f64,
    among: f64,
}

/// Times single calls of both sides and, where the candidate's take far longer than those of its batches, has its times say so.
pub(crate) async fn charge(course: &mut Course<'_>) -> Result<(), Stop> {
    let session = course.session;
    let Some(&(kind, _)) = session.contenders.first().filter(|_| session.backend == Backend::Cpu) else { return Ok(()) };
    let began = Instant::now();
    let (mut theirs, mut ours) = (f64::INFINITY, f64::INFINITY);
    let among = (median(&course.samples.candidate), course.samples.baselines.first().map_or(0.0, |times| median(times)));
    let judged = |ours: f64, theirs: f64| alone(Call { single: ours, among: among.0 }, Call { single: theirs, among: among.1 });
    let (mut unseen, mut unverified) = (None, None);
    for round in 0..MOST_ROUNDS {
        if round > 0 && began.elapsed() > BUDGET || round >= ROUNDS && judged(ours, theirs).is_none() {
            break;
        }
        let batches = (course.calls.fresh(1), course.calls.fresh(1));
        let prepared = preparation::pair(course, batches, None, unverified.take()).await?;
        unseen = prepared.unseen;
        let ready = match prepared.batches {
            Some((_, ready)) => ready,
            None => late::place(course.problem, course.candidate, course.calls.fresh(1), None, 1).await?,
        };
        let timed = course.time_candidate(&ready, BatchNumber { pair: 0, left: 1 }).await?;
        unverified = timed.unverified;
        // What it has waited for processors that others had says nothing of it.
        ours = ours.min(timed.per_call * (1.0 - timed.waited.min(EXCUSED)));
        if unseen.is_none() {
            course.verify(unverified.take()).await?;
            late::forget(course.problem, &ready.late).await?;
            late::place_baseline(course.problem, &course.calls.fresh(1), None).await?;
        }
        theirs = theirs.min(course.problem.time(kind).await?.as_secs_f64());
    }
    course.verify(unverified).await?;
    late::forget_unseen(course.problem, unseen.as_ref()).await?;
    let Some(alone) = judged(ours, theirs) else { return Ok(()) };
    let message = format!(
        "a call with inputs that no other has takes {:.0} us, and {:.0} us in a row of {}: it knows its inputs from others, or calls are made \
         together; what it takes by itself counts",
        alone * 1e6,
        among.0 * 1e6,
        course.in_batch
    );
    for time in &mut course.samples.candidate {
        *time *= alone / among.0;
    }
    course.candidate.note("calls_made_together", Severity::Warning, &message);
    Ok(())
}

/// What a call of the candidate takes by itself, where that is so much more than among others that it says something.
fn alone(candidate: Call, baseline: Call) -> Option<f64> {
    let common = (baseline.single - baseline.among).max(0.0);
    let alone = candidate.single - common;
    (candidate.among > 0.0 && alone > LONGER * candidate.among + SLACK).then_some(alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(candidate: (f64, f64), baseline: (f64, f64)) -> Option<f64> {
        let call = |(single, among): (f64, f64)| Call { single: single * 1e-6, among: among * 1e-6 };
        alone(call(candidate), call(baseline)).map(|seconds| (seconds * 1e6).round())
    }

    #[test]
    fn what_delays_both_sides_says_nothing() {
        assert_eq!(judged((700.0, 100.0), (1500.0, 900.0)), None, "cold caches and threads that have slept");
        assert_eq!(judged((350.0, 100.0), (950.0, 900.0)), None, "not by that much");
        assert_eq!(judged((500.0, 5.0), (40.0, 30.0)), None, "too short to tell");
    }

    #[test]
    fn calls_that_are_quick_only_among_others_count_as_long_as_by_themselves() {
        assert_eq!(judged((10_000.0, 1000.0), (10_500.0, 9000.0)), Some(8500.0));
        assert_eq!(judged((10_000.0, 1000.0), (8000.0, 9000.0)), Some(10_000.0));
    }
}
