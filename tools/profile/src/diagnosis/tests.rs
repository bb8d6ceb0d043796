use std::collections::{BTreeMap, BTreeSet};

use kernelwright_protocol::{Bytes, Figures, KernelProfile, KernelTime, LaunchShape, Nanoseconds, Stall, StallReason, Stop};

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

mod planted {
    use kernelwright_protocol::Metric::*;
    use kernelwright_protocol::StallReason::*;

    use super::*;

    #[test]
    fn columns_read_by_neighbouring_threads() {
        let cached = [
            (ExcessSectorsShare, 0.86),
            (SectorsPerLoad, 31.8),
            (DramThroughputShare, 0.31),
            (MemoryThroughputShare, 0.74),
            (ComputeThroughputShare, 0.07),
            (TheoreticalOccupancyShare, 1.0),
            (L1ThroughputShare, 0.74),
            (L2HitShare, 0.7),
        ];
        assert_eq!(first(&cached, &[(LongScoreboard, 0.8), (LgThrottle, 0.1)]), Cause::UncoalescedAccess);
        let from_memory = [(ExcessSectorsShare, 0.86), (SectorsPerLoad, 32.0), (DramThroughputShare, 0.92), (MemoryThroughputShare, 0.92)];
        assert_eq!(causes(&check(&from_memory, &[(LongScoreboard, 0.9)])), [Cause::UncoalescedAccess]);
    }

    #[test]
    fn a_transpose_without_padding() {
        let figures = [
            (SharedConflictShare, 0.94),
            (L1ThroughputShare, 0.93),
            (MemoryThroughputShare, 0.93),
            (DramThroughputShare, 0.35),
            (ComputeThroughputShare, 0.12),
            (TheoreticalOccupancyShare, 1.0),
            (ExcessSectorsShare, 0.0),
        ];
        let found = check(&figures, &[(MioThrottle, 0.2), (ShortScoreboard, 0.5), (Barrier, 0.15)]);
        assert_eq!(causes(&found), [Cause::BankConflicts]);
    }

    #[test]
    fn too_few_warps_by_registers_or_shared_memory() {
        let figures = [
            (TheoreticalOccupancyShare, 0.125),
            (BlocksByRegisters, 1.0),
            (BlocksBySharedMemory, 7.0),
            (BlocksByWarps, 8.0),
            (ComputeThroughputShare, 0.2),
            (MemoryThroughputShare, 0.28),
            (DramThroughputShare, 0.28),
            (IssueShare, 0.15),
        ];
        let found = check(&figures, &[(LongScoreboard, 0.7)]);
        assert_eq!(causes(&found), [Cause::LowOccupancy]);
        insta::assert_snapshot!(found.diagnoses[0].summary, @"room for 12.5 % of the warps, which wait for memory 70.0 % of their time; the limit is registers");
    }

    #[test]
    fn spilled_registers() {
        let figures = [
            (LocalRequests, 4e6),
            (GlobalRequests, 1e6),
            (SpillStoreBytes, 512.0),
            (SpillLoadBytes, 640.0),
            (L1ThroughputShare, 0.82),
            (MemoryThroughputShare, 0.82),
            (DramThroughputShare, 0.6),
            (ComputeThroughputShare, 0.2),
            (TheoreticalOccupancyShare, 1.0),
        ];
        assert_eq!(first(&figures, &[(LongScoreboard, 0.4), (LgThrottle, 0.4)]), Cause::RegisterSpills);
    }

    #[test]
    fn one_block_and_a_few_blocks() {
        let figures =
            |blocks| [(Blocks, blocks), (SmActiveShare, blocks / 132.0), (MemoryThroughputShare, 0.03), (ComputeThroughputShare, 0.02)];
        assert_eq!(causes(&check(&figures(1.0), &[(LongScoreboard, 0.7)])), [Cause::Serialisation]);
        assert_eq!(causes(&check(&figures(20.0), &[(LongScoreboard, 0.7)])), [Cause::TooFewBlocks]);
    }

    #[test]
    fn a_loop_of_one_thread() {
        let figures = [(ThreadsPerInstruction, 1.0), (IssueShare, 0.05), (MemoryThroughputShare, 0.02), (ComputeThroughputShare, 0.02)];
        assert_eq!(first(&figures, &[(LongScoreboard, 0.3), (Barrier, 0.6)]), Cause::Serialisation);
    }

