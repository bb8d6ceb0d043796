//! `compile_kernel` on the MCP surface, and the resources it leaves.

use std::path::PathBuf;

use kernelwright_compile::{CompileError, CompileRequest, CompileTarget, SCHEME};
use kernelwright_protocol::Compilation;
use kernelwright_server::{JobAnswer, JobRequest, ToolFailure, Work, job_output};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    ListResourceTemplatesResult, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::brief;
use crate::surface::{Server, text};

/// The arguments of `compile_kernel`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompileArgs {
    /// Source of the problem file: its input shapes decide what is launched. Give this or `problem_file`.
    problem: Option<String>,
    /// Path of the problem file on the server's machine.
    problem_file: Option<PathBuf>,
    /// Source of the candidate file, with `ModelNew`. Give this or `candidate_file`.
    candidate: Option<String>,
    /// Path of the candidate file on the server's machine.
    candidate_file: Option<PathBuf>,
    /// Architectures or parts, e.g. `["sm_90", "gfx942", "b200"]`; `cpu` for the host's C++.
    archs: Vec<String>,
    /// How many seconds to wait before answering with a `job_id` instead of the result, 0 to 3600; 45 without it.
    wait_s: Option<u32>,
    /// Whether to compile anew although the result of the same request is kept; false without it.
    fresh: Option<bool>,
}

#[tool_router(router = compile_router, vis = "pub(crate)")]
impl Server {
    /// Compile a candidate for any list of GPU architectures, without that hardware, and report what the compilers made of it.
    ///
    /// Every Triton kernel that `forward` launches on the problem's shapes and every autotune configuration, and inline CUDA sources: registers,
    /// spills, shared memory against the part's limit, theoretical occupancy and its limiter, diagnostics, and links to PTX, SASS or AMDGCN.
    /// `exceeds_limits` means that it compiles but would not launch. Nothing runs: this says nothing about correctness or speed. Takes seconds;
    /// use it before an evaluation, to choose between configurations, or for hardware that is not here.
    #[tool(
        title = "Compile kernel",
        output_schema = job_output::<Compilation>(),
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn compile_kernel(
        &self,
        Parameters(args): Parameters<CompileArgs>,
        context: RequestContext<RoleServer>,
    ) -> JobAnswer<Compilation> {
        let (wait_s, fresh) = (args.wait_s, args.fresh.unwrap_or(false));
        let asked = async {
            let request = args.read().await?;
            let job = JobRequest::new("compile_kernel", &request).wait_s(wait_s)?.fresh(fresh);
            Ok::<_, ToolFailure>((request, job))
        };
        let (request, job) = match asked.await {
            Ok(asked) => asked,
            Err(failure) => return failure.into(),
        };
        let compiler = self.compiler.clone();
        let compile = |work: Work| async move {
            let say = |message: &str| work.say(message);
            let cancelled = work.cancelled();
            tokio::select! {
                answer = compiler.compile(&request, &say) => {
                    answer.and_then(|report| brief::brief(report, compiler.artifacts())).map_err(|error| failure(&error))
                }
                () = cancelled.cancelled() => Err(ToolFailure::new("cancelled", "the compilation was cancelled", "call again to start over")),
            }
        };
        self.jobs.call(&context, job, compile).await
    }
}

impl Server {
    /// What can be read beside the tools.
    pub(crate) fn resource_templates() -> ListResourceTemplatesResult {
        let template = ResourceTemplate::new(format!("{SCHEME}{{name}}{{?offset,limit}}"), "artifact")
            .with_title("Compiled code")
            .with_description("PTX, SASS, AMDGCN, LLVM IR or a log that compile_kernel named; offset and limit count lines.")
            .with_mime_type("text/plain");
        ListResourceTemplatesResult::with_all_items(vec![template])
    }

    /// The lines that a URI names.
    pub(crate) async fn resource(&self, request: ReadResourceRequestParams) -> Result<ReadResourceResponse, ErrorData> {
        let artifacts = self.compiler.artifacts().clone();
        let uri = request.uri.clone();
        let read = tokio::task::spawn_blocking(move || artifacts.read(&uri)).await;
        let text = read.map_err(|panic| ErrorData::internal_error(panic.to_string(), None))?;
        let text = text.map_err(|error| ErrorData::resource_not_found(error.to_string(), None))?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }
}

impl CompileArgs {
    async fn read(self) -> Result<CompileRequest, ToolFailure> {
        let targets = self.archs.iter().map(|name| name.parse::<CompileTarget>().map_err(CompileError::from)).collect::<Result<_, _>>();
        let targets = targets.map_err(|error| failure(&error))?;
        let (problem_source, _) = text(self.problem, self.problem_file, "problem").await?;
        let (candidate_source, _) = text(self.candidate, self.candidate_file, "candidate").await?;
        Ok(CompileRequest { problem_source, candidate_source, targets })
    }
}

fn failure(error: &CompileError) -> ToolFailure {
    let reason = match error.details() {
        Some(details) => format!("{error}\n{details}"),
        None => error.to_string(),
    };
    ToolFailure::new(error.code(), reason, error.hint())
}
