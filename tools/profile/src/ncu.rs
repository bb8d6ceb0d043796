//! Nsight Compute around a worker: hardware counters of the kernels of one call.
//!
//! It counts only between `cudaProfilerStart` and `cudaProfilerStop`, which the worker puts around a call after warming up and autotuning: the
//! problem's kernels and those that were only tried are not in the report. Clocks are left alone.
//!
//! It stands around the worker's sandbox, which is as tight as without it: the libraries that it has put into the worker have their
//! connections before a candidate is there. Its report goes where the worker cannot write.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_harness::sandbox::Around;
use kernelwright_harness::{LaunchError, Role, Scratch, WorkerLog, find_program};
use kernelwright_protocol::{Nanoseconds, ProfilerKind};
use serde::Deserialize;

use crate::capture::Capture;
use crate::claim::Ran;
use crate::workers::Workers;
use crate::{ProfileError, ProfileRequest, import, kept, timed};

/// Where installers put it, beside the `PATH`.
const FOLDERS: [&str; 2] = ["/usr/local/cuda/bin", "/opt/nvidia/nsight-compute"];
/// Where it is installed: the program on the `PATH` is a script that looks for it.
const INSTALLATIONS: [&str; 2] = ["/opt/nvidia", "/usr/local/cuda"];
const ARGUMENTS: [&str; 10] = [
    "--clock-control",
    "none",
    "--profile-from-start",
    "off",
    "--target-processes",
    "all",
    "--import-source",
    "yes",
    "--force-overwrite",
    "-o",
];
/// The sections whose figures are read; each more costs runs of every kernel.
const SECTIONS: [&str; 11] = [
    "SpeedOfLight",
    "SpeedOfLight_RooflineChart",
    "ComputeWorkloadAnalysis",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "SchedulerStats",
    "WarpStateStats",
    "InstructionStats",
    "LaunchStats",
    "Occupancy",
    "SourceCounters",
];
const REPORT: &str = "profile.ncu-rep";
/// Writing the report after the worker's end.
const WRITING: Duration = Duration::from_secs(60);
const LOG_BYTES: u64 = 16 << 10;
/// Where kernels fill this share of a call's time, launching them takes none of it.
const BUSY: f64 = 0.9;
/// What it prints where the driver keeps its counters to administrators.
const DENIED: &str = "ERR_NVGPUCTRPERM";

/// The reply to `range`.
#[derive(Deserialize)]
struct Ranged {
    calls: u32,
}

/// Profiles what is asked about, and where the report is kept.
pub(crate) async fn capture(workers: &Workers, request: &ProfileRequest) -> Result<(Capture, PathBuf), ProfileError> {
    let program = workers.settings().ncu.clone().or_else(|| find_program("ncu", &FOLDERS)).ok_or_else(missing)?;
    let program = program.canonicalize().unwrap_or(program);
    let reports = Scratch::new(&workers.settings().cache_dir)?;
    let around = around(&program, reports.path());
    let of_candidate = request.candidate.is_some();
    let role = if of_candidate { Role::ProfileCandidate } else { Role::Profile };
    let asked = workers.start(role, request.target, Some(around)).await.map_err(|error| match error {
        ProfileError::Launch(LaunchError::Ended { tail, .. }) => failed(&tail),
        error => error,
    })?;
    let log = asked.worker.log().clone();
    let mut session = workers.load(asked, &request.problem, request.candidate.as_deref()).await.map_err(|error| worded(error, &log))?;
    let ran: Ran = session.ask("run", "timing calls").await.map_err(|error| worded(error, &log))?;
    let Ranged { calls } = session.ask("range", "counting with Nsight Compute").await.map_err(|error| worded(error, &log))?;
    let (_scratch, _log) = session.asked.leave(WRITING).await;
    let kept = kept::keep(&workers.settings().cache_dir, &reports, REPORT)?;
    let said = log.tail(LOG_BYTES);
    let report = match kept {
        Some(report) if !said.contains(DENIED) => report,
        _ => return Err(failed(&said)),
    };
    let mut capture = import(&report)?.over(calls);
    let kernels: u64 = capture.kernels.iter().map(|kernel| kernel.time.time_per_call_ns.0).sum();
    let is_busy = kernels as f64 >= BUSY * ran.wall_per_call_ns.0 as f64;
    capture.wall_per_call_ns = Some(if is_busy { ran.wall_per_call_ns } else { timed_alone(workers, request).await? });
    capture.limits.splice(0..0, timed::limits(of_candidate));
    Ok((capture, report))
}

