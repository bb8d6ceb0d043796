//! Long calls as jobs: work that outlives the call that asked for it.
//!
//! Hosts cut calls short, some after a minute, some without a word. So a long tool's work is a *job*, and a call only waits for it: for
//! the result, or until `wait_s` has gone by, when it answers with the job's id. `get_job` waits on, `cancel_job` ends the work; a
//! client with the protocol's tasks gets a task instead, which is the same job under the same id. Jobs are named by what they
//! were asked: the same request joins the job while it runs, and gets its result for a while after.
//!
//! A job ends early when it is cancelled, when it outlasts the table's limit, when the last call that waits for it goes away before
//! the id was given out, or, over HTTP, when nobody has asked with the id for ten minutes. Work is asked to end first, and dropped if it does not.
//!
//! Jobs live in memory and end with the server: it calls [`Jobs::close`] when it has served.

mod answer;
mod job;
mod tasks;
mod tools;

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use kernelwright_protocol::ContentHash;
use rmcp::RoleServer;
use rmcp::model::{Extensions, ProtocolVersion};
use rmcp::service::RequestContext;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub use answer::{JobAnswer, job_output};
pub use job::Work;

use crate::{Progress, ToolFailure, shortened};
use job::{Interested, Job, Outcome};

/// How long a call waits when it does not say: less than the minute after which impatient hosts give up.
const WAIT: Duration = Duration::from_secs(45);

/// How long a call of a client with tasks waits when it does not say. Polling is cheap for it, and short work needs none.
const WAIT_WITH_TASKS: Duration = Duration::from_secs(5);

/// The longest that a call may ask to wait, in seconds.
const LONGEST_WAIT_S: u32 = 3_600;

/// More jobs than this wait or run only when something has gone wrong.
const MOST_RUNNING: usize = 256;

/// The bounds of a table.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// How long work may take. Tools limit their steps themselves; this ends what has no end.
    limit: Duration,
    /// How long work may take to end once it was asked to.
    grace: Duration,
    /// The same when the server ends: its parent loses patience after three seconds.
    last_grace: Duration,
    /// How long work goes on for a client whose connection broke and which may come back.
    patience: Duration,
    /// How long work goes on while nobody asks with the id that was given out, where a client may be gone without a word.
    unasked: Duration,
    /// How long results are kept.
    keep: Duration,
    /// How many results are kept.
    most_kept: usize,
}

const BOUNDS: Bounds = Bounds {
    limit: Duration::from_secs(2 * 3_600),
    grace: Duration::from_secs(10),
    last_grace: Duration::from_millis(700),
    patience: Duration::from_secs(60),
    unasked: Duration::from_secs(600),
    keep: Duration::from_secs(3_600),
    most_kept: 256,
};

/// The jobs of one server. Clones share them.
#[derive(Clone, Debug)]
pub struct Jobs {
    table: Arc<Mutex<HashMap<String, Arc<Job>>>>,
    closing: CancellationToken,
    bounds: Bounds,
}

/// Which job a call wants, and how long it waits.
#[derive(Clone, Debug)]
pub struct JobRequest {
    id: String,
    tool: &'static str,
    wait: Option<Duration>,
    kept: Kept,
}

/// What to do with the result of an earlier job of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Return,
    Ignore,
}

impl JobRequest {
    /// The job of a tool on what it was asked. `content` must show everything that the result depends on, whole texts of files included:
    /// derived `Debug` does, also for fields that are added later.
    pub fn new(tool: &'static str, content: &impl Debug) -> Self {
        let hash = ContentHash::of(format!("{tool} {content:?}"));
        let id = format!("job-{}", hash.as_str().get(..20).unwrap_or_default());
        Self { id, tool, wait: None, kept: Kept::Return }
    }

    /// How many seconds the call waits before it answers with the job's id; 45 without it.
    pub fn wait_s(mut self, seconds: Option<u32>) -> Result<Self, ToolFailure> {
        self.wait = wait(seconds)?;
        Ok(self)
    }

    /// Whether to work anew although the result of the same request is kept. A job that still runs is joined all the same.
    #[must_use]
    pub fn fresh(mut self, fresh: bool) -> Self {
        if fresh {
            self.kept = Kept::Ignore;
        }
        self
    }
}

/// A call's `wait_s` as a duration.
fn wait(seconds: Option<u32>) -> Result<Option<Duration>, ToolFailure> {
    match seconds {
        Some(seconds) if seconds > LONGEST_WAIT_S => {
            let reason = format!("`wait_s` is {seconds}");
            let fix = format!("wait at most {LONGEST_WAIT_S} s and then ask again with get_job");
            Err(ToolFailure::new("invalid_arguments", reason, fix))
        }
        seconds => Ok(seconds.map(|seconds| Duration::from_secs(seconds.into()))),
    }
}

impl Default for Jobs {
    fn default() -> Self {
        Self { table: Arc::default(), closing: CancellationToken::new(), bounds: BOUNDS }
    }
}

