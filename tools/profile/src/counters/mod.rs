//! What a process used while it ran, counted from outside by the kernel and the processor: nothing in it has a say.
//!
//! The kernel's own accounts (page faults, processor time, lost processors) are always there. The processor's counters need its support,
//! which virtual machines often hide, and permission.

mod account;
mod perf_event;

use std::collections::BTreeMap;
use std::time::Duration;

use kernelwright_protocol::{Figures, Metric};

use account::Account;
pub(crate) use perf_event::Missing;
use perf_event::{Counter, Event};

/// Counters of one process and all its threads, from [`Counters::start`] to [`Counters::finish`].
#[derive(Debug)]
pub(crate) struct Counters {
    pid: i32,
    events: BTreeMap<Event, Vec<Counter>>,
    missing: Option<Missing>,
    before: Account,
}

impl Counters {
    /// Begins to count.
    pub(crate) fn start(pid: i32) -> Self {
        let mut missing = None;
        let mut events = BTreeMap::new();
        for event in Event::ALL {
            // A thread that has ended meanwhile is no fault; one that can be counted shows that the processor counts.
            let (opened, refused): (Vec<_>, Vec<_>) =
                account::threads(pid).into_iter().map(|thread| Counter::open(event, thread)).partition(Result::is_ok);
            let opened: Vec<Counter> = opened.into_iter().filter_map(Result::ok).collect();
            if opened.is_empty() {
                missing = missing.or(refused.into_iter().find_map(Result::err));
            } else {
                events.insert(event, opened);
            }
        }
        let before = Account::of(pid);
        events.values().flatten().for_each(Counter::enable);
        Self { pid, events, missing, before }
    }

    /// Whether the processor's counters can be had, tried on this process.
    pub(crate) fn probe() -> Result<(), Missing> {
        Counter::open(Event::Cycles, 0).map(drop)
    }

    /// Figures of one call, of so many that took `wall` together on `allowed` processors; and why the processor's counters are not among them.
    pub(crate) fn finish(self, calls: u32, wall: Duration, allowed: usize) -> (Figures, Option<Missing>) {
        let Self { pid, events, missing, before } = self;
        events.values().flatten().for_each(Counter::disable);
        let used = Account::of(pid).since(&before);
        let calls = f64::from(calls.max(1));
        let mut figures = used.figures(calls, wall);
        figures.set(Metric::ProcessorsAllowed, allowed as f64);
        let total = |event: Event| events.get(&event)?.iter().map(Counter::total).sum::<Option<f64>>();
        let [cycles, instructions, references, misses, branches, mispredicted] = Event::ALL.map(total);
        for (metric, count) in [
            (Metric::Cycles, cycles),
            (Metric::Instructions, instructions),
            (Metric::CacheReferences, references),
            (Metric::CacheMisses, misses),
        ] {
            figures.set_known(metric, count.map(|count| count / calls));
        }
        figures.set_known(Metric::InstructionsPerCycle, ratio(instructions, cycles));
        figures.set_known(Metric::CacheMissShare, ratio(misses, references));
        figures.set_known(Metric::BranchMissShare, ratio(mispredicted, branches));
        (figures, missing)
    }
}

fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole.filter(|whole| *whole > 0.0)?)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_and_fresh_memory_of_a_process_are_seen_from_outside() {
        let counters = Counters::start(std::process::id().cast_signed());
        let started = Instant::now();
        let mut sum = 0_u64;
        while started.elapsed() < Duration::from_millis(60) {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        let fresh = black_box(vec![1_u8; 64 << 20]);
        let (figures, missing) = counters.finish(2, started.elapsed(), 3);
        drop(fresh);
        assert!(figures.get(Metric::ProcessorsBusy).unwrap() > 0.2, "{figures:?}");
        assert!(figures.get(Metric::ProcessorsAwaited).is_some(), "{figures:?}");
        assert!(figures.get(Metric::PageFaults).unwrap() >= 16.0, "{figures:?}");
        assert_eq!(figures.get(Metric::ProcessorsAllowed), Some(3.0));
        // The processor either counts or says why not; a count of zero would be neither.
        match figures.get(Metric::Instructions) {
            Some(instructions) => assert!(instructions > 1e6 && missing.is_none(), "{figures:?}"),
            None => assert!(missing.is_some() && figures.get(Metric::CacheMissShare).is_none(), "{figures:?}"),
        }
    }
}
