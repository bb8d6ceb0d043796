//! One job: its work, what it says, how it ended, and who still wants it.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rmcp::task_manager::current_timestamp;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Bounds;
use crate::ToolFailure;

/// What work is given: a way to say what it does, and to hear that it should end.
#[derive(Clone, Debug)]
pub struct Work {
    message: watch::Sender<String>,
    cancelled: CancellationToken,
}

impl Work {
    /// Says what is being done now. Never waits; of messages in quick succession the last one is told.
    pub fn say(&self, message: impl Into<String>) {
        let message = message.into();
        tracing::debug!(%message, "progress");
        self.message.send_replace(message);
    }

    /// Fires when nobody wants the result any more. Work then has ten seconds to leave what it uses in order, and is dropped.
    #[must_use]
    pub fn cancelled(&self) -> CancellationToken {
        self.cancelled.clone()
    }
}

/// How a job ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// With this result.
    Done(Arc<Value>),
    /// As its tool fails.
    Failed(ToolFailure),
    /// Because it was told to, or nobody wanted it.
    Cancelled,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) tool: &'static str,
    pub(super) started: Instant,
    /// In the form that the protocol wants.
    pub(super) created_at: String,
    finished: OnceLock<(Instant, String)>,
    message: watch::Sender<String>,
    outcome: watch::Sender<Option<Outcome>>,
    interest: watch::Sender<Interest>,
    cancelled: CancellationToken,
}

/// Who wants a job.
#[derive(Clone, Copy, Debug, Default)]
struct Interest {
    waiting: usize,
    /// How often somebody has waited or asked so far.
    asked: u64,
    /// How long to go on for the one who left last.
    patience: Duration,
    /// How long to go on without a question because somebody has the id, and may come back with it.
    given_out: Duration,
}

/// One call that waits for a job, for as long as this is held.
#[derive(Debug)]
pub(super) struct Interested {
    job: Arc<Job>,
    patience: Duration,
}

impl Interested {
    /// Counts a call. `patience` is how long to go on for it once it has left.
    pub(super) fn in_job(job: &Arc<Job>, patience: Duration) -> Self {
        job.interest.send_modify(|interest| {
            interest.waiting += 1;
            interest.asked += 1;
        });
        Self { job: Arc::clone(job), patience }
    }

    /// Somebody has been told the job's id. `patience` is how long to go on while nobody asks with it.
    pub(super) fn given_out(&self, patience: Duration) {
        self.job.interest.send_modify(|interest| interest.given_out = patience);
    }
}

impl Drop for Interested {
    fn drop(&mut self) {
        self.job.interest.send_modify(|interest| {
            interest.waiting -= 1;
            interest.patience = self.patience;
        });
    }
}

impl Job {
    /// A job whose work has not started.
    pub(super) fn new(id: String, tool: &'static str) -> Arc<Self> {
        Arc::new(Self {
            id,
            tool,
            started: Instant::now(),
            created_at: current_timestamp(),
            finished: OnceLock::new(),
            message: watch::Sender::new("starting".to_owned()),
            outcome: watch::Sender::new(None),
            interest: watch::Sender::default(),
            cancelled: CancellationToken::new(),
        })
    }

    /// Starts the work. Somebody has to be interested already: unwanted work ends.
    pub(super) fn start<T, W, F>(self: &Arc<Self>, bounds: Bounds, closing: CancellationToken, work: W)
    where
        T: Serialize + Send + 'static,
        W: FnOnce(Work) -> F,
        F: Future<Output = Result<T, ToolFailure>> + Send + 'static,
    {
        let work = work(Work { message: self.message.clone(), cancelled: self.cancelled.clone() });
        tokio::spawn(Arc::clone(self).run(AbortOnDropHandle::new(tokio::spawn(work)), bounds, closing));
    }

    /// Waits for the work, and ends it when that has to be.
    async fn run<T: Serialize>(
        self: Arc<Self>,
        mut work: AbortOnDropHandle<Result<T, ToolFailure>>,
        bounds: Bounds,
        closing: CancellationToken,
    ) {
        let outcome = tokio::select! {
            biased;
            ended = &mut work => match read(ended) {
                // It heard of it first.
                Outcome::Failed(_) if self.is_cancelled() => Outcome::Cancelled,
                outcome => outcome,
            },
            () = closing.cancelled() => self.end(work, bounds.last_grace).await,
            () = self.cancelled.cancelled() => self.end(work, bounds.grace).await,
            () = self.unwanted() => self.end(work, bounds.grace).await,
            () = tokio::time::sleep(bounds.limit) => match self.end(work, bounds.grace).await {
                Outcome::Cancelled => {
                    let reason = format!("{} had not ended after {} min", self.tool, bounds.limit.as_secs() / 60);
                    Outcome::Failed(ToolFailure::new("timed_out", reason, "ask for less at once"))
                }
                outcome => outcome,
            },
        };
        tracing::debug!(id = self.id, tool = self.tool, elapsed = ?self.started.elapsed(), "job ended");
        let _ = self.finished.set((Instant::now(), current_timestamp()));
        self.outcome.send_replace(Some(outcome));
    }

    /// Tells the work to end, and drops it if it does not.
    async fn end<T: Serialize>(&self, mut work: AbortOnDropHandle<Result<T, ToolFailure>>, grace: Duration) -> Outcome {
        self.cancelled.cancel();
        let ended = if let Ok(ended) = timeout(grace, &mut work).await {
            ended
        } else {
            work.abort();
            work.await
        };
        match ended {
            // It was done just then.
            Ok(Ok(_)) => read(ended),
            _ => Outcome::Cancelled,
        }
    }

