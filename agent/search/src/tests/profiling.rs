//! When a profile is worth its time.

use kernelwright_protocol::{Headroom, Profile, ProfilerKind, Stop};

use super::*;

/// A run with one node and a step open that starts from it.
fn expanding(came: Came) -> (Log, NodeId) {
    let mut log = Log::greedy(1);
    let node = log.step(&[("a", came)]).unwrap();
    let Move::Step { step, parent, phase } = decide(&log.graph()) else { panic!("the run is over") };
    log.add(Event::StepStarted { step, parent, phase });
    (log, node)
}

fn profile(floor_ns: u64, bound_by: &str) -> Box<Profile> {
    let headroom =
        Headroom { floor_ns: Nanoseconds(floor_ns), bound_by: bound_by.into(), computed: String::new(), ratio: 9.0, stop: Stop::GoOn };
    Box::new(Profile { headroom: Some(headroom), ..Profile::new(ProfilerKind::Torch, 20) })
}

#[test]
fn the_parent_of_a_step_is_profiled_once() {
    let (mut log, node) = expanding(Came::Faster(1.5));
    assert!(worth_profiling(&log.graph(), node));
    assert!(!worth_profiling(&log.graph(), NodeId(7)));
    log.add(Event::ProfileFailed { node: Some(node), reason: "died".into() });
    assert!(!worth_profiling(&log.graph(), node));
}

#[test]
fn wrong_kernels_and_those_nobody_works_on_are_not() {
    let (log, node) = expanding(Came::Wrong);
    assert!(!worth_profiling(&log.graph(), node));
    let mut log = Log::greedy(2);
    let node = log.step(&[("a", Came::Faster(1.5))]).unwrap();
    assert!(!worth_profiling(&log.graph(), node));
}

#[test]
fn a_kernel_at_the_floor_has_nothing_to_show() {
    // The kernels of these tests take 1 ns.
    for (floor_ns, bound_by, worth) in [(1, "memory", false), (0, "memory", true), (1_000, "arithmetic", true)] {
        let mut log = Log::greedy(1);
        log.add(Event::ProfileTaken { node: None, profile: profile(floor_ns, bound_by) });
        let node = log.step(&[("a", Came::Faster(1.5))]).unwrap();
        let Move::Step { step, parent, phase } = decide(&log.graph()) else { panic!("the run is over") };
        log.add(Event::StepStarted { step, parent, phase });
        assert_eq!(worth_profiling(&log.graph(), node), worth);
    }
}

#[test]
fn profiles_have_a_share_of_the_runs_time() {
    // Every event of these tests takes a second: the problem's profile one of six.
    for (share, worth) in [(None, true), (Some(0.5), true), (Some(0.1), false), (Some(0.0), false)] {
        let mut log = Log::greedy(1);
        if let Event::RunStarted { settings, .. } = &mut log.records[0].event {
            settings.profile_share = share;
        }
        log.add(Event::ProfileFailed { node: None, reason: "died".into() });
        assert_eq!(log.graph().profiling(), Nanoseconds(1_000_000_000));
        let node = log.step(&[("a", Came::Faster(1.5))]).unwrap();
        let Move::Step { step, parent, phase } = decide(&log.graph()) else { panic!("the run is over") };
        log.add(Event::StepStarted { step, parent, phase });
        assert_eq!(worth_profiling(&log.graph(), node), worth, "{share:?}");
    }
}
