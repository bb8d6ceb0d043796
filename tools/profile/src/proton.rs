//! Triton's Proton inside a worker: the device's time of every launch, of any kernel.

use std::path::PathBuf;

use kernelwright_harness::Role;
use kernelwright_protocol::ProfilerKind;
use serde::Deserialize;

use crate::capture::Capture;
use crate::claim::Ran;
use crate::workers::{Session, Workers};
use crate::{ProfileError, ProfileRequest, import, kept, timed};

/// What the worker has Proton write, in its own folder.
const REPORT: &str = "profile.hatchet";

/// The reply to `proton`.
#[derive(Deserialize)]
struct Recorded {
    calls: u32,
}

/// Profiles what is asked about, and where Proton's file is kept.
pub(crate) async fn capture(workers: &Workers, request: &ProfileRequest) -> Result<(Capture, PathBuf), ProfileError> {
    let of_candidate = request.candidate.is_some();
    let role = if of_candidate { Role::ProfileCandidate } else { Role::Profile };
    let asked = workers.start(role, request.target, None).await?;
    let mut session = workers.load(asked, &request.problem, request.candidate.as_deref()).await?;
    let ran: Ran = session.ask("run", "timing calls").await?;
    let Recorded { calls } = session.ask("proton", "profiling with Proton").await?;
    let Session { asked, limits, .. } = session;
    let (scratch, _log) = asked.finish().await;
    let report = kept::keep(&workers.settings().cache_dir, &scratch, REPORT)?.ok_or_else(|| ProfileError::Unavailable {
        profiler: ProfilerKind::Proton,
        reason: "it wrote no file".to_owned(),
        fix: "run a small program under `proton` by hand: it says more there".to_owned(),
    })?;
    let mut capture = import(&report)?.over(calls);
    capture.wall_per_call_ns = Some(ran.wall_per_call_ns);
    capture.limits.splice(0..0, limits.into_iter().chain([timed::SAME_INPUTS.to_owned()]));
    Ok((capture, report))
}
