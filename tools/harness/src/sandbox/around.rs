//! A program around a worker, such as a profiler: it becomes the worker's parent, and executes the helper again as its child.
//!
//! The worker is confined as any other. The program is the user's own and has to do what a worker must not, such as counting in another process
//! and talking to the libraries that it has put there; but candidate code can talk to it too. So it keeps its privileges and system calls, and
//! loses the network and the files that neither it nor the worker needs. Both are in one network namespace: abstract sockets, over which
//! profilers talk, belong to one.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{CHANNEL, Confinement, Isolation, Layers, Spec, VERB, die_with_parent, filesystem, pin, privileges};

/// A program that runs a worker as its child and hands its standard input on to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Around {
    /// The program and its arguments; those of the worker follow.
    pub command: Vec<String>,
    /// Folders that it and the worker may read.
    pub readable: Vec<PathBuf>,
    /// Folders that it may write, beside the worker's own, which the worker may not.
    pub writable: Vec<PathBuf>,
}

/// Becomes the program, which starts the helper for the worker that `spec` describes. The channel stays on stdin, where the helper looks for it.
pub(super) fn become_program(around: &Around, mut spec: Spec) -> Result<Infallible, String> {
    // SAFETY: plain numbers; no value of this process, which has only just started, owns a descriptor in this range.
    unsafe { libc::syscall(libc::SYS_close_range, CHANNEL, u32::MAX, 0) };
    let _ = rustix::process::setsid();
    pin(spec.cpus);
    let helper = std::env::current_exe().map_err(|error| format!("no path of its own: {error}"))?;
    let mut layers = Layers::default();
    if let Isolation::Confined(confinement) = &spec.isolation {
        privileges::leave_namespaces(&mut layers);
        // What the worker's own report will say again; Landlock needs it.
        let _ = rustix::thread::set_no_new_privs(true);
        let read = confinement.read.iter().chain(&around.readable).chain([&helper]).cloned().collect();
        let write = confinement.write.iter().chain(&around.writable).cloned().collect();
        // A missing layer is reported for the worker, which has the same.
        filesystem::restrict_around(&Confinement { read, write, ..confinement.clone() }, &mut Layers::default());
    }
    die_with_parent(spec.parent)?;
    spec.parent = None;
    spec.surrounded = Some(layers.0);
    let text = serde_json::to_string(&spec).map_err(|error| error.to_string())?;
    let (program, args) = around.command.split_first().ok_or("no program was named")?;
    let error = Command::new(program).args(args).arg(helper).arg(VERB).arg(text).exec();
    Err(format!("cannot execute {program}: {error}"))
}
