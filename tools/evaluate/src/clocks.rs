//! Two clocks on one batch: the supervisor's, which decides, and the candidate's, which says how long waking up took.

use std::time::{Duration, Instant};

use crate::checks::BatchNumber;
use crate::late;
use crate::turns::Course;
use crate::verdict::Stop;

/// How far the two sides' clocks may differ, as a share of a batch, and in any case. The batch in which they differ least is judged: a
/// busy machine delays messages in most batches, a candidate that works outside its calls or has patched its clock differs in all. A
/// batch's time is the supervisor's in any case.
const CLOCKS_SHARE: f64 = 0.1;
const CLOCKS_SLACK: Duration = Duration::from_millis(1);

/// Of a batch by which part a clock has to have moved on: messages that others delay take as long as calls do, or ten times, but not a thousand times in
/// every batch. Batches of two milliseconds, as short as calibration may make them beside other work, would be within what is tolerated then.
const STILL: f64 = 0.001;

/// By how much of a batch the candidate's clock may say less than the supervisor's and be taken for the time, and by how much in any case: one time a
/// process takes a tenth of a millisecond longer to wake up than another, however long its batch is, and a batch of large inputs that memory keeps short
/// lasts a few milliseconds. Of a short one it is no more than a part that nobody would call a gain.
const BELIEVED: f64 = 0.015;
const WAKING: Duration = Duration::from_micros(150);
const MOST_BELIEVED: f64 = 0.035;

/// The part of a batch that may be taken for what it takes to ask for one: of a batch that came out too short, more would be nothing but guessing.
const ASKING: f64 = 0.25;

/// The time of a batch that took `wall` here, `overhead` of it to be asked for, and `inner` on the candidate's clock. A clock that says more
/// than that is believed: nobody gains by it.
pub(crate) fn time_of(wall: Duration, overhead: Duration, inner: Duration) -> Duration {
    let beyond = wall.saturating_sub(overhead.min(wall.mul_f64(ASKING)));
    let believed = beyond.mul_f64(BELIEVED).max(WAKING.min(beyond.mul_f64(MOST_BELIEVED)));
    inner.max(beyond.saturating_sub(believed)).min(wall)
}

/// How far the candidate's clock is from the supervisor's, in units of what is tolerated; infinitely far where it stands still.
pub(crate) fn disagreement(wall: Duration, inner: Duration) -> f64 {
    if inner < wall.mul_f64(STILL) {
        return f64::INFINITY;
    }
    let tolerated = wall.as_secs_f64() * CLOCKS_SHARE + CLOCKS_SLACK.as_secs_f64();
    wall.abs_diff(inner).as_secs_f64() / tolerated
}

/// How many more batches there are at most where clocks differ in all, and how long they may go on: on a machine that others keep busy an honest
/// candidate's agree in one of them.
const MORE: usize = 40;
const BUDGET: Duration = Duration::from_secs(8);

/// How far they may be apart in units of what is tolerated where the baselines' batches waited for processors: other work then delays all messages.
const OF_BUSY: f64 = 2.0;

/// Decides by the batches that there were whether the two clocks agree, and by more where they do not.
pub(crate) async fn settle(course: &mut Course<'_>) -> Result<(), Stop> {
    let began = Instant::now();
    let limit = if course.samples.others_are_busy() { OF_BUSY } else { 1.0 };
    for _ in 0..MORE {
        if agree(&course.samples.clocks, limit).is_ok() || began.elapsed() > BUDGET {
            break;
        }
        let batch = course.calls.fresh(course.in_batch);
        let ready = late::place(course.problem, course.candidate, batch, None, 1).await?;
        let timed = course.time_candidate(&ready, BatchNumber { pair: 0, left: 1 }).await?;
        course.verify(timed.unverified).await?;
        late::forget(course.problem, &ready.late).await?;
        course.samples.clocks.push(timed.clock);
    }
    agree(&course.samples.clocks, limit)
}

fn agree(clocks: &[f64], limit: f64) -> Result<(), Stop> {
    let least = clocks.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0);
    if least > limit {
        let reports = match least {
            f64::INFINITY => "that next to no time has passed".to_owned(),
            _ => format!("a time at least {least:.1} times further from the supervisor's than is tolerated"),
        };
        let explanation =
            format!("in every batch the candidate's process reports {reports}: work outside the timed calls, or a patched clock");
        return Err(Stop::rejected("clock_disagreement", explanation));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_disagree_are_a_finding() {
        let ms = Duration::from_millis;
        assert!(disagreement(ms(20), ms(20)) < 1.0 && disagreement(ms(20), ms(19)) < 1.0);
        assert!(disagreement(ms(20), ms(10)) > 1.0 && disagreement(ms(20), ms(30)) > 1.0);
        assert!(agree(&[1.5, 9.0, 0.2], 1.0).is_ok(), "disturbed batches decide nothing");
        let still = disagreement(ms(2), Duration::ZERO);
        assert!(
            agree(&[still, still], OF_BUSY).is_err() && agree(&[still, disagreement(ms(2), ms(1))], OF_BUSY).is_ok(),
            "a clock that stands still"
        );
        let Err(Stop::Decided(verdict)) = agree(&[3.0, 9.0, 1.2], 1.0) else { panic!("no verdict") };
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
        assert_eq!(time_of(20_300, 300, 5_000), 19_700, "a clock that lies");
        assert_eq!((time_of(5_400, 400, 4_870), time_of(5_400, 400, 2_000)), (4_870, 4_850), "large inputs");
        assert_eq!(time_of(450, 800, 330), 330, "a batch is never all asking");
        assert_eq!(time_of(450, 800, 0), 325);
    }
}