    #[test]
    fn a_round_of_seven_blocks() {
        let figures = [(Waves, 1.05), (SmActiveShare, 0.55), (ComputeThroughputShare, 0.45), (MemoryThroughputShare, 0.2), (Blocks, 139.0)];
        assert_eq!(first(&figures, &[(Wait, 0.25)]), Cause::TailEffect);
    }

    #[test]
    fn atomics_to_one_address() {
        let figures = [
            (AtomicRequests, 65_536.0),
            (AtomicThroughputShare, 0.04),
            (DramThroughputShare, 0.05),
            (MemoryThroughputShare, 0.12),
            (ComputeThroughputShare, 0.03),
            (TheoreticalOccupancyShare, 1.0),
        ];
        assert_eq!(first(&figures, &[(LgThrottle, 0.5), (LongScoreboard, 0.3)]), Cause::AtomicContention);
    }

    #[test]
    fn barriers_and_branches() {
        let figures =
            [(ComputeThroughputShare, 0.3), (MemoryThroughputShare, 0.3), (TheoreticalOccupancyShare, 1.0), (ThreadsPerInstruction, 31.0)];
        assert_eq!(first(&figures, &[(Barrier, 0.6), (LongScoreboard, 0.2)]), Cause::Barriers);
        let figures = [(ThreadsPerInstruction, 8.0), (IssueShare, 0.8), (ComputeThroughputShare, 0.86), (MemoryThroughputShare, 0.1)];
        assert_eq!(causes(&check(&figures, &[(Wait, 0.3)])), [Cause::Divergence]);
    }

    #[test]
    fn a_chain_of_dependent_instructions_and_one_of_loads() {
        let figures = [(IssueShare, 0.2), (EligibleWarps, 0.3), (ComputeThroughputShare, 0.25), (MemoryThroughputShare, 0.05)];
        assert_eq!(first(&figures, &[(Wait, 0.7)]), Cause::DependentInstructions);
        let figures =
            [(TheoreticalOccupancyShare, 1.0), (ExcessSectorsShare, 0.02), (ComputeThroughputShare, 0.1), (MemoryThroughputShare, 0.3)];
        assert_eq!(first(&figures, &[(LongScoreboard, 0.85)]), Cause::MemoryLatency);
    }

    #[test]
    fn half_products_on_the_general_units() {
        let figures =
            [(TensorShare, 0.0), (FmaShare, 0.62), (ComputeThroughputShare, 0.7), (MemoryThroughputShare, 0.8), (L1ThroughputShare, 0.8)];
        let kernel = kernel(&figures, &[(MioThrottle, 0.3)]);
        let of = |dtype: &str| {
            let work = Work { bytes: Bytes(100 << 20), operations: BTreeMap::from([(dtype.to_owned(), 1e12)]) };
            let around = Surroundings { work: Some(&work), target: None };
            causes(&diagnose(&capture(kernel.clone()), Place::Gpu, around, None))
        };
        assert_eq!(of("float16"), [Cause::NoTensorCores]);
        assert!(!of("float32").contains(&Cause::NoTensorCores));
    }

    #[test]
    fn tiles_that_do_not_find_their_neighbours_in_the_cache() {
        let figures =
            [(DramReadBytes, 3e9), (DramWriteBytes, 1e8), (DramThroughputShare, 0.9), (MemoryThroughputShare, 0.9), (L2HitShare, 0.2)];
        let work = Work { bytes: Bytes(1 << 30), operations: BTreeMap::new() };
        let around = Surroundings { work: Some(&work), target: None };
        assert_eq!(causes(&diagnose(&capture(kernel(&figures, &[])), Place::Gpu, around, None)), [Cause::CacheThrash]);
    }

    #[test]
    fn many_small_launches_and_a_slow_host() {
        let of = |kernel_ns: u64, launches: f64, wall: u64| {
            let mut kernel = kernel(&[], &[]);
            kernel.time.launches_per_call = launches;
            kernel.time.time_per_call_ns = Nanoseconds((kernel_ns as f64 * launches) as u64);
            let capture = Capture { wall_per_call_ns: Some(Nanoseconds(wall)), ..capture(kernel) };
            causes(&diagnose(&Capture { profiler: ProfilerKind::Proton, ..capture }, Place::Gpu, Surroundings::default(), None))
        };
        assert_eq!(of(2_500, 200.0, 1_500_000), [Cause::LaunchOverhead]);
        assert_eq!(of(40_000, 6.0, 900_000), [Cause::HostBound]);
        assert_eq!(of(400_000, 3.0, 1_230_000), []);
    }
}

