//! Kernels with nothing wrong, which wait a lot all the same: nothing is told but their ceiling.

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

/// As on an H100: operands come from device memory four times, beside arithmetic that leaves no room.
#[test]
fn a_product_at_its_ceiling_may_read_its_operands_again() {
    let figures = [
        (TensorShare, 0.96),
        (ComputeThroughputShare, 0.92),
        (MemoryThroughputShare, 0.69),
        (DramThroughputShare, 0.35),
        (DramReadBytes, 1.5e9),
        (DramWriteBytes, 1.3e8),
    ];
    let work = Work { bytes: Bytes(384 << 20), operations: BTreeMap::new() };
    let around = Surroundings { work: Some(&work), target: None };
    assert_eq!(causes(&diagnose(&capture(kernel(&figures, &[])), Place::Gpu, around, None)), [Cause::Compute]);
}

/// A softmax between two products: it streams what they hand to each other, which is more than the call's inputs and outputs.
#[test]
fn a_kernel_between_others_moves_what_they_hand_on() {
    let streams =
        [(DramReadBytes, 1e9), (DramWriteBytes, 1e9), (DramThroughputShare, 0.88), (MemoryThroughputShare, 0.88), (FmaShare, 0.35)];
    let product = [(TensorShare, 0.8), (ComputeThroughputShare, 0.8)];
    let work = Work { bytes: Bytes(128 << 20), operations: BTreeMap::from([("float16".to_owned(), 1e12)]) };
    let around = Surroundings { work: Some(&work), target: None };
    let mut whole = capture(kernel(&streams, &[]));
    whole.kernels[0].figures.set(TensorShare, 0.0);
    assert_eq!(
        causes(&diagnose(&whole, Place::Gpu, around, None)),
        [Cause::CacheThrash, Cause::NoTensorCores],
        "as if it were the whole call"
    );
    whole.kernels.push(kernel(&product, &[]));
    whole.wall_per_call_ns = Some(Nanoseconds(200_000));
    let found = causes(&diagnose(&whole, Place::Gpu, around, None));
    assert!(found.contains(&Cause::MemoryBandwidth) && found.iter().all(|cause| is_ceiling(*cause)), "{found:?}");
}

#[test]
fn a_single_precision_product_is_right_on_the_general_units() {
    let figures =
        [(TensorShare, 0.0), (FmaShare, 0.86), (ComputeThroughputShare, 0.86), (MemoryThroughputShare, 0.55), (L1ThroughputShare, 0.82)];
    assert_eq!(alarms(&figures, &[(MathPipeThrottle, 0.3)]), []);
}

/// A polynomial of each element: multiply-adds, and what feeds them.
#[test]
fn arithmetic_that_fills_the_issue_slots_is_no_waste() {
    let figures = [
        (IssueShare, 0.92),
        (EligibleWarps, 4.0),
        (FmaShare, 0.66),
        (ComputeThroughputShare, 0.91),
        (MemoryThroughputShare, 0.3),
        (TensorShare, 0.0),
        (XuShare, 0.1),
        (Fp64Share, 0.0),
    ];
    assert_eq!(causes(&check(&figures, &[(NotSelected, 0.4)])), [Cause::Compute]);
}

#[test]
fn a_reduction_has_one_atomic_a_block_and_full_bandwidth() {
    let figures = [(AtomicRequests, 8192.0), (DramThroughputShare, 0.86), (MemoryThroughputShare, 0.86), (ComputeThroughputShare, 0.3)];
    assert_eq!(alarms(&figures, &[(LongScoreboard, 0.7), (Barrier, 0.1)]), []);
}
