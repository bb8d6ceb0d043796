//! What no kernel can do: write its outputs faster than the device writes memory.

use kernelwright_protocol::{Backend, Bytes, Timing};

use crate::problem::Problem;
use crate::verdict::Stop;

/// How much faster than a large copy, read and written bytes together, memory may seem to be written: a copy is no exact ceiling.
const SLACK: f64 = 1.5;

/// Batches that write less than this may stay in caches.
fn beyond_caches(backend: Backend) -> Bytes {
    match backend {
        Backend::Cpu => Bytes(2 << 30),
        Backend::Cuda => Bytes(192 << 20),
    }
}

/// Bytes per second that every such device is known to write: below them, no ceiling has to be measured.
fn ordinary(backend: Backend) -> f64 {
    match backend {
        Backend::Cpu => 8e9,
        Backend::Cuda => 300e9,
    }
}

/// Rejects a time in which the outputs cannot have been written. Inputs do not count: a kernel may leave what it does not need unread.
pub(crate) async fn check(problem: &mut Problem, timing: &Timing, written_per_call: u64) -> Result<(), Stop> {
    let backend = problem.setting.target.backend;
    let batch = written_per_call.saturating_mul(timing.calls_per_batch.into());
    let rate = written_per_call as f64 / timing.candidate_ns.seconds().max(1e-9);
    if batch < beyond_caches(backend).0 || rate < ordinary(backend) {
        return Ok(());
    }
    let ceiling = problem.copy_rate().await?;
    if rate > SLACK * ceiling {
        let explanation = format!(
            "{} in {} is {:.0} GB/s, but memory is copied here at {:.0} GB/s: the work was not done in the time that was measured",
            Bytes(written_per_call),
            timing.candidate_ns,
            rate / 1e9,
            ceiling / 1e9
        );
        return Err(Stop::rejected("below_floor", explanation));
    }
    Ok(())
}
