//! The Torch profiler: times of kernels and operators.

use kernelwright_protocol::{Figures, ProfilerKind};

use crate::ProfileError;
use crate::capture::Capture;
use crate::claim::{Ran, Traced};
use crate::workers::Session;

pub(crate) const SAME_INPUTS: &str = "Every call had the same inputs: what fits a cache was already there.";

/// Times a loaded module's calls, then has the profiler watch some.
pub(crate) async fn capture(session: &mut Session) -> Result<Capture, ProfileError> {
    let ran: Ran = session.ask("run", "timing calls").await?;
    traced(session, ran).await
}

/// Has the profiler watch calls of which the wall time is known.
pub(crate) async fn traced(session: &mut Session, ran: Ran) -> Result<Capture, ProfileError> {
    let traced: Traced = session.ask("trace", "profiling").await?;
    let (kernels, said) = traced.bounded();
    Ok(Capture {
        profiler: ProfilerKind::Torch,
        device: None,
        calls: session.calls,
        wall_per_call_ns: Some(ran.wall_per_call_ns),
        kernels,
        call: Figures::default(),
        limits: session.limits.iter().cloned().chain([SAME_INPUTS.to_owned()]).chain(said).collect(),
        raw: Vec::new(),
    })
}
