//! The MCP surface: tools over one [`Profiles`], and the reports as resources.

use std::sync::Arc;

use kernelwright_protocol::{Profile, ProfileComparison, ProfilePage, Target, TargetDescription};
use kernelwright_server::{Progress, ServeError, ToolFailure, Transport, prepare};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    Implementation, ListResourceTemplatesResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::{self, Extract};
use crate::arguments::{CompareArgs, ImportArgs, ProfileArgs, ReadArgs, TargetArgs};
use crate::capture::Rung;
use crate::{ProfileError, Profiles, Settings};

/// Serves the tools until the client leaves or a signal arrives.
pub async fn serve(settings: Settings, transport: Transport) -> Result<(), ServeError> {
    let server = Server { profiles: Arc::new(Profiles::new(settings)), tools: prepare(Server::tool_router()) };
    kernelwright_server::serve(server, transport).await
}

/// What a call says first: another call's measurement may come before it.
const WAITING: &str = "waiting for the device";

/// What a host's model is told about the server as a whole.
const INSTRUCTIONS: &str = "Figures for writing faster kernels, and what follows from them. describe_target: what the hardware is and can do, read or measured, \
    never guessed; call it before the first kernel. profile_kernel: where the time of a problem's or a candidate's call goes, what limits it with the figures that \
    show it, what helps (entries for the knowledge server's read_entry), what is not the problem, and how far it is from the floor. The answer is short; \
    read_profile has the rest by its `id`, compare_profiles says what a change moved, list_profilers which profilers work here and what makes the others work, \
    import_profile reads files of Nsight Compute, Proton and torch. Figures of a candidate are advice from inside its own process; correctness and speedup come \
    from the evaluate server.";

#[derive(Clone)]
struct Server {
    profiles: Arc<Profiles>,
    tools: ToolRouter<Self>,
}

/// The profilers of one target.
#[derive(Serialize, JsonSchema)]
struct Ladder {
    /// Which target.
    target: Target,
    /// The most telling first; `auto` takes the first that works.
    profilers: Vec<Rung>,
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
        Parameters(TargetArgs { target }): Parameters<TargetArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<TargetDescription>, ToolFailure> {
        let progress = Progress::start(&context, WAITING);
        let say = |message: &str| progress.say(message);
        unless_cancelled(&progress, self.profiles.introduce(target, &say)).await
    }

