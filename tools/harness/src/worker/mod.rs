//! One Python worker: started, asked, stopped, read and ended.
//!
//! A confined worker runs only while it has a question to answer: it is stopped as soon as its answer is in, and stays stopped until
//! the next one. What a candidate leaves running in the background after it has answered does not run.

mod channel;
mod log;
mod memory;
mod nursery;
mod process;

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Sandbox};
use serde::Deserialize;
use serde_json::{Map, Value};

pub use log::WorkerLog;
pub use memory::{Arena, Window};
pub use nursery::Nursery;
pub use process::{Exit, FreezeError, supervise};

use crate::sandbox::{self, Confinement, Isolation, Limits, Report, Spec};
use crate::{Interpreter, Package, Scratch, surroundings};
use channel::{Channel, ChannelError, Message};
use process::Group;

/// What a worker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs the user's problem; believed.
    Trusted,
    /// Runs one candidate; never believed, and confined.
    Untrusted,
    /// Takes figures of the machine and of the user's problem; believed.
    Profile,
    /// Takes figures of one candidate with the candidate in its own process; never believed, and confined.
    ProfileCandidate,
    /// Compiles what one candidate would launch, without a device; never believed, and confined.
    Compile,
    /// Forks the others; see [`Nursery`]. Believed: it runs nothing but imports.
    Nursery,
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Profile | Self::ProfileCandidate => "profile",
            Self::Compile => "compile",
            Self::Nursery => "nursery",
        }
    }

    /// Whether it runs candidate code.
    fn is_confined(self) -> bool {
        matches!(self, Self::Untrusted | Self::ProfileCandidate | Self::Compile)
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
    /// Which devices it needs.
    pub backend: Backend,
    /// How many processors and threads it may use.
    pub threads: usize,
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

/// An error that a worker replied.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Refusal {
    /// One of the kinds in `WORKERS.md`.
    pub kind: String,
    /// What it was doing.
    #[serde(default)]
    pub phase: String,
    /// One line.
    #[serde(default)]
    pub message: String,
    /// Python's traceback, already cut by the worker.
    #[serde(default)]
    pub traceback: String,
}

/// A question stayed without an answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No answer in time; the worker is killed.
    #[error("no answer to `{op}` within {} s", limit.as_secs_f64())]
    Deadline {
        /// The operation.
        op: String,
        /// What it was given.
        limit: Duration,
    },
    /// The worker ended instead of answering.
    #[error("the worker ended: {0}")]
    Ended(Exit),
    /// The worker answered that it cannot.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// What came back is not an answer to this question; a candidate may have written to the channel.
    #[error("{0}")]
    Violation(String),
    /// The worker did not stop after its answer.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The fields of `ok`.
    pub ok: Value,
    /// The descriptors that came with it; always empty for a worker that is not believed.
    pub fds: Vec<OwnedFd>,
    /// From sending the question to having the answer, on the supervisor's clock.
    pub wall: Duration,
}

/// A running worker. Dropping it kills everything it has started and removes its scratch folder.
#[derive(Debug)]
pub struct Worker {
    // Dropped first: the group must be dead before its folder goes.
    group: Group,
    channel: Channel,
    role: Role,
    ready: Ready,
    sandbox: Sandbox,
    log: WorkerLog,
    scratch: Scratch,
}

impl Worker {
    /// Starts a worker and waits until it is ready, at most `limit`. A confined one is then stopped.
    pub async fn launch(launch: Launch<'_>, limit: Duration) -> Result<Self, LaunchError> {
        let (channel, theirs) = Channel::pair()?;
        let group = Group::start(launch.command(theirs)?).await?;
        Self::settle(group, channel, launch, limit).await
    }

    /// Waits until a process is ready, at most `limit`.
    async fn settle(group: Group, mut channel: Channel, launch: Launch<'_>, limit: Duration) -> Result<Self, LaunchError> {
        let Launch { role, log, scratch, .. } = launch;
        let started = tokio::time::timeout(limit, greet(&mut channel, &group, &log)).await;
        let (sandbox, ready) = started.map_err(|_| LaunchError::Slow(limit))??;
        let worker = Self { group, channel, role, ready, sandbox, log, scratch };
        if role.is_confined() {
            worker.group.freeze().await.map_err(|error| LaunchError::Start(io::Error::other(error)))?;
        }
        Ok(worker)
    }

