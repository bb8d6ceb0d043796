//! `get_job` and `cancel_job`.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::{IntoCallToolResult as _, ToolCallContext, schema_for_input, schema_for_output};
use rmcp::handler::server::wrapper::Json;
use rmcp::model::{CallToolResponse, Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, model::JsonObject};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::{Interested, Job, Outcome};
use super::{Jobs, WAIT, patience, wait};
use crate::{Progress, ToolFailure};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetArgs {
    /// The id that the tool's call answered with.
    job_id: String,
    /// How many seconds to wait for the result, 0 to 3600; 45 without it, 0 to look only.
    #[schemars(range(min = 0, max = 3600))]
    wait_s: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelArgs {
    /// The id that the tool's call answered with.
    job_id: String,
}

/// How a job stands.
#[derive(Debug, Serialize, JsonSchema)]
struct JobReport {
    job_id: String,
    /// The tool that was called.
    tool: String,
    status: JobStatus,
    /// What is or was being done last.
    message: String,
    /// Seconds that the work has taken.
    elapsed_s: f64,
    /// What the tool's call would have answered; there once `status` is `finished`.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<JsonObject>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum JobStatus {
    /// The work waits or goes on.
    Running,
    /// There is a result.
    Finished,
    /// The work was stopped before it had a result.
    Cancelled,
}

impl JobReport {
    /// A failed job is reported as the tool's own failure.
    fn of(job: &Job, outcome: Option<Outcome>) -> Result<Self, ToolFailure> {
        let (status, result) = match outcome {
            None => (JobStatus::Running, None),
            Some(Outcome::Cancelled) => (JobStatus::Cancelled, None),
            Some(Outcome::Failed(failure)) => return Err(failure),
            Some(Outcome::Done(result)) => match Arc::unwrap_or_clone(result) {
                Value::Object(result) => (JobStatus::Finished, Some(result)),
                other => (JobStatus::Finished, Some(JsonObject::from_iter([("value".to_owned(), other)]))),
            },
        };
        let (tool, elapsed_s) = (job.tool.to_owned(), job.elapsed().as_secs_f64().round());
        Ok(Self { job_id: job.id.clone(), tool, status, message: job.message(), elapsed_s, result })
    }
}

impl Jobs {
    /// Adds `get_job` and `cancel_job` to a server's tools.
    #[must_use]
    pub fn add_tools<S: Send + Sync + 'static>(&self, tools: ToolRouter<S>) -> ToolRouter<S> {
        let (get, cancel) = (self.clone(), self.clone());
        let get_job = tool::<GetArgs>(
            "get_job",
            "Wait for a job that a call of another tool has left running, and return its result. Over HTTP, a job that nobody has asked about for \
             ten minutes ends.",
            ToolAnnotations::with_title("Get job").read_only(true),
        );
        let cancel_job = tool::<CancelArgs>(
            "cancel_job",
            "Stop a job: its processes are killed and what they used is free. Cancel what you no longer need; do not wait for it.",
            ToolAnnotations::with_title("Cancel job").read_only(false),
        );
        tools
            .with_route(route(get_job, move |args: GetArgs, context| {
                let jobs = get.clone();
                async move { jobs.get(&args, &context).await }
            }))
            .with_route(route(cancel_job, move |args: CancelArgs, _| {
                let jobs = cancel.clone();
                async move { jobs.stop(&args).await }
            }))
    }

    async fn get(&self, args: &GetArgs, context: &RequestContext<RoleServer>) -> Result<JobReport, ToolFailure> {
        let wait = wait(args.wait_s)?.unwrap_or(WAIT);
        let job = self.find(&args.job_id)?;
        let _interest = Interested::in_job(&job, patience(context, &self.bounds));
        let _progress = Progress::follow(context, job.messages());
        let outcome = tokio::select! {
            biased;
            outcome = tokio::time::timeout(wait, job.settled()) => outcome.ok(),
            () = context.ct.cancelled() => None,
        };
        JobReport::of(&job, outcome)
    }

    async fn stop(&self, args: &CancelArgs) -> Result<JobReport, ToolFailure> {
        let job = self.find(&args.job_id)?;
        job.cancel();
        let outcome = job.settled().await;
        JobReport::of(&job, Some(outcome))
    }
}

fn tool<A: JsonSchema + 'static>(name: &'static str, description: &'static str, annotations: ToolAnnotations) -> Tool {
    let annotations = annotations.destructive(false).idempotent(true).open_world(false);
    let input = schema_for_input::<A>().unwrap_or_default();
    let title = annotations.title.clone().unwrap_or_default();
    Tool::new(name, description, input)
        .with_title(title)
        .with_annotations(annotations)
        .with_raw_output_schema(schema_for_output::<JobReport>())
}

/// A tool that needs nothing of its server.
fn route<S, A, F>(tool: Tool, answer: impl Fn(A, RequestContext<RoleServer>) -> F + Send + Sync + 'static) -> ToolRoute<S>
where
    S: Send + Sync + 'static,
    A: DeserializeOwned,
    F: Future<Output = Result<JobReport, ToolFailure>> + Send + 'static,
{
    ToolRoute::new_dyn(tool, move |context: ToolCallContext<'_, S>| {
        let ToolCallContext { arguments, request_context, .. } = context;
        let args = serde_json::from_value::<A>(Value::Object(arguments.unwrap_or_default()));
        let answer = args.map(|args| answer(args, request_context));
        Box::pin(async move {
            match answer {
                Ok(answer) => answer.await.map(Json).into_call_tool_result() as Result<CallToolResponse, ErrorData>,
                Err(error) => Err(ErrorData::invalid_params(error.to_string(), None)),
            }
        })
    })
}
