//! How a worker is started: its role, its surroundings, its isolation, and what it says when it is ready.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use kernelwright_protocol::{Backend, Sandbox};
use serde::Deserialize;

use super::channel::Channel;
use super::process::{Exit, Group};
use super::{AskError, Refusal, WorkerLog, next};
use crate::sandbox::{self, Around, Confinement, Isolation, Limits, Report, Spec};
use crate::{Interpreter, Package, Scratch, surroundings};

/// What a worker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs the user's problem; believed.
    Trusted,
    /// Runs one candidate; never believed, and confined.
    Untrusted,
    /// Has one candidate make one call under a program that looks on; never believed, and confined.
    Check,
    /// Takes figures of the machine and of the user's problem; believed.
    Profile,
    /// Takes figures of one candidate with the candidate in its own process; never believed, and confined.
    ProfileCandidate,
    /// Compiles what one candidate would launch, without a device; never believed, and confined.
    Compile,
    /// Tells what one candidate has torch build, or makes one part of it; never believed, and confined.
    Builder,
    /// Forks the others; see [`Nursery`]. Believed: it imports and builds Triton's launchers, and runs no problem and no candidate.
    Nursery,
}

impl Role {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Check => "check",
            Self::Profile | Self::ProfileCandidate => "profile",
            Self::Compile => "compile",
            Self::Builder => "builder",
            Self::Nursery => "nursery",
        }
    }

    /// Whether it runs candidate code.
    pub(super) fn is_confined(self) -> bool {
        matches!(self, Self::Untrusted | Self::Check | Self::ProfileCandidate | Self::Compile | Self::Builder)
    }
}

/// Everything a worker needs to start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// What it is for; decides whether it is confined.
    pub role: Role,
    /// The Python to run.
    pub interpreter: &'a Interpreter,
    /// The package to run.
    pub package: &'a Package,
    /// The executable that answers to [`sandbox::VERB`].
    pub helper: PathBuf,
    /// A program that runs Python as its child, such as a profiler.
    pub around: Option<Around>,
    /// Which devices it needs.
    pub backend: Backend,
    /// How many processors and threads it may use.
    pub threads: usize,
    /// Folders that a confined worker may read beside those that its interpreter and its compilers need.
    pub readable: Vec<PathBuf>,
    /// Limits of a confined worker.
    pub limits: Limits,
    /// Variables beside the ordinary ones, e.g. `TRITON_INTERPRET`.
    pub variables: Vec<(String, String)>,
    /// Its home, temporary folder and caches; removed with it.
    pub scratch: Scratch,
    /// Where it prints to.
    pub log: WorkerLog,
}

/// A worker did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A process, socket or file could not be made.
    #[error("cannot start a worker: {0}")]
    Start(#[from] io::Error),
    /// The sandbox helper gave up before Python started.
    #[error("the sandbox helper failed: {0}")]
    Helper(String),
    /// Python started and said why it cannot work.
    #[error("the worker cannot work: {}", .0.message)]
    Refused(Refusal),
    /// Python ended before it was ready.
    #[error("the worker ended before it was ready ({exit}): {tail}")]
    Ended {
        /// How.
        exit: Exit,
        /// The end of what it printed.
        tail: String,
    },
    /// A nursery did not fork.
    #[error("the nursery failed: {0}")]
    Nursery(#[source] AskError),
    /// Python was not ready in time.
    #[error("the worker was not ready within {} s", .0.as_secs())]
    Slow(Duration),
}

impl LaunchError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused(_) => "repair the torch installation, or name another Python with KERNELWRIGHT_PYTHON",
            _ => "run `kernelwright doctor`, which starts a worker in the same way and says what is wrong",
        }
    }
}

/// What a worker says when it is ready.
#[derive(Clone, Debug, Deserialize)]
pub struct Ready {
    /// The version of Python.
    pub python: String,
    /// The version of torch.
    pub torch: String,
    /// The version of Triton, where there is one.
    #[serde(default)]
    pub triton: Option<String>,
}

