//! The processor's counters, by `perf_event_open(2)`: user space only, which needs no privilege where `perf_event_paranoid` is at most 2.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};

/// What is counted; the numbers are those of `perf_hw_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Cycles = 0,
    Instructions = 1,
    CacheReferences = 2,
    CacheMisses = 3,
    Branches = 4,
    BranchMisses = 5,
}

impl Event {
    pub(super) const ALL: [Self; 6] =
        [Self::Cycles, Self::Instructions, Self::CacheReferences, Self::CacheMisses, Self::Branches, Self::BranchMisses];
}

/// Why the processor's counters cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The processor, or the virtual machine's picture of it, has none.
    NotOffered,
    /// The system does not let this process count.
    Forbidden,
    /// The kernel refuses for another reason.
    Refused,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOffered => "the processor's counters are not offered here, as in most virtual machines",
            Self::Forbidden => "the system forbids this process the processor's counters",
            Self::Refused => "the kernel refuses the processor's counters",
        })
    }
}

impl Missing {
    /// The exact step that makes them work.
    pub(crate) fn fix(self) -> &'static str {
        match self {
            Self::NotOffered => "run on the machine itself, or have the virtual machine given a virtual PMU (libvirt: <pmu state='on'/>)",
            Self::Forbidden => {
                "as root: `sysctl kernel.perf_event_paranoid=2`; in a container, also give it CAP_PERFMON and allow perf_event_open"
            }
            Self::Refused => "use a kernel that was built with CONFIG_PERF_EVENTS",
        }
    }
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Self::NotOffered,
            Some(libc::EACCES | libc::EPERM) => Self::Forbidden,
            _ => Self::Refused,
        }
    }
}

/// `perf_event_attr`, of the first published size.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

const HARDWARE: u32 = 0;
/// `disabled`, `inherit` (threads and processes that are started later), `exclude_kernel` and `exclude_hv`.
const FLAGS: u64 = 1 | 1 << 1 | 1 << 5 | 1 << 6;
/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `_RUNNING`.
const READ_FORMAT: u64 = 1 | 1 << 1;
const CLOSE_ON_EXEC: u64 = 1 << 3;
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;

/// One event of one thread and of all that it starts.
#[derive(Debug)]
pub(super) struct Counter(File);

impl Counter {
    /// Not counting yet. Thread 0 is the calling one.
    pub(super) fn open(event: Event, thread: i32) -> Result<Self, Missing> {
        let attributes = Attributes {
            kind: HARDWARE,
            size: size_of::<Attributes>() as u32,
            config: event as u64,
            sample_period: 0,
            sample_type: 0,
            read_format: READ_FORMAT,
            flags: FLAGS,
            wakeup_events: 0,
            breakpoint_type: 0,
            breakpoint_address: 0,
        };
        // SAFETY: the attributes are as large as they say, and outlive the call; the other arguments are numbers: any processor, no group.
        let descriptor = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, -1, -1, CLOSE_ON_EXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: a descriptor that was just opened, and that nobody else knows.
        Ok(Self(unsafe { File::from_raw_fd(descriptor as i32) }))
    }

    pub(super) fn enable(&self) {
        self.order(ENABLE);
    }

    pub(super) fn disable(&self) {
        self.order(DISABLE);
    }

    fn order(&self, order: libc::c_ulong) {
        // SAFETY: these two orders take no argument. One that is not followed leaves a counter of no time, which is no figure.
        let _ = unsafe { libc::ioctl(self.0.as_raw_fd(), order, 0) };
    }

    /// The count; extrapolated where the processor had fewer counters than were asked for and took turns. None where it never had its turn.
    pub(super) fn total(&self) -> Option<f64> {
        let mut bytes = [0; 24];
        (&self.0).read_exact(&mut bytes).ok()?;
        let [value, enabled, running] = [0, 8, 16].map(|at| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(number) as f64
        });
        // A thread that slept all the time used nothing.
        if enabled == 0.0 { Some(0.0) } else { (running > 0.0).then(|| value * enabled / running) }
    }
}
