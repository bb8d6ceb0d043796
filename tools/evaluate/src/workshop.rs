//! Where workers come from: the interpreter, the unpacked package, the folders.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use kernelwright_builds::{Builds, Yard};
use kernelwright_harness::sandbox::Around;
use kernelwright_harness::{HarnessError, Interpreter, Launch, LaunchError, Package, Role, Scratch, Worker, WorkerLogs};
use kernelwright_protocol::{Backend, Target};
use tokio::sync::{Mutex, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::baseline_cache::BaselineCache;
use crate::candidate::Candidate;
use crate::draws::random_u32;
use crate::nurseries::Nurseries;
use crate::problem::{Problem, Setting};
use crate::processors;
use crate::request::{Limits, trusted};
use crate::{EvaluateError, Settings};

/// A machine that was found able to run workers.
#[derive(Debug)]
pub(crate) struct Workshop {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    interpreter: Interpreter,
    package: Package,
    threads: usize,
    logs: WorkerLogs,
    nurseries: Nurseries,
    builds: Builds,
    baseline_cache: Option<BaselineCache>,
    /// One for each target. Its lock is kept while it is made, so that whoever has it knows that nothing is going on.
    spares: std::sync::Mutex<HashMap<Target, Arc<Mutex<Option<Spare>>>>>,
    /// One for each target, kept while a process of the last evaluation comes to its end there.
    endings: std::sync::Mutex<HashMap<Target, Arc<Mutex<()>>>>,
}

/// An untrusted worker that has opened its device already.
#[derive(Debug)]
struct Spare {
    bench: Bench,
    setting: Setting,
    started: Started,
}

/// A worker, and why it could not be forked where it was started from nothing.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) worker: Worker,
    pub(crate) not_forked: Option<String>,
}

impl Started {
    /// Keeps it to the processors of its device, before it has threads of its own.
    fn keep_to(&self, setting: &Setting) {
        if let Some(own) = processors::of(setting.target, setting.threads) {
            processors::keep(self.worker.pid(), &own);
        }
    }
}

/// How a worker's process is started, whatever its role.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bench {
    pub(crate) backend: Backend,
    /// Triton reads its mode when it is imported, before the candidate is known to the worker.
    pub(crate) triton: TritonMode,
    pub(crate) process: kernelwright_harness::sandbox::Limits,
}

/// How Triton kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TritonMode {
    /// Compiled, for the target.
    Compiled,
    /// By Triton's interpreter, which says nothing about time.
    Interpreted,
}

impl TritonMode {
    /// What a candidate needs on a target.
    pub(crate) fn of(candidate: &str, target: Target) -> Self {
        let first_word = |text: &str| text.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next() == Some("triton");
        let imports_triton = |line: &str| match line.split_once(char::is_whitespace) {
            Some(("from", module)) => first_word(module),
            Some(("import", modules)) => modules.split(',').any(first_word),
            _ => false,
        };
        match target.backend {
            Backend::Cpu if candidate.lines().map(str::trim_start).any(imports_triton) => Self::Interpreted,
            Backend::Cpu | Backend::Cuda => Self::Compiled,
        }
    }
}

