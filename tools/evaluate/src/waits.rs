//! How long the threads of a process have waited for a processor that others had.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kernelwright_protocol::Backend;

/// What a process had waited before a batch.
#[derive(Debug)]
pub(crate) struct Waits {
    pid: i32,
    before: Option<Duration>,
}

impl Waits {
    /// Begins to count. On a GPU processors only submit work, and nothing is counted.
    pub(crate) fn of(pid: i32, backend: Backend) -> Self {
        Self { pid, before: (backend == Backend::Cpu).then(|| waited(pid)).flatten() }
    }

    /// What was waited since, by all threads together, as a share of the batch's time; 0 where the system does not say.
    pub(crate) fn share(&self, batch: Duration) -> f64 {
        let since = self.before.and_then(|before| Some(waited(self.pid)?.saturating_sub(before)));
        since.unwrap_or_default().as_secs_f64() / batch.as_secs_f64().max(1e-9)
    }
}

/// What all threads of a process have waited so far, added up: the second figure of their `schedstat`.
fn waited(pid: i32) -> Option<Duration> {
    let threads = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).ok()?;
    // A thread that ends meanwhile is left out.
    let texts = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    let mut sum = None;
    for text in texts {
        *sum.get_or_insert(0) += text.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    }
    sum.map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::Pid;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    #[test]
    fn who_shares_a_processor_waits_for_it() {
        let mut children: Vec<_> = (0..2).map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()).collect();
        let pids: Vec<_> = children.iter().map(|child| child.id().cast_signed()).collect();
        let allowed = sched_getaffinity(None).unwrap();
        let mut one = CpuSet::new();
        one.set((0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap());
        for &pid in &pids {
            sched_setaffinity(Pid::from_raw(pid), &one).unwrap();
        }
        let waits: Vec<_> = pids.iter().map(|&pid| Waits::of(pid, Backend::Cpu)).collect();
        let on_gpu = Waits::of(pids[0], Backend::Cuda);
        let time = Duration::from_millis(300);
        std::thread::sleep(time);
        let shares: f64 = waits.iter().map(|waits| waits.share(time)).sum();
        let counted_on_gpu = on_gpu.share(time);
        for child in &mut children {
            child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        }
        assert!(shares > 0.5, "two took turns, and waited {shares}");
        assert!(counted_on_gpu == 0.0);
        assert!(Waits::of(0, Backend::Cpu).share(time) == 0.0, "there is no such process");
    }
}
