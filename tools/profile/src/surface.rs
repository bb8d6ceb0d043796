//! The MCP surface: two tools over one [`Profiler`].

use std::path::PathBuf;
use std::sync::Arc;

use kernelwright_protocol::{ContentHash, Profile, Target, TargetDescription};
use kernelwright_server::{Progress, ServeError, ToolFailure, Transport, prepare};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::capture::{Capture, Taken};
use crate::{ProfileError, ProfileRequest, Profiler, Settings};

/// Serves `describe_target` and `profile_kernel` until the client leaves or a signal arrives.
pub async fn serve(settings: Settings, transport: Transport) -> Result<(), ServeError> {
    let server = Server { profiler: Arc::new(Profiler::new(settings)), tools: prepare(Server::tool_router()) };
    kernelwright_server::serve(server, transport).await
}

/// What a call says first: another call's measurement may come before it.
const WAITING: &str = "waiting for the device";

#[derive(Clone)]
struct Server {
    profiler: Arc<Profiler>,
    tools: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DescribeArgs {
    /// What to describe: cpu, cuda or cuda:N.
    target: Target,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProfileArgs {
    /// Source of the problem file (`Model`, `get_inputs`, `get_init_inputs`). Give this or `problem_file`.
    problem: Option<String>,
    /// Path of the problem file on the server's machine.
    problem_file: Option<PathBuf>,
    /// Source of the candidate (`ModelNew`). Without a candidate the problem's own Model is profiled.
    candidate: Option<String>,
    /// Path of the candidate's file on the server's machine.
    candidate_file: Option<PathBuf>,
    /// Where to run: cpu, cuda or cuda:N.
    target: Target,
}

#[tool_router]
impl Server {
    /// Describe a target with real figures: cores, caches and vector extensions of the CPU, or limits of a GPU, measured copy bandwidth
    /// and matrix rates, and versions of torch, triton, compilers and driver.
    ///
    /// Each fact says whether it was read from the device or measured on it; what could not be had is absent. The first call takes
    /// some seconds, later ones return the same answer at once.
    #[tool(
        title = "Describe target",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn describe_target(
        &self,
        Parameters(DescribeArgs { target }): Parameters<DescribeArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<TargetDescription>, ToolFailure> {
        let progress = Progress::start(&context, WAITING);
        let say = |message: &str| progress.say(message);
        unless_cancelled(&progress, self.profiler.describe(target, &say)).await
    }

    /// Show where the time of one call goes: kernels (on cpu: torch operators and C functions) with launches, time and share, the most
    /// expensive first.
    ///
    /// Profiles the candidate on the problem's inputs, or the problem's own Model when no candidate is given. It checks no results:
    /// evaluate a candidate first. `limits` says what the figures do not show.
    #[tool(
        title = "Profile kernel",
        annotations(read_only_hint = false, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn profile_kernel(
        &self,
        Parameters(args): Parameters<ProfileArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Profile>, ToolFailure> {
        let progress = Progress::start(&context, WAITING);
        let say = |message: &str| progress.say(message);
        let request = args.read().await.map_err(|error| failure(&error))?;
        unless_cancelled(&progress, async { Ok(digest(&request, self.profiler.capture(&request, &say).await?)) }).await
    }
}

/// The profile of what was asked about.
fn digest(request: &ProfileRequest, taken: Taken) -> Profile {
    let Capture { profiler, device, calls, wall_per_call_ns, kernels, limits, .. } = taken.capture;
    let candidate = request.candidate.as_ref().map(ContentHash::of);
    Profile { candidate, target: Some(request.target), device, wall_per_call_ns, kernels, limits, ..Profile::new(profiler, calls) }
}

#[tool_handler(
    router = self.tools,
    name = "kernelwright-profile",
    instructions = "Figures for writing faster kernels. describe_target: what the hardware is and can do, read or measured, never guessed; call it \
        before the first kernel. profile_kernel: where the time of a problem's or a candidate's call goes. Times of a candidate are advice from inside \
        its own process; correctness and speedup come from the evaluate server."
)]
impl ServerHandler for Server {}

impl ProfileArgs {
    async fn read(self) -> Result<ProfileRequest, ProfileError> {
        let problem = source(self.problem, self.problem_file, "give either `problem` or `problem_file`, not both").await?;
        let candidate = source(self.candidate, self.candidate_file, "give either `candidate` or `candidate_file`, not both").await?;
        let problem = problem.ok_or(ProfileError::Arguments("neither `problem` nor `problem_file` is given"))?;
        Ok(ProfileRequest { problem, candidate, target: self.target, profiler: None })
    }
}

async fn source(text: Option<String>, file: Option<PathBuf>, both: &'static str) -> Result<Option<String>, ProfileError> {
    match (text, file) {
        (Some(_), Some(_)) => Err(ProfileError::Arguments(both)),
        (None, Some(path)) => tokio::fs::read_to_string(&path).await.map(Some).map_err(|source| ProfileError::Unreadable { path, source }),
        (text, None) => Ok(text),
    }
}

/// Waits for the work unless the client cancels the call; dropped work kills its worker.
async fn unless_cancelled<T>(progress: &Progress, work: impl Future<Output = Result<T, ProfileError>>) -> Result<Json<T>, ToolFailure> {
    let cancelled = progress.cancelled();
    let answer = tokio::select! {
        answer = work => answer,
        () = cancelled.cancelled() => Err(ProfileError::Cancelled),
    };
    answer.map(Json).map_err(|error| failure(&error))
}

fn failure(error: &ProfileError) -> ToolFailure {
    let diagnostics = error.diagnostics().trim();
    let reason = if diagnostics.is_empty() { error.to_string() } else { format!("{error}\n{diagnostics}") };
    ToolFailure::new(error.code(), reason, error.hint())
}

#[cfg(test)]
mod tests {
    use kernelwright_harness::Refusal;

    use super::*;

    fn arguments(value: serde_json::Value) -> ProfileArgs {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn hosts_have_no_objections_to_the_tools() {
        let tools = prepare(Server::tool_router()).list_all();
        assert_eq!(kernelwright_server::lint("kernelwright-profile", &tools), Vec::<String>::new());
    }

    #[tokio::test]
    async fn sources_come_as_text_or_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("candidate.py");
        std::fs::write(&path, "class ModelNew: ...").unwrap();
        let args = arguments(serde_json::json!({"problem": "class Model: ...", "candidate_file": path, "target": "cuda"}));
        let request = args.read().await.unwrap();
        assert_eq!((request.problem.as_str(), request.candidate.as_deref()), ("class Model: ...", Some("class ModelNew: ...")));
        assert_eq!(request.target.to_string(), "cuda:0");
    }

    #[tokio::test]
    async fn bad_arguments_say_how_to_go_on() {
        for (args, code) in [
            (serde_json::json!({"target": "cpu"}), "invalid_arguments"),
            (serde_json::json!({"target": "cpu", "problem": "x", "problem_file": "x"}), "invalid_arguments"),
            (serde_json::json!({"target": "cpu", "problem_file": "/nowhere/problem.py"}), "file_unreadable"),
        ] {
            assert_eq!(failure(&arguments(args).read().await.unwrap_err()).code, code);
        }
    }

    #[test]
    fn a_failing_candidate_is_shown_with_its_own_lines() {
        let refusal =
            Refusal { kind: "run".into(), phase: "run".into(), message: "TypeError: no".into(), traceback: "line 7, in forward\n".into() };
        let failure = failure(&ProfileError::Candidate(refusal));
        insta::assert_snapshot!(format!("{}: {}\n{}", failure.code, failure.reason, failure.fix), @"
        candidate_failed: the candidate fails in `run`: TypeError: no
        line 7, in forward
        evaluate the candidate first: only what evaluates as correct is worth profiling
        ");
    }
}