impl Workshop {
    /// Finds the interpreter and unpacks the package. Blocks for the time Python takes to start.
    pub(crate) fn open(settings: Settings) -> Result<Self, HarnessError> {
        let interpreter = Interpreter::find(settings.python.as_deref())?;
        let package = Package::unpack(&settings.cache_dir)?;
        Scratch::sweep(&settings.cache_dir);
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = settings.threads.unwrap_or(available).clamp(1, available);
        let builds = Builds::new(&settings.cache_dir, available);
        let baseline_cache = BaselineCache::open(&settings.cache_dir, threads, &interpreter);
        let inner = Inner {
            logs: WorkerLogs::below(&settings.cache_dir, ""),
            settings,
            interpreter,
            package,
            threads,
            nurseries: Nurseries::default(),
            spares: std::sync::Mutex::default(),
            endings: std::sync::Mutex::default(),
            builds,
            baseline_cache,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Threads that each side may use on a target.
    pub(crate) fn threads(&self, target: Target, triton: TritonMode) -> usize {
        let threads = self.inner.threads(triton);
        processors::of(target, threads).map_or(threads, |own| own.len())
    }

    /// How a problem is loaded on a target.
    pub(crate) fn setting(&self, target: Target, tf32: bool) -> Setting {
        Setting { target, threads: self.threads(target, TritonMode::Compiled), tf32, seed: random_u32() }
    }

    /// A trusted worker with the problem loaded.
    pub(crate) async fn load(&self, source: &str, name: &str, setting: &Setting) -> Result<Problem, EvaluateError> {
        self.ended(setting.target).await;
        let bench = Bench { backend: setting.target.backend, triton: TritonMode::Compiled, process: Limits::default().process };
        let started = self.start(Role::Trusted, bench).await?;
        started.keep_to(setting);
        Problem::load(started.worker, source, name, setting).await
    }

    /// An untrusted worker without a candidate, for a candidate on the target of `setting`.
    pub(crate) async fn untrusted(&self, bench: Bench, setting: &Setting) -> Result<Started, LaunchError> {
        let spare = self.inner.spare(setting.target).lock().await.take();
        if let Some(Spare { started: mut ready, .. }) = spare.filter(|spare| spare.bench == bench && spare.setting.target == setting.target)
            // A process that something has happened to since is none to judge a candidate by.
            && ready.worker.ask("open", setting.to_json(), &[], trusted::STEP).await.is_ok()
        {
            return Ok(ready);
        }
        let started = self.start(Role::Untrusted, bench).await?;
        started.keep_to(setting);
        Ok(started)
    }

    /// Starts a worker for the next candidate and has it open its device, before this candidate is timed: a GPU takes longer for that than for
    /// most kernels. Goes on by itself; [`Workshop::quiet`] waits for it.
    pub(crate) async fn prepare_next(&self, bench: Bench, setting: Setting) {
        let mut slot = self.inner.spare(setting.target).lock_owned().await;
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            *slot = None;
            let Ok(mut started) = inner.start(Role::Untrusted, bench).await else { return };
            started.keep_to(&setting);
            inner.nurseries.of(bench.triton).prepare().await;
            if started.worker.ask("open", setting.to_json(), &[], trusted::STEP).await.is_ok() {
                *slot = Some(Spare { bench, setting, started });
            }
        });
    }

    /// Returns when nothing is prepared on the target any more, and nothing ends there, that would disturb a measurement.
    pub(crate) async fn quiet(&self, target: Target) {
        drop(self.inner.spare(target).lock().await);
        self.ended(target).await;
    }

    /// Ends a candidate's process, which takes a GPU a tenth of a second. Goes on by itself; [`Workshop::ended`] waits for it.
    pub(crate) async fn end(&self, target: Target, candidate: Candidate) {
        let ending = self.inner.ending(target).lock_owned().await;
        tokio::spawn(async move {
            candidate.end().await;
            drop(ending);
        });
    }

    /// Returns when the memory is free that the last candidate has used.
    pub(crate) async fn ended(&self, target: Target) {
        drop(self.inner.ending(target).lock().await);
    }

    /// Returns when no candidate's process is ending on any target.
    pub(crate) async fn all_ended(&self) {
        let endings: Vec<_> = self.inner.endings.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for ending in endings {
            drop(ending.lock().await);
        }
    }

    /// Has Triton launchers built ahead for the next candidates; this goes on by itself.
    pub(crate) fn learn(&self, triton: TritonMode, launchers: Vec<Vec<String>>) {
        if !launchers.is_empty() {
            let inner = Arc::clone(&self.inner);
            tokio::spawn(async move {
                inner.nurseries.of(triton).learn(launchers).await;
                inner.nurseries.of(triton).prepare().await;
            });
        }
    }

    /// What candidates have torch build.
    pub(crate) fn builds(&self) -> &Builds {
        &self.inner.builds
    }

    /// A confined worker for one call of a candidate under a program that looks on. It is started from nothing: the program has to be its parent.
    pub(crate) fn check(&self, bench: Bench, around: Around) -> AbortOnDropHandle<Result<Worker, LaunchError>> {
        let inner = Arc::clone(&self.inner);
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut launch = inner.launch(Role::Check, bench)?;
            launch.around = Some(around);
            // Inside the blocks of torch's allocator there would be no bounds to overrun.
            launch.variables.push(("PYTORCH_NO_CUDA_MEMORY_CACHING".to_owned(), "1".to_owned()));
            Worker::launch(launch, trusted::START).await
        }))
    }

    /// A folder of its own.
    pub(crate) fn scratch(&self) -> Result<Scratch, HarnessError> {
        Scratch::new(&self.inner.settings.cache_dir)
    }

    /// Ends what only serves to start workers.
    pub(crate) fn rest(&self) {
        self.inner.nurseries.clear();
        for spare in self.inner.spares.lock().unwrap_or_else(PoisonError::into_inner).values() {
            if let Ok(mut spare) = spare.try_lock() {
                *spare = None;
            }
        }
    }

    /// Starts a worker in a task of its own: a nursery that was left halfway through a fork would be lost for the next evaluation.
    async fn start(&self, role: Role, bench: Bench) -> Result<Started, LaunchError> {
        let (answer, started) = oneshot::channel();
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            // Where nobody waits any more, the worker ends here.
            drop(answer.send(inner.start(role, bench).await));
            inner.nurseries.of(bench.triton).prepare().await;
        });
        started.await.unwrap_or_else(|error| Err(LaunchError::Start(std::io::Error::other(error))))
    }
}

