use std::collections::{BTreeMap, BTreeSet};

use kernelwright_protocol::{Bytes, Figures, KernelProfile, KernelTime, LaunchShape, Nanoseconds, ProfilerKind, Stall, StallReason, Stop};

use super::*;
use crate::capture::Work;

/// A kernel that takes all of a call's time.
fn kernel(figures: &[(Metric, f64)], stalls: &[(StallReason, f64)]) -> KernelProfile {
    let time = KernelTime { name: "k".into(), launches_per_call: 1.0, time_per_call_ns: Nanoseconds(100_000), share: 1.0 };
    let stalls = stalls.iter().map(|(reason, share)| Stall { reason: *reason, share: *share }).collect();
    KernelProfile { figures: figures.iter().copied().collect(), stalls, ..KernelProfile::from(time) }
}

fn capture(kernel: KernelProfile) -> Capture {
    Capture { wall_per_call_ns: Some(Nanoseconds(104_000)), kernels: vec![kernel], ..Capture::new(ProfilerKind::Ncu) }
}

fn causes(findings: &Findings) -> Vec<Cause> {
    findings.diagnoses.iter().map(|diagnosis| diagnosis.cause).collect()
}

/// What the rules find in a kernel with these figures beside those of an ordinary launch on an H200.
fn check(figures: &[(Metric, f64)], stalls: &[(StallReason, f64)]) -> Findings {
    let ordinary = [(Metric::Multiprocessors, 132.0), (Metric::Blocks, 8192.0), (Metric::ThreadsPerBlock, 256.0)];
    let all: Vec<_> = ordinary.iter().chain(figures).copied().collect();
    diagnose(&capture(kernel(&all, stalls)), Place::Gpu, Surroundings::default(), None)
}

/// The first cause in such a kernel.
fn first(figures: &[(Metric, f64)], stalls: &[(StallReason, f64)]) -> Cause {
    check(figures, stalls).diagnoses.first().expect("a diagnosis").cause
}

mod planted;

mod well_tuned;

#[test]
fn at_the_floor_nothing_is_at_stake() {
    let figures = [(Metric::TheoreticalOccupancyShare, 0.2), (Metric::ComputeThroughputShare, 0.1), (Metric::MemoryThroughputShare, 0.4)];
    let capture = capture(kernel(&figures, &[(StallReason::LongScoreboard, 0.8)]));
    let headroom =
        |ratio| Headroom { floor_ns: Nanoseconds(1), bound_by: "memory".into(), computed: String::new(), ratio, stop: Stop::AtFloor };
    let found = |ratio| diagnose(&capture, Place::Gpu, Surroundings::default(), Some(&headroom(ratio))).diagnoses;
    assert!(found(2.0)[0].at_stake <= 0.5);
    assert_eq!(found(1.04), []);
}

#[test]
fn nothing_is_concluded_from_what_was_not_measured() {
    let mut times = kernel(&[], &[]);
    times.launch = Some(LaunchShape { grid: [512, 1, 1], block: [128, 1, 1] });
    let findings = diagnose(&capture(times), Place::Gpu, Surroundings::default(), None);
    assert_eq!(
        (findings.diagnoses, findings.ruled_out.iter().map(|one| one.cause).collect::<Vec<_>>()),
        (vec![], vec![Cause::LaunchOverhead, Cause::HostBound])
    );
}

#[test]
fn what_was_looked_for_and_is_not_there_is_told() {
    let figures =
        [(Metric::SharedConflictShare, 0.0), (Metric::ExcessSectorsShare, 0.03), (Metric::SpillBytes, 0.0), (Metric::SpillStoreBytes, 0.0)];
    let told: Vec<String> = check(&figures, &[]).ruled_out.iter().map(|one| format!("{}: {}", one.cause, one.because)).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    bank conflicts: 0.0 % of the shared-memory wavefronts are bank conflicts
    uncoalesced access: 3.0 % of the sectors that global accesses touch are not needed
    too few blocks: 62.1 blocks for each multiprocessor
    register spills: the compiler spilled nothing
    launch overhead: a kernel runs 100 us on average
    host bound: kernels run in 96.2 % of a call's time
    ");
}

