//! Nsight Compute around a worker: hardware counters of the kernels of one call.
//!
//! It counts only between `cudaProfilerStart` and `cudaProfilerStop`, which the worker puts around a call after warming up and autotuning: the
//! problem's kernels and those that were only tried are not in the report. Clocks are left alone.
//!
//! It stands around the worker's sandbox, which is as tight as without it: the libraries that it has put into the worker have their
//! connections before a candidate is there. Its report goes where the worker cannot write.
//!
//! Such a worker cannot be forked, and takes seconds to import torch and to open the GPU. So one is started when a server describes a GPU and while a
//! profile is taken, and waits for a while for the next candidate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kernelwright_harness::sandbox::Around;
use kernelwright_harness::{Company, LaunchError, Role, Scratch, WorkerLog, find_program, gpu_turn, turn};
use kernelwright_protocol::{Nanoseconds, ProfilerKind, Target};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::capture::Capture;
use crate::claim::Ran;
use crate::profiles::is_roomy;
use crate::workers::{Asked, IDLE, Session, Workers};
use crate::{ProfileError, ProfileRequest, Settings, import, kept};

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
/// What a machine has once.
const COUNTERS: &str = "counters";
/// What is being done while it counts.
pub(crate) const COUNTING: &str = "counting with Nsight Compute";
/// Opening the device inside it, and importing Triton.
const OPEN_LIMIT: Duration = Duration::from_secs(60);
/// Writing the report after the worker's end.
const WRITING: Duration = Duration::from_secs(60);
const LOG_BYTES: u64 = 16 << 10;
/// Where kernels fill this share of a call's time, launching them takes none of it.
const BUSY: f64 = 0.9;
const BY_HAND: &str = "run `ncu --version`, and `ncu` around a small program, by hand: it says more there";
/// What it prints where the driver keeps its counters to administrators.
const DENIED: &str = "ERR_NVGPUCTRPERM";

/// The reply to `range`.
#[derive(Deserialize)]
struct Ranged {
    calls: u32,
}

/// Nsight Compute, with the worker that its next profile is taken of.
#[derive(Debug, Default)]
pub(crate) struct Ncu {
    // Held by the task that starts it: who comes meanwhile waits for that and starts none.
    next: Arc<Mutex<Option<Ready>>>,
}

/// A worker inside it that waits to be told what to load.
#[derive(Debug)]
struct Ready {
    role: Role,
    asked: Asked,
    /// The folder of the report.
    reports: Scratch,
}

impl Ncu {
    /// Profiles what is asked about, and where the report is kept.
    pub(crate) async fn capture(&self, workers: &Arc<Workers>, request: &ProfileRequest) -> Result<(Capture, PathBuf), ProfileError> {
        let program = program(workers.settings()).ok_or_else(missing)?;
        let taken = self.counted(workers, request, &program).await;
        if !taken.as_ref().is_err_and(ProfileError::is_obstacle) {
            self.prepare(workers, request.target);
        }
        taken
    }

    async fn counted(&self, workers: &Arc<Workers>, request: &ProfileRequest, program: &Path) -> Result<(Capture, PathBuf), ProfileError> {
        let began = Instant::now();
        let of_candidate = request.candidate.is_some();
        let role = if of_candidate { Role::ProfileCandidate } else { Role::Profile };
        let (mut session, reports) = self.loaded(workers, request, role, program).await?;
        let log = session.asked.worker.log().clone();
        let loaded = began.elapsed();
        let ran: Ran = session.ask("run", "timing calls").await.map_err(|error| worded(error, &log))?;
        if is_roomy() {
            self.prepare(workers, request.target);
        }
        let counted = self.ranged(workers, request, session, reports, &ran).await;
        tracing::debug!(?loaded, ended = ?began.elapsed(), "a profile by Nsight Compute");
        if counted.as_ref().is_err_and(ProfileError::is_obstacle) {
            // It would meet the same one.
            self.rest();
        }
        counted
    }

    /// Counts in one call of a module that was timed, and reads the report.
    async fn ranged(
        &self,
        workers: &Workers,
        request: &ProfileRequest,
        mut session: Session,
        reports: Scratch,
        ran: &Ran,
    ) -> Result<(Capture, PathBuf), ProfileError> {
        let log = session.asked.worker.log().clone();
        // One at a time on this machine: ncu keeps its runs apart by a file in the folder for temporary files, and each worker has one of its own.
        let alone = turn(COUNTERS).await;
        let Ranged { calls } = session.ask("range", COUNTING).await.map_err(|error| worded(error, &log))?;
        drop(alone);
        let Session { asked, limits, .. } = session;
        let (_scratch, _log) = asked.leave(WRITING).await;
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
        capture.limits.splice(0..0, limits);
        Ok((capture, report))
    }

