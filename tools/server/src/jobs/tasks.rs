//! Jobs as the protocol's tasks: the same ids, the same work.
//!
//! The library's own task manager is not used: it starts work for every call, where ours joins the work of an equal one.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus};
use serde::Serialize;
use serde_json::{Value, json};

use super::job::{Job, Outcome};
use super::{Bounds, Jobs};

/// How often to ask, in milliseconds. Verdicts take seconds to minutes.
const POLL_MS: u64 = 1_000;

impl Jobs {
    /// Answers `tasks/get`.
    pub fn get_task(&self, id: &str) -> Result<GetTaskResult, ErrorData> {
        let job = self.find_task(id)?;
        job.asked();
        let payload = match job.outcome() {
            None => TaskPayload::Working,
            Some(Outcome::Done(result)) => TaskPayload::Completed { result: object(CallToolResult::structured((*result).clone())) },
            // A tool that fails has still answered its call.
            Some(Outcome::Failed(failure)) => TaskPayload::Completed { result: object(CallToolResult::from(failure)) },
            Some(Outcome::Cancelled) => TaskPayload::Cancelled,
        };
        Ok(GetTaskResult::new(DetailedTask::new(seed(&job, &self.bounds), payload)))
    }

    /// Answers `tasks/cancel`. The task's state follows once the work has ended.
    pub fn cancel_task(&self, id: &str) -> Result<(), ErrorData> {
        self.find_task(id)?.cancel();
        Ok(())
    }

    /// Answers `tasks/update`: no job of ours ever asks for anything, so whatever is told is of no use.
    pub fn update_task(&self, id: &str) -> Result<(), ErrorData> {
        self.find_task(id).map(drop)
    }

    fn find_task(&self, id: &str) -> Result<std::sync::Arc<Job>, ErrorData> {
        self.find(id).map_err(|failure| ErrorData::invalid_params(failure.reason, Some(json!({"fix": failure.fix}))))
    }
}

/// A job as a task, without its result.
pub(super) fn seed(job: &Job, bounds: &Bounds) -> Task {
    let ttl = u64::try_from((bounds.limit + bounds.keep).as_millis()).unwrap_or(u64::MAX);
    Task::new(&job.id, TaskStatus::Working, &job.created_at, job.updated_at())
        .with_status_message(job.message())
        .with_ttl_ms(ttl)
        .with_poll_interval_ms(POLL_MS)
}

fn object(result: impl Serialize) -> JsonObject {
    match json!(result) {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
