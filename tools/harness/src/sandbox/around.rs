//! A program around a worker, such as a profiler: it becomes the worker's parent, and executes the helper again as its child.
//!
//! The worker is confined as any other. The program is the user's own and has to do what a worker must not, such as counting in another process
//! and talking to the libraries that it has put there. It loses the network, and keeps its privileges and the user's files: restricted to the
//! worker's, Nsight Compute no longer finds the device. Candidate code can send it what it likes, as it could in a process that a user profiles by
//! hand. Both are in one network namespace: abstract sockets, over which profilers talk, belong to one.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{CHANNEL, Isolation, Layers, Spec, VERB, die_with_parent, pin, privileges};

/// A program that runs a worker as its child and hands its standard input on to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Around {
    /// The program and its arguments; those of the worker follow.
    pub command: Vec<String>,
    /// Folders that the worker may read beside its own: where the libraries lie that are put into it.
    pub readable: Vec<PathBuf>,
}

/// Becomes the program, which starts the helper for the worker that `spec` describes. The channel stays on stdin, where the helper looks for it.
pub(super) fn become_program(around: &Around, mut spec: Spec) -> Result<Infallible, String> {
    // SAFETY: plain numbers; no value of this process, which has only just started, owns a descriptor in this range.
    unsafe { libc::syscall(libc::SYS_close_range, CHANNEL, u32::MAX, 0) };
    let _ = rustix::process::setsid();
    pin(spec.cpus);
    let helper = std::env::current_exe().map_err(|error| format!("no path of its own: {error}"))?;
    let mut layers = Layers::default();
    if let Isolation::Confined(_) = &spec.isolation {
        privileges::leave_namespaces(&mut layers);
    }
    die_with_parent(spec.parent)?;
    spec.parent = None;
    spec.surrounded = Some(layers.0);
    let text = serde_json::to_string(&spec).map_err(|error| error.to_string())?;
    let (program, args) = around.command.split_first().ok_or("no program was named")?;
    let error = Command::new(program).args(args).arg(helper).arg(VERB).arg(text).exec();
    Err(format!("cannot execute {program}: {error}"))
}
