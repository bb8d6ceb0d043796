//! What confined code gives up beside files and system calls: resources, the network, capabilities.

use std::fs;

use kernelwright_protocol::Backend;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets, UnshareFlags};

use super::{Confinement, Layers};

/// Address space that torch reserves without using it.
const RESERVED_ADDRESSES: u64 = 16 << 30;

/// The layer that the superuser does not have.
pub(super) const PROCESSES: &str = "process limit";

/// The limits that bind this user, and whether the one on processes is among them.
pub(super) fn limits(confinement: &Confinement) -> (Vec<(Resource, u64)>, Result<(), String>) {
    let limits = &confinement.limits;
    let mut wanted = vec![
        (Resource::Core, 0),
        (Resource::Fsize, limits.file.0),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Nofile, limits.descriptors),
    ];
    match confinement.backend {
        Backend::Cpu => wanted.extend(physical_memory().map(|bytes| (Resource::As, bytes + RESERVED_ADDRESSES))),
        // The driver reserves more addresses than the machine has memory.
        Backend::Cuda => {}
    }
    if rustix::process::getuid().is_root() {
        return (wanted, Err("does not bind the superuser".to_owned()));
    }
    wanted.push((Resource::Nproc, limits.processes));
    (wanted, Ok(()))
}

/// Sets resource limits, and offers this process first where memory runs out.
pub(super) fn limit(confinement: &Confinement, layers: &mut Layers) {
    let (wanted, processes) = limits(confinement);
    if processes.is_err() {
        layers.record(PROCESSES, processes);
    }
    let failed = wanted.into_iter().find_map(|(resource, value)| {
        let hard = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX).min(value);
        setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) }).err().map(|error| format!("{resource:?}: {error}"))
    });
    layers.record("resource limits", failed.map_or(Ok(()), Err));
    // Raising one's own score needs no privilege.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

fn physical_memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Leaves the network and the System V namespaces; without privileges, by way of a user namespace of its own.
pub(super) fn leave_namespaces(layers: &mut Layers) {
    let outcome = if rustix::process::getuid().is_root() {
        unshare(UnshareFlags::NEWNET | UnshareFlags::NEWIPC)
    } else if in_child(leave_as_user) {
        leave_as_user()
    } else {
        // Tried in a child first: a user namespace without a map of users would leave this process as nobody.
        Err("user namespaces are not allowed here".to_owned())
    };
    layers.record("network namespace", outcome);
}

/// The user and the group that a user namespace has to map to themselves.
pub(super) fn identity() -> (u32, u32) {
    (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw())
}

fn leave_as_user() -> Result<(), String> {
    let (user, group) = identity();
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWIPC)?;
    let map = |file: &str, text: String| fs::write(file, text).map_err(|error| format!("{file}: {error}"));
    map("/proc/self/setgroups", "deny".to_owned())?;
    map("/proc/self/uid_map", format!("{user} {user} 1"))?;
    map("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn unshare(flags: UnshareFlags) -> Result<(), String> {
    // SAFETY: the flags do not touch the table of descriptors, and this process has one thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|error| error.to_string())
}

/// Whether `action` succeeds in a child process.
fn in_child(action: fn() -> Result<(), String>) -> bool {
    // SAFETY: this process has one thread, so the child may do anything the parent may.
    match unsafe { libc::fork() } {
        0 => {
            let code = i32::from(action().is_err());
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(code) }
        }
        child if child > 0 => {
            let mut status = 0;
            // SAFETY: waits for the child just made; `status` outlives the call.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            waited == child && status == 0
        }
        _ => false,
    }
}

/// Gives up every capability for good: a superuser becomes a user who happens to own root's files.
pub(super) fn drop_capabilities(layers: &mut Layers) {
    layers.record("no capabilities", give_up_capabilities().map_err(|error| error.to_string()));
}

fn give_up_capabilities() -> rustix::io::Result<()> {
    let held = rustix::thread::capabilities(None)?;
    if held.permitted.is_empty() && !rustix::process::getuid().is_root() {
        return Ok(());
    }
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter() {
            // Capabilities this kernel does not know are refused, and not held either.
            let _ = rustix::thread::remove_capability_from_bounding_set(capability);
        }
        rustix::thread::set_capabilities_secure_bits(
            CapabilitiesSecureBits::NO_ROOT
                | CapabilitiesSecureBits::NO_ROOT_LOCKED
                | CapabilitiesSecureBits::NO_SETUID_FIXUP
                | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED,
        )?;
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
