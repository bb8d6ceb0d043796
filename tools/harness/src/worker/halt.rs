//! A worker that is stopped while it works on a question, once or several times.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::{Reply, memory};

/// How long a worker runs before it is stopped.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The time at most; an answer ends it.
    pub lasts: Duration,
    /// What the counter has to say for it to end before that.
    pub until: Option<u64>,
    /// The address of a number of eight bytes in its memory, in which it counts what it has begun. What is read there is a claim, like everything that a
    /// candidate's process says.
    pub counter: u64,
}

/// How far a question came.
#[derive(Debug)]
pub enum Halted {
    /// It was answered.
    Answered(Reply),
    /// The worker stands still, and owes the answer.
    At {
        /// What the counter says now that nothing changes it any more; the largest number where it cannot be read.
        count: u64,
        /// Whether the counter was seen to say more, between two looks at it, than could have begun meanwhile.
        has_leapt: bool,
        /// The question, to go on with.
        asked: Asked,
    },
}

/// A question that was sent and not answered yet.
#[derive(Debug)]
pub struct Asked {
    pub(super) id: u64,
    pub(super) op: String,
    pub(super) limit: Duration,
    pub(super) started: Instant,
}

impl Asked {
    pub(super) fn left(&self) -> Duration {
        self.limit.saturating_sub(self.started.elapsed())
    }
}

impl Part {
    pub(super) fn count(self, process: Pid) -> u64 {
        memory::peek(process, self.counter).unwrap_or(u64::MAX)
    }
}

/// What beginning something takes at least: a process counts what it calls, and none of its calls takes less.
const BEGINNING: Duration = Duration::from_micros(1);

/// What is looked at twice may have begun so often more than the time between says.
const LOOKING: u64 = 2;

/// Looks at a counter, which said nothing `since` then, until it says enough or time is over; whether it has leapt.
fn watch(until: u64, lasts: Duration, since: Instant, count: impl Fn() -> u64) -> bool {
    let started = Instant::now();
    let (mut last, mut seen, mut has_leapt) = (since, 0, false);
    while seen < until && last.saturating_duration_since(started) < lasts {
        std::hint::spin_loop();
        // The time from before the last look to after this one.
        let (before, now) = (Instant::now(), count());
        has_leapt |= leaps(now.saturating_sub(seen), last.elapsed());
        (last, seen) = (before, now);
    }
    has_leapt
}

fn leaps(more: u64, within: Duration) -> bool {
    u128::from(more) > u128::from(LOOKING) + within.as_nanos() / BEGINNING.as_nanos()
}

/// Returns a part of a process's work when it is over, and whether its counter has leapt; never where there is none. A thread's sleep is more exact than
/// a timer of ours, which has milliseconds, and whoever waits for a counter may have microseconds. A process counts from when it was `asked`: on a busy
/// machine it has begun several calls before anybody looks.
pub(super) async fn over(part: Option<Part>, asked: Instant, process: Pid) -> (Part, bool) {
    let Some(part) = part else { return std::future::pending().await };
    let wait = move || match part.until {
        None => {
            std::thread::sleep(part.lasts);
            false
        }
        Some(until) => watch(until, part.lasts, asked, || part.count(process)),
    };
    (part, tokio::task::spawn_blocking(wait).await.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_counter_that_says_more_than_can_have_begun_has_leapt() {
        let watched = |steps: &'static [u64]| {
            let at = Cell::new(0);
            watch(3, Duration::from_secs(5), Instant::now(), || steps[at.replace((at.get() + 1).min(steps.len() - 1))])
        };
        assert!(!watched(&[0, 0, 1, 1, 2, 3]) && !watched(&[0, 2, 4]));
        assert!(watched(&[0, 1, 100_000]) && watched(&[u64::MAX]));
        assert!(!leaps(500, Duration::from_millis(1)), "whoever looks was kept from it");
    }

    #[test]
    fn calls_that_began_before_the_first_look_are_no_leap() {
        let asked = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(!watch(3, Duration::from_secs(5), asked, || 100));
        assert!(watch(3, Duration::from_secs(5), asked, || u64::MAX));
    }
}
