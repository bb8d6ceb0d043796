//! How long the threads of a process have waited for a processor that others had.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_harness::ProcessorTime;
use kernelwright_protocol::Backend;

/// What a process had waited before a batch.
#[derive(Debug)]
pub(crate) struct Waits {
    pid: i32,
    backend: Backend,
    before: Turns,
}

impl Waits {
    /// Begins to count.
    pub(crate) fn of(pid: i32, backend: Backend) -> Self {
        Self { pid, backend, before: Turns::of(pid, backend) }
    }

    /// What the thread that waited longest has waited since, as a share of the batch's time, all of it at most: a batch of calls that take next to nothing is
    /// shorter than what is around it. 0 where the system does not say. Who shares work is as slow as the slowest: many that each wait a little, for the next
    /// piece of it, lose nothing.
    pub(crate) fn share(&self, batch: Duration) -> f64 {
        let waited = self.before.most_since(&Turns::of(self.pid, self.backend)).waited.as_secs_f64();
        (waited / batch.as_secs_f64().max(1e-9)).min(1.0)
    }
}

/// What each thread of a process has had so far.
#[derive(Debug)]
pub(crate) struct Turns(HashMap<PathBuf, ProcessorTime>);

impl Turns {
    /// Up to now; none where the system does not say.
    pub(crate) fn of(pid: i32, backend: Backend) -> Self {
        // A thread that ends meanwhile is left out.
        let of_thread = |thread: PathBuf| ProcessorTime::of(&thread).map(|time| (thread, time));
        Self(threads(pid, backend).unwrap_or_default().into_iter().filter_map(of_thread).collect())
    }

    /// The most that a thread ran since then, and the most that one waited.
    fn most_since(&self, now: &Self) -> ProcessorTime {
        let since = |(thread, now): (&PathBuf, &ProcessorTime)| now.since(self.0.get(thread).copied().unwrap_or_default());
        let larger =
            |one: ProcessorTime, other: ProcessorTime| ProcessorTime { ran: one.ran.max(other.ran), waited: one.waited.max(other.waited) };
        now.0.iter().map(since).fold(ProcessorTime::default(), larger)
    }
}

/// What a process and the one that asks it have had of processors since a moment.
#[derive(Debug)]
pub(crate) struct Denials {
    pid: i32,
    asked: Turns,
    asking: Turns,
}

impl Denials {
    /// Begins to count.
    pub(crate) fn of(pid: i32) -> Self {
        Self { pid, asked: Turns::of(pid, Backend::Cpu), asking: Turns::of(own_pid(), Backend::Cpu) }
    }

    /// Whether, in the `time` since then, no thread that was asked ran for longer than `most`, and either side waited for the rest: others had the
    /// processors, and nobody worked for so long.
    pub(crate) fn explain(&self, time: Duration, most: Duration) -> bool {
        let asked = self.asked.most_since(&Turns::of(self.pid, Backend::Cpu));
        let asking = self.asking.most_since(&Turns::of(own_pid(), Backend::Cpu));
        asked.ran <= most && asked.waited + asking.waited + most >= time
    }
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
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
        assert!(Waits::of(own_pid(), Backend::Cpu).share(Duration::ZERO) <= 1.0, "nobody waits for longer than it takes");
    }

    #[test]
    fn the_longest_turns_are_those_of_one_thread_each() {
        let ms = Duration::from_millis;
        let thread = |at: &str, ran, waited| (PathBuf::from(at), ProcessorTime { ran: ms(ran), waited: ms(waited) });
        let before = Turns(HashMap::from([thread("1", 100, 100), thread("2", 5, 0)]));
        let most = before.most_since(&Turns(HashMap::from([thread("1", 105, 133), thread("2", 5, 7), thread("3", 20, 1)])));
        assert_eq!((most.ran, most.waited), (ms(20), ms(33)));
    }

    #[test]
    fn who_works_or_sleeps_was_not_denied_a_processor() {
        let ms = Duration::from_millis;
        let explained = |command: &str, time: Duration| {
            let mut child = Command::new("sh").args(["-c", command]).spawn().unwrap();
            let denials = Denials::of(child.id().cast_signed());
            std::thread::sleep(ms(300));
            let explained = denials.explain(time, ms(50));
            child.kill().and_then(|()| child.wait().map(drop)).unwrap();
            explained
        };
        assert!(!explained("while :; do :; done", ms(50)), "it worked for longer than that");
        assert!(!explained("exec sleep 9", Duration::from_secs(1000)), "nobody waited for so long");
        assert!(explained("exec sleep 9", ms(50)), "so long may anything take");
    }
}
