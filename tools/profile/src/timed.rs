//! The Torch profiler: times of kernels and operators.

use kernelwright_protocol::{Figures, ProfilerKind};

use crate::ProfileError;
use crate::capture::Capture;
use crate::claim::{Ran, Traced};
use crate::workers::Session;

pub(crate) const SAME_INPUTS: &str = "Every call had the same inputs: what fits a cache was already there.";
const OF_CANDIDATE: &str =
    "Taken inside the candidate's own process: advice, which a candidate could falsify; the verdict comes from evaluation.";

/// Times a loaded module's calls, then has the profiler watch some.
pub(crate) async fn capture(session: &mut Session, of_candidate: bool) -> Result<Capture, ProfileError> {
    let ran: Ran = session.ask("run", "timing calls").await?;
    traced(session, of_candidate, ran).await
}

/// Has the profiler watch calls of which the wall time is known.
pub(crate) async fn traced(session: &mut Session, of_candidate: bool, ran: Ran) -> Result<Capture, ProfileError> {
    let traced: Traced = session.ask("trace", "profiling").await?;
    let (kernels, said) = traced.bounded();
    Ok(Capture {
        profiler: ProfilerKind::Torch,
        device: None,
        calls: session.calls,
        wall_per_call_ns: Some(ran.wall_per_call_ns),
        kernels,
        call: Figures::default(),
        limits: limits(of_candidate).chain([SAME_INPUTS.to_owned()]).chain(said).collect(),
        raw: Vec::new(),
    })
}

/// What has to be known about where a profile was taken.
pub(crate) fn limits(of_candidate: bool) -> impl Iterator<Item = String> {
    of_candidate.then(|| OF_CANDIDATE.to_owned()).into_iter()
}
