//! Asking workers for figures: one worker a question, one question at a time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use kernelwright_harness::sandbox::Limits;
use kernelwright_harness::{HarnessError, Interpreter, Launch, Package, Role, Scratch, Worker, WorkerLog};
use kernelwright_protocol::{ProfilerKind, Target, TargetDescription};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};

use crate::ProfileError;
use crate::capture::Taken;
use crate::claim::{DescriptionClaim, ProfileClaim};

/// Importing torch from a cold disk takes tens of seconds.
const START_LIMIT: Duration = Duration::from_secs(120);
/// Several measurements of less than half a second each, and CUDA's start.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(120);
/// About ninety calls, and before them the candidate's compilation and autotuning.
const PROFILE_LIMIT: Duration = Duration::from_secs(300);
/// Inputs need not be secret here: nothing is decided on the outputs.
const SEED: u64 = 1;
/// How much of what a dead worker printed is shown.
const TAIL_BYTES: u64 = 2000;

/// Where and how workers run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Python with torch; absent: the one the environment suggests.
    pub python: Option<PathBuf>,
    /// Where the worker package is unpacked and scratch folders lie.
    pub cache_dir: PathBuf,
    /// The executable that answers to the sandbox verb: `kernelwright` itself.
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
    /// Which profiler to use; absent: the best one that works.
    pub profiler: Option<ProfilerKind>,
}

/// Describes targets and profiles modules. Descriptions are measured once and kept.
#[derive(Debug)]
pub struct Profiler {
    settings: Settings,
    environment: OnceCell<Environment>,
    // Held while a worker measures: two measurements at once would disturb each other.
    descriptions: Mutex<HashMap<Target, TargetDescription>>,
}

/// What every worker needs, found with the first question so that the server starts at once.
#[derive(Clone, Debug)]
struct Environment {
    interpreter: Interpreter,
    package: Package,
}

/// One question to a worker of its own.
struct Question<'a> {
    role: Role,
    target: Target,
    op: &'static str,
    fields: Value,
    limit: Duration,
    /// What is being done, for people.
    what: &'static str,
    say: &'a (dyn Fn(&str) + Sync),
}

impl Profiler {
    /// Nothing is started or looked for before the first question.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, environment: OnceCell::new(), descriptions: Mutex::default() }
    }

    /// Describes a target; the second time for the same target costs nothing. `say` is told what is being done.
    pub async fn describe(&self, target: Target, say: &(dyn Fn(&str) + Sync)) -> Result<TargetDescription, ProfileError> {
        let mut descriptions = self.descriptions.lock().await;
        if let Some(known) = descriptions.get(&target) {
            return Ok(known.clone());
        }
        let fields = json!({"device": target.to_string(), "threads": self.threads()});
        let what = "measuring the target";
        let question = Question { role: Role::Profile, target, op: "describe", fields, limit: DESCRIBE_LIMIT, what, say };
        let claim = self.ask::<DescriptionClaim>(question).await?;
        let description = claim.into_description(target);
        descriptions.insert(target, description.clone());
        Ok(description)
    }

    /// Profiles the problem's module, or a candidate on the problem's inputs. `say` is told what is being done.
    ///
    /// A candidate runs in a confined process together with the problem; its figures are its own claims.
    pub async fn capture(&self, request: &ProfileRequest, say: &(dyn Fn(&str) + Sync)) -> Result<Taken, ProfileError> {
        let ProfileRequest { problem, candidate, target, .. } = request;
        let _measuring = self.descriptions.lock().await;
        let role = if candidate.is_some() { Role::ProfileCandidate } else { Role::Profile };
        let fields = json!({
            "problem": problem, "candidate": candidate, "device": target.to_string(), "threads": self.threads(), "seed": SEED});
        let question = Question { role, target: *target, op: "profile", fields, limit: PROFILE_LIMIT, what: "profiling", say };
        let capture = self.ask::<ProfileClaim>(question).await?.into_capture(candidate.is_some());
        Ok(Taken { capture, before: Vec::new(), work: None, files: Vec::new(), passed_over: Vec::new() })
    }

    async fn ask<T: DeserializeOwned>(&self, question: Question<'_>) -> Result<T, ProfileError> {
        let Question { role, target, op, fields, limit, what, say } = question;
        say("starting Python and torch");
        let Environment { interpreter, package } = self.environment().await?;
        // Not in the worker's own folder: a candidate could put a link to somebody's secrets in the log's place.
        let log_folder = Scratch::new(&self.settings.cache_dir)?;
        let launch = Launch {
            role,
            interpreter,
            package,
            helper: self.settings.sandbox_helper.clone(),
            backend: target.backend,
            threads: self.threads(),
            limits: Limits::default(),
            variables: vec![],
            readable: vec![],
            scratch: Scratch::new(&self.settings.cache_dir)?,
            log: WorkerLog::at(log_folder.path().join("worker.log")),
        };
        let mut worker = Worker::launch(launch, START_LIMIT).await?;
        say(what);
        let answer = worker.ask(op, fields, &[], limit).await;
        let answer = answer.map_err(|error| ProfileError::unanswered(error, what, target, || worker.log().tail(TAIL_BYTES)));
        tracing::debug!(op, log = worker.log().tail(TAIL_BYTES), "the worker's last words");
        worker.end().await;
        serde_json::from_value(answer?.ok)
            .map_err(|error| ProfileError::Worker { reason: format!("an answer that cannot be read: {error}"), traceback: String::new() })
    }

    async fn environment(&self) -> Result<&Environment, ProfileError> {
        let find = || async {
            let Settings { python, cache_dir, .. } = self.settings.clone();
            let found = tokio::task::spawn_blocking(move || {
                Scratch::sweep(&cache_dir);
                let interpreter = Interpreter::find(python.as_deref())?;
                Ok::<_, HarnessError>(Environment { interpreter, package: Package::unpack(&cache_dir)? })
            });
            match found.await {
                Ok(found) => Ok(found?),
                Err(panic) => Err(ProfileError::Worker { reason: panic.to_string(), traceback: String::new() }),
            }
        };
        self.environment.get_or_try_init(find).await
    }

    fn threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.settings.threads.map_or_else(available, |threads| threads.max(1))
    }
}