impl Launch<'_> {
    pub(super) fn command(&self, channel: OwnedFd) -> io::Result<Command> {
        let entry = self.package.entry();
        let entry = entry.to_str().ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
        let spec = Spec {
            program: self.interpreter.path.clone(),
            args: vec![
                "-B".to_owned(),
                entry.to_owned(),
                self.role.as_str().to_owned(),
                "--channel".to_owned(),
                sandbox::CHANNEL.to_string(),
            ],
            around: self.around.clone(),
            surrounded: None,
            parent: Some(rustix::process::getpid().as_raw_nonzero().get()),
            cpus: self.threads,
            isolation: self.isolation(),
        };
        let mut command = Command::new(&self.helper);
        command.arg(sandbox::VERB).arg(serde_json::to_string(&spec)?);
        command.env_clear().envs(self.environment()).current_dir(self.scratch.path());
        let log = self.log.open()?;
        command.stdin(Stdio::from(channel)).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// Every variable of the worker; a later one replaces an earlier one of the same name.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables = surroundings::passed();
        // Programs of a virtual environment that nobody activated: `load_inline` looks for ninja on the PATH.
        variables.push(("PATH".into(), surroundings::search_path(self.interpreter.path.parent())));
        variables.extend(self.workspace().into_iter().map(|(name, value)| (name.into(), value.into())));
        variables.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        variables
    }

    pub(super) fn isolation(&self) -> Isolation {
        if !self.role.is_confined() {
            return Isolation::Trusted;
        }
        let mut read = self.interpreter.folders.clone();
        read.push(self.package.folder().to_path_buf());
        read.extend(surroundings::toolkit_folders());
        read.extend(self.readable.iter().cloned());
        read.extend(self.around.iter().flat_map(|around| around.readable.iter().cloned()));
        Isolation::Confined(Confinement { read, write: self.scratch.path().to_path_buf(), backend: self.backend, limits: self.limits })
    }

    /// Variables that are the same for every role, so that both sides of a comparison run alike: folders of its own, the number of
    /// threads, and an allocator that keeps large blocks (fresh pages would otherwise dominate the time of memory-bound kernels) in large
    /// pages (where small ones lie in a machine's memory is chance, and differs from process to process).
    pub(super) fn workspace(&self) -> Vec<(&'static str, String)> {
        let folder = |name: &str| self.scratch.path().join(name).to_string_lossy().into_owned();
        let home = self.scratch.path().to_string_lossy().into_owned();
        let mut variables = vec![
            ("HOME", home.clone()),
            ("TMPDIR", home),
            ("XDG_CACHE_HOME", folder("cache")),
            ("TORCH_EXTENSIONS_DIR", folder("torch_extensions")),
            ("TORCHINDUCTOR_CACHE_DIR", folder("inductor")),
            ("TRITON_HOME", folder("triton")),
            ("TRITON_CACHE_DIR", folder("triton")),
            ("CUDA_CACHE_PATH", folder("cuda")),
            ("OMP_NUM_THREADS", self.threads.to_string()),
            ("OMP_WAIT_POLICY", "PASSIVE".to_owned()),
            ("GOMP_SPINCOUNT", SPINS.to_string()),
            ("MALLOC_MMAP_THRESHOLD_", "4294967296".to_owned()),
            ("MALLOC_TRIM_THRESHOLD_", "4294967296".to_owned()),
            ("MALLOC_TOP_PAD_", "67108864".to_owned()),
            ("GLIBC_TUNABLES", tunables(self.backend).to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("PYTHONUNBUFFERED", "1".to_owned()),
        ];
        if self.backend == Backend::Cpu {
            // `torch.compile` would start processes that import torch to compile Triton kernels, of which a CPU has none, while time is taken.
            variables.push(("TORCH_WARM_POOL", "0".to_owned()));
        }
        variables.extend(self.interpreter.user_base.as_ref().map(|base| ("PYTHONUSERBASE", base.to_string_lossy().into_owned())));
        variables
    }
}

/// How often a thread that operators share looks for the next work before it sleeps: for a few tens of microseconds, as libgomp has it where there are more
/// threads than processors. Its usual 300,000 would have one side's threads take processors in the other's batch, and each other's beside other work, where they
/// take turns on one. With none, to wake them takes longer than a call of microseconds does for users.
const SPINS: u32 = 1_000;

/// How glibc's allocator goes about it. On a CPU it sets nothing small aside for the next request: what is left over where a block begins and ends then
/// comes together with the block again when that is freed, and the temporary tensors of the next call lie where those of the last one lay, in the cache.
/// Otherwise it depends on chance in which processes they walk through all of the memory, which takes a quarter longer.
const fn tunables(backend: Backend) -> &'static str {
    match backend {
        Backend::Cpu => "glibc.malloc.hugetlb=1:glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0",
        Backend::Cuda => "glibc.malloc.hugetlb=1",
    }
}

/// The sandbox helper's report, then Python's greeting.
pub(super) async fn greet(channel: &mut Channel, group: &Group, log: &WorkerLog) -> Result<(Sandbox, Ready), LaunchError> {
    let ended = |error: AskError| match error {
        AskError::Ended(exit) => LaunchError::Ended { exit, tail: log.tail(2000).trim().to_owned() },
        other => LaunchError::Helper(other.to_string()),
    };
    let report = next(channel, group).await.map_err(ended)?;
    let sandbox = match serde_json::from_value(report.value) {
        Ok(Report::Ready(sandbox)) => sandbox,
        Ok(Report::Failed(reason)) => return Err(LaunchError::Helper(reason)),
        Err(_) => return Err(LaunchError::Helper("it does not answer to the sandbox verb".to_owned())),
    };
    let greeting = next(channel, group).await.map_err(ended)?.value;
    if let Some(error) = greeting.get("error") {
        let refusal = serde_json::from_value(error.clone()).map_err(|error| LaunchError::Helper(error.to_string()))?;
        return Err(LaunchError::Refused(refusal));
    }
    let ready = serde_json::from_value(greeting).map_err(|error| LaunchError::Helper(format!("no greeting: {error}")))?;
    Ok((sandbox, ready))
}
