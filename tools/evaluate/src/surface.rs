//! The MCP surface: two tools over one [`Evaluator`]; `compile_kernel` is beside it, in `compile/surface.rs`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use kernelwright_protocol::{BaselineKind, BaselineReport, Evaluation, Target};
use kernelwright_server::{
    JobAnswer, JobRequest, Jobs, ServeError, ToolFailure, Transport, Work, job_output, prepare, read_source, shortened,
};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CancelTaskParams, GetTaskParams, GetTaskResult, Implementation, ListResourceTemplatesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{BaselineChoice, EvaluateError, EvaluateRequest, Evaluator, KernelCompiler, Options, Settings};

/// The most trials a call may ask for.
const TRIALS: u32 = 20;
/// The most pairs that may be asked for: they have the device for themselves all the while.
const PAIRS: u32 = 200;

/// What a problem is called when its source was given without a name.
const UNNAMED: &str = "problem.py";

/// What a host's model is told about the server as a whole.
const INSTRUCTIONS: &str = "Decides whether a GPU or CPU kernel is right and how fast it is. A problem is a Python file with `Model`, `get_inputs()` and \
    `get_init_inputs()`, or a function `reference`, on tensors or numpy arrays; `SHAPES` gives several sets of inputs to `get_inputs`, and \
    `backward = True` has gradients compared too. A candidate is a Python file with `ModelNew` or, without it, a function `kernel`; it may \
    hold Triton, inline CUDA or C++. Modules are judged in eval mode: batch norm takes its running statistics, dropout does nothing. Call \
    measure_baseline once, then evaluate_kernel for each candidate: only status `correct` carries a time. compile_kernel compiles for any GPU \
    without having it. On target cpu, Triton kernels are checked by the interpreter and not \
    timed. Calls take seconds to minutes and report progress; one that takes longer than `wait_s` answers with status `running` and a job_id: wait on \
    with get_job, or stop it with cancel_job. Repeating a call joins its job, or returns the result that is kept for an hour.";

/// Serves `evaluate_kernel`, `measure_baseline` and `compile_kernel` until the client leaves or a signal arrives.
pub async fn serve(settings: Settings, transport: Transport) -> Result<(), ServeError> {
    let jobs = Jobs::default();
    let evaluator = Evaluator::new(settings.clone());
    let server = Server { compiler: KernelCompiler::new(settings), evaluator: evaluator.clone(), jobs: jobs.clone(), tools: tools(&jobs) };
    let ended = kernelwright_server::serve(server, transport).await;
    jobs.close().await;
    evaluator.close().await;
    ended
}

fn tools(jobs: &Jobs) -> ToolRouter<Server> {
    prepare(jobs.add_tools(Server::tool_router() + Server::compile_router()))
}

