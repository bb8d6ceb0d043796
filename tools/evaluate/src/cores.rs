//! One processor for both sides while a GPU is timed.
//!
//! A model of many small kernels is as fast as its process submits them, and that depends on the processor, and on how far it is from the
//! GPU: two processes that the system has put on different ones differ by a third from the first pair to the last. They never work at the same
//! time, so both can have the same one. Only the threads that make the calls are kept there; others stay where they are.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the main threads of two processes on one processor, that of the first at the time. Dropping it frees the first one again: it is used by
/// other evaluations, the second one is not.
#[derive(Debug)]
pub(crate) struct SameCore {
    kept: Pid,
    before: CpuSet,
}

impl SameCore {
    /// None where the system does not say where the first process runs, or keeps it from being moved: both then run anywhere.
    pub(crate) fn of(trusted: i32, candidate: i32) -> Option<Self> {
        let (kept, other) = (Pid::from_raw(trusted)?, Pid::from_raw(candidate)?);
        let before = sched_getaffinity(Some(kept)).ok()?;
        let mut only = CpuSet::new();
        only.set(processor(&std::fs::read_to_string(format!("/proc/{trusted}/stat")).ok()?)?);
        sched_setaffinity(Some(kept), &only).ok()?;
        let same = Self { kept, before };
        sched_setaffinity(Some(other), &only).ok()?;
        Some(same)
    }
}

impl Drop for SameCore {
    fn drop(&mut self) {
        // A process that is gone needs no processors.
        let _ = sched_setaffinity(Some(self.kept), &self.before);
    }
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
    fn both_have_one_processor_until_the_first_is_let_go() {
        let mut children = [sleeper(), sleeper()];
        let before = processors(&children[0]);
        let same = SameCore::of(children[0].id().cast_signed(), children[1].id().cast_signed()).unwrap();
        let of = |child: &Child| sched_getaffinity(Pid::from_raw(child.id().cast_signed())).unwrap();
        let (first, second) = (of(&children[0]), of(&children[1]));
        drop(same);
        let after = processors(&children[0]);
        for child in &mut children {
            child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        }
        assert_eq!((first.count(), second == first, after), (1, true, before));
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_fields() {
        let fields = (4..=52).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(processor(&format!("17 (a) (b c) S {fields}")), Some(39));
        assert_eq!(processor("17 (a) S 4"), None);
    }
}
