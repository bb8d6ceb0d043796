//! Workers for questions: started for what they run, asked, and their silence worded.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernelwright_harness::sandbox::{Around, Limits};
use kernelwright_harness::{HarnessError, Interpreter, KeptNursery, Launch, LaunchError, Package, Role, Scratch, Worker, WorkerLog};
use kernelwright_protocol::Target;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::claim::Loaded;
use crate::{ProfileError, Settings};

/// Importing torch from a cold disk takes tens of seconds.
const START_LIMIT: Duration = Duration::from_secs(120);
/// A question that makes calls of a module, and before the first of them its compilation and autotuning.
const CALLS_LIMIT: Duration = Duration::from_secs(300);
/// Inputs need not be secret here: nothing is decided on the outputs.
const SEED: u64 = 1;
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
}

impl Workers {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, environment: OnceCell::new(), nursery: Arc::default(), uses: Arc::default() }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Starts a worker for a target: forks it, unless a program is to stand around it or this Python cannot be forked.
    pub(crate) async fn start(&self, role: Role, target: Target, around: Option<Around>) -> Result<Asked, ProfileError> {
        let (interpreter, package) = self.environment().await?;
        let cache = &self.settings.cache_dir;
        let log = Scratch::new(cache)?;
        let launch = |role: Role| {
            let scratch = Scratch::new(cache).map_err(|error| LaunchError::Start(std::io::Error::other(error)))?;
            Ok(Launch {
                role,
                interpreter,
                package,
                helper: self.settings.sandbox_helper.clone(),
                backend: target.backend,
                threads: self.threads(),
                limits: Limits::default(),
                variables: vec![],
                around: around.clone(),
                readable: vec![],
                scratch,
                log: WorkerLog::at(log.path().join(if role == Role::Nursery { "nursery.log" } else { "worker.log" })),
            })
        };
        self.rest_when_idle();
        let forked = match around {
            Some(_) => Err("a program stands around it".to_owned()),
            None => self.nursery.fork(|| launch(Role::Nursery), || launch(role), START_LIMIT).await,
        };
        let worker = match forked {
            Ok(worker) => worker,
            Err(reason) => {
                tracing::debug!(reason, "the worker is not forked");
                Worker::launch(launch(role)?, START_LIMIT).await?
            }
        };
        Ok(Asked { worker, target, log })
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
        let fields = json!({
            "problem": problem, "candidate": candidate, "device": asked.target.to_string(), "threads": self.threads(), "seed": SEED});
        let Loaded { calls } = asked.ask("load", fields, CALLS_LIMIT, "loading the module and calling it").await?;
        Ok(Session { asked, calls: calls.max(1) })
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
