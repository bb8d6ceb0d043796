//! A processor for each thread of a process, for a moment.
//!
//! Threads that torch's operators share sleep between batches. The system wakes them where they were, or where the one is that wakes them, and does not
//! always look for an idle processor: two of them then take turns on one for longer than a batch lasts, and calls of microseconds take several times as
//! long. So they are woken before a batch, each where no other one is; where the system has them from then on is its own affair.

use kernelwright_protocol::Backend;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::cores::threads;
use crate::problem::Setting;

/// Keeps each thread of a process to one processor, in turns, until it is dropped.
#[derive(Debug)]
pub(crate) struct Apart {
    /// Where each thread could run before.
    before: Vec<(Pid, CpuSet)>,
}

impl Apart {
    /// A thread that the system does not let be moved stays as it is.
    pub(crate) fn of(process: i32) -> Self {
        let mut threads = Pid::from_raw(process).map(threads).unwrap_or_default();
        threads.sort_by_key(|thread| thread.as_raw_nonzero());
        let keep = |(number, thread): (usize, Pid)| {
            let before = sched_getaffinity(Some(thread)).ok()?;
            let processors: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&processor| before.is_set(processor)).collect();
            let mut only = CpuSet::new();
            only.set(*processors.get(number % processors.len().max(1))?);
            sched_setaffinity(Some(thread), &only).ok()?;
            Some((thread, before))
        };
        Self { before: threads.into_iter().enumerate().filter_map(keep).collect() }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        for (thread, before) in &self.before {
            // One that is gone needs no processors.
            let _ = sched_setaffinity(Some(*thread), before);
        }
    }
}

/// Whether operators share threads under these settings: on a GPU they do nothing that counts.
pub(crate) fn has_team(setting: &Setting) -> bool {
    setting.target.backend == Backend::Cpu && setting.threads > 1
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn threads_are_kept_apart_for_a_moment() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let allowed = sched_getaffinity(Some(pid)).unwrap();
        let apart = Apart::of(pid.as_raw_nonzero().get());
        let kept = sched_getaffinity(Some(pid)).unwrap();
        drop(apart);
        let after = sched_getaffinity(Some(pid)).unwrap();
        child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        assert_eq!((kept.count(), after), (1, allowed));
        assert!(Apart::of(0).before.is_empty(), "there is no such process");
    }
}
