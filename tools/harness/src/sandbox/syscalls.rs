//! seccomp: system calls that confined code does without.
//!
//! A deny list, because drivers and compilers use calls nobody has counted. It closes what the other layers leave open: sockets of
//! any family (Landlock does not cover UNIX sockets, over which a container daemon or an agent of keys listens), looking into other
//! processes, namespaces of its own, and leaving the process group by which it is stopped and killed.

use std::collections::BTreeMap;
use std::io;

use kernelwright_protocol::Backend;
use seccompiler::{BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch};

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
    // Landlock does not cover the owners of files.
    libc::SYS_fchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls that fail as on a file system without such a thing: attributes of files, which Landlock does not cover. The user's files are the worker's
/// too, and what is left there outlives the worker. `cp -p` and `install` write access lists, and do without where there are none.
const UNSUPPORTED: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

/// Calls of newer kernels, which have the same numbers on every architecture and no name in this version of libc.
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

/// Calls that succeed without effect, because programs take a failure of these badly.
const PRETENDED: &[i64] = &[
    // A process that could leave its group would no longer be stopped and killed with it.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // A thread of a lower priority waits for a processor without slowing the others, and what threads wait is excused; those of others slow the baseline.
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_setpriority,
    // Both sides of a comparison have the same processors, as many as threads were allowed.
    libc::SYS_sched_setaffinity,
    // Modes and times of files, which Landlock does not cover either. A filter sees no paths, and a descriptor opened for reading is enough to
    // change what belongs to the same user, so none of these can be allowed for the worker's own files only. Linkers and archivers, `cp` and
    // Python's `shutil` fail or complain where they are refused; where they do nothing, what a worker builds is no executable program but a
    // library all the same, and shared libraries are what torch's extensions, Triton's launchers and compiled kernels are. The mode that a file is
    // made with is not affected, nor are times that come from writing.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Requests of `ioctl` that change a file's attributes through a descriptor opened for reading: flags, their extended form, its encryption, and
/// the seal by which it can never be written again.
const ATTRIBUTES: [u32; 4] = [0x4008_6602, 0x401c_5820, 0x800c_6613, 0x4080_6685];

/// What the arguments of `ioprio_set` must be: without effect but on the caller itself, or a candidate could slow the baseline. A priority for files may
/// also be that of a whole group or a whole user, where 0 names the caller's: what says that it is one process comes first.
const OWN_FILES: [(u8, u64); 2] = [(0, 1), (1, 0)];

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

/// Installs the filters on this process and all it starts, which can have no new privileges.
pub(super) fn filter(backend: Backend) -> Result<(), String> {
    for program in programs(backend).map_err(|error| error.to_string())? {
        install(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Installs one filter. A kernel older than 5.16 takes it for a wish that processors guess less ahead for the process, which slows it, unless it is told not to:
/// a candidate would be slower than the same code in the problem's process, which has no filter.
fn install(program: &BpfProgram) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let described = libc::sock_fprog { len: length, filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut() };
    let with = |flags: libc::c_ulong| {
        // SAFETY: the kernel copies the program, whose instructions have the layout of its own, and which outlives the call.
        match unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const described) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    with(libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW).or_else(|error| match error.raw_os_error() {
        // gVisor does not know the flag, and slows nobody.
        Some(libc::EINVAL) => with(0),
        _ => Err(error),
    })
}

/// The filters, in the order in which they are installed.
pub(super) fn programs(backend: Backend) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|&call| (call, vec![])).collect();
    let namespaces = NAMESPACES.iter().map(|&flag| when(0, SeccompCmpOp::MaskedEq(flag as u64), flag as u64));
    refused.insert(libc::SYS_clone, namespaces.chain(exit_signals()).collect::<Result<_, _>>()?);
    match backend {
        Backend::Cpu => drop(refused.insert(libc::SYS_socket, vec![])),
        // The driver listens on a UNIX socket of its own and does not start without; reaching anybody else's is refused.
        Backend::Cuda => {
            refused.insert(libc::SYS_socket, vec![when(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?]);
            refused.insert(libc::SYS_connect, vec![]);
        }
    }
    // Limits of other processes.
    refused.insert(libc::SYS_prlimit64, vec![when(0, SeccompCmpOp::Ne, 0)?]);
    // Memory that the supervisor could not read.
    refused.insert(libc::SYS_prctl, vec![when(0, SeccompCmpOp::Eq, libc::PR_SET_DUMPABLE as u64)?]);
    refused.insert(libc::SYS_ioctl, ATTRIBUTES.iter().map(|&request| when(1, SeccompCmpOp::Eq, request.into())).collect::<Result<_, _>>()?);
    // A descriptor that becomes ready could send SIGCONT as well.
    let signals = [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX].map(|command| when(1, SeccompCmpOp::Eq, command as u64));
    refused.insert(libc::SYS_fcntl, signals.into_iter().collect::<Result<_, _>>()?);
    let mut pretended: BTreeMap<i64, Vec<SeccompRule>> = PRETENDED.iter().map(|&call| (call, vec![])).collect();
    let of_others = OWN_FILES.iter().map(|&(argument, value)| when(argument, SeccompCmpOp::Ne, value));
    pretended.insert(libc::SYS_ioprio_set, of_others.collect::<Result<_, _>>()?);
    // A process that gave up its death signal would stay when the supervisor is killed, and one with another signal could wake up by it. torch sets
    // its own in processes that it starts.
    pretended.insert(libc::SYS_prctl, vec![when(0, SeccompCmpOp::Eq, libc::PR_SET_PDEATHSIG as u64)?]);
    let unsupported = UNSUPPORTED.iter().map(|&call| (call, vec![])).collect();
    // The arguments of `clone3` lie in memory, out of a filter's sight; without it, libraries fall back to `clone`.
    let absent = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    let mut programs = Vec::new();
    for (calls, errno) in [(refused, libc::EPERM), (pretended, 0), (unsupported, libc::EOPNOTSUPP), (absent, libc::ENOSYS)] {
        let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch)?;
        programs.push(filter.try_into()?);
    }
    #[cfg(target_arch = "x86_64")]
    programs.push(no_x32());
    Ok(programs)
}

/// The rules for a new process whose end would tell its parent by another signal than SIGCHLD: SIGCONT would wake a parent that is stopped.
/// No signal at all is what threads have.
fn exit_signals() -> impl Iterator<Item = Result<SeccompRule, seccompiler::BackendError>> {
    const EXIT_SIGNAL: u64 = 0xff;
    const USUAL: u64 = libc::SIGCHLD as u64;
    // A comparison under a mask knows only equality: the bits that SIGCHLD has not, then the numbers that are part of it.
    let bits = (0..8).map(|bit| 1 << bit).filter(|bit| bit & USUAL == 0).map(|bit| when(0, SeccompCmpOp::MaskedEq(bit), bit));
    let parts = (1..USUAL).filter(|part| part & !USUAL == 0).map(|part| when(0, SeccompCmpOp::MaskedEq(EXIT_SIGNAL), part));
    bits.chain(parts)
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

    /// What `act` gives in a child under the filters of `backend`: a number that fits into an exit code.
    fn in_child(backend: Backend, act: impl FnOnce() -> i32) -> i32 {
        let programs = programs(backend).unwrap();
        // SAFETY: the child makes system calls only, and takes no lock that another thread may have held.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let filtered = rustix::thread::set_no_new_privs(true).is_ok() && programs.iter().all(|program| install(program).is_ok());
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(if filtered { act() } else { 200 }) }
        }
        let mut status = 0;
        // SAFETY: waits for the child just made; `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status));
        libc::WEXITSTATUS(status)
    }

    /// The error that a call ends in under the filters; 0 where it succeeds, or is said to.
    fn errno_of(call: i64, words: [i64; 5]) -> i32 {
        let [first, second, third, fourth, fifth] = words;
        // SAFETY: plain numbers; a second process of `clone` has a copy of the stack and ends as the first one does.
        in_child(Backend::Cpu, || unsafe {
            if libc::syscall(call, first, second, third, fourth, fifth) < 0 { *libc::__errno_location() } else { 0 }
        })
    }

    #[test]
    fn filters_are_not_to_slow_what_they_confine() {
        let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let [refused, another]: [BpfProgram; 2] = [libc::ENOTUNIQ, libc::EINVAL].map(|errno| {
            let flag = when(1, SeccompCmpOp::Eq, libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW).unwrap();
            let calls = BTreeMap::from([(libc::SYS_seccomp, vec![flag])]);
            let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch).unwrap();
            filter.try_into().unwrap()
        });
        let second = |first: &BpfProgram| {
            in_child(Backend::Cpu, || match install(first).and_then(|()| install(&another)) {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().unwrap_or(-1),
            })
        };
        assert_eq!(second(&refused), libc::ENOTUNIQ, "it is asked for");
        assert_eq!(second(&another), 0, "where nobody knows it, a filter is installed without");
    }

    #[test]
    fn a_process_ends_with_the_usual_signal_only() {
        for signal in 1..=255 {
            let started = errno_of(libc::SYS_clone, [signal, 0, 0, 0, 0]);
            assert_eq!(started == 0, signal == i64::from(libc::SIGCHLD), "{signal}");
            assert!([0, libc::EPERM].contains(&started), "{signal}");
        }
        let vfork = i64::from(libc::CLONE_VFORK | libc::SIGCHLD);
        assert_eq!(errno_of(libc::SYS_clone, [vfork, 0, 0, 0, 0]), 0);
        assert_eq!(errno_of(libc::SYS_clone3, [0; 5]), libc::ENOSYS);
    }

    #[test]
    fn what_belongs_to_others_is_out_of_reach() {
        // A descriptor that is none: what is refused or pretended never comes to it.
        for (call, expected) in [
            (libc::SYS_fsetxattr, libc::EOPNOTSUPP),
            (libc::SYS_fremovexattr, libc::EOPNOTSUPP),
            (libc::SYS_fchown, libc::EPERM),
            (SYS_FILE_SETATTR, libc::EOPNOTSUPP),
            (libc::SYS_fchmod, 0),
            (libc::SYS_fchmodat2, 0),
            (libc::SYS_utimensat, 0),
            (libc::SYS_fsync, libc::EBADF),
        ] {
            assert_eq!(errno_of(call, [-1, 0, 0, 0, 0]), expected, "{call}");
        }
        assert_eq!(errno_of(libc::SYS_ioctl, [-1, ATTRIBUTES[0].into(), 0, 0, 0]), libc::EPERM);
        assert_eq!(errno_of(libc::SYS_ioctl, [-1, 0x8008_6601, 0, 0, 0]), libc::EBADF);
    }

    #[test]
    fn the_death_signal_stays() {
        let held = in_child(Backend::Cpu, || {
            let mut signal = -1;
            // SAFETY: plain numbers, and one that outlives the call that writes it.
            unsafe {
                let set = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT, 0, 0, 0);
                libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal, 0, 0, 0);
                set + signal
            }
        });
        assert_eq!(held, 0);
    }

    #[test]
    fn priorities_stay_and_those_for_files_are_the_caller_s_only() {
        // What the kernel sees ends as invalid; what is pretended does not.
        let nice = |which: i64| errno_of(libc::SYS_setpriority, [which, 0, 0, 0, 0]);
        assert_eq!([nice(0), nice(1), nice(2), nice(9)], [0; 4]);
        let policy = |given: i32| {
            // SAFETY: plain numbers, and a zeroed `sched_param` that is only read.
            in_child(Backend::Cpu, || unsafe {
                let parameters: libc::sched_param = std::mem::zeroed();
                libc::sched_setscheduler(0, given, &raw const parameters) * 100 + libc::sched_getscheduler(0)
            })
        };
        assert_eq!([policy(libc::SCHED_IDLE), policy(libc::SCHED_BATCH), policy(99)], [libc::SCHED_OTHER; 3]);
        let invalid = 7 << 13;
        let io = |which: i64| errno_of(libc::SYS_ioprio_set, [which, 0, invalid, 0, 0]);
        assert_eq!([io(1), io(2), io(3)], [libc::EINVAL, 0, 0]);
    }

    #[test]
    fn processors_stay_what_they_are() {
        let kept = in_child(Backend::Cpu, || {
            // SAFETY: plain numbers, and zeroed sets that outlive the calls that read and write them.
            unsafe {
                let [none, mut before, mut after]: [libc::cpu_set_t; 3] = std::mem::zeroed();
                let size = size_of_val(&none);
                libc::sched_getaffinity(0, size, &raw mut before);
                // The kernel refuses a set without any.
                let set = libc::sched_setaffinity(0, size, &raw const none);
                libc::sched_getaffinity(0, size, &raw mut after);
                i32::from(set == 0 && libc::CPU_EQUAL(&before, &after) && libc::CPU_COUNT(&after) > 0)
            }
        });
        assert_eq!(kept, 1);
    }

    #[test]
    fn the_filters_compile_for_this_machine() {
        for backend in [Backend::Cpu, Backend::Cuda] {
            assert!(programs(backend).unwrap().iter().all(|program| !program.is_empty()));
        }
    }
}
