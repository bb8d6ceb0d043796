//! The kernel's own account of a process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use kernelwright_harness::ProcessorTime;
use kernelwright_protocol::{Figures, Metric};

/// What a process has used so far; a figure that the kernel does not tell is absent.
#[derive(Debug, Default)]
pub(super) struct Account {
    processor: Option<Duration>,
    page_faults: Option<u64>,
    /// By thread.
    threads: BTreeMap<i32, Thread>,
}

/// What became of a thread on its way to a processor.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// Times it lost its processor.
    lost: u64,
    /// What it waited for one that others had; a system may not tell.
    waited: Option<Duration>,
}

/// The threads of a process.
pub(super) fn threads(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

impl Account {
    pub(super) fn of(pid: i32) -> Self {
        let known = |thread| Some((thread, Thread { lost: lost(pid, thread)?, waited: waited(pid, thread) }));
        Self {
            processor: processor_time(pid),
            page_faults: page_faults(pid),
            threads: threads(pid).into_iter().filter_map(known).collect(),
        }
    }

    /// What was used since an earlier account.
    pub(super) fn since(&self, before: &Self) -> Self {
        let beyond = |(id, now): (&i32, &Thread)| {
            // A thread that has begun since had waited for nothing then.
            let then = before.threads.get(id).copied().unwrap_or(Thread { lost: 0, waited: Some(Duration::ZERO) });
            let waited = now.waited.zip(then.waited).map(|(now, then)| now.saturating_sub(then));
            (*id, Thread { lost: now.lost.saturating_sub(then.lost), waited })
        };
        Self {
            processor: self.processor.zip(before.processor).map(|(now, then)| now.saturating_sub(then)),
            page_faults: self.page_faults.zip(before.page_faults).map(|(now, then)| now.saturating_sub(then)),
            threads: self.threads.iter().map(beyond).collect(),
        }
    }

    /// Figures of one of so many calls, which took `wall` together.
    pub(super) fn figures(&self, calls: f64, wall: Duration) -> Figures {
        let mut figures = Figures::default();
        figures.set_known(Metric::ProcessorsBusy, self.processor.map(|used| used.as_secs_f64() / wall.as_secs_f64()));
        figures.set_known(Metric::PageFaults, self.page_faults.map(|faults| faults as f64 / calls));
        if !self.threads.is_empty() {
            let waited: Option<Duration> = self.threads.values().map(|thread| thread.waited).sum();
            figures.set_known(Metric::ProcessorsAwaited, waited.map(|waited| waited.as_secs_f64() / wall.as_secs_f64()));
            figures.set(Metric::ContextSwitches, self.threads.values().map(|thread| thread.lost).sum::<u64>() as f64 / calls);
        }
        figures
    }
}

/// Processor time of all threads, also of those that have ended.
fn processor_time(pid: i32) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to one of these two variables and keep no pointer.
    let done = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0 };
    done.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Pages that were mapped on a touch, from memory or from a disk.
fn page_faults(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name may hold spaces and brackets; the fields behind its last bracket do not: the 8th is `minflt`, the 10th `majflt`.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(7)?.parse::<u64>().ok()? + fields.get(9)?.parse::<u64>().ok()?)
}

fn waited(pid: i32, thread: i32) -> Option<Duration> {
    ProcessorTime::of(&Path::new("/proc").join(format!("{pid}/task/{thread}"))).map(|time| time.waited)
}

fn lost(pid: i32, thread: i32) -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc").join(format!("{pid}/task/{thread}/status"))).ok()?;
    status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?.trim().parse().ok()
}
