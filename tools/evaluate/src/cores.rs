//! One processor for both sides while a GPU is timed, and for nobody else.
//!
//! A model of many small kernels is as fast as its process submits them, and that depends on the processor, and on how far it is from the
//! GPU: two processes that the system has put on different ones differ by a third from the first pair to the last. They never work at the same
//! time, so both can have the same one. Only the threads that make the calls are kept there. All other threads of both processes and of this program stay
//! off it, and off those that are the same core: a thread that cannot go elsewhere waits for whoever comes, and this program does not sleep while it waits
//! for an answer.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::{Pid, getpid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::processors::is_listed;

/// Where the system tells which processors are one core.
const SYSTEM: &str = "/sys/devices/system/cpu";

/// Keeps the main threads of two processes on one processor, that of the first at the time unless another evaluation has it. Dropping it frees the first process
/// and this program: they are used by other evaluations, the second process is not.
#[derive(Debug)]
pub(crate) struct SameCore {
    /// Where threads of the first process could run before.
    before: Vec<(Pid, CpuSet)>,
    core: Vec<usize>,
}

/// The processors that this program's threads stay off, for each evaluation that goes on.
static OFF: Mutex<Vec<Vec<usize>>> = Mutex::new(vec![]);

impl SameCore {
    /// None where the system does not say where the first process runs, or keeps it from being moved: both then run anywhere.
    pub(crate) fn of(trusted: i32, candidate: i32) -> Option<Self> {
        let (kept, other) = (Pid::from_raw(trusted)?, Pid::from_raw(candidate)?);
        let last = processor(&std::fs::read_to_string(format!("/proc/{trusted}/stat")).ok()?)?;
        let before = sched_getaffinity(Some(kept)).ok()?;
        let (own, core) = claim(last, &before);
        let mut same = Self { before: vec![(kept, before)], core };
        let mut only = CpuSet::new();
        only.set(own);
        sched_setaffinity(Some(kept), &only).ok()?;
        sched_setaffinity(Some(other), &only).ok()?;
        for process in [kept, other] {
            let moved = threads(process).into_iter().filter(|&thread| thread != process).filter_map(|thread| leave(thread, &same.core));
            same.before.extend(moved);
        }
        keep_off(&OFF.lock().unwrap_or_else(PoisonError::into_inner));
        Some(same)
    }
}

impl Drop for SameCore {
    fn drop(&mut self) {
        for (thread, before) in &self.before {
            // One that is gone needs no processors.
            let _ = sched_setaffinity(Some(*thread), before);
        }
        let mut off = OFF.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) = off.iter().position(|core| *core == self.core) {
            off.swap_remove(position);
        }
        keep_off(&off);
    }
}

/// Keeps every thread of this program off these processors, and lets it run on all others that it has.
fn keep_off(cores: &[Vec<usize>]) {
    static ALL: OnceLock<Option<CpuSet>> = OnceLock::new();
    let Some(all) = ALL.get_or_init(|| sched_getaffinity(None).ok()) else { return };
    let others = without(all, &cores.concat());
    if others.count() > 0 {
        for thread in threads(getpid()) {
            let _ = sched_setaffinity(Some(thread), &others);
        }
    }
}

/// The threads of a process; none of one that is gone.
fn threads(process: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())) else { return vec![] };
    entries.flatten().filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Has a thread leave these processors, where others are left for it; where it could run before.
fn leave(thread: Pid, core: &[usize]) -> Option<(Pid, CpuSet)> {
    let before = sched_getaffinity(Some(thread)).ok()?;
    let others = without(&before, core);
    if others.count() == 0 {
        return None;
    }
    sched_setaffinity(Some(thread), &others).ok()?;
    Some((thread, before))
}

/// Claims a core for an evaluation whose process ran on `last`: which processor it is to have, and all that are the same core.
fn claim(last: usize, allowed: &CpuSet) -> (usize, Vec<usize>) {
    let mut off = OFF.lock().unwrap_or_else(PoisonError::into_inner);
    let own = unclaimed(last, allowed, &off.concat());
    let core = core(Path::new(SYSTEM), own);
    off.push(core.clone());
    (own, core)
}