/// Full memory that moves the bytes twice is told as that; the call's own rate, which is half of the memory's, does not clear the memory.
#[test]
fn what_holds_in_a_kernel_is_not_excluded_by_the_call() {
    let figures = [
        (Metric::DramThroughputShare, 0.85),
        (Metric::MemoryThroughputShare, 0.85),
        (Metric::DramReadBytes, 2e8),
        (Metric::DramWriteBytes, 2e7),
        (Metric::DramBytesPerS, 2.2e12),
    ];
    let work = Work { bytes: Bytes(100_000_000), operations: BTreeMap::new() };
    let target = crate::testing::target(2.5e12);
    let around = Surroundings { work: Some(&work), target: Some(&target) };
    let findings = diagnose(&capture(kernel(&figures, &[])), Place::Gpu, around, None);
    assert_eq!(causes(&findings), [Cause::CacheThrash]);
    assert!(findings.ruled_out.iter().all(|one| one.cause != Cause::MemoryBandwidth), "{:?}", findings.ruled_out);
}

#[test]
fn causes_that_nothing_measured_could_show_are_named() {
    let untold = |capture: &Capture| diagnose(capture, Place::Gpu, Surroundings::default(), None).untold;
    let mut times = kernel(&[], &[]);
    let proton = untold(&Capture { profiler: ProfilerKind::Proton, ..capture(times.clone()) });
    assert!(proton.contains(&Cause::BankConflicts) && proton.contains(&Cause::TooFewBlocks), "{proton:?}");
    assert!(!proton.contains(&Cause::LaunchOverhead) && !proton.contains(&Cause::HostBound), "{proton:?}");
    // A trace knows how a kernel was launched, a file from elsewhere not how long a call took.
    times.launch = Some(LaunchShape { grid: [512, 1, 1], block: [128, 1, 1] });
    times.figures.set(Metric::Multiprocessors, 132.0);
    let trace = untold(&Capture { wall_per_call_ns: None, ..capture(times) });
    assert!(!trace.contains(&Cause::TooFewBlocks) && trace.contains(&Cause::HostBound), "{trace:?}");
    // What is excluded need not be named, whatever else might have shown it.
    let excluded = untold(&capture(kernel(&[(Metric::TensorShare, 0.5)], &[])));
    assert!(!excluded.contains(&Cause::NoTensorCores) && excluded.contains(&Cause::CacheThrash), "{excluded:?}");
}

#[test]
fn a_scalar_loop_on_one_of_two_processors() {
    let call: Figures = [
        (Metric::VectorShare, 0.02),
        (Metric::ProcessorsBusy, 1.0),
        (Metric::ProcessorsAllowed, 2.0),
        (Metric::PageFaults, 3.0),
        (Metric::BranchMissShare, 0.001),
    ]
    .into_iter()
    .collect();
    let capture = Capture { call, profiler: ProfilerKind::Cpu, ..capture(kernel(&[], &[])) };
    let findings = diagnose(&capture, Place::Cpu, Surroundings::default(), None);
    assert_eq!(causes(&findings), [Cause::NotVectorised, Cause::TooFewThreads]);
    assert_eq!(
        findings.ruled_out.iter().map(|one| one.cause).collect::<Vec<_>>(),
        [Cause::PageFaults, Cause::BranchMisses, Cause::Interpreter]
    );
}

#[test]
fn threads_that_wait_for_processors_are_not_too_few() {
    let told = |awaited: f64| {
        let figures = [(Metric::ProcessorsBusy, 0.6), (Metric::ProcessorsAwaited, awaited), (Metric::ProcessorsAllowed, 2.0)];
        let capture = Capture { call: figures.into_iter().collect(), profiler: ProfilerKind::Cpu, ..capture(kernel(&[], &[])) };
        let findings = diagnose(&capture, Place::Cpu, Surroundings::default(), None);
        let cleared = findings.ruled_out.iter().find(|one| one.cause == Cause::TooFewThreads).map(|one| one.because.clone());
        (causes(&findings), cleared)
    };
    assert_eq!(told(0.4).0, [Cause::TooFewThreads], "one thread, which had a processor for six tenths of the time");
    let (causes, cleared) = told(1.3);
    assert_eq!(causes, []);
    assert_eq!(cleared.unwrap(), "0.60 of 2 processors work, and threads wait for 1.30 that other work has");
}

