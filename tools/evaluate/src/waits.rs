//! How long the threads of a process have waited for a processor that others had.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_protocol::Backend;

/// What a process had waited before a batch.
#[derive(Debug)]
pub(crate) struct Waits {
    pid: i32,
    backend: Backend,
    before: Option<Duration>,
}

impl Waits {
    /// Begins to count.
    pub(crate) fn of(pid: i32, backend: Backend) -> Self {
        Self { pid, backend, before: waited(pid, backend) }
    }

    /// What was waited since, by all threads together, as a share of the batch's time; 0 where the system does not say.
    pub(crate) fn share(&self, batch: Duration) -> f64 {
        let since = self.before.and_then(|before| Some(waited(self.pid, self.backend)?.saturating_sub(before)));
        since.unwrap_or_default().as_secs_f64() / batch.as_secs_f64().max(1e-9)
    }
}

/// What the threads that calls depend on have waited so far, added up: the second figure of their `schedstat`.
fn waited(pid: i32, backend: Backend) -> Option<Duration> {
    // A thread that ends meanwhile is left out.
    let texts = threads(pid, backend)?.into_iter().filter_map(|thread| fs::read_to_string(thread.join("schedstat")).ok());
    let mut sum = None;
    for text in texts {
        *sum.get_or_insert(0) += text.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    }
    sum.map(Duration::from_nanos)
}

/// All of them, or for a GPU the one that submits its work.
fn threads(pid: i32, backend: Backend) -> Option<Vec<PathBuf>> {
    let all = Path::new("/proc").join(pid.to_string()).join("task");
    match backend {
        Backend::Cpu => Some(fs::read_dir(all).ok()?.flatten().map(|thread| thread.path()).collect()),
        Backend::Cuda => Some(vec![all.join(pid.to_string())]),
    }
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
        let on_gpu: Vec<_> = pids.iter().map(|&pid| Waits::of(pid, Backend::Cuda)).collect();
        let time = Duration::from_millis(300);
        std::thread::sleep(time);
        let [shares, on_gpu]: [f64; 2] = [waits, on_gpu].map(|waits| waits.iter().map(|waits| waits.share(time)).sum());
        for child in &mut children {
            child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        }
        assert!(shares > 0.5 && on_gpu > 0.5, "two took turns, and waited {shares}; their first threads {on_gpu}");
        assert!(Waits::of(0, Backend::Cpu).share(time) == 0.0, "there is no such process");
    }
}