/// The processor that a process ran on last, or the nearest one that is not claimed: a process of one GPU that sleeps may have been where another GPU is
/// timed now. That of the process where all are claimed.
fn unclaimed(last: usize, allowed: &CpuSet, claimed: &[usize]) -> usize {
    let free = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor) && !claimed.contains(&processor));
    free.min_by_key(|processor| processor.abs_diff(last)).unwrap_or(last)
}

fn without(set: &CpuSet, processors: &[usize]) -> CpuSet {
    let mut others = *set;
    for &processor in processors {
        others.unset(processor);
    }
    others
}

/// The processors that are one core with this one, which is one of them.
fn core(system: &Path, processor: usize) -> Vec<usize> {
    let listed = std::fs::read_to_string(system.join(format!("cpu{processor}/topology/thread_siblings_list"))).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&other| other == processor || is_listed(&listed, other)).collect()
}

/// The processor of a process, out of its `stat`: the 39th field, counted behind the name, which may hold anything.
fn processor(stat: &str) -> Option<usize> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn processors(child: &Child) -> u32 {
        sched_getaffinity(Pid::from_raw(child.id().cast_signed())).unwrap().count()
    }

    #[test]
    fn both_have_one_processor_and_this_program_none_of_their_core_until_they_are_let_go() {
        let own = || sched_getaffinity(None).unwrap();
        let children = [sleeper(), sleeper()];
        let before = (processors(&children[0]), own());
        let same = SameCore::of(children[0].id().cast_signed(), children[1].id().cast_signed()).unwrap();
        let of = |child: &Child| sched_getaffinity(Pid::from_raw(child.id().cast_signed())).unwrap();
        let (first, second, meanwhile, core) = (of(&children[0]), of(&children[1]), own(), same.core.clone());
        drop(same);
        let after = (processors(&children[0]), own());
        let [mut living, mut gone] = children;
        gone.kill().and_then(|()| gone.wait().map(drop)).unwrap();
        let with_gone = SameCore::of(living.id().cast_signed(), gone.id().cast_signed()).is_none();
        let after_that = (processors(&living), own());
        living.kill().and_then(|()| living.wait().map(drop)).unwrap();
        let others = without(&before.1, &core);
        assert!(first.count() == 1 && second == first && core.iter().any(|&processor| first.is_set(processor)));
        assert!(meanwhile == if others.count() > 0 { others } else { before.1 });
        assert!(after == before);
        assert!(with_gone && after_that == before, "nothing stays claimed where it cannot be had");
    }

    #[test]
    fn processors_of_one_core_are_told_by_the_system() {
        let system = tempfile::tempdir().unwrap();
        let topology = system.path().join("cpu3/topology");
        std::fs::create_dir_all(&topology).unwrap();
        std::fs::write(topology.join("thread_siblings_list"), "3,67\n").unwrap();
        assert_eq!((core(system.path(), 3), core(system.path(), 4)), (vec![3, 67], vec![4]));
    }

    #[test]
    fn two_evaluations_have_different_cores_while_there_are_some() {
        let mut allowed = CpuSet::new();
        for processor in 2..8 {
            allowed.set(processor);
        }
        assert_eq!(unclaimed(5, &allowed, &[]), 5);
        assert_eq!(unclaimed(5, &allowed, &[1, 2]), 5, "another one has another core");
        assert_eq!(unclaimed(5, &allowed, &[4, 5]), 6, "the nearest that is not of a claimed core");
        assert_eq!(unclaimed(3, &allowed, &[2, 3]), 4, "of those that it may have");
        assert_eq!(unclaimed(3, &allowed, &[2, 3, 4, 5, 6, 7]), 3, "shared where there is no other");
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_fields() {
        let fields = (4..=52).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(processor(&format!("17 (a) (b c) S {fields}")), Some(39));
        assert_eq!(processor("17 (a) S 4"), None);
    }
}
