//! Kernels with one fault each, in figures as an H200 shows them: the fault comes first.

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

/// Torch's own softmax of rows of 8192 on an H200, which takes twice as long as one of several blocks a multiprocessor.
#[test]
fn one_block_of_a_thousand_threads_at_a_time() {
    let figures = [
        (ThreadsPerBlock, 1024.0),
        (TheoreticalOccupancyShare, 0.5),
        (BlocksByRegisters, 1.0),
        (BlocksBySharedMemory, 7.0),
        (BlocksByWarps, 2.0),
        (ComputeThroughputShare, 0.535),
        (MemoryThroughputShare, 0.39),
        (DramThroughputShare, 0.39),
        (L2ThroughputShare, 0.475),
        (SmActiveShare, 0.96),
        (IssueShare, 0.557),
    ];
    let found = check(&figures, &[(LongScoreboard, 0.182), (Wait, 0.151), (Barrier, 0.133), (ShortScoreboard, 0.096)]);
    assert_eq!(causes(&found), [Cause::LowOccupancy]);
    insta::assert_snapshot!(found.diagnoses[0].summary, @"one block fits a multiprocessor, on which nothing else runs while its warps wait for each other (13.3 % of their time); the limit is registers");
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
fn a_last_round_of_tiles_although_the_tensor_cores_were_busy_in_the_first() {
    let figures = [
        (Waves, 1.09),
        (SmActiveShare, 0.51),
        (TensorShare, 0.95),
        (ComputeThroughputShare, 0.49),
        (MemoryThroughputShare, 0.33),
        (TheoreticalOccupancyShare, 0.125),
        (IssueShare, 0.19),
        (Blocks, 144.0),
    ];
    assert_eq!(causes(&check(&figures, &[(Barrier, 0.33), (LongScoreboard, 0.23)])), [Cause::TailEffect]);
}

#[test]
fn a_small_kernel_of_one_block_has_nothing_to_share() {
    let short = |ns| {
        let mut kernel = kernel(&[(Blocks, 1.0), (Multiprocessors, 132.0)], &[]);
        kernel.time.time_per_call_ns = Nanoseconds(ns);
        let capture = Capture { wall_per_call_ns: Some(Nanoseconds(ns + 1_000)), ..capture(kernel) };
        causes(&diagnose(&capture, Place::Gpu, Surroundings::default(), None))
    };
    assert_eq!((short(2_200), short(40_000)), (vec![], vec![Cause::Serialisation]));
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

/// Torch's own depthwise convolution of float32 on an H200, which takes seven times as long as its bytes.
const DEPTHWISE: [(Metric, f64); 21] = [
    (TheoreticalOccupancyShare, 1.0),
    (AchievedOccupancyShare, 0.816),
    (EligibleWarps, 4.61),
    (IssueShare, 0.750),
    (ThreadsPerInstruction, 31.8),
    (SmActiveShare, 0.993),
    (ComputeThroughputShare, 0.743),
    (MemoryThroughputShare, 0.152),
    (DramThroughputShare, 0.152),
    (L2ThroughputShare, 0.209),
    (L1ThroughputShare, 0.139),
    (TensorShare, 0.024),
    (FmaShare, 0.187),
    (Fp64Share, 0.0),
    (AluShare, 0.558),
    (XuShare, 0.285),
    (SectorsPerLoad, 2.71),
    (SectorsPerStore, 4.0),
    (ExcessSectorsShare, 0.123),
    (SharedConflictShare, 0.0),
    (AtomicRequests, 0.0),
];

#[test]
fn indices_that_take_the_issue_slots() {
    let stalls = [(NotSelected, 0.298), (LongScoreboard, 0.171), (Wait, 0.15), (MathPipeThrottle, 0.131)];
    let found = check(&DEPTHWISE, &stalls);
    assert_eq!(causes(&found), [Cause::InstructionIssue]);
    insta::assert_snapshot!(found.diagnoses[0].summary, @"schedulers issue in 75.0 % of the cycles, with 4.61 warps ready in each, but the multiply-add units are at 18.7 % and memory at 15.2 % of their peak: other instructions take the slots, as for indices, bounds and conversions");
    assert!((0.5..0.6).contains(&found.diagnoses[0].at_stake), "{:?}", found.diagnoses[0]);

    let with = |changed: &[(Metric, f64)]| causes(&check(&[&DEPTHWISE[..], changed].concat(), &stalls));
    // What is called the busiest arithmetic unit is then the scheduler.
    assert_eq!(with(&[(IssueShare, 0.95), (ComputeThroughputShare, 0.94)]), [Cause::InstructionIssue]);
    // Warps that are seldom ready wait for something; a busy unit is one; with half of the threads off, that is why so many are issued.
    for other in [(EligibleWarps, 0.9), (XuShare, 0.8), (MemoryThroughputShare, 0.7), (FmaShare, 0.6)] {
        assert!(!with(&[other]).contains(&Cause::InstructionIssue), "{other:?}");
    }
    assert_eq!(with(&[(ThreadsPerInstruction, 14.0)]), [Cause::Divergence]);
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

/// Of configurations one runs, so that each is looked at as if it were the one.
#[test]
fn spills_of_one_among_many_configurations() {
    let mut kernels = vec![kernel(&[(SpillStoreBytes, 0.0), (SpillLoadBytes, 0.0)], &[]); 24];
    kernels.push(kernel(&[(SpillStoreBytes, 256.0), (SpillLoadBytes, 256.0)], &[]));
    for kernel in &mut kernels {
        kernel.time.time_per_call_ns = Nanoseconds(0);
    }
    let capture = Capture { wall_per_call_ns: None, kernels, ..Capture::new(ProfilerKind::Static) };
    assert_eq!(causes(&diagnose(&capture, Place::Gpu, Surroundings::default(), None)), [Cause::RegisterSpills]);
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
