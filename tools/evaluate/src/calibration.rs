//! What is found before pairs are timed: what it takes to ask for a batch, and how many calls make one.

use std::time::{Duration, Instant};

use kernelwright_protocol::Backend;

use crate::batch::{Calls, wanted};
use crate::candidate::Candidate;
use crate::problem::{BASE, Problem};
use crate::statistics::median;
use crate::timing::Session;
use crate::verdict::Stop;

/// How many calls make a batch of the wanted length.
pub(crate) async fn calibrate(candidate: &mut Candidate, calls: &mut Calls, session: &Session, overhead: Duration) -> Result<usize, Stop> {
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
        let wall = candidate.time().await?.wall.saturating_sub(overhead);
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
    Ok(count.max(fewest(session)))
}

/// On a CPU calls last longer than they are while others have the processors. A batch of two of them could not be interrupted, so there are enough where
/// those of the baseline are short: for those nobody has to wait.
fn fewest(session: &Session) -> usize {
    let is_short = session.contenders.first().is_some_and(|(_, expected)| expected.seconds() <= SHORT);
    if session.backend == Backend::Cpu && is_short { ENOUGH.min(session.room.most()) } else { 1 }
}

/// So many seconds of one call are few, and so many calls enough.
const SHORT: f64 = 0.02;
const ENOUGH: usize = 4;

/// A batch that lasts this part of what is wanted does: calls become quicker while memory is touched for the first time, and looking for
/// the exact number takes as long as pairs do.
const LASTING: f64 = 0.75;

/// The first batch of all is shorter than wanted by this factor.
const WARM_UP_PART: u32 = 4;

/// The most rounds of finding a batch's length.
const ROUNDS: usize = 6;

/// What a GPU takes at most to clear its cache and to say so. One that runs kernels of several processes lets them take turns of milliseconds.
const IDLE: Duration = Duration::from_millis(2);

/// How often that is asked, and how long it may take until the answer is another one.
const LOOKS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(10);
const NEXT_LOOK: Duration = Duration::from_millis(500);

/// Whether a GPU runs kernels of others, and goes on to: somebody's training, or what a candidate has left behind.
pub(crate) async fn stays_busy(problem: &mut Problem, backend: Backend, say: &(dyn Fn(&str) + Send + Sync)) -> Result<bool, Stop> {
    if backend == Backend::Cpu {
        return Ok(false);
    }
    let began = Instant::now();
    loop {
        let mut took = Vec::new();
        for _ in 0..LOOKS {
            let asked = Instant::now();
            problem.fill(BASE, &[]).await?;
            took.push(asked.elapsed().as_secs_f64());
        }
        if median(&took) <= IDLE.as_secs_f64() {
            return Ok(false);
        }
        if began.elapsed() > PATIENCE {
            return Ok(true);
        }
        say("waiting until nothing else runs on the GPU");
        tokio::time::sleep(NEXT_LOOK).await;
    }
}

/// How many empty batches there are. On a GPU others may have it for a while, and on a CPU a verdict is short.
const fn empty_batches(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 3,
        Backend::Cuda => 5,
    }
}

/// How long the process sleeps before each.
const PAUSE: Duration = Duration::from_millis(1);

/// What it takes to ask for an empty batch, on a GPU that another process has used last. A candidate that makes its empty batches slow would make
/// its others look fast, so this is capped by what channels and devices take.
pub(crate) async fn overhead(problem: &mut Problem, candidate: &mut Candidate, backend: Backend) -> Result<Duration, Stop> {
    let mut times = Vec::new();
    candidate.place(&[]).await?;
    for _ in 0..empty_batches(backend) {
        if backend == Backend::Cuda {
            problem.fill(BASE, &[]).await?;
        }
        // As between batches that are not empty: what has slept wakes up more slowly. Timers of the runtime take twice as long.
        let _ = tokio::task::spawn_blocking(|| std::thread::sleep(PAUSE)).await;
        times.push(candidate.time().await?.wall.as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(&times)).min(most_overhead(backend)))
}

fn most_overhead(backend: Backend) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_micros(250),
        Backend::Cuda => Duration::from_micros(800),
    }
}
