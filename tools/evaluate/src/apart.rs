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
    process: Pid,
    /// Where the process could run before, with all of its threads.
    before: CpuSet,
}

impl Apart {
    /// None where there is no such process. A thread that the system does not let be moved stays as it is.
    pub(crate) fn of(process: i32) -> Option<Self> {
        let process = Pid::from_raw(process)?;
        let before = sched_getaffinity(Some(process)).ok()?;
        let processors = (0..CpuSet::MAX_CPU).filter(|&processor| before.is_set(processor)).collect::<Vec<_>>().into_iter().cycle();
        let mut threads = threads(process);
        threads.sort_by_key(|thread| thread.as_raw_nonzero());
        for (thread, processor) in threads.into_iter().zip(processors) {
            let mut only = CpuSet::new();
            only.set(processor);
            let _ = sched_setaffinity(Some(thread), &only);
        }
        Some(Self { process, before })
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // Those that were started meanwhile have been kept where the one was that started them.
        for thread in threads(self.process) {
            let _ = sched_setaffinity(Some(thread), &self.before);
        }
    }
}

/// Whether operators share threads under these settings: on a GPU they do nothing that counts.
pub(crate) fn has_team(setting: &Setting) -> bool {
    setting.target.backend == Backend::Cpu && setting.threads > 1
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    use super::*;

    fn allowed(thread: Pid) -> CpuSet {
        sched_getaffinity(Some(thread)).unwrap()
    }

    #[test]
    fn threads_are_kept_apart_for_a_moment() {
        // Starts a thread when it is told to.
        let program = "import sys, threading, time\nprint(flush=True)\nsys.stdin.readline()\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()\nprint(flush=True)\ntime.sleep(30)";
        let mut child = Command::new("python3").args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        from.next().unwrap().unwrap();
        let pid = Pid::from_child(&child);
        let before = allowed(pid);
        let apart = Apart::of(pid.as_raw_nonzero().get());
        let kept = allowed(pid).count();
        writeln!(to).unwrap();
        from.next().unwrap().unwrap();
        drop(apart);
        let after: Vec<CpuSet> = threads(pid).into_iter().map(allowed).collect();
        child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        assert_eq!((kept, after), (1, vec![before, before]), "a thread that was started meanwhile is let go as well");
        assert!(Apart::of(0).is_none(), "there is no such process");
    }
}