    /// A worker with what is to be profiled: the one that waits, if there is one for it.
    async fn loaded(
        &self,
        workers: &Workers,
        request: &ProfileRequest,
        role: Role,
        program: &Path,
    ) -> Result<(Session, Scratch), ProfileError> {
        let waiting = self.next.lock().await.take_if(|ready| ready.role == role);
        if let Some(ready) = waiting {
            match load(workers, ready, request).await {
                // It may have ended while it waited.
                Err((ProfileError::Died { .. }, _)) => {}
                loaded => return loaded.map_err(|(error, log)| worded(error, &log)),
            }
        }
        let ready = start(workers, role, program, request.target).await?;
        load(workers, ready, request).await.map_err(|(error, log)| worded(error, &log))
    }

    /// Starts the worker for the next candidate while nobody waits for it, unless there is one, and ends it where nobody comes.
    pub(crate) fn prepare(&self, workers: &Arc<Workers>, target: Target) {
        let (Some(program), Ok(mut next)) = (program(workers.settings()), Arc::clone(&self.next).try_lock_owned()) else { return };
        if next.is_some() {
            return;
        }
        let (workers, waiting) = (Arc::clone(workers), Arc::downgrade(&self.next));
        tokio::spawn(async move {
            let Ok(ready) = start(&workers, Role::ProfileCandidate, &program, target).await else { return };
            let folder = ready.reports.path().to_path_buf();
            let is_it = |ready: &Ready| ready.reports.path() == folder;
            *next = Some(ready);
            drop((next, workers));
            open(&waiting, target, is_it).await;
            tokio::time::sleep(IDLE).await;
            if let Some(next) = waiting.upgrade() {
                next.lock().await.take_if(|ready| is_it(ready));
            }
        });
    }

    /// Ends the worker that waits.
    pub(crate) fn rest(&self) {
        let next = Arc::clone(&self.next);
        tokio::spawn(async move { next.lock().await.take() });
    }
}

/// Has a worker that waits open the GPU, while nobody measures there, unless it was taken meanwhile.
async fn open(waiting: &Weak<Mutex<Option<Ready>>>, target: Target, is_it: impl Fn(&Ready) -> bool) {
    let _turn = gpu_turn(target, Company::Others).await;
    let Some(next) = waiting.upgrade() else { return };
    if let Some(ready) = next.lock().await.as_mut().filter(|ready| is_it(ready)) {
        // What fails here fails again, and is told, when it is asked for a profile.
        let _ = ready.asked.ask::<Value>("open", json!({"device": target.to_string()}), OPEN_LIMIT, "opening the GPU").await;
    }
}

/// The words to put before a program's own so that Nsight Compute counts in it as for profiles here, with its report in a folder; none where
/// it is not installed.
#[must_use]
pub fn ncu_command(settings: &Settings, folder: &Path) -> Option<Vec<String>> {
    program(settings).map(|program| around(&program, folder).command)
}

/// Where it is, if it is here.
fn program(settings: &Settings) -> Option<PathBuf> {
    let program = settings.ncu.clone().or_else(|| find_program("ncu", &FOLDERS))?;
    Some(program.canonicalize().unwrap_or(program))
}

/// Starts a worker inside it.
async fn start(workers: &Workers, role: Role, program: &Path, target: Target) -> Result<Ready, ProfileError> {
    let reports = Scratch::new(&workers.settings().cache_dir)?;
    let asked = workers.start(role, target, Some(around(program, reports.path()))).await.map_err(|error| match error {
        ProfileError::Launch(LaunchError::Ended { tail, .. }) => failed(&tail),
        error => error,
    })?;
    Ok(Ready { role, asked, reports })
}

/// Has it load what is asked about; an error comes with the worker's log.
async fn load(workers: &Workers, ready: Ready, request: &ProfileRequest) -> Result<(Session, Scratch), (ProfileError, WorkerLog)> {
    let mut asked = ready.asked;
    asked.target = request.target;
    let log = asked.worker.log().clone();
    let loaded = workers.load(asked, &request.problem, request.candidate.as_deref()).await;
    loaded.map(|session| (session, ready.reports)).map_err(|error| (error, log))
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
        ProfileError::Died { .. } => failed(&log.tail(LOG_BYTES)),
        ProfileError::Worker { reason, .. } => match log.tail(LOG_BYTES) {
            said if said.contains(DENIED) => failed(&said),
            // What it prints when the worker is ended for that says nothing.
            _ => unavailable(&format!("the worker inside it failed: {reason}"), BY_HAND),
        },
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
    unavailable(&format!("it leaves no report: {last}"), BY_HAND)
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