    /// Asks one question and waits for its answer, at most `limit`; a worker that misses the limit or breaks the protocol is killed.
    pub async fn ask(&mut self, op: &str, fields: Value, fds: &[BorrowedFd<'_>], limit: Duration) -> Result<Reply, AskError> {
        let answer = self.exchange(op, fields, fds, limit).await;
        match &answer {
            Ok(_) | Err(AskError::Refused(_)) => {}
            Err(_) => self.group.kill(),
        }
        answer
    }

    async fn exchange(&mut self, op: &str, fields: Value, fds: &[BorrowedFd<'_>], limit: Duration) -> Result<Reply, AskError> {
        if self.channel.has_leftovers() {
            return Err(AskError::Violation("a message arrived that nobody had asked for".to_owned()));
        }
        let id = question_id();
        let mut question = Map::new();
        question.insert("id".to_owned(), id.into());
        question.insert("op".to_owned(), op.into());
        if let Value::Object(fields) = fields {
            question.extend(fields);
        }
        if !fds.is_empty() {
            question.insert("fds".to_owned(), fds.len().into());
        }
        let confined = self.role.is_confined();
        if confined {
            self.group.thaw();
        }
        let question = Value::Object(question);
        let started = Instant::now();
        let answer = tokio::time::timeout(limit, async {
            match self.channel.send(&question, fds).await {
                Err(ChannelError::Io(_)) | Ok(()) => {}
                Err(error) => return Err(AskError::Violation(error.to_string())),
            }
            next(&mut self.channel, &self.group).await
        })
        .await;
        let wall = started.elapsed();
        tracing::debug!(role = self.role.as_str(), op, ?wall, "asked");
        if confined && matches!(answer, Ok(Ok(_))) {
            match self.group.freeze().await {
                Err(FreezeError::Gone) => return Err(AskError::Ended(self.group.exited().await)),
                frozen => frozen?,
            }
        }
        let message = answer.map_err(|_| AskError::Deadline { op: op.to_owned(), limit })??;
        if message.value.get("id").and_then(Value::as_u64) != Some(id) {
            return Err(AskError::Violation("an answer to another question arrived".to_owned()));
        }
        let Value::Object(mut fields) = message.value else {
            return Err(AskError::Violation("an answer was no object".to_owned()));
        };
        match (fields.remove("ok"), fields.remove("error")) {
            (Some(ok), None) => Ok(Reply { ok, fds: if confined { vec![] } else { message.fds }, wall }),
            (None, Some(error)) => match serde_json::from_value(error) {
                Ok(refusal) => Err(AskError::Refused(refusal)),
                Err(error) => Err(AskError::Violation(format!("an error that cannot be read: {error}"))),
            },
            _ => Err(AskError::Violation("an answer was neither `ok` nor `error`".to_owned())),
        }
    }

    /// Copies windows of its memory; call only for a confined worker between questions, when it is stopped.
    pub async fn read_memory(&self, windows: Vec<Window>) -> io::Result<Arena> {
        let pid = self.group.leader();
        tokio::task::spawn_blocking(move || memory::read(pid, &windows)).await.map_err(io::Error::other)?
    }

    /// Writes into its memory from offsets in an arena; call only as [`Worker::read_memory`].
    pub async fn write_memory(&self, windows: Vec<(Window, u64)>, arena: BorrowedFd<'_>) -> io::Result<()> {
        let (pid, arena) = (self.group.leader(), arena.try_clone_to_owned()?);
        tokio::task::spawn_blocking(move || memory::write(pid, &windows, arena)).await.map_err(io::Error::other)?
    }

    /// What it said when it was ready.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The isolation it runs under.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// What it printed.
    #[must_use]
    pub fn log(&self) -> &WorkerLog {
        &self.log
    }

    /// The folder it can write.
    #[must_use]
    pub fn scratch(&self) -> &std::path::Path {
        self.scratch.path()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.group.leader().as_raw_nonzero().get()
    }

    /// Ends it with everything it has started, and waits until that is done.
    pub async fn end(self) {
        let Self { group, log, scratch, .. } = self;
        group.end().await;
        log.shorten();
        let _ = tokio::task::spawn_blocking(move || drop(scratch)).await;
    }
}

/// The sandbox helper's report, then Python's greeting.
async fn greet(channel: &mut Channel, group: &Group, log: &WorkerLog) -> Result<(Sandbox, Ready), LaunchError> {
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

/// The next message, or how the worker ended without one.
async fn next(channel: &mut Channel, group: &Group) -> Result<Message, AskError> {
    let received = tokio::select! {
        biased;
        received = channel.receive() => received,
        exit = group.exited() => {
            // What it wrote before it ended may have arrived in between; children of its own may keep the channel open.
            match tokio::time::timeout(Duration::from_millis(50), channel.receive()).await {
                Ok(Ok(message)) => return Ok(message),
                _ => return Err(AskError::Ended(exit)),
            }
        }
    };
    match received {
        Ok(message) => Ok(message),
        Err(ChannelError::Malformed(detail)) => Err(AskError::Violation(detail)),
        Err(ChannelError::Closed | ChannelError::Io(_)) => match tokio::time::timeout(Duration::from_secs(5), group.exited()).await {
            Ok(exit) => Err(AskError::Ended(exit)),
            Err(_) => Err(AskError::Violation("the channel was closed by a worker that still runs".to_owned())),
        },
    }
}

/// Unpredictable, so that an answer cannot be written before its question; below 2^53, which JSON numbers hold exactly.
fn question_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    getrandom::u64().unwrap_or_else(|_| NEXT.fetch_add(1, Ordering::Relaxed)) >> 11
}

impl Launch<'_> {
    fn command(&self, channel: OwnedFd) -> io::Result<Command> {
        let entry = self.package.entry();
        let text = |value: &std::ffi::OsStr| value.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("a path is not UTF-8"));
        let args = ["-B".to_owned(), text(entry.as_os_str())?, self.role.as_str().to_owned(), "--channel".to_owned()];
        let spec = Spec {
            program: self.interpreter.path.clone(),
            args: args.into_iter().chain([sandbox::CHANNEL.to_string()]).collect(),
            parent: rustix::process::getpid().as_raw_nonzero().get(),
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
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables = surroundings::passed();
        // Programs of a virtual environment that nobody activated: `load_inline` looks for ninja on the PATH.
        variables.push(("PATH".into(), surroundings::search_path(self.interpreter.path.parent())));
        variables.extend(self.workspace().into_iter().map(|(name, value)| (name.into(), value.into())));
        variables.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        variables
    }

    fn isolation(&self) -> Isolation {
        if !self.role.is_confined() {
            return Isolation::Trusted;
        }
        let mut read = self.interpreter.folders.clone();
        read.push(self.package.folder().to_path_buf());
        read.extend(surroundings::toolkit_folders());
        Isolation::Confined(Confinement { read, scratch: self.scratch.path().to_path_buf(), backend: self.backend, limits: self.limits })
    }

    /// Variables that are the same for every role, so that both sides of a comparison run alike: folders of its own, the number of
    /// threads, and an allocator that keeps large blocks (fresh pages would otherwise dominate the time of memory-bound kernels).
    fn workspace(&self) -> Vec<(&'static str, String)> {
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
            ("MALLOC_MMAP_THRESHOLD_", "4294967296".to_owned()),
            ("MALLOC_TRIM_THRESHOLD_", "4294967296".to_owned()),
            ("MALLOC_TOP_PAD_", "67108864".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            ("PYTHONUNBUFFERED", "1".to_owned()),
        ];
        variables.extend(self.interpreter.user_base.as_ref().map(|base| ("PYTHONUSERBASE", base.to_string_lossy().into_owned())));
        variables
    }
}
