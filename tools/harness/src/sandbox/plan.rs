//! What a forked worker needs to know to confine itself, as the helper confines one that is executed.
//!
//! Decisions stay here, in the parts that the helper uses: a worker's Python (`confine.py`) only carries them out. The one thing that
//! travels ready-made is the Landlock ruleset, as a descriptor.

use std::os::fd::OwnedFd;
use std::path::Path;

use serde::Serialize;

use super::{Confinement, Isolation, filesystem, privileges, syscalls};

/// The confinement of one forked worker.
#[derive(Debug, Serialize)]
pub(crate) struct Plan {
    /// The supervisor: whoever is not its child has lost it.
    parent: i32,
    /// Absent for our own code and the user's problem.
    confinement: Option<Measures>,
}

#[derive(Debug, Serialize)]
struct Measures {
    /// Resources by number, with the most a worker may have.
    limits: Vec<(u32, u64)>,
    /// User and group to remain where the network can only be left by way of a user namespace.
    identity: Option<(u32, u32)>,
    /// Layers that come with the Landlock ruleset, beside the one for files.
    landlock_brings: Vec<&'static str>,
    /// seccomp programs; an instruction is one number in the machine's byte order.
    filters: Vec<Vec<u64>>,
    /// Layers that are known to be missing, in the report's form.
    missing: Vec<String>,
}

impl Plan {
    /// The plan for process `pid`, a child of this one that waits for it, and the Landlock ruleset that goes with it.
    pub(crate) fn new(isolation: &Isolation, pid: rustix::process::Pid) -> (Self, Option<OwnedFd>) {
        let parent = rustix::process::getpid().as_raw_nonzero().get();
        match isolation {
            Isolation::Trusted => (Self { parent, confinement: None }, None),
            Isolation::Confined(confinement) => {
                let (measures, ruleset) = Measures::new(confinement, pid);
                (Self { parent, confinement: Some(measures) }, ruleset)
            }
        }
    }
}

impl Measures {
    fn new(confinement: &Confinement, pid: rustix::process::Pid) -> (Self, Option<OwnedFd>) {
        let mut missing = Vec::new();
        let mut or_missing = |layer: &str, outcome: Result<(), String>| match outcome {
            Ok(()) => true,
            Err(reason) => {
                missing.push(format!("{layer}: {reason}"));
                false
            }
        };
        let (limits, processes) = privileges::limits(confinement);
        or_missing(privileges::PROCESSES, processes);
        let process = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        let mut landlock_brings = Vec::new();
        let ruleset = match filesystem::rules(confinement, &process) {
            Ok(rules) => {
                landlock_brings.extend(or_missing(filesystem::SIGNALS, rules.signals).then_some(filesystem::SIGNALS));
                Some(rules.ruleset)
            }
            Err(reason) => {
                or_missing("landlock", Err(reason));
                None
            }
        };
        let filters = syscalls::programs(confinement.backend).unwrap_or_else(|error| {
            or_missing("seccomp", Err(error.to_string()));
            vec![]
        });
        let measures = Self {
            limits: limits.into_iter().map(|(resource, value)| (resource as u32, value)).collect(),
            identity: (!rustix::process::getuid().is_root()).then(privileges::identity),
            landlock_brings,
            filters: filters.iter().map(|program| program.iter().map(as_number).collect()).collect(),
            missing,
        };
        (measures, ruleset)
    }
}

/// An instruction as the kernel reads it: 16 bits of code, two jumps of 8, an operand of 32.
fn as_number(instruction: &seccompiler::sock_filter) -> u64 {
    let [low, high] = instruction.code.to_ne_bytes();
    let [a, b, c, d] = instruction.k.to_ne_bytes();
    u64::from_ne_bytes([low, high, instruction.jt, instruction.jf, a, b, c, d])
}
