//! Answering questions for figures, one at a time: what a target can do, and where a module's time goes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kernelwright_compile::{CompileError, CompileTarget, KernelCompiler};
use kernelwright_harness::sandbox::Limits;
use kernelwright_harness::{Company, Role, gpu_turn};
use kernelwright_protocol::{Backend, ContentHash, KernelTime, ProfilerKind, Target, TargetDescription};
use serde_json::json;
use tokio::sync::Mutex;

use crate::capture::{Capture, Rung, Taken, Work};
use crate::claim::{DescriptionClaim, WorkClaim};
use crate::descriptions::{self, Descriptions};
use crate::ncu::{self, Ncu};
use crate::workers::Workers;
use crate::{Contradiction, ProfileError};
use crate::{compiled, cpu, ladder, proton, timed};

/// Several measurements of less than half a second each, and CUDA's start.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(120);
/// Following a candidate to its launches with all that it compiles, and one kernel of it.
const BUILD_LIMIT: Duration = Duration::from_secs(300);
const KERNEL_LIMIT: Duration = Duration::from_secs(120);
/// What is compiled for where no part is named and none is there.
const USUAL_PART: &str = "h100";
/// Problems whose own figures are kept.
const PROBLEMS: usize = 64;

/// Where Python and the caches are.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Python to use; absent: found by the rules of the harness.
    pub python: Option<PathBuf>,
    /// Where the package and scratch folders go.
    pub cache_dir: PathBuf,
    /// The executable that answers to the sandbox verb: this program.
    pub sandbox_helper: PathBuf,
    /// Threads and processors that kernels on `cpu` may use; absent: all that this process may use.
    pub threads: Option<usize>,
    /// Nsight Compute's `ncu`; absent: the one on the `PATH`, or where installers put it.
    pub ncu: Option<PathBuf>,
}

impl Settings {
    /// The user's cache folder and every processor.
    #[must_use]
    pub fn new(sandbox_helper: PathBuf) -> Self {
        Self { python: None, cache_dir: kernelwright_harness::default_cache(), sandbox_helper, threads: None, ncu: None }
    }
}

/// What to profile.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The problem's source.
    pub problem: String,
    /// The candidate's source; absent: the problem's own module is profiled.
    pub candidate: Option<String>,
    /// Where to run it.
    pub target: Target,
    /// The profiler to use; absent: the best that works here.
    pub profiler: Option<ProfilerKind>,
    /// What the static profiler compiles for; absent: the target's own part.
    pub arch: Option<CompileTarget>,
}

/// Describes targets and profiles modules. Descriptions, and figures of problems beside their candidates', are measured once and kept.
#[derive(Debug)]
pub struct Profiler {
    workers: Arc<Workers>,
    ncu: Ncu,
    compiler: KernelCompiler,
    // Held while a worker measures: two measurements at once would disturb each other.
    known: Mutex<Known>,
}

/// How the static profiler compiles.
fn compiling(settings: &Settings) -> kernelwright_compile::Settings {
    let Settings { python, cache_dir, sandbox_helper, threads, ncu: _ } = settings.clone();
    let (build_limit, kernel_limit, limits) = (BUILD_LIMIT, KERNEL_LIMIT, Limits::default());
    kernelwright_compile::Settings { python, cache_dir, sandbox_helper, threads, build_limit, kernel_limit, limits }
}

/// What was measured before.
#[derive(Debug, Default)]
struct Known {
    descriptions: HashMap<Target, TargetDescription>,
    problems: HashMap<(ContentHash, Target), OfProblem>,
}

/// A problem's own figures: never out of a process that a candidate runs in.
#[derive(Clone, Debug)]
struct OfProblem {
    kernels: Vec<KernelTime>,
    work: Option<Work>,
}

