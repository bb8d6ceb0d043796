//! One compilation from its request to its report: a confined worker, asked once per architecture.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernelwright_harness::sandbox::Limits;
use kernelwright_harness::{AskError, HarnessError, Interpreter, Launch, Package, Role, Scratch, Worker, WorkerLogs, read_beneath};
use kernelwright_protocol::{ArchCompilation, Artifact, Backend, Bytes, Compilation, CompilationStatus, ContentHash, Diagnostics, Stopped};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{Mutex, OnceCell};

use crate::claim::Answer;
use crate::{Artifacts, CompileError, CompileTarget};

/// Importing torch from a cold disk.
const START: Duration = Duration::from_secs(180);
/// Finding the versions of compilers.
const TOOLS: Duration = Duration::from_secs(60);
/// Beyond its own limit, what the worker may take before it counts as hung.
const SLACK: Duration = Duration::from_secs(20);
/// The folder of the worker's scratch folder that it leaves files in.
const FOLDER: &str = "artifacts";
/// The largest file that is fetched.
const FILE: Bytes = Bytes(8 << 20);

/// Where Python and the caches are, and how long a compilation may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Python to use; found as `Interpreter::find` does when absent.
    pub python: Option<PathBuf>,
    /// Where packages are unpacked, artefacts kept and scratch folders made.
    pub cache_dir: PathBuf,
    /// The executable that answers to `sandbox::VERB`: kernelwright itself.
    pub sandbox_helper: PathBuf,
    /// Threads that compilers may use; all that this process may use when absent.
    pub threads: Option<usize>,
    /// What following a candidate on one architecture may take, with all that it compiles.
    pub build_limit: Duration,
    /// What one kernel may take.
    pub kernel_limit: Duration,
    /// Limits of the process.
    pub limits: Limits,
}

/// What to compile, and what for.
#[derive(Clone, Debug)]
pub struct CompileRequest {
    /// The text of the problem file.
    pub problem_source: String,
    /// The text of the candidate file.
    pub candidate_source: String,
    /// The architectures; at least one.
    pub targets: Vec<CompileTarget>,
}

/// Compiles candidates, one at a time. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct KernelCompiler {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    artifacts: Artifacts,
    // Not in a worker's own folder: a candidate could put a link to somebody's secrets in the log's place.
    logs: WorkerLogs,
    environment: OnceCell<(Interpreter, Package)>,
    // Held while a worker compiles with every processor that we may use.
    turn: Mutex<()>,
}

#[derive(Deserialize)]
struct Tools {
    software: Vec<String>,
}

impl KernelCompiler {
    /// Nothing is started or looked for before the first request.
    #[must_use]
    pub fn new(settings: impl Into<Settings>) -> Self {
        let settings = settings.into();
        let artifacts = Artifacts::below(&settings.cache_dir);
        let logs = WorkerLogs::below(&settings.cache_dir, "compile-");
        Self { inner: Arc::new(Inner { settings, artifacts, logs, environment: OnceCell::new(), turn: Mutex::new(()) }) }
    }

    /// The folder that artefacts are kept in.
    #[must_use]
    pub fn artifact_folder(&self) -> &std::path::Path {
        self.inner.artifacts.folder()
    }

    /// Artefacts that compilations have left.
    #[must_use]
    pub fn artifacts(&self) -> &Artifacts {
        &self.inner.artifacts
    }

    /// Compiles for every target. What the candidate or a compiler does wrong is in the report; `say` is told what is being done.
    pub async fn compile(&self, request: &CompileRequest, say: &(dyn Fn(&str) + Sync)) -> Result<Compilation, CompileError> {
        if request.targets.is_empty() {
            return Err(CompileError::NoArch);
        }
        let _turn = if let Ok(turn) = self.inner.turn.try_lock() {
            turn
        } else {
            say("waiting for another compilation");
            self.inner.turn.lock().await
        };
        let started = Instant::now();
        say("starting Python, torch and Triton");
        let mut worker = Some(self.start().await?);
        let software = match &mut worker {
            Some(worker) => software(worker).await?,
            None => vec![],
        };
        let mut architectures = Vec::new();
        for (index, &target) in request.targets.iter().enumerate() {
            say(&format!("compiling for {target} ({} of {})", index + 1, request.targets.len()));
            let mut asked = match worker.take() {
                Some(worker) => worker,
                None => self.start().await?,
            };
            let (report, worker_is_left) = self.compile_one(&mut asked, request, target).await?;
            architectures.push(report);
            if worker_is_left {
                worker = Some(asked);
            } else {
                asked.end().await;
            }
        }
        if let Some(worker) = worker {
            worker.end().await;
        }
        Ok(Compilation {
            problem: ContentHash::of(&request.problem_source),
            candidate: ContentHash::of(&request.candidate_source),
            status: architectures.iter().map(|report| report.status).max().unwrap_or(CompilationStatus::Ok),
            architectures,
            software,
            whole: None,
            wall_ns: started.elapsed().into(),
        })
    }

