//! Workers for questions: started for what they run, asked, and their silence worded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernelwright_builds::{Builds, Built, Late, Yard};
use kernelwright_harness::sandbox::{Around, Limits};
use kernelwright_harness::{HarnessError, Interpreter, KeptNursery, Launch, LaunchError, Package, Role, Scratch, Worker, WorkerLog};
use kernelwright_protocol::{CandidateId, Target};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use crate::claim::Loaded;
use crate::{ProfileError, Settings};

/// Importing torch from a cold disk takes tens of seconds.
const START_LIMIT: Duration = Duration::from_secs(120);
/// A question that makes calls of a module, and before the first of them its compilation and autotuning.
const CALLS_LIMIT: Duration = Duration::from_secs(300);
/// What a candidate has torch build.
const BUILD_LIMIT: Duration = Duration::from_secs(300);
/// Inputs need not be secret here: nothing is decided on the outputs.
const SEED: u64 = 1;
/// What problems are called in messages.
const PROBLEM_NAME: &str = "problem.py";
/// How much of what a worker printed is told.
const TAIL_BYTES: u64 = 2000;
/// What serves to start workers ends when none was started for so long.
pub(crate) const IDLE: Duration = Duration::from_secs(300);

/// What every worker needs, found with the first question so that the server starts at once.
#[derive(Debug)]
pub(crate) struct Workers {
    settings: Settings,
    environment: OnceCell<(Interpreter, Package)>,
    nursery: Arc<KeptNursery>,
    /// Shared with the evaluate server through the folder that they are kept in: what was evaluated is built.
    builds: Builds,
    /// What the last candidate has had built: a profile loads it more than once.
    built: Mutex<Option<(CandidateId, Target, Built)>>,
    /// How many workers were started.
    uses: Arc<AtomicU64>,
}

/// A worker that was started for one target.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) worker: Worker,
    pub(crate) target: Target,
    // Not in the worker's own folder: a candidate could put a link to somebody's secrets in the log's place.
    log: Scratch,
}

/// A worker with a module that was called until it was warm.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) asked: Asked,
    /// How many calls a profiler is shown.
    pub(crate) calls: u32,
    /// What has to be known about where and of what a profile is taken.
    pub(crate) limits: Vec<String>,
}

const OF_CANDIDATE: &str =
    "Taken inside the candidate's own process: advice, which a candidate could falsify; the verdict comes from evaluation.";

fn limits(of_candidate: bool, input_sets: u32) -> Vec<String> {
    let of_first = (input_sets > 1)
        .then(|| format!("Of the problem's {input_sets} sets of inputs the first: others may be limited by something else."));
    of_candidate.then(|| OF_CANDIDATE.to_owned()).into_iter().chain(of_first).collect()
}

impl Workers {
    pub(crate) fn new(settings: Settings) -> Self {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        let builds = Builds::new(&settings.cache_dir, at_once);
        Self { settings, environment: OnceCell::new(), nursery: Arc::default(), builds, built: Mutex::default(), uses: Arc::default() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Starts a worker for a target: forks it, unless a program is to stand around it or this Python cannot be forked.
    pub(crate) async fn start(&self, role: Role, target: Target, around: Option<Around>) -> Result<Asked, ProfileError> {
        let environment = self.environment().await?;
        let log = Scratch::new(&self.settings.cache_dir)?;
        let worker = self.worker(environment, role, target, around, Limits::default(), log.path().join("worker.log")).await?;
        Ok(Asked { worker, target, log })
    }

    async fn worker(
        &self,
        (interpreter, package): &(Interpreter, Package),
        role: Role,
        target: Target,
        around: Option<Around>,
        limits: Limits,
        log: PathBuf,
    ) -> Result<Worker, LaunchError> {
        let readable = if role == Role::Builder { self.builds.readable().map(Path::to_path_buf).into() } else { vec![] };
        let launch = |role: Role| {
            let scratch = Scratch::new(&self.settings.cache_dir).map_err(|error| LaunchError::Start(std::io::Error::other(error)))?;
            Ok(Launch {
                role,
                interpreter,
                package,
                helper: self.settings.sandbox_helper.clone(),
                backend: target.backend,
                threads: self.threads(),
                limits,
                variables: vec![],
                around: around.clone(),
                readable: readable.clone(),
                scratch,
                log: WorkerLog::at(if role == Role::Nursery { log.with_file_name("nursery.log") } else { log.clone() }),
            })
        };
        self.rest_when_idle();
        let forked = match around {
            Some(_) => Err("a program stands around it".to_owned()),
            None => self.nursery.fork(|| launch(Role::Nursery), || launch(role), START_LIMIT).await,
        };
        match forked {
            Ok(worker) => Ok(worker),
            Err(reason) => {
                tracing::debug!(reason, "the worker is not forked");
                Worker::launch(launch(role)?, START_LIMIT).await
            }
        }
    }

    /// One that builds, or says what is to be built for. Its log lies beside those of the others, and goes with the oldest of them.
    async fn of_builds(&self, role: Role, target: Target, limits: Limits) -> Result<Worker, LaunchError> {
        let failed = |error: String| LaunchError::Start(std::io::Error::other(error));
        let environment = self.environment().await.map_err(|error| failed(error.to_string()))?;
        let number = self.uses.load(Ordering::Relaxed);
        let log = self.settings.cache_dir.join("logs").join(format!("profile-{}-{number:04}.log", std::process::id()));
        self.worker(environment, role, target, None, limits, log).await
    }

    /// Ends the nursery some time after its last use.
    fn rest_when_idle(&self) {
        let (uses, nursery) = (Arc::clone(&self.uses), Arc::clone(&self.nursery));
        let number = uses.fetch_add(1, Ordering::Relaxed) + 1;
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            if uses.load(Ordering::Relaxed) == number {
                nursery.clear();
            }
        });
    }