#[derive(Clone)]
pub(crate) struct Server {
    evaluator: Evaluator,
    pub(crate) compiler: KernelCompiler,
    pub(crate) jobs: Jobs,
    tools: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EvaluateArgs {
    /// Source of the problem file: a class `Model`, `get_inputs()` and `get_init_inputs()`. Give this or `problem_file`.
    problem: Option<String>,
    /// Path of the problem file on the server's machine.
    problem_file: Option<PathBuf>,
    /// Source of the candidate file: a class `ModelNew` with the constructor and forward of `Model`, or a function `kernel`. Give this or `candidate_file`.
    candidate: Option<String>,
    /// Path of the candidate file on the server's machine.
    candidate_file: Option<PathBuf>,
    /// Where to run: cpu, cuda or cuda:N; cpu without it.
    target: Option<Target>,
    /// Whether to time a correct candidate; true without it.
    measure: Option<bool>,
    /// At least so many different draws of inputs are checked, 1 to 20; 5 without it.
    #[schemars(range(min = 1, max = 20))]
    trials: Option<u32>,
    /// Whether TF32 is allowed, for the baselines as well; false without it.
    tf32: Option<bool>,
    /// What to compare with, "eager", "compile" or both; both without it. The speedup is against the faster one.
    #[schemars(length(min = 1))]
    baselines: Option<Vec<BaselineKind>>,
    /// Whether compute-sanitizer looks at a correct candidate too, for out-of-bounds accesses, races and barriers that outputs do not show: one in
    /// which it finds an error is `faulted`. Target cuda only, starts four more processes in which kernels are slow; false without it.
    deep_check: Option<bool>,
    /// How many interleaved pairs of batches to time, 1 to 200; as many as fit into about ten seconds without it.
    #[schemars(range(min = 1, max = 200))]
    pairs: Option<u32>,
    /// How many seconds to wait before answering with a `job_id` instead of the result, 0 to 3600; 45 without it.
    #[schemars(range(min = 0, max = 3600))]
    wait_s: Option<u32>,
    /// Whether to measure anew although the result of the same request is kept; false without it.
    fresh: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BaselineArgs {
    /// Source of the problem file. Give this or `problem_file`.
    problem: Option<String>,
    /// Path of the problem file on the server's machine.
    problem_file: Option<PathBuf>,
    /// Where to run: cpu, cuda or cuda:N; cpu without it.
    target: Option<Target>,
    /// Whether TF32 is allowed; false without it.
    tf32: Option<bool>,
    /// Which ones to measure, "eager", "compile" or both; both without it.
    #[schemars(length(min = 1))]
    baselines: Option<Vec<BaselineKind>>,
    /// How many seconds to wait before answering with a `job_id` instead of the result, 0 to 3600; 45 without it.
    #[schemars(range(min = 0, max = 3600))]
    wait_s: Option<u32>,
    /// Whether to measure anew although the result of the same request is kept; false without it.
    fresh: Option<bool>,
}

#[tool_router]
impl Server {
    /// Build, check and time one candidate kernel against a problem, and return one status.
    ///
    /// `correct` carries the speedup over the faster of eager torch and torch.compile, with its 95 % interval. `incorrect` says which output
    /// of which draw is how far off; `build_failed` and `faulted` carry the compiler's or Python's messages; `timed_out` and `rejected` say
    /// why. A candidate that fails is a successful call. Outputs are checked on several draws of inputs (scaled, structured, special values)
    /// against a float64 reference, and outputs of timed calls as well. The candidate runs confined: no network, writes only in its own folder.
    #[tool(
        title = "Evaluate kernel",
        output_schema = job_output::<Evaluation>(),
        annotations(read_only_hint = false, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn evaluate_kernel(
        &self,
        Parameters(args): Parameters<EvaluateArgs>,
        context: RequestContext<RoleServer>,
    ) -> JobAnswer<Evaluation> {
        let (wait_s, fresh) = (args.wait_s, args.fresh.unwrap_or(false));
        let asked = async {
            let request = args.read().await?;
            let job = JobRequest::new("evaluate_kernel", &request).wait_s(wait_s)?.fresh(fresh);
            Ok::<_, ToolFailure>((request, job))
        };
        let (request, job) = match asked.await {
            Ok(asked) => asked,
            Err(failure) => return failure.into(),
        };
        let evaluator = self.evaluator.clone();
        let evaluate = |work: Work| async move {
            let say = |message: &str| work.say(message);
            evaluator.evaluate_until(&request, &say, &work.cancelled()).await.map_err(|error| failure(&error))
        };
        self.jobs.call(&context, job, evaluate).await
    }

    /// Measure what a candidate has to beat: the problem's own time, eager and compiled, and what its inputs and outputs are.
    ///
    /// Call it once before the first candidate; the figures are kept for the evaluations of the same problem.
    #[tool(
        title = "Measure baseline",
        output_schema = job_output::<BaselineReport>(),
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn measure_baseline(
        &self,
        Parameters(args): Parameters<BaselineArgs>,
        context: RequestContext<RoleServer>,
    ) -> JobAnswer<BaselineReport> {
        let (wait_s, fresh) = (args.wait_s, args.fresh.unwrap_or(false));
        let asked = async {
            let request = args.read().await?;
            let job = JobRequest::new("measure_baseline", &request).wait_s(wait_s)?.fresh(fresh);
            Ok::<_, ToolFailure>((request, job))
        };
        let (request, job) = match asked.await {
            Ok(asked) => asked,
            Err(failure) => return failure.into(),
        };
        let evaluator = self.evaluator.clone();
        let measure = |work: Work| async move {
            let say = |message: &str| work.say(message);
            let BaselineRequest { source, name, target, choice, tf32 } = &request;
            unless_cancelled(&work, evaluator.measure_baseline(source, name, *target, *choice, *tf32, &say)).await
        };
        self.jobs.call(&context, job, measure).await
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build())
            .with_server_info(Implementation::new("kernelwright-evaluate", crate::version()))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(Self::resource_templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.resource(request).await
    }

    async fn get_task(&self, request: GetTaskParams, _: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData> {
        self.jobs.get_task(&request.task_id)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.jobs.update_task(&request.task_id)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.jobs.cancel_task(&request.task_id)
    }
}

/// What `measure_baseline` was asked.
#[derive(Debug)]
struct BaselineRequest {
    source: String,
    name: String,
    target: Target,
    choice: BaselineChoice,
    tf32: bool,
}

impl BaselineArgs {
    async fn read(self) -> Result<BaselineRequest, ToolFailure> {
        let (source, name) = text(self.problem, self.problem_file, "problem").await?;
        let target = self.target.unwrap_or(Target::CPU);
        Ok(BaselineRequest { source, name, target, choice: choose(self.baselines.as_deref())?, tf32: self.tf32.unwrap_or(false) })
    }
}

impl EvaluateArgs {
    async fn read(self) -> Result<EvaluateRequest, ToolFailure> {
        let mut options = Options { measure: self.measure.unwrap_or(true), tf32: self.tf32.unwrap_or(false), ..Options::default() };
        if let Some(trials) = self.trials {
            let allowed = NonZeroU32::new(trials).filter(|trials| trials.get() <= TRIALS);
            options.trials = allowed.ok_or_else(|| {
                ToolFailure::new("invalid_arguments", format!("{trials} trials were asked for"), format!("ask for 1 to {TRIALS} trials"))
            })?;
        }
        options.baselines = choose(self.baselines.as_deref())?;
        if let Some(pairs) = self.pairs {
            let allowed = NonZeroU32::new(pairs).filter(|pairs| pairs.get() <= PAIRS);
            options.pairs = Some(allowed.ok_or_else(|| {
                ToolFailure::new("invalid_arguments", format!("{pairs} pairs were asked for"), format!("ask for 1 to {PAIRS} pairs"))
            })?);
        }
        options.deep_check = self.deep_check.unwrap_or(false);
        let (problem_source, problem_name) = text(self.problem, self.problem_file, "problem").await?;
        let (candidate_source, _) = text(self.candidate, self.candidate_file, "candidate").await?;
        let target = self.target.unwrap_or(Target::CPU);
        Ok(EvaluateRequest { problem_source, problem_name, candidate_source, target, options })
    }
}

fn choose(kinds: Option<&[BaselineKind]>) -> Result<BaselineChoice, ToolFailure> {
    BaselineChoice::of(kinds.unwrap_or(BaselineChoice::All.kinds())).ok_or_else(|| {
        ToolFailure::new("invalid_arguments", "no baseline was named", "name eager, compile or both, or leave `baselines` out")
    })
}

/// The text of an argument that is given as source or as a file, and what to call it.
pub(crate) async fn text(source: Option<String>, file: Option<PathBuf>, what: &str) -> Result<(String, String), ToolFailure> {
    match (source, file) {
        (Some(source), None) => Ok((source, UNNAMED.to_owned())),
        (None, Some(path)) => match read_source(&path).await {
            Ok(source) => Ok((source, path.file_name().map_or(UNNAMED.into(), |name| name.to_string_lossy()).into_owned())),
            Err(source) => Err(failure(&EvaluateError::File { path: shortened(&path.to_string_lossy()).as_ref().into(), source })),
        },
        (Some(_), Some(_)) => {
            let reason = format!("both `{what}` and `{what}_file` are given");
            Err(ToolFailure::new("invalid_arguments", reason, "give one of them"))
        }
        (None, None) => {
            let reason = format!("neither `{what}` nor `{what}_file` is given");
            Err(ToolFailure::new("invalid_arguments", reason, format!("give the source text as `{what}` or a path as `{what}_file`")))
        }
    }
}

/// Does the work unless the job is cancelled; dropped work kills its workers.
async fn unless_cancelled<T>(job: &Work, work: impl Future<Output = Result<T, EvaluateError>>) -> Result<T, ToolFailure> {
    let cancelled = job.cancelled();
    tokio::select! {
        answer = work => answer.map_err(|error| failure(&error)),
        () = cancelled.cancelled() => Err(failure(&EvaluateError::Cancelled)),
    }
}

fn failure(error: &EvaluateError) -> ToolFailure {
    let reason = match error.details() {
        Some(details) => format!("{error}\n{details}"),
        None => error.to_string(),
    };
    ToolFailure::new(error.code(), reason, error.hint())
}

#[cfg(test)]
mod tests {
    use kernelwright_harness::Refusal;

    use super::*;

    #[test]
    fn hosts_have_no_objections_to_the_tools() {
        let tools = tools(&Jobs::default()).list_all();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(),
            ["cancel_job", "compile_kernel", "evaluate_kernel", "get_job", "measure_baseline"]
        );
        let objections = kernelwright_server::lint("kernelwright-evaluate", &tools);
        assert!(objections.is_empty(), "{objections:#?}");
    }

    #[tokio::test]
    async fn arguments_that_make_no_request_are_explained() {
        let read = |value: serde_json::Value| async move {
            let args: EvaluateArgs = serde_json::from_value(value).unwrap();
            args.read().await.map(|_| ()).map_err(|failure| failure.reason)
        };
        let problem = "x";
        assert_eq!(read(serde_json::json!({"problem": problem, "candidate": "y"})).await, Ok(()));
        assert_eq!(
            read(serde_json::json!({"problem": problem})).await,
            Err("neither `candidate` nor `candidate_file` is given".to_owned())
        );
        assert_eq!(
            read(serde_json::json!({"problem": problem, "candidate": "y", "trials": 0})).await,
            Err("0 trials were asked for".to_owned())
        );
        let missing = read(serde_json::json!({"problem_file": "/nowhere/p.py", "candidate": "y"})).await.unwrap_err();
        assert!(missing.starts_with("cannot read /nowhere/p.py: "), "{missing}");
        let endless = read(serde_json::json!({"problem_file": "/dev/zero", "candidate": "y"})).await.unwrap_err();
        assert_eq!(endless, "cannot read /dev/zero: it is no regular file");
        let long = read(serde_json::json!({"problem_file": "x".repeat(1_000_000), "candidate": "y"})).await.unwrap_err();
        assert!(long.len() < 300, "{} bytes", long.len());
    }

    /// What is told of an argument's bounds is what is held to.
    #[test]
    fn schemas_say_the_bounds_of_arguments() {
        let tools = tools(&Jobs::default()).list_all();
        let bounds = |tool: &str, argument: &str, key: &str| {
            let schema = &tools.iter().find(|listed| listed.name == tool).unwrap().input_schema;
            schema["properties"][argument][key].as_u64()
        };
        for tool in ["evaluate_kernel", "measure_baseline", "compile_kernel", "get_job"] {
            let wait = (bounds(tool, "wait_s", "minimum"), bounds(tool, "wait_s", "maximum"));
            assert_eq!(wait, (Some(0), Some(3_600)), "{tool}");
        }
        for (argument, most) in [("trials", TRIALS), ("pairs", PAIRS)] {
            let told = (bounds("evaluate_kernel", argument, "minimum"), bounds("evaluate_kernel", argument, "maximum"));
            assert_eq!(told, (Some(1), Some(most.into())), "{argument}");
        }
        for (tool, argument) in [("evaluate_kernel", "baselines"), ("measure_baseline", "baselines"), ("compile_kernel", "archs")] {
            assert_eq!(bounds(tool, argument, "minItems"), Some(1), "{tool}");
        }
    }

    #[test]
    fn a_failure_says_where_python_failed() {
        let refusal = Refusal {
            kind: "problem_shape".into(),
            phase: "load".into(),
            message: "no class `Model`".into(),
            traceback: "problem.py, line 3".into(),
        };
        let failure = failure(&EvaluateError::Problem(refusal));
        assert_eq!(
            (failure.code, failure.reason.as_str()),
            ("problem_invalid", "the problem is invalid (problem_shape): no class `Model`\nproblem.py, line 3")
        );
    }
}
