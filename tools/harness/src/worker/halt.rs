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

/// Returns a part of a process's work when it is over; never where there is none. A thread's sleep is more exact than a timer of ours, which has
/// milliseconds, and whoever waits for a counter may have microseconds.
pub(super) async fn over(part: Option<Part>, process: Pid) -> Part {
    let Some(part) = part else { return std::future::pending().await };
    let wait = move || match part.until {
        None => std::thread::sleep(part.lasts),
        Some(until) => {
            let started = Instant::now();
            while part.count(process) < until && started.elapsed() < part.lasts {
                std::hint::spin_loop();
            }
        }
    };
    let _ = tokio::task::spawn_blocking(wait).await;
    part
}