impl Profiler {
    /// Nothing is started or looked for before the first question.
    ///
    /// This process becomes the one that orphans of workers come to, and is closed to inspection by processes of the same user.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        kernelwright_harness::supervise();
        let compiler = KernelCompiler::new(compiling(&settings));
        Self { workers: Arc::new(Workers::new(settings)), ncu: Ncu::default(), compiler, known: Mutex::default() }
    }

    /// Describes a target; the second time for the same target costs nothing. `say` is told what is being done.
    pub async fn describe(&self, target: Target, say: &(dyn Fn(&str) + Sync)) -> Result<TargetDescription, ProfileError> {
        let mut known = self.known.lock().await;
        let _alone = gpu_turn(target, Company::Nobody).await;
        self.described(&mut known, target, say).await
    }

    /// Starts what takes seconds to start while nobody waits for it yet: on a GPU, the worker inside Nsight Compute for the first candidate.
    pub fn prepare(&self, target: Target) {
        if target.backend == Backend::Cuda {
            self.ncu.prepare(&self.workers, target);
        }
    }

    /// Ends what was started for nothing.
    pub fn rest(&self) {
        self.ncu.rest();
    }

    /// The profilers of a target, best first, and whether each works here and now: all are tried.
    pub async fn rungs(&self, target: Target) -> Result<Vec<Rung>, ProfileError> {
        let mut known = self.known.lock().await;
        let _alone = gpu_turn(target, Company::Nobody).await;
        let mut rungs = Vec::new();
        for &profiler in ladder::order(target.backend) {
            let candidate = (profiler == ProfilerKind::Static).then(|| ladder::TRIAL_CANDIDATE.to_owned());
            let problem = ladder::TRIAL_PROBLEM.to_owned();
            let trial = ProfileRequest { problem, candidate, target, profiler: Some(profiler), arch: None };
            rungs.push(ladder::rung(profiler, self.take(&mut known, profiler, &trial, &|_| {}).await.map(drop))?);
        }
        Ok(rungs)
    }

    /// Profiles the problem's module, or a candidate on the problem's inputs. `say` is told what is being done.
    ///
    /// A candidate runs in a confined process together with the problem; its figures are its own claims.
    pub async fn capture(&self, request: &ProfileRequest, say: &(dyn Fn(&str) + Sync)) -> Result<Taken, ProfileError> {
        let mut known = self.known.lock().await;
        // Evaluations of other processes are measured on the same GPU.
        let _alone = gpu_turn(request.target, Company::Nobody).await;
        let order = ladder::order(request.target.backend);
        let choices = match &request.profiler {
            Some(chosen) if order.contains(chosen) => std::slice::from_ref(chosen),
            Some(other) => return Err(ProfileError::NotForTarget { profiler: *other, target: request.target }),
            None => order,
        };
        let mut passed_over = Vec::new();
        let mut obstacle = None;
        for &profiler in choices {
            if profiler != ProfilerKind::Static && matches!(obstacle, Some(ProfileError::NoDevice { .. })) {
                passed_over.push(format!("{profiler}: there is no such device."));
                continue;
            }
            match self.take(&mut known, profiler, request, say).await {
                Ok((capture, file)) => {
                    let files = file.into_iter().collect();
                    return self
                        .beside(&mut known, request, Taken { capture, before: Vec::new(), work: None, files, passed_over }, say)
                        .await;
                }
                // Nsight Compute runs every launch many times over: of thousands of launches the others know the times at least.
                Err(error) if error.is_obstacle() || matches!(error, ProfileError::TimedOut { what: ncu::COUNTING, .. }) => {
                    passed_over.push(format!("{profiler}: {error}. To have it: {}.", error.hint()));
                    // That there is no device says more than that another way is blocked too.
                    obstacle = match obstacle {
                        Some(known @ ProfileError::NoDevice { .. }) => Some(known),
                        _ => Some(error),
                    };
                }
                Err(error) => return Err(error),
            }
        }
        Err(obstacle.unwrap_or(ProfileError::Arguments(Contradiction::NoProfiler)))
    }

    /// What one profiler says, and the file it has left.
    async fn take(
        &self,
        known: &mut Known,
        profiler: ProfilerKind,
        request: &ProfileRequest,
        say: &(dyn Fn(&str) + Sync),
    ) -> Result<(Capture, Option<PathBuf>), ProfileError> {
        say(&format!("profiling ({profiler})"));
        match profiler {
            ProfilerKind::Ncu => self.ncu.capture(&self.workers, request).await.map(|(capture, file)| (capture, Some(file))),
            ProfilerKind::Proton => proton::capture(&self.workers, request).await.map(|(capture, file)| (capture, Some(file))),
            ProfilerKind::Torch | ProfilerKind::Cpu => {
                let (capture, work) = self.timed(profiler, request, request.candidate.as_deref()).await?;
                if request.candidate.is_none() {
                    known.keep(request, &capture, work);
                }
                Ok((capture, None))
            }
            ProfilerKind::Static => {
                let (part, note) = self.part(known, request, say).await?;
                let mut capture = compiled::capture(&self.compiler, request, part, say).await?;
                capture.limits.extend(note);
                Ok((capture, None))
            }
        }
    }

    /// Adds the problem's own kernels and what a call has to do. They are measured if they are not known, where anything could run.
    async fn beside(
        &self,
        known: &mut Known,
        request: &ProfileRequest,
        mut taken: Taken,
        say: &(dyn Fn(&str) + Sync),
    ) -> Result<Taken, ProfileError> {
        let key = OfProblem::key(request);
        if !known.problems.contains_key(&key) && taken.capture.profiler != ProfilerKind::Static {
            say("profiling the problem");
            let profiler = if request.target.backend == Backend::Cpu { ProfilerKind::Cpu } else { ProfilerKind::Torch };
            let (capture, work) = self.timed(profiler, request, None).await?;
            known.keep(request, &capture, work);
        }
        if let Some(OfProblem { kernels, work }) = known.problems.get(&key).cloned() {
            if let Some(work) = &work {
                work.note_rates(taken.capture.wall_per_call_ns, &mut taken.capture.call);
            }
            taken.work = work;
            taken.before = if request.candidate.is_some() { kernels } else { Vec::new() };
        }
        Ok(taken)
    }

    /// Times and operators of the problem's module or of a candidate's; of a problem also its work.
    async fn timed(
        &self,
        profiler: ProfilerKind,
        request: &ProfileRequest,
        candidate: Option<&str>,
    ) -> Result<(Capture, Option<Work>), ProfileError> {
        let role = if candidate.is_some() { Role::ProfileCandidate } else { Role::Profile };
        let asked = self.workers.start(role, request.target, None).await?;
        let mut session = self.workers.load(asked, &request.problem, candidate).await?;
        let capture = match profiler {
            ProfilerKind::Cpu => cpu::capture(&mut session, self.workers.threads()).await?,
            _ => timed::capture(&mut session).await?,
        };
        let work = match candidate {
            // A problem that cannot be watched has figures all the same.
            None => session.ask::<WorkClaim>("work", "counting the problem's work").await.ok().and_then(|claim| claim.work),
            Some(_) => None,
        };
        session.asked.end().await;
        Ok((capture, work))
    }

    async fn described(&self, known: &mut Known, target: Target, say: &(dyn Fn(&str) + Sync)) -> Result<TargetDescription, ProfileError> {
        if let Some(description) = known.descriptions.get(&target) {
            return Ok(description.clone());
        }
        let (interpreter, _) = self.workers.environment().await?;
        let (kept, key) =
            (Descriptions::below(&self.workers.settings().cache_dir), descriptions::key(target, self.workers.threads(), interpreter));
        if let Some(description) = kept.find(&key) {
            known.descriptions.insert(target, description.clone());
            return Ok(description);
        }
        say("starting Python and torch");
        let mut asked = self.workers.start(Role::Profile, target, None).await?;
        say("measuring the target");
        let fields = json!({"device": target.to_string(), "threads": self.workers.threads()});
        let claim = asked.ask::<DescriptionClaim>("describe", fields, DESCRIBE_LIMIT, "measuring the target").await;
        asked.end().await;
        let description = claim?.into_description(target);
        kept.keep(&key, &description);
        known.descriptions.insert(target, description.clone());
        Ok(description)
    }

    /// What to compile for: the part that was named, the target's own, or where there is no device a usual one, which is said.
    async fn part(
        &self,
        known: &mut Known,
        request: &ProfileRequest,
        say: &(dyn Fn(&str) + Sync),
    ) -> Result<(CompileTarget, Option<String>), ProfileError> {
        if let Some(part) = request.arch {
            return Ok((part, None));
        }
        let named = |name: &str| name.parse::<CompileTarget>().map_err(CompileError::from).map_err(ProfileError::from);
        match self.described(known, request.target, say).await {
            Ok(description) => {
                let own = named(&description.arch)?;
                // `NVIDIA H200`: a product of its architecture, with its own number of multiprocessors.
                let words = description.name.split_whitespace().filter_map(|word| word.parse::<CompileTarget>().ok());
                let product = words.into_iter().find(|part| part.to_string() == own.to_string());
                Ok((product.unwrap_or(own), None))
            }
            Err(ProfileError::NoDevice { .. }) => {
                Ok((named(USUAL_PART)?, Some(format!("There is no GPU here: {USUAL_PART} was assumed."))))
            }
            Err(error) => Err(error),
        }
    }
}

impl Known {
    fn keep(&mut self, request: &ProfileRequest, capture: &Capture, work: Option<Work>) {
        if self.problems.len() >= PROBLEMS {
            self.problems.clear();
        }
        let kernels = capture.kernels.iter().map(|kernel| kernel.time.clone()).collect();
        self.problems.insert(OfProblem::key(request), OfProblem { kernels, work });
    }
}

impl OfProblem {
    fn key(request: &ProfileRequest) -> (ContentHash, Target) {
        (ContentHash::of(&request.problem), request.target)
    }
}