    /// Show where the time of one call goes and why: kernels (on cpu: torch operators and C functions) with launches, time, share and measured
    /// figures, the most expensive first.
    ///
    /// `diagnoses` are what limits it, the costliest first, each with the figures that show it, the part of the call's time at stake and what to
    /// do; `ruled_out` is not the problem; `headroom` is the distance from what the device allows. Profiles the candidate on the problem's inputs,
    /// with the problem's own kernels in `before`, or the problem's Model when no candidate is given. What is absent was not measured; `limits`
    /// says why. It checks no results: evaluate a candidate first.
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
        unless_cancelled(&progress, self.profiles.profile(&request, &say)).await
    }

    /// Read a section of a profile that was taken or imported before, page by page.
    ///
    /// `kernels`: all of them; `causes`: all diagnoses and what was ruled out; `before`; `limits`. Of one kernel: `figures`, all that was measured;
    /// `stalls`, what its warps waited for; `source`, its costliest lines; `raw`, the profiler's own figures under its own names. What a profile
    /// has of these is in its `sections`.
    #[tool(
        title = "Read profile",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn read_profile(&self, Parameters(args): Parameters<ReadArgs>) -> Result<Json<ProfilePage>, ToolFailure> {
        let id = args.id.clone();
        answer(self.profiles.read(&id, args.reading()).await)
    }

    /// Say what moved from one profile to another: times, kernels gone and new, figures changed beyond noise, causes gone and new.
    ///
    /// Both are named by the `id` of an earlier `profile_kernel` or `import_profile`. The verdict on speed is the evaluate server's.
    #[tool(
        title = "Compare profiles",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn compare_profiles(
        &self,
        Parameters(CompareArgs { before, after }): Parameters<CompareArgs>,
    ) -> Result<Json<ProfileComparison>, ToolFailure> {
        answer(self.profiles.compare(&before, &after).await)
    }

    /// List the profilers for a target: whether each works here, what it tells and cannot tell, and the exact step that makes it work where it
    /// does not.
    #[tool(
        title = "List profilers",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn list_profilers(
        &self,
        Parameters(TargetArgs { target }): Parameters<TargetArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<Ladder>, ToolFailure> {
        let progress = Progress::start(&context, WAITING);
        let rungs = async { Ok(Ladder { target, profilers: self.profiles.rungs(target).await? }) };
        unless_cancelled(&progress, rungs).await
    }

    /// Read a profiler's file from any machine: a Nsight Compute report (.ncu-rep) or its CSV, a Proton (hatchet) profile, a Torch trace.
    ///
    /// The answer is that of `profile_kernel`, as far as the file goes: headroom needs a profile taken here.
    #[tool(
        title = "Import profile",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn import_profile(&self, Parameters(ImportArgs { path }): Parameters<ImportArgs>) -> Result<Json<Profile>, ToolFailure> {
        answer(self.profiles.import(&path).await)
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::new("kernelwright-profile", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(format!("{}{{id}}{{?offset,limit}}", archive::SCHEME), "profile")
            .with_title("Whole profile")
            .with_description(
                "Everything of a profile with the profiler's own figures, by its id or the first 8 digits of it: as JSON, where 400 lines or \
                 `limit` hold it; otherwise lines of it as plain text, of which the last says how to go on. offset and limit count lines.",
            );
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let extract = self.profiles.resource(&request.uri).await;
        let extract = extract.map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
        Ok(ReadResourceResult::new(vec![contents(extract, request.uri)]).into())
    }
}

/// A part of a JSON text is none.
fn contents(extract: Extract, uri: String) -> ResourceContents {
    let Extract { text, is_whole } = extract;
    ResourceContents::text(text, uri).with_mime_type(if is_whole { "application/json" } else { "text/plain" })
}

/// Waits for the work unless the client cancels the call; dropped work kills its worker.
async fn unless_cancelled<T>(progress: &Progress, work: impl Future<Output = Result<T, ProfileError>>) -> Result<Json<T>, ToolFailure> {
    let cancelled = progress.cancelled();
    answer(tokio::select! {
        answer = work => answer,
        () = cancelled.cancelled() => Err(ProfileError::Cancelled),
    })
}

fn answer<T>(result: Result<T, ProfileError>) -> Result<Json<T>, ToolFailure> {
    result.map(Json).map_err(|error| failure(&error))
}

fn failure(error: &ProfileError) -> ToolFailure {
    let diagnostics = error.diagnostics().trim();
    let reason = if diagnostics.is_empty() { error.to_string() } else { format!("{error}\n{diagnostics}") };
    ToolFailure::new(error.code(), reason, error.hint())
}

#[cfg(test)]
mod tests {
    use kernelwright_harness::Refusal;
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_have_no_objections_to_the_tools() {
        let tools = prepare(Server::tool_router()).list_all();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(),
            ["compare_profiles", "describe_target", "import_profile", "list_profilers", "profile_kernel", "read_profile"]
        );
        assert_eq!(kernelwright_server::lint("kernelwright-profile", &tools), Vec::<String>::new());
    }

    #[test]
    fn the_schema_has_the_sections() {
        let tools = prepare(Server::tool_router()).list_all();
        let read = tools.iter().find(|tool| tool.name == "read_profile").unwrap();
        let section = &read.input_schema["properties"]["section"];
        let names = ["kernels", "causes", "before", "limits", "figures", "stalls", "source", "raw"];
        assert_eq!((&section["type"], &section["enum"]), (&json!("string"), &json!(names)));
    }

    #[test]
    fn a_resource_is_json_only_as_a_whole() {
        let kind = |is_whole| match contents(Extract { text: "{}".into(), is_whole }, "u".into()) {
            ResourceContents::TextResourceContents { mime_type, .. } => mime_type.unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!([true, false].map(kind), ["application/json", "text/plain"]);
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
