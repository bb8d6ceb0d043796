//! `compile_kernel` on the MCP surface, and the resources it leaves.

use std::collections::HashSet;
use std::path::PathBuf;

use kernelwright_compile::{CompileError, CompileRequest, CompileTarget, SCHEME};
use kernelwright_protocol::Compilation;
use kernelwright_server::{JobAnswer, JobRequest, ToolFailure, Work, job_output, shortened};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    ListResourceTemplatesResult, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

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
    /// Architectures or parts, at least one, e.g. `["sm_90", "gfx942", "b200"]`; `cpu` for the host's C++. One that is named twice is compiled for once.
    #[schemars(length(min = 1))]
    archs: Vec<String>,
    /// How many seconds to wait before answering with a `job_id` instead of the result, 0 to 3600; 45 without it.
    #[schemars(range(min = 0, max = 3600))]
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
        let template =
            ResourceTemplate::new(format!("{SCHEME}{{name}}{{?offset,limit}}"), "artifact").with_title("Compiled code").with_description(
                "PTX, SASS, AMDGCN, LLVM IR, a log or, as JSON, a whole report that compile_kernel named; offset and limit count lines.",
            );
        ListResourceTemplatesResult::with_all_items(vec![template])
    }

    /// The lines that a URI names.
    pub(crate) async fn resource(&self, request: ReadResourceRequestParams) -> Result<ReadResourceResponse, ErrorData> {
        let artifacts = self.compiler.artifacts().clone();
        let uri = request.uri.clone();
        let read = tokio::task::spawn_blocking(move || artifacts.read(&uri)).await;
        let text = read.map_err(|panic| ErrorData::internal_error(panic.to_string(), None))?;
        let text = text.map_err(|error| ErrorData::resource_not_found(shortened(&error.to_string()).into_owned(), None))?;
        let kind = mime_type(&request.uri, &text);
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri).with_mime_type(kind)]).into())
    }
}

/// What an artefact's text is. A page of a JSON text is none.
fn mime_type(uri: &str, text: &str) -> &'static str {
    let name = uri.split_once('?').map_or(uri, |(name, _)| name);
    let is_json = name.rsplit_once('.').is_some_and(|(_, kind)| kind == "json") && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_json { "application/json" } else { "text/plain" }
}

/// Each architecture or part once, in the order of their first names; so there are never more than are known.
fn targets(names: &[String]) -> Result<Vec<CompileTarget>, CompileError> {
    let mut targets: Vec<CompileTarget> = Vec::new();
    let mut known = HashSet::new();
    for name in names {
        let target: CompileTarget = shortened(name).parse()?;
        // Its `Debug` tells products of one architecture from each other.
        if known.insert(format!("{target:?}")) {
            targets.push(target);
        }
    }
    if targets.is_empty() { Err(CompileError::NoArch) } else { Ok(targets) }
}

impl CompileArgs {
    async fn read(self) -> Result<CompileRequest, ToolFailure> {
        let targets = targets(&self.archs).map_err(|error| failure(&error))?;
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::task::{Context, Waker};

    use kernelwright_compile::KernelCompiler;

    use super::*;
    use crate::Settings;

    fn named(names: &[&str]) -> Result<Vec<String>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        targets(&names).map(|targets| targets.iter().map(|target| format!("{target:?}")).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_architecture_named_twice_is_compiled_for_once() {
        let once = vec!["sm_90 (NVIDIA H100 SXM)".to_owned()];
        assert_eq!(named(&["sm_90"; 1_000]), Ok(once.clone()));
        assert_eq!(named(&["sm_90", "h100", "90"]), Ok(once));
        assert_eq!(named(&["cpu", "h200", "sm_90", "cpu"]).unwrap(), ["cpu", "sm_90 (NVIDIA H200)", "sm_90 (NVIDIA H100 SXM)"]);
        assert_eq!(named(&[]), Err("no architecture was named".to_owned()));
        let long = named(&[&"x".repeat(1_000_000)]).unwrap_err();
        assert!(long.len() < 300, "{} bytes", long.len());
    }

    #[test]
    fn a_whole_json_text_is_json() {
        assert_eq!(mime_type("kernelwright://artifacts/0.json", "{}\n"), "application/json");
        assert_eq!(mime_type("kernelwright://artifacts/0.json?offset=1", "}\n"), "text/plain");
        assert_eq!(mime_type("kernelwright://artifacts/0.ptx", "0\n"), "text/plain");
    }

    #[tokio::test]
    async fn who_waits_for_another_compilation_is_told_so() {
        let cache = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(PathBuf::from("/nowhere"));
        settings.cache_dir = cache.path().to_path_buf();
        settings.python = Some(PathBuf::from("/nowhere"));
        let compiler = KernelCompiler::new(settings);
        let targets = targets(&["sm_90".to_owned()]).unwrap();
        let request = CompileRequest { problem_source: String::new(), candidate_source: String::new(), targets };
        let said = Mutex::new(Vec::new());
        let say = |message: &str| said.lock().unwrap().push(message.to_owned());
        let second = Mutex::new(Box::pin(compiler.compile(&request, &say)));
        // What the first one says, it says while it has the turn.
        let meanwhile = |_: &str| {
            let poll = second.lock().unwrap().as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(poll.is_pending());
        };
        assert!(compiler.compile(&request, &meanwhile).await.is_err(), "there is no Python in its place");
        drop(second);
        assert_eq!(*said.lock().unwrap(), ["waiting for another compilation"]);
    }
}