    /// Returns once nobody has wanted the job for as long as those who left are worth waiting for.
    async fn unwanted(&self) {
        let mut interest = self.interest.subscribe();
        loop {
            // The sender lives as long as the job, so waiting cannot fail.
            let Ok(left) = interest.wait_for(|interest| interest.waiting == 0).await.map(|interest| *interest) else { return };
            // Not for how many wait: who only looks has come and gone before this is asked again.
            let again = interest.wait_for(|interest| interest.asked != left.asked);
            if timeout(left.patience.max(left.given_out), again).await.is_err() {
                return;
            }
        }
    }

    /// Somebody has asked how it stands, and did not wait.
    pub(super) fn asked(&self) {
        self.interest.send_modify(|interest| interest.asked += 1);
    }

    pub(super) fn messages(&self) -> watch::Receiver<String> {
        self.message.subscribe()
    }

    pub(super) fn message(&self) -> String {
        self.message.borrow().clone()
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.outcome.borrow().clone()
    }

    /// When it ended.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.finished.get().map(|(at, _)| *at)
    }

    /// When it ended, or now, in the form that the protocol wants.
    pub(super) fn updated_at(&self) -> String {
        self.finished.get().map_or_else(current_timestamp, |(_, stamp)| stamp.clone())
    }

    /// How long the work took, or has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.finished().map_or_else(|| self.started.elapsed(), |finished| finished - self.started)
    }

    /// How it ended, once it has.
    pub(super) async fn settled(&self) -> Outcome {
        let mut outcome = self.outcome.subscribe();
        let settled = outcome.wait_for(Option::is_some).await;
        settled.ok().and_then(|outcome| outcome.clone()).unwrap_or(Outcome::Cancelled)
    }

    pub(super) fn cancel(&self) {
        self.cancelled.cancel();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }
}

fn read<T: Serialize>(ended: Result<Result<T, ToolFailure>, tokio::task::JoinError>) -> Outcome {
    let internal = |reason: String| {
        Outcome::Failed(ToolFailure::new(
            "internal",
            reason,
            "call again; if it fails again, start the server with RUST_LOG=debug and look at stderr",
        ))
    };
    match ended {
        Ok(Ok(result)) => match serde_json::to_value(result) {
            Ok(value) => Outcome::Done(Arc::new(value)),
            Err(error) => internal(format!("the result cannot be written as JSON: {error}")),
        },
        Ok(Err(failure)) => Outcome::Failed(failure),
        Err(error) => internal(format!("the work broke off: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::BOUNDS;
    use super::*;

    /// Starts a job with a call that has this much patience; the sender lets it finish.
    fn start(bounds: Bounds, patience: Duration) -> (Arc<Job>, Interested, tokio::sync::oneshot::Sender<u32>) {
        let (finish, finished) = tokio::sync::oneshot::channel();
        let job = Job::new("job-1".to_owned(), "build");
        let interest = Interested::in_job(&job, patience);
        job.start(bounds, CancellationToken::new(), |_| async { finished.await.map_err(|_| ToolFailure::new("lost", "", "")) });
        (job, interest, finish)
    }

    fn ended(outcome: &Outcome) -> String {
        match outcome {
            Outcome::Done(value) => value.to_string(),
            Outcome::Failed(failure) => format!("{}: {}", failure.code, failure.reason),
            Outcome::Cancelled => "cancelled".to_owned(),
        }
    }

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn work_that_nobody_wants_any_more_ends_after_the_last_ones_patience() {
        let bounds = Bounds { grace: SHORT, ..BOUNDS };
        for patience in [Duration::ZERO, SHORT] {
            let (job, interest, _finish) = start(bounds, patience);
            drop(interest);
            assert_eq!(ended(&job.settled().await), "cancelled");
        }
    }

    #[tokio::test]
    async fn work_goes_on_for_those_who_may_come_back() {
        let (job, interest, finish) = start(BOUNDS, LONG);
        drop(interest);
        let _again = Interested::in_job(&job, LONG);
        finish.send(1).unwrap();
        assert_eq!(ended(&job.settled().await), "1");

        let (job, interest, finish) = start(BOUNDS, Duration::ZERO);
        interest.given_out(LONG);
        drop(interest);
        finish.send(2).unwrap();
        assert_eq!(ended(&job.settled().await), "2");
    }

    #[tokio::test]
    async fn work_that_nobody_asks_about_any_more_ends() {
        let bounds = Bounds { grace: SHORT, ..BOUNDS };
        let (job, interest, _finish) = start(bounds, Duration::ZERO);
        interest.given_out(Duration::from_millis(500));
        drop(interest);
        for question in 0..14 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            match question % 2 {
                0 => job.asked(),
                _ => drop(Interested::in_job(&job, Duration::ZERO)),
            }
        }
        assert!(job.outcome().is_none());
        assert_eq!(ended(&job.settled().await), "cancelled");
    }

    #[tokio::test]
    async fn work_without_end_is_ended() {
        let (job, _interest, _finish) = start(Bounds { limit: SHORT, grace: SHORT, ..BOUNDS }, LONG);
        assert_eq!(ended(&job.settled().await), "timed_out: build had not ended after 0 min");
    }

    #[tokio::test]
    async fn work_that_breaks_off_is_a_failure_and_hangs_nobody() {
        let job = Job::new("job-1".to_owned(), "build");
        let _interest = Interested::in_job(&job, LONG);
        job.start::<u32, _, _>(BOUNDS, CancellationToken::new(), |_| async { panic!("a bug") });
        let outcome = ended(&job.settled().await);
        assert!(outcome.starts_with("internal: the work broke off: "), "{outcome}");
    }
}
