//! Answering questions for figures, one at a time: what a target can do, and where a module's time goes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use kernelwright_harness::Role;
use kernelwright_protocol::{Backend, ContentHash, KernelTime, Target, TargetDescription};
use serde_json::json;
use tokio::sync::Mutex;

use crate::ProfileError;
use crate::capture::{Capture, Taken, Work};
use crate::claim::{DescriptionClaim, WorkClaim};
use crate::workers::{Session, Workers};
use crate::{cpu, timed};

/// Several measurements of less than half a second each, and CUDA's start.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(120);
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
}

impl Settings {
    /// The user's cache folder and every processor.
    #[must_use]
    pub fn new(sandbox_helper: PathBuf) -> Self {
        Self { python: None, cache_dir: kernelwright_harness::default_cache(), sandbox_helper, threads: None }
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
}

/// Describes targets and profiles modules. Descriptions, and figures of problems beside their candidates', are measured once and kept.
#[derive(Debug)]
pub struct Profiler {
    workers: Workers,
    // Held while a worker measures: two measurements at once would disturb each other.
    known: Mutex<Known>,
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
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { workers: Workers::new(settings), known: Mutex::default() }
    }

    /// Describes a target; the second time for the same target costs nothing. `say` is told what is being done.
    pub async fn describe(&self, target: Target, say: &(dyn Fn(&str) + Sync)) -> Result<TargetDescription, ProfileError> {
        let mut known = self.known.lock().await;
        if let Some(description) = known.descriptions.get(&target) {
            return Ok(description.clone());
        }
        say("starting Python and torch");
        let mut asked = self.workers.start(Role::Profile, target).await?;
        say("measuring the target");
        let fields = json!({"device": target.to_string(), "threads": self.workers.threads()});
        let claim = asked.ask::<DescriptionClaim>("describe", fields, DESCRIBE_LIMIT, "measuring the target").await;
        asked.end().await;
        let description = claim?.into_description(target);
        known.descriptions.insert(target, description.clone());
        Ok(description)
    }

    /// Profiles the problem's module, or a candidate on the problem's inputs. `say` is told what is being done.
    ///
    /// A candidate runs in a confined process together with the problem; its figures are its own claims.
    pub async fn capture(&self, request: &ProfileRequest, say: &(dyn Fn(&str) + Sync)) -> Result<Taken, ProfileError> {
        let mut known = self.known.lock().await;
        let key = (ContentHash::of(&request.problem), request.target);
        let kept = known.problems.get(&key).filter(|_| request.candidate.is_some()).cloned();
        say("starting Python and torch");
        let (of_problem, mut capture) = match (kept, &request.candidate) {
            (Some(kept), Some(candidate)) => (kept, self.of_candidate(request, candidate, say).await?),
            (_, None) => self.of_problem(request, say).await?,
            (None, Some(candidate)) => {
                say("profiling the problem");
                let (of_problem, _) = self.of_problem(request, say).await?;
                (of_problem, self.of_candidate(request, candidate, say).await?)
            }
        };
        if known.problems.len() >= PROBLEMS {
            known.problems.clear();
        }
        known.problems.insert(key, of_problem.clone());
        let OfProblem { kernels, work } = of_problem;
        if let Some(work) = &work {
            work.note_rates(capture.wall_per_call_ns, &mut capture.call);
        }
        let before = if request.candidate.is_some() { kernels } else { Vec::new() };
        Ok(Taken { capture, before, work, files: Vec::new(), passed_over: Vec::new() })
    }

    /// The problem's own capture, and what is kept of it.
    async fn of_problem(&self, request: &ProfileRequest, say: &(dyn Fn(&str) + Sync)) -> Result<(OfProblem, Capture), ProfileError> {
        let asked = self.workers.start(Role::Profile, request.target).await?;
        let mut session = self.workers.load(asked, &request.problem, None).await?;
        say("profiling");
        let capture = self.measure(&mut session, request.target, false).await?;
        let WorkClaim { work } = session.ask("work", "counting the problem's work").await?;
        session.asked.end().await;
        Ok((OfProblem { kernels: capture.kernels.iter().map(|kernel| kernel.time.clone()).collect(), work }, capture))
    }

    async fn of_candidate(&self, request: &ProfileRequest, candidate: &str, say: &(dyn Fn(&str) + Sync)) -> Result<Capture, ProfileError> {
        let asked = self.workers.start(Role::ProfileCandidate, request.target).await?;
        let mut session: Session = self.workers.load(asked, &request.problem, Some(candidate)).await?;
        say("profiling the candidate");
        let capture = self.measure(&mut session, request.target, true).await?;
        session.asked.end().await;
        Ok(capture)
    }

    async fn measure(&self, session: &mut Session, target: Target, of_candidate: bool) -> Result<Capture, ProfileError> {
        match target.backend {
            Backend::Cpu => cpu::capture(session, of_candidate, self.workers.threads()).await,
            Backend::Cuda => timed::capture(session, of_candidate).await,
        }
    }
}
