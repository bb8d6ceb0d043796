//! seccomp: system calls that confined code does without.
//!
//! A deny list, because drivers and compilers use calls nobody has counted. It closes what the other layers leave open: sockets of
//! any family (Landlock does not cover UNIX sockets, over which a container daemon or an agent of keys listens), looking into other
//! processes, namespaces of its own, and leaving the process group by which it is stopped and killed.

use std::collections::BTreeMap;

use kernelwright_protocol::Backend;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// Calls that fail with `EPERM`.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_secret,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    // A timer or a message queue could send SIGCONT, and wake what was stopped.
    libc::SYS_timer_create,
    libc::SYS_mq_notify,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls that succeed without effect: a process that could leave its group would no longer be stopped and killed with it, and
/// programs take a failure of these badly.
const PRETENDED: &[i64] = &[libc::SYS_setsid, libc::SYS_setpgid];

/// Calls that choose processors and priorities, and the argument that names whose: without effect but on the caller itself, or a candidate
/// could slow the baseline. Threads that are pinned by their number stay where they are.
const OF_OTHERS: &[(i64, u8)] = &[
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Commands of `fcntl` that this version of libc does not name.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// The namespace flags of `clone`.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Installs the filters on this process and all it starts.
pub(super) fn filter(backend: Backend) -> Result<(), String> {
    for program in programs(backend).map_err(|error| error.to_string())? {
        apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The filters, in the order in which they are installed.
pub(super) fn programs(backend: Backend) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|&call| (call, vec![])).collect();
    let namespaces = NAMESPACES.iter().map(|&flag| when(0, SeccompCmpOp::MaskedEq(flag as u64), flag as u64));
    refused.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    match backend {
        Backend::Cpu => drop(refused.insert(libc::SYS_socket, vec![])),
        // The driver listens on a UNIX socket of its own and does not start without; reaching anybody else's is refused.
        Backend::Cuda => {
            refused.insert(libc::SYS_socket, vec![when(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?]);
            refused.insert(libc::SYS_connect, vec![]);
        }
    }
    // Limits of other processes; and memory that the supervisor could not read.
    refused.insert(libc::SYS_prlimit64, vec![when(0, SeccompCmpOp::Ne, 0)?]);
    refused.insert(libc::SYS_prctl, vec![when(0, SeccompCmpOp::Eq, libc::PR_SET_DUMPABLE as u64)?]);
    // So could a descriptor that becomes ready.
    let signals = [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX].map(|command| when(1, SeccompCmpOp::Eq, command as u64));
    refused.insert(libc::SYS_fcntl, signals.into_iter().collect::<Result<_, _>>()?);
    let mut pretended: BTreeMap<i64, Vec<SeccompRule>> = PRETENDED.iter().map(|&call| (call, vec![])).collect();
    for (call, process) in OF_OTHERS {
        pretended.insert(*call, vec![when(*process, SeccompCmpOp::Ne, 0)?]);
    }
    // The arguments of `clone3` lie in memory, out of a filter's sight; without it, libraries fall back to `clone`.
    let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let mut programs = Vec::new();
    for (calls, errno) in [(refused, libc::EPERM), (pretended, 0), (absent, libc::ENOSYS)] {
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch)?;
        programs.push(filter.try_into()?);
    }
    #[cfg(target_arch = "x86_64")]
    programs.push(no_x32());
    Ok(programs)
}

fn when(argument: u8, operation: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)?])
}

/// Refuses the x32 numbers of the same calls (bit 30 set), which the other filters would not recognise.
#[cfg(target_arch = "x86_64")]
fn no_x32() -> BpfProgram {
    use seccompiler::sock_filter;
    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::EPERM as u32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_for_this_machine() {
        for backend in [Backend::Cpu, Backend::Cuda] {
            assert!(programs(backend).unwrap().iter().all(|program| !program.is_empty()));
        }
    }
}
