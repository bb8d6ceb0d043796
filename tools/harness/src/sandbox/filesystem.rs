//! Landlock: which files confined code can open, and whom it can signal.

use std::path::PathBuf;

use kernelwright_protocol::Backend;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::{Confinement, Layers};

/// The newest rights we know the meaning of; older kernels enforce what they have.
const KNOWN: ABI = ABI::V7;

/// Programs, libraries and the little configuration they need. `/etc` as a whole holds secrets; `/proc` holds other processes'
/// environments, so only a process's own entry and harmless figures are readable.
const SYSTEM: [&str; 33] = [
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
    "/proc/self",
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

/// Restricts this process and its children; reports two layers, files and signals.
pub(super) fn restrict(confinement: &Confinement, layers: &mut Layers) {
    match build(confinement) {
        Ok((RulesetStatus::NotEnforced, LandlockStatus::NotEnabled)) => {
            layers.record("landlock", Err("compiled into this kernel but not enabled".to_owned()));
        }
        Ok((RulesetStatus::NotEnforced, _)) => layers.record("landlock", Err("this kernel does not have it".to_owned())),
        Ok((_, status)) => {
            layers.record("landlock", Ok(()));
            let scoped = matches!(status, LandlockStatus::Available { effective_abi, .. } if effective_abi >= ABI::V6);
            layers.record("signal scope", scoped.then_some(()).ok_or_else(|| "needs Linux 6.12".to_owned()));
        }
        Err(error) => layers.record("landlock", Err(error.to_string())),
    }
}

fn build(confinement: &Confinement) -> Result<(RulesetStatus, LandlockStatus), RulesetError> {
    let read = AccessFs::from_read(KNOWN);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(&confinement.read, read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(accelerator_devices(confinement.backend), device | AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(shared_memory(confinement.backend), shared_memory_rights()))?
        .add_rules(path_beneath_rules(own_process(confinement.backend), AccessFs::from_file(KNOWN)))?
        .add_rules(path_beneath_rules([&confinement.scratch], AccessFs::from_all(KNOWN)))?
        .restrict_self()?;
    Ok((status.ruleset, status.landlock))
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

/// torch keeps a reference count in shared memory for each block of device memory that it shares with another process.
fn shared_memory(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Cpu => None,
        Backend::Cuda => Some("/dev/shm"),
    }
}

/// NVIDIA's driver does not start where it cannot write to files of its own process (seen with 580.159 on an H200; which file it needs
/// was not isolated).
fn own_process(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Cpu => None,
        Backend::Cuda => Some("/proc/self"),
    }
}

fn shared_memory_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Truncate
}
