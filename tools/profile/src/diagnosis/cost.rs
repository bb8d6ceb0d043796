//! How much of a place's time a cause takes, estimated from its figures.
//!
//! The estimates are rough on purpose: their order decides what is told first, and [`super::diagnose`] never lets one exceed the distance from
//! the floor. Where a figure was not measured, one half stands in for how much the kernel depends on the unit in question.

use kernelwright_protocol::Metric;

use super::facts::Facts;

/// How much a kernel depends on a unit of which nothing is known.
const UNKNOWN: f64 = 0.5;
/// What good kernels reach of a unit's peak.
const REACHABLE: f64 = 0.85;

/// How much the kernel depends on global memory.
fn memory(facts: &Facts) -> f64 {
    facts.largest(&[Metric::MemoryStallShare, Metric::MemoryThroughputShare, Metric::DramThroughputShare]).unwrap_or(UNKNOWN).min(1.0)
}

/// What could be gained if the busiest unit were as busy as in good kernels: causes that only make warps wait cost no more than this. Where
/// multiprocessors have no block, no warp waits; that time has causes of its own.
fn idle(facts: &Facts) -> f64 {
    let over_all = [Metric::ComputeThroughputShare, Metric::MemoryThroughputShare, Metric::DramThroughputShare, Metric::L2ThroughputShare];
    let active = facts.get(Metric::SmActiveShare).filter(|active| *active > 0.0).map_or(1.0, |active| active.min(1.0));
    let busiest = facts.largest(&over_all).map(|busiest| busiest / active).into_iter().chain(facts.get(Metric::TensorShare));
    busiest.reduce(f64::max).map_or(UNKNOWN, |busiest| active * (1.0 - busiest / REACHABLE).clamp(0.0, 1.0))
}

/// Sectors beyond the need, as far as the kernel depends on what lies behind the first-level cache. Without the profiler's own ideal, four
/// sectors a request are taken for it: scattered accesses of four bytes.
pub(crate) fn sectors(facts: &Facts) -> f64 {
    let touched = facts.largest(&[Metric::SectorsPerLoad, Metric::SectorsPerStore]);
    let excess = facts.get(Metric::ExcessSectorsShare).or_else(|| touched.map(|touched| (1.0 - 4.0 / touched).max(0.0)));
    let depends = facts.largest(&[Metric::MemoryStallShare, Metric::L2ThroughputShare, Metric::DramThroughputShare]);
    excess.unwrap_or(0.0) * depends.map_or_else(|| memory(facts), |share| share.min(1.0))
}

/// Wavefronts beyond the need, as far as the kernel depends on shared memory.
pub(crate) fn conflicts(facts: &Facts) -> f64 {
    let depends = facts.largest(&[Metric::SharedStallShare, Metric::L1ThroughputShare]).unwrap_or(UNKNOWN);
    facts.get(Metric::SharedConflictShare).unwrap_or(0.0) * depends.min(1.0)
}

/// Requests for spilled registers among all. Otherwise one instruction in five is taken for a memory request, or the bytes spilled stand for it:
/// as many as a thread of 128 registers has make a half.
pub(crate) fn spills(facts: &Facts) -> f64 {
    let by_bytes = || facts.get(Metric::SpillBytes).map(|bytes| bytes / (bytes + 512.0));
    let by_instructions = || facts.get(Metric::LocalInstructionsShare).map(|share| (5.0 * share).min(1.0));
    facts.get(Metric::LocalRequestsShare).or_else(by_instructions).or_else(by_bytes).unwrap_or(UNKNOWN / 2.0) * memory(facts)
}

/// Throughput grows with the resident warps until a unit is busy; three quarters of the room are taken for enough.
pub(crate) fn occupancy(facts: &Facts) -> f64 {
    let warps = facts.get(Metric::TheoreticalOccupancyShare).unwrap_or(1.0) / 0.75;
    (1.0 - warps).clamp(0.0, 1.0).min(idle(facts))
}

/// Time in which warps wait for memory, as far as nothing is busy.
pub(crate) fn memory_waits(facts: &Facts) -> f64 {
    facts.get(Metric::MemoryStallShare).unwrap_or(UNKNOWN) * idle(facts)
}

/// Time in which warps wait for the instruction before, as far as nothing is busy.
pub(crate) fn dependency_waits(facts: &Facts) -> f64 {
    facts.get(Metric::DependencyStallShare).unwrap_or(0.0) * idle(facts)
}

/// Time in which warps wait for each other, as far as nothing is busy.
pub(crate) fn barrier_waits(facts: &Facts) -> f64 {
    facts.get(Metric::BarrierStallShare).unwrap_or(0.0) * idle(facts)
}

/// Time in which warps wait for memory, less what ordinary traffic explains. Atomics that nobody reads back fill the queues of all memory
/// instructions, those of shared memory included.
pub(crate) fn atomics(facts: &Facts) -> f64 {
    let traffic = facts.largest(&[Metric::CopyRateShare, Metric::DramThroughputShare]).unwrap_or(0.0);
    let queues = facts.get(Metric::MemoryStallShare).map(|memory| memory + facts.get(Metric::SharedStallShare).unwrap_or(0.0));
    let waits = queues.into_iter().chain(facts.get(Metric::AtomicThroughputShare)).reduce(f64::max).unwrap_or(UNKNOWN);
    (waits * (1.0 - traffic)).clamp(0.0, 1.0)
}