impl Jobs {
    /// Joins the job of this name, or starts it with `work`, and waits for it as the request says.
    ///
    /// `work` is given something to say what it does, and to hear that it should end. Its future is dropped if it does not end then.
    pub async fn call<T, W, F>(&self, context: &RequestContext<RoleServer>, request: JobRequest, work: W) -> JobAnswer<T>
    where
        T: Serialize + Send + 'static,
        W: FnOnce(Work) -> F,
        F: Future<Output = Result<T, ToolFailure>> + Send + 'static,
    {
        let with_tasks = speaks_of_tasks(context);
        let (job, interest) = match self.join(&request, patience(context, &self.bounds), work) {
            Ok(joined) => joined,
            Err(failure) => return JobAnswer::failed(failure),
        };
        let wait = request.wait.unwrap_or(if with_tasks { WAIT_WITH_TASKS } else { WAIT });
        let progress = Progress::follow(context, job.messages());
        let settled = tokio::select! {
            biased;
            settled = tokio::time::timeout(wait, job.settled()) => settled.ok(),
            // Nobody reads the answer; whether the work goes on is decided where interest in it is counted.
            () = context.ct.cancelled() => return JobAnswer::failed(cancelled()),
        };
        drop(progress);
        if let Some(outcome) = settled {
            return JobAnswer::settled(outcome);
        }
        interest.given_out(unasked(&context.extensions, &self.bounds));
        if with_tasks { JobAnswer::task(tasks::seed(&job, &self.bounds)) } else { JobAnswer::running(&job) }
    }

    /// Ends every job and returns once that is done, in less than a second. For the end of the server: whatever is started later ends as well.
    pub async fn close(&self) {
        self.closing.cancel();
        let jobs: Vec<_> = self.table.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for job in jobs {
            job.settled().await;
        }
    }

    fn join<T, W, F>(&self, request: &JobRequest, patience: Duration, work: W) -> Result<(Arc<Job>, Interested), ToolFailure>
    where
        T: Serialize + Send + 'static,
        W: FnOnce(Work) -> F,
        F: Future<Output = Result<T, ToolFailure>> + Send + 'static,
    {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        sweep(&mut table, &self.bounds);
        if let Some(job) = table.get(&request.id) {
            // What went wrong or was cancelled is tried again.
            let usable = match job.outcome() {
                None => !job.is_cancelled(),
                Some(Outcome::Done(_)) => request.kept == Kept::Return,
                Some(Outcome::Failed(_) | Outcome::Cancelled) => false,
            };
            if usable {
                tracing::debug!(id = request.id, "joined a job");
                return Ok((Arc::clone(job), Interested::in_job(job, patience)));
            }
        }
        if table.values().filter(|job| job.outcome().is_none()).count() >= MOST_RUNNING {
            return Err(ToolFailure::new("busy", format!("{MOST_RUNNING} jobs are waiting or running"), "wait for some of them to end"));
        }
        let job = Job::new(request.id.clone(), request.tool);
        let interest = Interested::in_job(&job, patience);
        job.start(self.bounds, self.closing.clone(), work);
        table.insert(request.id.clone(), Arc::clone(&job));
        Ok((job, interest))
    }

    fn find(&self, id: &str) -> Result<Arc<Job>, ToolFailure> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        sweep(&mut table, &self.bounds);
        table.get(id).cloned().ok_or_else(|| {
            let fix =
                "call the tool again with the same arguments: that joins its job while it runs, and returns its result for an hour after";
            ToolFailure::new("unknown_job", format!("there is no job `{}`; jobs end with their server", shortened(id)), fix)
        })
    }
}

/// Forgets results that are old, or too many.
fn sweep(table: &mut HashMap<String, Arc<Job>>, bounds: &Bounds) {
    table.retain(|_, job| job.finished().is_none_or(|at| at.elapsed() < bounds.keep));
    let mut finished: Vec<_> = table.iter().filter_map(|(id, job)| Some((job.finished()?, id.clone()))).collect();
    finished.sort();
    for (_, id) in finished.iter().take(finished.len().saturating_sub(bounds.most_kept)) {
        table.remove(id);
    }
}

fn cancelled() -> ToolFailure {
    ToolFailure::new("cancelled", "the work was cancelled", "call again to start over")
}

/// Tasks may only be answered to clients that declare them in the era that has them; some declare them earlier and then fail.
fn speaks_of_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
        && context.client_capabilities().is_some_and(|client| client.supports_tasks())
}

/// How long to go on for a client that has stopped waiting. On stdio and within an HTTP session it has said so, or is gone for good; without a
/// session all that is known is that a connection broke.
fn patience(context: &RequestContext<RoleServer>, bounds: &Bounds) -> Duration {
    match context.extensions.get::<Parts>() {
        Some(parts) if !parts.headers.contains_key("mcp-session-id") => bounds.patience,
        Some(_) | None => Duration::ZERO,
    }
}

/// How long to go on while nobody asks with the id that was given out. On stdio the server ends with its client; over HTTP a client that
/// died is not told from one that is busy, even within a session, whose requests the library does not cancel when their stream breaks.
fn unasked(extensions: &Extensions, bounds: &Bounds) -> Duration {
    if extensions.get::<Parts>().is_some() { bounds.unasked } else { bounds.limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_over_http_are_given_up() {
        let mut extensions = Extensions::new();
        assert_eq!(unasked(&extensions, &BOUNDS), BOUNDS.limit);
        extensions.insert(axum::http::Request::new(()).into_parts().0);
        assert_eq!(unasked(&extensions, &BOUNDS), Duration::from_secs(600));
    }
}
