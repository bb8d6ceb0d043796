//! What a call on a job answers: the result, a failure, or where to ask on.

use std::marker::PhantomData;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::tool::{IntoCallToolResult, schema_for_output};
use rmcp::model::{CallToolResponse, CallToolResult, CreateTaskResult, JsonObject, Task};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;
use serde_json::json;

use super::cancelled;
use super::job::{Job, Outcome};
use crate::ToolFailure;

/// The answer of a tool whose work is a job with a `T` as its result.
#[derive(Debug)]
pub struct JobAnswer<T> {
    response: CallToolResponse,
    result: PhantomData<fn() -> T>,
}

/// What is told while the work goes on.
#[derive(Debug, Serialize, JsonSchema)]
struct Running {
    status: RunningStatus,
    /// What `get_job` and `cancel_job` know it by.
    job_id: String,
    /// What is being done.
    message: String,
    /// Seconds since the work began.
    elapsed_s: f64,
    /// How to go on.
    next: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RunningStatus {
    Running,
}

/// Either of them.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used: results are JSON by the time they are answered")]
enum Either<T> {
    Done(T),
    Running(Running),
}

/// The output schema of a tool whose work is a job: a `T`, or `{"status": "running", "job_id": ...}`.
#[must_use]
pub fn job_output<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    schema_for_output::<Either<T>>()
}

impl<T> JobAnswer<T> {
    /// The call came to nothing, before there was a job or with it.
    #[must_use]
    pub fn failed(failure: ToolFailure) -> Self {
        Self::of(CallToolResult::from(failure).into())
    }

    pub(super) fn settled(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done(result) => Self::of(CallToolResult::structured(Arc::unwrap_or_clone(result)).into()),
            Outcome::Failed(failure) => Self::failed(failure),
            Outcome::Cancelled => Self::failed(cancelled()),
        }
    }

    pub(super) fn running(job: &Job) -> Self {
        let running = Running {
            status: RunningStatus::Running,
            job_id: job.id.clone(),
            message: job.message(),
            elapsed_s: job.elapsed().as_secs_f64().round(),
            next: "call get_job with this job_id to wait for the result, or cancel_job to stop the work".to_owned(),
        };
        Self::of(CallToolResult::structured(json!(running)).into())
    }

    pub(super) fn task(task: Task) -> Self {
        Self::of(CreateTaskResult::new(task).into())
    }

    fn of(response: CallToolResponse) -> Self {
        Self { response, result: PhantomData }
    }
}

impl<T> From<ToolFailure> for JobAnswer<T> {
    fn from(failure: ToolFailure) -> Self {
        Self::failed(failure)
    }
}

impl<T> IntoCallToolResult for JobAnswer<T> {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Ok(self.response)
    }
}
