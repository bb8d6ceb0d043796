//! The last thing that runs before a worker's Python: `kernelwright __sandbox SPEC`.
//!
//! A worker is started by re-executing this program as a helper, because what has to happen between `fork` and `exec` (Landlock,
//! seccomp, namespaces) is not safe to do in the child of a process with threads. The helper takes its channel from stdin, becomes
//! a session leader that dies with its parent, gives up what it does not need, reports which layers became active as the first
//! message on the channel, and executes Python in its own place: the process id stays.
//!
//! A program that is to stand around a worker, such as a profiler, is executed first, and executes the helper again as its child (`around`).
//!
//! A worker that a nursery forks has no helper: it gets a [`Plan`] made of the same parts, and applies it itself.
//!
//! Layers are best effort and independent: one that this kernel or this user cannot have is reported as missing with the reason and
//! the others still apply. A sandbox reduces what candidate code can do; verdicts do not depend on it.
//!
//! What it does not do: it sets no disk quota (only a size limit per file), and as root the limit on processes does not bind.

mod around;
mod filesystem;
mod plan;
mod privileges;
mod syscalls;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::fd::FromRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use kernelwright_protocol::{Backend, Bytes, Sandbox};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

pub use around::Around;
pub(crate) use plan::Plan;

/// The verb under which the executable must call [`enter`].
pub const VERB: &str = "__sandbox";

/// The descriptor on which a worker finds its channel.
pub const CHANNEL: i32 = 3;

/// What the helper is to do, as its one argument in JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The program to become.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// A program that becomes its parent.
    pub around: Option<Around>,
    /// What was done around it already, where this helper is the child of such a program.
    pub surrounded: Option<Sandbox>,
    /// The process that starts the helper; when it is gone already, so is the helper. Nobody knows it where there is a program in between.
    pub parent: Option<i32>,
    /// How many processors it may use; the first ones of those it inherits.
    pub cpus: usize,
    /// What it is shielded from.
    pub isolation: Isolation,
}

/// How far a worker is shut in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Our own code and the user's problem: it only dies with its parent.
    Trusted,
    /// Candidate code: everything the kernel offers.
    Confined(Confinement),
}

/// What confined code keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Confinement {
    /// Folders it may read and execute from, beside the system's own.
    pub read: Vec<PathBuf>,
    /// The folder it may write, its own.
    pub write: PathBuf,
    /// Which devices it needs.
    pub backend: Backend,
    /// Its resource limits.
    pub limits: Limits,
}

/// Resource limits of one confined process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The largest file it may write.
    pub file: Bytes,
    /// Processor time, in seconds, over all its threads.
    pub cpu_seconds: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Processes and threads of this user; binds only inside a user namespace of its own.
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file: Bytes(2 << 30), cpu_seconds: 1800, descriptors: 4096, processes: 4096 }
    }
}

/// Whether confined code on this machine is kept from the files of its user, or why not.
pub fn confines_files() -> Result<(), String> {
    filesystem::version().map(drop)
}

/// Which layers became active, collected one by one.
#[derive(Debug, Default)]
struct Layers(Sandbox);

impl Layers {
    fn record(&mut self, layer: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.0.active.push(layer.to_owned()),
            Err(reason) => self.0.missing.push(format!("{layer}: {reason}")),
        }
    }
}

/// The helper's report, or a forked worker's own: the first message on its channel.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The layers are in place; Python starts next.
    #[serde(rename = "sandbox")]
    Ready(Sandbox),
    /// Python will not start.
    #[serde(rename = "launch_error")]
    Failed(String),
}

/// Becomes the worker that `args` (one JSON [`Spec`]) describes, or the program around it; ends the process with 127 where that fails.
///
/// Must be called while the process has one thread.
pub fn enter(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> ! {
    let (channel, Err(reason)) = match read(args.into_iter().next()) {
        Ok(mut spec) => match spec.around.take() {
            Some(around) => (libc::STDIN_FILENO, around::become_program(&around, spec)),
            None => (CHANNEL, take_channel().and_then(|()| become_worker(spec))),
        },
        Err(reason) => (libc::STDIN_FILENO, Err(reason)),
    };
    report(channel, &Report::Failed(reason));
    std::process::exit(127)
}

fn read(spec: Option<impl AsRef<OsStr>>) -> Result<Spec, String> {
    let spec = spec.ok_or("no specification was given")?;
    serde_json::from_slice(spec.as_ref().as_encoded_bytes()).map_err(|error| format!("bad specification: {error}"))
}

fn become_worker(spec: Spec) -> Result<Infallible, String> {
    let is_surrounded = spec.surrounded.is_some();
    let mut layers = Layers(spec.surrounded.unwrap_or_default());
    if !is_surrounded {
        let _ = rustix::process::setsid();
    }
    pin(spec.cpus);
    if let Isolation::Confined(confinement) = &spec.isolation {
        privileges::limit(confinement, &mut layers);
        if !is_surrounded {
            privileges::leave_namespaces(&mut layers);
        }
        layers.record("no new privileges", rustix::thread::set_no_new_privs(true).map_err(|e| e.to_string()));
        filesystem::restrict(confinement, &mut layers);
        privileges::drop_capabilities(&mut layers);
    }
    // After the change of credentials, which may clear it.
    die_with_parent(spec.parent)?;
    if let Isolation::Confined(confinement) = &spec.isolation {
        layers.record("seccomp", syscalls::filter(confinement.backend));
    }
    report(CHANNEL, &Report::Ready(layers.0));
    Err(format!("cannot execute {}: {}", spec.program.display(), Command::new(&spec.program).args(&spec.args).exec()))
}
/// Moves the channel from stdin to its place, puts `/dev/null` there, and closes whatever else was inherited.
fn take_channel() -> Result<(), String> {
    // SAFETY: plain numbers; no value of this process, which has only just started, owns the descriptors they replace or close.
    let taken = unsafe {
        // The channel first: opening the null device could otherwise be given its number.
        libc::dup2(libc::STDIN_FILENO, CHANNEL) == CHANNEL
            && libc::close(libc::STDIN_FILENO) == 0
            && libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) == libc::STDIN_FILENO
            && libc::syscall(libc::SYS_close_range, CHANNEL + 1, u32::MAX, 0) == 0
    };
    taken.then_some(()).ok_or_else(|| format!("cannot set up the channel: {}", std::io::Error::last_os_error()))
}

/// Keeps to the first `cpus` processors, so that both sides of a comparison have the same ones.
fn pin(cpus: usize) {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return };
    let mut chosen = rustix::thread::CpuSet::new();
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(cpus.max(1)).for_each(|cpu| chosen.set(cpu));
    let _ = rustix::thread::sched_setaffinity(None, &chosen);
}

/// Sends one message; a supervisor that no longer listens needs none.
fn report(channel: i32, report: &Report) {
    let Ok(text) = serde_json::to_vec(report) else { return };
    let mut frame = (text.len() as u32).to_le_bytes().to_vec();
    frame.extend(text);
    // SAFETY: the caller says where the channel is; it is not closed here.
    let channel = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(channel) });
    let _ = (&*channel).write_all(&frame);
}

/// Has the kernel end this process when its parent ends. The parent may have died before that took effect.
fn die_with_parent(parent: Option<i32>) -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| format!("prctl: {e}"))?;
    let own = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent.is_some() && parent != own { Err("the supervisor is gone".to_owned()) } else { Ok(()) }
}