    /// Has a worker load a problem's module, or a candidate's with the problem's inputs.
    pub(crate) async fn load(&self, mut asked: Asked, problem: &str, candidate: Option<&str>) -> Result<Session, ProfileError> {
        let mut fields = json!({
            "problem": problem, "candidate": candidate, "device": asked.target.to_string(), "threads": self.threads(), "seed": SEED});
        if let Some(candidate) = candidate {
            self.built(candidate, asked.target).await?.hand_over(asked.worker.scratch(), &mut fields).await?;
        }
        let Loaded { calls, input_sets } = asked.ask("load", fields, CALLS_LIMIT, "loading the module and calling it").await?;
        Ok(Session { asked, calls: calls.max(1), limits: limits(candidate.is_some(), input_sets) })
    }

    /// What a candidate has torch build, built before a profiler stands around it.
    async fn built(&self, candidate: &str, target: Target) -> Result<Built, ProfileError> {
        if !Builds::concerns(candidate) {
            return Ok(Built::default());
        }
        let mut last = self.built.lock().await;
        let id = CandidateId::of(candidate);
        if let Some((_, _, built)) = last.as_ref().filter(|(known, on, built)| *known == id && *on == target && built.is_there()) {
            return Ok(built.clone());
        }
        let limits = kernelwright_builds::Limits { build: BUILD_LIMIT, process: Limits::default() };
        let built = Box::pin(self.builds.prepare(self, candidate, PROBLEM_NAME, target, &limits, &|_| {})).await;
        let built = built.map_err(|Late { limit, .. }| ProfileError::TimedOut { what: "building the candidate's extensions", limit })?;
        Ok(last.insert((id, target, built)).2.clone())
    }

    /// The Python that workers run, and the package that they run.
    pub(crate) async fn environment(&self) -> Result<&(Interpreter, Package), ProfileError> {
        let find = || async {
            let (python, cache): (Option<PathBuf>, _) = (self.settings.python.clone(), self.settings.cache_dir.clone());
            let found = tokio::task::spawn_blocking(move || {
                Scratch::sweep(&cache);
                Ok::<_, HarnessError>((Interpreter::find(python.as_deref())?, Package::unpack(&cache)?))
            });
            match found.await {
                Ok(found) => Ok(found?),
                Err(panic) => Err(ProfileError::Worker { reason: panic.to_string(), traceback: String::new() }),
            }
        };
        self.environment.get_or_try_init(find).await
    }

    /// Threads that kernels on `cpu` may use.
    pub(crate) fn threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.settings.threads.map_or_else(available, |threads| threads.max(1))
    }
}

impl Yard for Workers {
    async fn builder(&self, process: Limits) -> Result<Worker, LaunchError> {
        self.of_builds(Role::Builder, Target::CPU, process).await
    }

    async fn trusted(&self, target: Target) -> Result<Worker, LaunchError> {
        self.of_builds(Role::Trusted, target, Limits::default()).await
    }
}

impl Asked {
    /// One question; `what` says for people what it does.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &mut self,
        op: &str,
        fields: Value,
        limit: Duration,
        what: &'static str,
    ) -> Result<T, ProfileError> {
        let answer = self.worker.ask(op, fields, &[], limit).await;
        let log = self.worker.log();
        let answer = answer.map_err(|error| ProfileError::unanswered(error, what, self.target, || log.tail(TAIL_BYTES)))?;
        serde_json::from_value(answer.ok)
            .map_err(|error| ProfileError::Worker { reason: format!("an answer that cannot be read: {error}"), traceback: String::new() })
    }

    /// Ends it; what it has left in its folder, and the folder of its log.
    pub(crate) async fn finish(self) -> (Scratch, Scratch) {
        (self.worker.finish().await, self.log)
    }

    /// The same after it and the program around it have ended by themselves, or not within the limit.
    pub(crate) async fn leave(self, limit: Duration) -> (Scratch, Scratch) {
        (self.worker.leave(limit).await.scratch, self.log)
    }

    /// Ends it.
    pub(crate) async fn end(self) {
        tracing::debug!(log = self.worker.log().tail(TAIL_BYTES), "the worker's last words");
        self.worker.end().await;
    }
}

impl Session {
    /// One question that makes calls.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, op: &str, what: &'static str) -> Result<T, ProfileError> {
        self.asked.ask(op, json!({}), CALLS_LIMIT, what).await
    }
}
