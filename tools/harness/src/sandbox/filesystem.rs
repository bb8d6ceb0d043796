//! Landlock: which files confined code can open, and whom it can signal.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use kernelwright_protocol::Backend;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    Scope, path_beneath_rules,
};

use super::{Confinement, Layers};

/// The newest rights we know the meaning of; older kernels enforce what they have.
const KNOWN: ABI = ABI::V7;

/// The layer beside the one for files.
pub(super) const SIGNALS: &str = "signal scope";

/// Programs, libraries and the little configuration they need. `/etc` as a whole holds secrets; `/proc` holds other processes'
/// environments, so only a process's own entry and harmless figures are readable.
const SYSTEM: [&str; 32] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/OpenCL",
    "/sys/devices",
    "/sys/bus",
    "/sys/class",
    "/sys/module",
    "/sys/fs/cgroup",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys",
    "/proc/filesystems",
    "/proc/version",
    "/proc/devices",
    "/proc/modules",
    "/proc/driver",
];

const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// What confined code can reach, ready to be enforced by the process it was made for.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) ruleset: OwnedFd,
    /// Whether they cover signals, or why not.
    pub(super) signals: Result<(), String>,
}

/// The rules for the process whose entry is `process`: `/proc/self`, or that of a process which has still to confine itself. An error
/// where this kernel has no such layer.
pub(super) fn rules(confinement: &Confinement, process: &Path) -> Result<Rules, String> {
    let version = version()?;
    let ruleset = build(confinement, process).map_err(|error| error.to_string())?;
    let ruleset = ruleset.ok_or("this kernel does not have it")?;
    let signals = (ABI::from(version) >= ABI::V6).then_some(()).ok_or_else(|| "needs Linux 6.12".to_owned());
    Ok(Rules { ruleset, signals })
}

/// Restricts this process and its children; reports two layers, files and signals.
pub(super) fn restrict(confinement: &Confinement, layers: &mut Layers) {
    let restricted = rules(confinement, Path::new("/proc/self")).and_then(|rules| {
        // SAFETY: plain numbers; the descriptor stays open over the call.
        let outcome = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.ruleset.as_raw_fd(), 0) };
        if outcome == 0 { Ok(rules.signals) } else { Err(io::Error::last_os_error().to_string()) }
    });
    match restricted {
        Ok(signals) => {
            layers.record("landlock", Ok(()));
            layers.record(SIGNALS, signals);
        }
        Err(reason) => layers.record("landlock", Err(reason)),
    }
}

/// The version of Landlock that this kernel has.
pub(super) fn version() -> Result<i32, String> {
    const ASK_VERSION: u32 = 1;
    // SAFETY: asked for its version, the call looks at no memory.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, ASK_VERSION) };
    if version >= 0 {
        return Ok(version as i32);
    }
    Err(match io::Error::last_os_error().raw_os_error() {
        Some(libc::EOPNOTSUPP) => "compiled into this kernel but not enabled",
        _ => "this kernel does not have it",
    }
    .to_owned())
}

fn build(confinement: &Confinement, process: &Path) -> Result<Option<OwnedFd>, RulesetError> {
    let read = AccessFs::from_read(KNOWN);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules([process], read))?
        .add_rules(path_beneath_rules(&confinement.read, read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(accelerator_devices(confinement.backend), device | AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(own_process(confinement.backend, process), AccessFs::from_file(KNOWN)))?
        .add_rules(path_beneath_rules([&confinement.write], AccessFs::from_all(KNOWN)))?;
    Ok(ruleset.into())
}

/// The device nodes that a backend's driver opens.
fn accelerator_devices(backend: Backend) -> Vec<PathBuf> {
    match backend {
        Backend::Cpu => vec![],
        Backend::Cuda => {
            let nodes = std::fs::read_dir("/dev").into_iter().flatten().flatten();
            nodes.filter(|node| node.file_name().to_string_lossy().starts_with("nvidia")).map(|node| node.path()).collect()
        }
    }
}

/// NVIDIA's driver does not start where it cannot write to files of its own process (seen with 580.159 on an H200; which file it needs
/// was not isolated).
fn own_process(backend: Backend, process: &Path) -> Option<&Path> {
    match backend {
        Backend::Cpu => None,
        Backend::Cuda => Some(process),
    }
}