    /// The report for one target, and whether the worker can go on.
    async fn compile_one(
        &self,
        worker: &mut Worker,
        request: &CompileRequest,
        target: CompileTarget,
    ) -> Result<(ArchCompilation, bool), CompileError> {
        let Settings { build_limit, kernel_limit, .. } = self.inner.settings;
        let folder = worker.scratch().join(FOLDER);
        let fields = json!({
            "part": target.to_json(), "problem": request.problem_source, "candidate": request.candidate_source, "folder": folder,
            "threads": self.threads(), "kernel_limit_s": kernel_limit.as_secs_f64(), "limit_s": build_limit.as_secs_f64()});
        let answer = match worker.ask("compile", fields, &[], build_limit + SLACK).await {
            Ok(reply) => serde_json::from_value::<Answer>(reply.ok),
            Err(AskError::Refused(refusal)) if refusal.kind != "internal" => {
                return Err(CompileError::problem(refusal.kind, refusal.message, refusal.traceback));
            }
            Err(AskError::Refused(refusal)) => return Err(CompileError::Protocol(refusal.message)),
            // The candidate took the worker itself with it, or forged an answer.
            Err(error) => return Ok((lost(target, error.to_string()), false)),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Ok((lost(target, format!("an answer that cannot be read: {error}")), false)),
        };
        let scratch = worker.scratch().to_path_buf();
        let artifacts = self.inner.artifacts.clone();
        let report = tokio::task::spawn_blocking(move || {
            let mut failed = None;
            let mut fetch = |name: &str| -> Option<Artifact> {
                let kind = Artifacts::kind(name)?;
                let content = read_beneath(&scratch, &format!("{FOLDER}/{name}"), FILE).ok()?;
                artifacts.keep(kind, &content).inspect_err(|error| failed = Some(std::io::Error::from(error.kind()))).ok()
            };
            let report = answer.into_report(target, &mut fetch);
            (report, failed)
        });
        let (report, failed) = report.await.map_err(|panic| CompileError::Protocol(panic.to_string()))?;
        if let Some(error) = failed {
            return Err(CompileError::Keep(error));
        }
        let report = report.map_err(|fault| CompileError::problem(fault.kind, fault.message, fault.traceback))?;
        Ok((report, true))
    }

    async fn start(&self) -> Result<Worker, CompileError> {
        let settings = &self.inner.settings;
        let (interpreter, package) = self.environment().await?;
        let launch = Launch {
            role: Role::Compile,
            interpreter,
            package,
            helper: settings.sandbox_helper.clone(),
            backend: Backend::Cpu,
            threads: self.threads(),
            limits: settings.limits,
            variables: vec![],
            around: None,
            readable: vec![],
            scratch: Scratch::new(&settings.cache_dir)?,
            log: self.inner.logs.next(),
        };
        Ok(Worker::launch(launch, START).await?)
    }

    async fn environment(&self) -> Result<&(Interpreter, Package), CompileError> {
        let find = || async {
            let Settings { python, cache_dir, .. } = self.inner.settings.clone();
            let artifacts = self.inner.artifacts.clone();
            let found = tokio::task::spawn_blocking(move || {
                artifacts.prune();
                Scratch::sweep(&cache_dir);
                Ok::<_, HarnessError>((Interpreter::find(python.as_deref())?, Package::unpack(&cache_dir)?))
            });
            match found.await {
                Ok(found) => Ok(found?),
                Err(panic) => Err(CompileError::Protocol(panic.to_string())),
            }
        };
        self.inner.environment.get_or_try_init(find).await
    }

    fn threads(&self) -> usize {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        self.inner.settings.threads.unwrap_or(available).clamp(1, available)
    }
}

async fn software(worker: &mut Worker) -> Result<Vec<String>, CompileError> {
    let reply = worker.ask("tools", json!({}), &[], TOOLS).await.map_err(|error| CompileError::unanswered(&error))?;
    let tools: Tools = serde_json::from_value(reply.ok).map_err(|error| CompileError::Protocol(error.to_string()))?;
    Ok(tools.software)
}

/// A target for which the candidate left no answer.
fn lost(target: CompileTarget, summary: String) -> ArchCompilation {
    let stopped = Stopped { phase: "crashed".to_owned(), diagnostics: Diagnostics { summary, ..Diagnostics::default() }, hint: None };
    ArchCompilation {
        arch: target.to_string(),
        status: CompilationStatus::Failed,
        part: target.part(),
        kernels: vec![],
        stopped: Some(stopped),
        not_compiled: vec![],
        notes: vec![],
    }
}