/// Multiprocessors without a block.
pub(crate) fn missing_blocks(facts: &Facts) -> f64 {
    facts.get(Metric::BlocksPerMultiprocessor).map_or(0.0, |blocks| 1.0 - blocks.min(1.0))
}

/// Room that the last round leaves empty; no more than the time that multiprocessors were seen idle.
pub(crate) fn tail(facts: &Facts) -> f64 {
    let idle = facts.get(Metric::SmActiveShare).map_or(1.0, |active| (1.0 - active).max(0.0));
    facts.get(Metric::TailIdleShare).unwrap_or(0.0).min(idle)
}

/// What the device could do beside the one block, or the warp beside the one thread.
pub(crate) fn serial(facts: &Facts) -> f64 {
    let device = missing_blocks(facts);
    let warp = facts.get(Metric::ThreadsPerInstruction).map_or(0.0, |threads| 1.0 - threads / 32.0);
    device.max(warp).clamp(0.0, 1.0)
}

/// Lanes that are off, as far as instructions are what the kernel waits for.
pub(crate) fn lanes_off(facts: &Facts) -> f64 {
    let off = facts.get(Metric::ThreadsPerInstruction).map_or(0.0, |threads| 1.0 - threads / 32.0);
    off.clamp(0.0, 1.0) * facts.largest(&[Metric::IssueShare, Metric::ComputeThroughputShare, Metric::AluShare]).unwrap_or(UNKNOWN)
}

/// Bytes that are fetched again, as far as the kernel depends on memory.
pub(crate) fn refetched(facts: &Facts) -> f64 {
    let again = facts.get(Metric::TrafficRatio).map_or(0.0, |ratio| 1.0 - 1.0 / ratio.max(1.0));
    again * memory(facts)
}

/// Tensor cores are 8 to 16 times as fast as the general units on operands of 16 bits; memory and the rest of the kernel stay as they are.
pub(crate) fn general_units(facts: &Facts) -> f64 {
    0.8_f64.min(1.0 - facts.get(Metric::DramThroughputShare).unwrap_or(0.0))
}

/// Half of what arithmetic and device memory leave: data held in registers replaces about that much traffic.
pub(crate) fn shared_traffic(facts: &Facts) -> f64 {
    let useful =
        facts.largest(&[Metric::TensorShare, Metric::FmaShare, Metric::DramThroughputShare, Metric::CopyRateShare]).unwrap_or(UNKNOWN);
    (1.0 - useful / REACHABLE).clamp(0.0, 1.0) / 2.0
}

/// Issue slots that go to other instructions than arithmetic, as far as memory leaves room for more of the problem in the same time.
pub(crate) fn other_instructions(facts: &Facts) -> f64 {
    let active = facts.get(Metric::SmActiveShare).map_or(1.0, |active| active.min(1.0));
    let arithmetic = facts.largest(&[Metric::FmaShare, Metric::TensorShare, Metric::Fp64Share]).unwrap_or(UNKNOWN);
    let others = facts.get(Metric::IssueShare).map_or(0.0, |issued| (issued - arithmetic).max(0.0));
    let room = 1.0 - facts.get(Metric::MemoryThroughputShare).unwrap_or(UNKNOWN) / REACHABLE;
    active * others.min(room).max(0.0)
}

/// The distance to what memory can do.
pub(crate) fn to_copy_rate(facts: &Facts) -> f64 {
    let reached = facts.get(Metric::CopyRateShare).or_else(|| facts.get(Metric::DramThroughputShare)).unwrap_or(1.0);
    (1.0 - reached).clamp(0.0, 1.0)
}

/// The distance to what arithmetic can do.
pub(crate) fn to_arithmetic_rate(facts: &Facts) -> f64 {
    let units = [Metric::MatrixRateShare, Metric::TensorShare, Metric::FmaShare, Metric::Fp64Share, Metric::ComputeThroughputShare];
    (1.0 - facts.largest(&units).unwrap_or(1.0)).clamp(0.0, 1.0)
}

/// Time outside kernels. Where calls were not timed, two microseconds a launch: what starting the next kernel takes at best.
pub(crate) fn outside_kernels(facts: &Facts) -> f64 {
    let by_launch = || facts.get(Metric::KernelTimeNs).map(|kernel| 2000.0 / (2000.0 + kernel));
    facts.get(Metric::KernelBusyShare).map(|busy| 1.0 - busy).or_else(by_launch).unwrap_or(0.0)
}

/// Scalar code of float32 takes four to sixteen times the instructions of vector code; what is no arithmetic stays.
pub(crate) fn scalar_loops(facts: &Facts) -> f64 {
    let scalar = 1.0 - facts.get(Metric::VectorShare).unwrap_or(0.0);
    let memory = facts.get(Metric::CopyRateShare).unwrap_or(0.0).min(1.0);
    0.75 * scalar * (1.0 - memory)
}

/// Processors that do nothing.
pub(crate) fn idle_processors(facts: &Facts) -> f64 {
    (1.0 - facts.get(Metric::ProcessorsBusyShare).unwrap_or(1.0)).clamp(0.0, 1.0)
}

/// Time in page faults.
pub(crate) fn page_faults(facts: &Facts) -> f64 {
    facts.get(Metric::PageFaultShare).unwrap_or(0.0)
}

/// About twenty cycles a mispredicted branch, and a branch in every five instructions.
pub(crate) fn branch_misses(facts: &Facts) -> f64 {
    (4.0 * facts.get(Metric::BranchMissShare).unwrap_or(0.0)).min(UNKNOWN)
}