#[test]
fn what_is_outside_operators_is_pythons_where_there_is_no_other_code() {
    let of = |call: Figures| {
        let mut outside = kernel(&[], &[]);
        outside.time = KernelTime { name: "(outside torch operators)".into(), time_per_call_ns: Nanoseconds(300_000), ..outside.time };
        let kernels = vec![kernel(&[], &[]), outside];
        let capture = Capture { wall_per_call_ns: Some(Nanoseconds(250_000)), kernels, call, ..Capture::new(ProfilerKind::Cpu) };
        causes(&diagnose(&capture, Place::Cpu, Surroundings::default(), None))
    };
    assert_eq!(of(Figures::default()), [Cause::Interpreter]);
    assert_eq!(of([(Metric::VectorShare, 0.9)].into_iter().collect()), []);
}

/// Under the profiler the call takes 20 microseconds, without it 14.5; the part that is Python's is Python's there as well.
#[test]
fn what_python_takes_for_each_operator_agrees_with_its_share() {
    let said = |operators: &[(&str, f64, u64)]| {
        let kernels = operators.iter().map(|&(name, launches_per_call, ns)| {
            let time = KernelTime { name: name.into(), launches_per_call, time_per_call_ns: Nanoseconds(ns), share: 0.5 };
            KernelProfile::from(time)
        });
        let kernels = kernels.collect();
        let capture = Capture { wall_per_call_ns: Some(Nanoseconds(14_471)), kernels, ..Capture::new(ProfilerKind::Cpu) };
        diagnose(&capture, Place::Cpu, Surroundings::default(), None).diagnoses.remove(0).summary
    };
    let outside = "(outside torch operators)";
    assert_eq!(
        said(&[(outside, 0.0, 11_060), ("aten::add", 2.0, 8_940)]),
        "operators run in 44.7 % of a call's time; Python takes the rest, 4.00 us for each"
    );
    assert_eq!(
        said(&[("aten::add", 2.0, 6_471), (outside, 0.0, 2_000)]),
        "operators run in 44.7 % of a call's time; Python takes the rest, 4.00 us for each",
        "time that neither has is Python's as well"
    );
    assert_eq!(said(&[(outside, 0.0, 11_060)]), "no operator runs; Python takes all of a call's time");
}

#[test]
fn every_cause_has_a_rule() {
    let schema = serde_json::to_value(schemars::schema_for!(Cause)).unwrap();
    let all: BTreeSet<Cause> =
        schema["oneOf"].as_array().unwrap().iter().map(|one| serde_json::from_value(one["const"].clone()).unwrap()).collect();
    assert_eq!(all, rules().map(|rule| rule.cause).collect());
}

#[test]
fn rules_name_entries_that_exist_and_figures_they_look_at() {
    let entries: BTreeSet<String> = kernelwright_packs::built_in()
        .unwrap()
        .iter()
        .flat_map(|pack| pack.entries.iter().map(|entry| format!("{}/{}", pack.id, entry.name)).collect::<Vec<_>>())
        .collect();
    for rule in rules() {
        assert!(!rule.remedies.is_empty() && !rule.cleared.is_empty(), "{}", rule.cause);
        for advice in rule.remedies {
            assert!(entries.contains(advice.entry), "{}: no entry {}", rule.cause, advice.entry);
        }
        for show in rule.shows.iter().chain(rule.cleared) {
            let named = show.says.split('{').skip(1).map(|part| part.split('}').next().unwrap());
            for name in named {
                let metric: Metric = serde_json::from_value(name.into()).unwrap_or_else(|_| panic!("{}: no figure {name}", rule.cause));
                let implied = [
                    Metric::Blocks,
                    Metric::Multiprocessors,
                    Metric::Waves,
                    Metric::GapNs,
                    Metric::PageFaults,
                    Metric::ProcessorsBusy,
                    Metric::ProcessorsAllowed,
                ];
                assert!(show.when.iter().any(|bound| bound.metric() == metric) || implied.contains(&metric), "{}: {name}", rule.cause);
            }
        }
    }
}
