//! The supervisor: one evaluation from its request to its verdict.

mod attempt;
mod baseline_report;
mod case;
mod judgement;
mod other_state;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kernelwright_harness::WorkerLogs;
use kernelwright_protocol::{Evaluation, Target};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::command;
use crate::devices::Devices;
use crate::problem::Problem;
use crate::shelf::{IDLE, Key, Shelf};
use crate::workshop::Workshop;
use crate::{EvaluateError, EvaluateRequest, Settings};

/// How long the end of the program waits for what is ending.
const CLOSING: Duration = Duration::from_secs(1);

/// Evaluates candidates, one at a time per target. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Evaluator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    workshop: OnceCell<Workshop>,
    devices: Devices,
    command_logs: WorkerLogs,
    /// Counts uses, to tell whether one has been the last for long.
    uses: AtomicU64,
}

impl Evaluator {
    /// An evaluator; nothing is started before the first request.
    ///
    /// This process becomes the one that orphans of workers come to, and is closed to inspection by processes of the same user.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        kernelwright_harness::supervise();
        let command_logs = WorkerLogs::below(&settings.cache_dir, "command-");
        let inner = Inner { settings, command_logs, workshop: OnceCell::new(), devices: Devices::default(), uses: AtomicU64::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// The devices that a request for this target may go to; at least one. Those of a user's command are not known.
    #[must_use]
    pub fn devices(&self, target: Target) -> Vec<Target> {
        match self.inner.settings.command {
            Some(_) => vec![target],
            None => self.inner.devices.choices(target),
        }
    }

    /// Builds, checks and times one candidate. Dropping the future kills the candidate with everything it has started.
    ///
    /// A problem whose process ends is started once more, with the candidate from the beginning.
    pub async fn evaluate(&self, request: &EvaluateRequest, say: &(dyn Fn(&str) + Send + Sync)) -> Result<Evaluation, EvaluateError> {
        self.evaluate_until(request, say, &CancellationToken::new()).await
    }

    /// The same until `cancelled` fires: unlike a dropped future, this leaves the problem loaded. It returns within seconds then.
    pub async fn evaluate_until(
        &self,
        request: &EvaluateRequest,
        say: &(dyn Fn(&str) + Send + Sync),
        cancelled: &CancellationToken,
    ) -> Result<Evaluation, EvaluateError> {
        if let Some(command) = &self.inner.settings.command {
            say("asking the evaluator's command");
            return until(cancelled, command::evaluate(command, request, &self.inner.command_logs.next())).await?;
        }
        match Box::pin(self.attempt(request, say, cancelled)).await {
            Err(EvaluateError::ProblemCrashed { .. }) => Box::pin(self.attempt(request, say, cancelled)).await,
            outcome => outcome,
        }
    }

    /// Waits, for a moment at most, until the last candidates' processes have ended and their folders are gone. For the end of the program, which would cut
    /// that short.
    pub async fn close(&self) {
        if let Some(workshop) = self.inner.workshop.get() {
            let _ = tokio::time::timeout(CLOSING, workshop.all_ended()).await;
        }
    }

    /// Found once; a failure is looked for again, so that installing torch needs no restart.
    async fn workshop(&self) -> Result<&Workshop, EvaluateError> {
        let open = || async {
            let settings = self.inner.settings.clone();
            let opened = tokio::task::spawn_blocking(move || Workshop::open(settings)).await;
            opened.map_err(|error| EvaluateError::Task(error.to_string()))?.map_err(EvaluateError::from)
        };
        self.inner.workshop.get_or_try_init(open).await
    }

    /// Puts a problem back for the next evaluation, unless its worker no longer works.
    async fn put_back(&self, loaded: &mut Shelf, key: Key, mut problem: Problem) {
        if problem.forget_all().await.is_ok() {
            loaded.put(key, problem);
        }
        self.retire_when_idle();
    }

    /// Ends all workers some time after the last use.
    fn retire_when_idle(&self) {
        let use_number = self.inner.uses.fetch_add(1, Ordering::Relaxed) + 1;
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(inner) = inner.upgrade() else { return };
            if inner.uses.load(Ordering::Relaxed) != use_number {
                return;
            }
            if let Some(workshop) = inner.workshop.get() {
                workshop.rest();
            }
            for shelf in inner.devices.shelves() {
                if let Ok(mut shelf) = shelf.try_lock() {
                    shelf.clear();
                }
            }
        });
    }
}

/// Does the work until it is cancelled.
async fn until<T>(cancelled: &CancellationToken, work: impl Future<Output = T>) -> Result<T, EvaluateError> {
    tokio::select! {
        done = work => Ok(done),
        () = cancelled.cancelled() => Err(EvaluateError::Cancelled),
    }
}
