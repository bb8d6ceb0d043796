//! Where workers come from: the interpreter, the unpacked package, the folders.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kernelwright_harness::{HarnessError, Interpreter, Launch, LaunchError, Package, Role, Scratch, Worker, WorkerLog};
use kernelwright_protocol::{Backend, Target};
use tokio::sync::oneshot;

use crate::draws::random_u32;
use crate::nurseries::Nurseries;
use crate::problem::{Problem, Setting};
use crate::request::{Limits, trusted};
use crate::{EvaluateError, Settings};

/// How many logs are kept.
const LOGS: usize = 200;

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
    logs: AtomicU32,
    nurseries: Nurseries,
}

/// A worker, and why it could not be forked where it was started from nothing.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) worker: Worker,
    pub(crate) not_forked: Option<String>,
}

/// What an untrusted worker must be started with.
#[derive(Clone, Copy, Debug)]
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
        let imports_triton = |line: &str| {
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            matches!(words.next(), Some("import" | "from")) && words.any(|word| word == "triton")
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
        prune(&settings.cache_dir.join("logs"));
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = settings.threads.unwrap_or(available).clamp(1, available);
        let inner = Inner { settings, interpreter, package, threads, logs: AtomicU32::new(0), nurseries: Nurseries::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Threads that each side may use.
    pub(crate) fn threads(&self, triton: TritonMode) -> usize {
        self.inner.threads(triton)
    }

    /// How a problem is loaded on a target.
    pub(crate) fn setting(&self, target: Target, tf32: bool) -> Setting {
        Setting { target, threads: self.inner.threads, tf32, seed: random_u32() }
    }

    /// A trusted worker with the problem loaded.
    pub(crate) async fn load(&self, source: &str, name: &str, setting: &Setting) -> Result<Problem, EvaluateError> {
        let bench = Bench { backend: setting.target.backend, triton: TritonMode::Compiled, process: Limits::default().process };
        Problem::load(self.start(Role::Trusted, bench).await?.worker, source, name, setting).await
    }

    /// An untrusted worker without a candidate.
    pub(crate) async fn bench(&self, bench: Bench) -> Result<Started, LaunchError> {
        self.start(Role::Untrusted, bench).await
    }

    /// Ends what only serves to start workers.
    pub(crate) fn rest(&self) {
        self.inner.nurseries.clear();
    }

    /// Starts a worker in a task of its own: a nursery that was left halfway through a fork would be lost for the next evaluation.
    async fn start(&self, role: Role, bench: Bench) -> Result<Started, LaunchError> {
        let (answer, started) = oneshot::channel();
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            // Where nobody waits any more, the worker ends here.
            drop(answer.send(inner.start(role, bench).await));
            inner.nurseries.prepare(bench.triton).await;
        });
        started.await.unwrap_or_else(|error| Err(LaunchError::Start(std::io::Error::other(error))))
    }
}

impl Inner {
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
        let forked = self.nurseries.fork(bench.triton, nursery, worker, trusted::START).await;
        let (worker, not_forked) = match forked {
            Ok(worker) => (worker, None),
            Err(reason) => (Worker::launch(worker()?, trusted::START).await?, Some(reason)),
        };
        Ok(Started { worker, not_forked })
    }

    fn launch(&self, role: Role, bench: Bench) -> Result<Launch<'_>, LaunchError> {
        let number = self.logs.fetch_add(1, Ordering::Relaxed);
        let log = self.settings.cache_dir.join("logs").join(format!("{}-{number:04}.log", std::process::id()));
        let variables = match bench.triton {
            TritonMode::Compiled => vec![],
            TritonMode::Interpreted => {
                vec![("TRITON_INTERPRET".to_owned(), "1".to_owned()), ("OPENBLAS_NUM_THREADS".to_owned(), "1".to_owned())]
            }
        };
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
            scratch,
            log: WorkerLog::at(log),
        })
    }
}

/// Removes all but the newest logs.
fn prune(folder: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut logs: Vec<_> = entries.flatten().filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    logs.sort_by(|a, b| b.cmp(a));
    for (_, path) in logs.iter().skip(LOGS) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_that_import_triton_are_interpreted_on_cpu() {
        let cuda = Target { backend: Backend::Cuda, device: 0 };
        for source in
            ["import triton", "import torch, triton", "from triton import language as tl", "try:\n    import triton.language as tl"]
        {
            assert_eq!(TritonMode::of(source, Target::CPU), TritonMode::Interpreted, "{source}");
            assert_eq!(TritonMode::of(source, cuda), TritonMode::Compiled, "{source}");
        }
        for source in ["import torch", "x = 'triton'", "# import triton"] {
            assert_eq!(TritonMode::of(source, Target::CPU), TritonMode::Compiled, "{source}");
        }
    }
}