mod well_tuned {
    use kernelwright_protocol::Metric::*;
    use kernelwright_protocol::StallReason::*;

    use super::*;

    /// What is told beyond the ceiling.
    fn alarms(figures: &[(Metric, f64)], stalls: &[(StallReason, f64)]) -> Vec<Cause> {
        causes(&check(figures, stalls)).into_iter().filter(|cause| !is_ceiling(*cause)).collect()
    }

    #[test]
    fn a_stream_waits_for_memory_and_nothing_is_wrong_with_it() {
        let figures = [
            (DramThroughputShare, 0.89),
            (MemoryThroughputShare, 0.89),
            (ComputeThroughputShare, 0.2),
            (TheoreticalOccupancyShare, 0.4),
            (SectorsPerLoad, 16.0),
            (SectorsPerStore, 16.0),
            (ExcessSectorsShare, 0.0),
            (Waves, 1.3),
            (ThreadsPerInstruction, 32.0),
        ];
        assert_eq!(alarms(&figures, &[(LongScoreboard, 0.9)]), []);
        assert_eq!(first(&figures, &[(LongScoreboard, 0.9)]), Cause::MemoryBandwidth);
    }

    #[test]
    fn a_product_on_tensor_cores_has_few_warps() {
        let figures = [
            (TensorShare, 0.78),
            (ComputeThroughputShare, 0.78),
            (MemoryThroughputShare, 0.5),
            (DramThroughputShare, 0.15),
            (TheoreticalOccupancyShare, 0.125),
            (SharedConflictShare, 0.3),
            (Blocks, 132.0),
            (IssueShare, 0.2),
            (FmaShare, 0.1),
        ];
        assert_eq!(alarms(&figures, &[(Gmma, 0.5), (LongScoreboard, 0.3), (Barrier, 0.35)]), []);
        assert_eq!(first(&figures, &[]), Cause::Compute);
    }

    #[test]
    fn a_single_precision_product_is_right_on_the_general_units() {
        let figures = [
            (TensorShare, 0.0),
            (FmaShare, 0.86),
            (ComputeThroughputShare, 0.86),
            (MemoryThroughputShare, 0.55),
            (L1ThroughputShare, 0.82),
        ];
        assert_eq!(alarms(&figures, &[(MathPipeThrottle, 0.3)]), []);
    }

    #[test]
    fn a_reduction_has_one_atomic_a_block_and_full_bandwidth() {
        let figures = [(AtomicRequests, 8192.0), (DramThroughputShare, 0.86), (MemoryThroughputShare, 0.86), (ComputeThroughputShare, 0.3)];
        assert_eq!(alarms(&figures, &[(LongScoreboard, 0.7), (Barrier, 0.1)]), []);
    }
}

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

#[test]
fn a_profiler_says_what_it_cannot_show() {
    let capture = Capture::new(ProfilerKind::Torch);
    let untold = diagnose(&capture, Place::Gpu, Surroundings::default(), None).untold;
    assert!(untold.contains(&Cause::BankConflicts) && !untold.contains(&Cause::LaunchOverhead), "{untold:?}");
    let capture = Capture::new(ProfilerKind::Ncu);
    assert_eq!(diagnose(&capture, Place::Gpu, Surroundings::default(), None).untold, []);
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
        assert!(!rule.remedies.is_empty() && !rule.cleared.is_empty() && !rule.told_by.is_empty(), "{}", rule.cause);
        for advice in rule.remedies {
            assert!(entries.contains(advice.entry), "{}: no entry {}", rule.cause, advice.entry);
        }
        for show in rule.shows.iter().chain(rule.cleared) {
            let named = show.says.split('{').skip(1).map(|part| part.split('}').next().unwrap());
            for name in named {
                let metric: Metric = serde_json::from_value(name.into()).unwrap_or_else(|_| panic!("{}: no figure {name}", rule.cause));
                let implied =
                    [Metric::Blocks, Metric::Multiprocessors, Metric::Waves, Metric::GapNs, Metric::PageFaults, Metric::ProcessorsBusy];
                assert!(show.when.iter().any(|bound| bound.metric() == metric) || implied.contains(&metric), "{}: {name}", rule.cause);
            }
        }
    }
}
