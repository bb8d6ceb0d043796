//! Where workers come from: the interpreter, the unpacked package, the folders.

use std::sync::atomic::{AtomicU32, Ordering};

use kernelwright_harness::{HarnessError, Interpreter, Launch, LaunchError, Package, Role, Scratch, Worker, WorkerLog};
use kernelwright_protocol::{Backend, Target};

use crate::draws::random_u32;
use crate::problem::{Problem, Setting};
use crate::request::{Limits, trusted};
use crate::{EvaluateError, Settings};

/// How many logs are kept.
const LOGS: usize = 200;

/// A machine that was found able to run workers.
#[derive(Debug)]
pub(crate) struct Workshop {
    settings: Settings,
    interpreter: Interpreter,
    package: Package,
    threads: usize,
    logs: AtomicU32,
}

/// What an untrusted worker must be started with; a spare one fits only where these agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        Ok(Self { settings, interpreter, package, threads, logs: AtomicU32::new(0) })
    }

    /// Threads that each side may use.
    pub(crate) fn threads(&self, triton: TritonMode) -> usize {
        match triton {
            TritonMode::Compiled => self.threads,
            // Its many tiny numpy operations only get in each other's way.
            TritonMode::Interpreted => 1,
        }
    }

    /// How a problem is loaded on a target.
    pub(crate) fn setting(&self, target: Target, tf32: bool) -> Setting {
        Setting { target, threads: self.threads, tf32, seed: random_u32() }
    }

    /// A trusted worker with the problem loaded.
    pub(crate) async fn load(&self, source: &str, name: &str, setting: &Setting) -> Result<Problem, EvaluateError> {
        let launch = self.launch(Role::Trusted, setting.target.backend, TritonMode::Compiled, Limits::default().process)?;
        let worker = Worker::launch(launch, trusted::START).await?;
        Problem::load(worker, source, name, setting).await
    }

    /// An untrusted worker without a candidate.
    pub(crate) async fn bench(&self, bench: Bench) -> Result<Worker, LaunchError> {
        let launch = self.launch(Role::Untrusted, bench.backend, bench.triton, bench.process);
        Worker::launch(launch.map_err(|error| LaunchError::Start(std::io::Error::other(error)))?, trusted::START).await
    }

    fn launch(
        &self,
        role: Role,
        backend: Backend,
        triton: TritonMode,
        limits: kernelwright_harness::sandbox::Limits,
    ) -> Result<Launch<'_>, HarnessError> {
        let number = self.logs.fetch_add(1, Ordering::Relaxed);
        let log = self.settings.cache_dir.join("logs").join(format!("{}-{number:04}.log", std::process::id()));
        let variables = match triton {
            TritonMode::Compiled => vec![],
            TritonMode::Interpreted => {
                vec![("TRITON_INTERPRET".to_owned(), "1".to_owned()), ("OPENBLAS_NUM_THREADS".to_owned(), "1".to_owned())]
            }
        };
        Ok(Launch {
            role,
            interpreter: &self.interpreter,
            package: &self.package,
            helper: self.settings.sandbox_helper.clone(),
            backend,
            threads: self.threads(triton),
            limits,
            variables,
            scratch: Scratch::new(&self.settings.cache_dir)?,
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
