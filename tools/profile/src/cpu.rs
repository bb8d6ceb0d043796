//! Profiles of the processor: the Torch profiler's times, what the process used while it made the calls, and what its machine code is.

use std::time::Instant;

use kernelwright_protocol::{Figures, Metric, ProfilerKind};
use serde::Deserialize;

use crate::ProfileError;
use crate::capture::Capture;
use crate::claim::{Ran, sentences};
use crate::counters::Counters;
use crate::timed;
use crate::workers::Session;

/// The reply to `code`: what the machine code of the libraries that the module has loaded shows.
#[derive(Deserialize)]
struct CodeClaim {
    vector_bits: Option<f64>,
    vector_share: Option<f64>,
    vector_loops: Option<f64>,
    scalar_loops: Option<f64>,
    limits: Vec<String>,
}

/// How many processors threads may wait for on average before it is said: at every start of work they wait a little.
const DISTURBED: f64 = 0.1;

/// Counts while a loaded module is called, then has the profiler watch some calls.
pub(crate) async fn capture(session: &mut Session, threads: usize) -> Result<Capture, ProfileError> {
    let counters = Counters::start(session.asked.worker.pid());
    let started = Instant::now();
    let ran: Ran = session.ask("run", "timing calls").await?;
    let (mut call, missing) = counters.finish(ran.calls, started.elapsed(), threads);
    let mut capture = timed::traced(session, ran).await?;
    let code: CodeClaim = session.ask("code", "reading machine code").await?;
    code.note(&mut call);
    capture.profiler = ProfilerKind::Cpu;
    capture.call = call;
    capture.limits.extend(disturbed(&capture.call));
    capture.limits.extend(missing.map(|missing| format!("No cycles, instructions, cache or branch misses: {missing}.")));
    capture.limits.extend(sentences(code.limits));
    Ok(capture)
}

/// What to make of times that were taken while threads waited for processors.
fn disturbed(call: &Figures) -> Option<String> {
    let awaited = call.get(Metric::ProcessorsAwaited).filter(|awaited| *awaited > DISTURBED)?;
    let awaited = Metric::ProcessorsAwaited.show(awaited);
    Some(format!("Other work had processors: threads waited for {awaited} of them on average, and calls took longer by it."))
}

impl CodeClaim {
    fn note(&self, figures: &mut Figures) {
        figures.set_known(Metric::VectorBits, self.vector_bits);
        figures.set_known(Metric::VectorShare, self.vector_share.map(|share| share.clamp(0.0, 1.0)));
        figures.set_known(Metric::VectorLoops, self.vector_loops);
        figures.set_known(Metric::ScalarLoops, self.scalar_loops);
    }
}