/// The time of a call without it: every launch takes tens of microseconds more with it around, which would look like a busy host.
async fn timed_alone(workers: &Workers, request: &ProfileRequest) -> Result<Nanoseconds, ProfileError> {
    let role = if request.candidate.is_some() { Role::ProfileCandidate } else { Role::Profile };
    let asked = workers.start(role, request.target, None).await?;
    let mut session = workers.load(asked, &request.problem, request.candidate.as_deref()).await?;
    let ran: Ran = session.ask("run", "timing calls").await?;
    session.asked.end().await;
    Ok(ran.wall_per_call_ns)
}

/// It, with a report in `reports`, around the command that follows.
fn around(program: &Path, reports: &Path) -> Around {
    let report = reports.join(REPORT).to_string_lossy().into_owned();
    let sections = SECTIONS.iter().flat_map(|section| ["--section", section]);
    let words = ARGUMENTS.into_iter().chain([report.as_str()]).chain(sections).map(str::to_owned);
    Around {
        command: [program.to_string_lossy().into_owned()].into_iter().chain(words).collect(),
        readable: INSTALLATIONS.iter().map(PathBuf::from).chain(program.parent().map(PathBuf::from)).collect(),
    }
}

/// A worker that dies under it may have died of it: the next profiler will tell.
fn worded(error: ProfileError, log: &WorkerLog) -> ProfileError {
    match error {
        ProfileError::Died { .. } | ProfileError::Worker { .. } => failed(&log.tail(LOG_BYTES)),
        error => error,
    }
}

fn missing() -> ProfileError {
    unavailable(
        "`ncu` is not on the PATH and not below /usr/local/cuda",
        "install Nsight Compute (https://developer.nvidia.com/nsight-compute; part of the CUDA toolkit) and put the folder of `ncu` on the PATH",
    )
}

/// Why it left no report, from what it printed.
fn failed(said: &str) -> ProfileError {
    if said.contains(DENIED) {
        return unavailable(
            "the driver keeps the GPU's counters to administrators (ERR_NVGPUCTRPERM)",
            "as root, write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d/nvidia-profiling.conf and reload the \
             nvidia module or reboot; in a container, start it with --cap-add SYS_ADMIN",
        );
    }
    let mut errors = said.lines().filter(|line| line.starts_with("==ERROR==")).map(|line| line.trim_start_matches("==ERROR==").trim());
    let last = errors.next_back().or_else(|| said.lines().rfind(|line| !line.trim().is_empty())).unwrap_or("it printed nothing");
    unavailable(
        &format!("it leaves no report: {last}"),
        "run `ncu --version`, and `ncu` around a small program, by hand: it says more there",
    )
}

fn unavailable(reason: &str, fix: &str) -> ProfileError {
    ProfileError::Unavailable { profiler: ProfilerKind::Ncu, reason: reason.to_owned(), fix: fix.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_the_exact_step_and_another_failure_its_own_words() {
        let denied = failed(
            "==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters",
        );
        assert!(denied.hint().contains("NVreg_RestrictProfilingToAdminUsers=0"), "{denied}");
        let other = failed("==ERROR== Failed to create lock file\nbye\n");
        assert_eq!(other.to_string(), "ncu cannot be used here: it leaves no report: Failed to create lock file");
        assert_eq!(failed("").to_string(), "ncu cannot be used here: it leaves no report: it printed nothing");
    }
}