impl Yard for Workshop {
    async fn builder(&self, process: kernelwright_harness::sandbox::Limits) -> Result<Worker, LaunchError> {
        let bench = Bench { backend: Backend::Cpu, triton: TritonMode::Compiled, process };
        Ok(self.start(Role::Builder, bench).await?.worker)
    }

    async fn trusted(&self, target: Target) -> Result<Worker, LaunchError> {
        let bench = Bench { backend: target.backend, triton: TritonMode::Compiled, process: Limits::default().process };
        Ok(self.start(Role::Trusted, bench).await?.worker)
    }
}

impl Inner {
    fn spare(&self, target: Target) -> Arc<Mutex<Option<Spare>>> {
        Arc::clone(self.spares.lock().unwrap_or_else(PoisonError::into_inner).entry(target).or_default())
    }

    fn ending(&self, target: Target) -> Arc<Mutex<()>> {
        Arc::clone(self.endings.lock().unwrap_or_else(PoisonError::into_inner).entry(target).or_default())
    }

    fn threads(&self, triton: TritonMode) -> usize {
        match triton {
            TritonMode::Compiled => self.threads,
            // Its many tiny numpy operations only get in each other's way.
            TritonMode::Interpreted => 1,
        }
    }

    /// Forks a worker, or starts one from nothing where that cannot be.
    async fn start(&self, role: Role, bench: Bench) -> Result<Started, LaunchError> {
        let (nursery, worker) = (|| self.launch(Role::Nursery, bench), || self.launch(role, bench));
        let forked = self.nurseries.of(bench.triton).fork(nursery, worker, trusted::START).await;
        let (worker, not_forked) = match forked {
            Ok(worker) => (worker, None),
            Err(reason) => (Worker::launch(worker()?, trusted::START).await?, Some(reason)),
        };
        Ok(Started { worker, not_forked })
    }

    fn launch(&self, role: Role, bench: Bench) -> Result<Launch<'_>, LaunchError> {
        let mut variables = match bench.triton {
            TritonMode::Compiled => vec![],
            TritonMode::Interpreted => {
                vec![("TRITON_INTERPRET".to_owned(), "1".to_owned()), ("OPENBLAS_NUM_THREADS".to_owned(), "1".to_owned())]
            }
        };
        if role == Role::Trusted {
            variables.extend(self.baseline_cache.iter().flat_map(BaselineCache::variables));
        }
        let scratch = Scratch::new(&self.settings.cache_dir).map_err(|error| LaunchError::Start(std::io::Error::other(error)))?;
        Ok(Launch {
            role,
            interpreter: &self.interpreter,
            package: &self.package,
            helper: self.settings.sandbox_helper.clone(),
            backend: bench.backend,
            threads: self.threads(bench.triton),
            limits: bench.process,
            variables,
            around: None,
            readable: if role == Role::Builder { self.builds.readable().map(Path::to_path_buf).into() } else { vec![] },
            scratch,
            log: self.logs.next(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_that_import_triton_are_interpreted_on_cpu() {
        let cuda = Target::cuda(0);
        for source in
            ["import triton", "import torch, triton", "from triton import language as tl", "try:\n    import triton.language as tl"]
        {
            assert_eq!(TritonMode::of(source, Target::CPU), TritonMode::Interpreted, "{source}");
            assert_eq!(TritonMode::of(source, cuda), TritonMode::Compiled, "{source}");
        }
        for source in ["import torch", "x = 'triton'", "# import triton", "from the triton tutorial", "import torch  # no triton"] {
            assert_eq!(TritonMode::of(source, Target::CPU), TritonMode::Compiled, "{source}");
        }
    }
}
