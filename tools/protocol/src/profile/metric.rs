//! The closed list of figures that profilers give for a kernel, each with one unit, whichever profiler it came from.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanoseconds};

/// What a number is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things counted.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Operations per second.
    OperationsPerSecond,
    /// Cycles per second.
    Hertz,
    /// A part of a whole: 0 to 1.
    Share,
    /// Bits.
    Bits,
}

/// One figure of one kernel; per launch where nothing else is said.
///
/// Nsight Compute's name is given where the figure is its own; figures without one are counted or computed as the text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Time on the device (`gpu__time_duration.sum`).
    DurationNs,
    /// Cycles the device was busy (`gpc__cycles_elapsed.max`).
    ElapsedCycles,
    /// Clock of the multiprocessors while it ran (`smsp__cycles_elapsed.avg.per_second`).
    SmClockHz,
    /// Clock of the device's memory while it ran (`dram__cycles_elapsed.avg.per_second`).
    DramClockHz,

    /// Blocks of the grid (`launch__grid_size`).
    Blocks,
    /// Threads of a block (`launch__block_size`).
    ThreadsPerBlock,
    /// Blocks of a cluster (`launch__cluster_size`).
    BlocksPerCluster,
    /// Registers a thread holds (`launch__registers_per_thread`).
    RegistersPerThread,
    /// Shared memory a block declares (`launch__shared_mem_per_block_static`).
    StaticSharedBytes,
    /// Shared memory a block is launched with (`launch__shared_mem_per_block_dynamic`).
    DynamicSharedBytes,
    /// Shared memory a block declares and is launched with together, where a profiler does not tell them apart (Torch's `shared memory`).
    SharedBytes,
    /// Rounds of resident blocks that the grid takes (`launch__waves_per_multiprocessor`).
    Waves,
    /// Multiprocessors of the device (`launch__sm_count`).
    Multiprocessors,
    /// Bytes of registers a thread stores to local memory, by the compiler.
    SpillStoreBytes,
    /// Bytes of registers a thread loads back, by the compiler.
    SpillLoadBytes,
    /// Local memory a thread owns for spills, arrays and calls, by the compiler.
    StackBytes,
    /// Requests to local memory: spills and indexed arrays at work (`smsp__inst_executed_op_local_ld.sum` and `_st`).
    LocalRequests,

    /// Warps that fit at once, of those the multiprocessor has room for (`sm__maximum_warps_per_active_cycle_pct`).
    TheoreticalOccupancyShare,
    /// Warps that were there on average, likewise (`sm__warps_active.avg.pct_of_peak_sustained_active`).
    AchievedOccupancyShare,
    /// Blocks that fit by registers (`launch__occupancy_limit_registers`).
    BlocksByRegisters,
    /// Blocks that fit by shared memory (`launch__occupancy_limit_shared_mem`).
    BlocksBySharedMemory,
    /// Blocks that fit by warps (`launch__occupancy_limit_warps`).
    BlocksByWarps,
    /// Blocks that fit by the hardware's own limit (`launch__occupancy_limit_blocks`).
    BlocksBySlots,
    /// Warps of a scheduler that could issue, on average (`smsp__warps_eligible.avg.per_cycle_active`).
    EligibleWarps,
    /// Cycles in which a scheduler issued (`smsp__issue_active.avg.per_cycle_active`).
    IssueShare,
    /// Threads of a warp at work, of 32, per instruction (`smsp__thread_inst_executed_per_inst_executed.ratio`).
    ThreadsPerInstruction,
    /// Share of time in which a multiprocessor has any work (`sm__cycles_active.avg` over elapsed cycles).
    SmActiveShare,

    /// The busiest arithmetic unit, of its peak (`sm__throughput.avg.pct_of_peak_sustained_elapsed`).
    ComputeThroughputShare,
    /// The busiest part of the memory system, of its peak (`gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed`).
    MemoryThroughputShare,
    /// Device memory, of its peak (`gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed`).
    DramThroughputShare,
    /// The busiest part of the second-level cache, of its peak (`lts__throughput.avg.pct_of_peak_sustained_elapsed`).
    L2ThroughputShare,
    /// First-level cache and shared memory, of their peak (`l1tex__throughput.avg.pct_of_peak_sustained_active`).
    L1ThroughputShare,
    /// Tensor cores, of their peak (`sm__pipe_tensor*_cycles_active.avg.pct_of_peak_sustained_active`, the busiest).
    TensorShare,
    /// Single-precision multiply-add unit, of its peak (`sm__inst_executed_pipe_fma*.avg.pct_of_peak_sustained_active`).
    FmaShare,
    /// Double-precision unit, of its peak (`sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active`).
    Fp64Share,
    /// Integer and logic unit, of its peak (`sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active`).
    AluShare,
    /// Transcendental functions and conversions, of their unit's peak (`sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active`).
    XuShare,
    /// Instructions a multiprocessor (or processor) retires per cycle (`sm__inst_executed.avg.per_cycle_active`).
    InstructionsPerCycle,
    /// Arithmetic rate, multiply-adds counted twice, from the executed instructions.
    OperationsPerS,

    /// Bytes that a call has to move at least (inputs, parameters, outputs), per second of its wall time.
    UsefulBytesPerS,
    /// Arithmetic of the problem's own matrix products and convolutions, multiply-adds counted twice, per second of a call's wall time.
    UsefulOperationsPerS,

    /// Bytes read from device memory (`dram__bytes_read.sum`).
    DramReadBytes,
    /// Bytes written to device memory (`dram__bytes_write.sum`).
    DramWriteBytes,
    /// Bytes per second to and from device memory (`dram__bytes.sum.per_second`).
    DramBytesPerS,
    /// First-level cache hits (`l1tex__t_sector_hit_rate.pct`).
    L1HitShare,
    /// Second-level cache hits (`lts__t_sector_hit_rate.pct`).
    L2HitShare,
    /// 32-byte sectors a global load request touches; 4 is ideal for 4-byte elements (`l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio`).
    SectorsPerLoad,
    /// 32-byte sectors a global store request touches (`l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio`).
    SectorsPerStore,
    /// Global sectors beyond what the threads' bytes need, of all (`memory_l2_theoretical_sectors_global_excessive` and its base).
    ExcessSectorsShare,
    /// Shared-memory wavefronts beyond the ideal number, of all: bank conflicts (`memory_l1_wavefronts_shared` and its ideal).
    SharedConflictShare,
    /// Requests to shared memory (`smsp__inst_executed_op_shared_ld.sum` and `_st`, or the L1's own count).
    SharedRequests,
    /// Requests to global memory (`smsp__inst_executed_op_global_ld.sum` and `_st`).
    GlobalRequests,
    /// Atomic operations and reductions on global memory (`smsp__inst_executed_op_global_atom.sum` and `_red`).
    AtomicRequests,
    /// Share of the second-level cache's peak that atomics take (`lts__t_sectors_op_atom` and `_red`, of peak).
    AtomicThroughputShare,

    /// Blocks of the grid for each multiprocessor, computed from both.
    BlocksPerMultiprocessor,
    /// Room for blocks that stays empty over all rounds because the last one is not full, computed from `waves`.
    TailIdleShare,
    /// Resident time in which warps wait for global or local memory: the stalls `long_scoreboard`, `lg_throttle` and `tex_throttle`.
    MemoryStallShare,
    /// Resident time in which warps wait for shared memory: the stalls `short_scoreboard` and `mio_throttle`.
    SharedStallShare,
    /// Resident time in which warps wait for each other: the stalls `barrier` and `membar`.
    BarrierStallShare,
    /// Resident time in which warps wait for the instruction before: the stall `wait`.
    DependencyStallShare,
    /// Requests to local memory, of those to local, global and shared memory.
    LocalRequestsShare,
    /// Requests to local memory, of all instructions executed.
    LocalInstructionsShare,
    /// Bytes of registers a thread stores to and loads from local memory, together.
    SpillBytes,
    /// Atomic operations for each warp of the grid.
    AtomicsPerWarp,
    /// Rate of device memory (of a call: of the bytes it has to move), of the target's own measured copy.
    CopyRateShare,
    /// Rate of the call's matrix products, of the target's own measured ones.
    MatrixRateShare,
    /// Operations of the call's matrix products on operands of 16 bits or fewer, of all of them.
    HalfOperationsShare,
    /// Bytes to and from memory in a call for each byte that it has to move.
    TrafficRatio,
    /// Time in kernels or operators, of the wall time of a call.
    KernelBusyShare,
    /// Launches in one call.
    LaunchesPerCall,
    /// Average time of a launch's kernel.
    KernelTimeNs,
    /// Wall time of a call outside kernels, for each launch.
    GapNs,
    /// Processors at work, or waited for while other work had them, of those allowed.
    ProcessorsBusyShare,
    /// Time that page faults take, at half a microsecond each, of the wall time of a call.
    PageFaultShare,

    /// Processor cycles.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Accesses that reached the last-level cache.
    CacheReferences,
    /// Accesses that the last-level cache did not hold.
    CacheMisses,
    /// Last-level misses of all its accesses.
    CacheMissShare,
    /// Mispredicted branches of all branches.
    BranchMissShare,
    /// Pages mapped while it ran: first touches of fresh memory.
    PageFaults,
    /// Times the system took the processor away.
    ContextSwitches,
    /// Processors at work on average.
    ProcessorsBusy,
    /// Processors that its threads waited for on average while other work had them.
    ProcessorsAwaited,
    /// Processors it was allowed.
    ProcessorsAllowed,
    /// Width of the widest vector instructions in its machine code.
    VectorBits,
    /// Arithmetic instructions on whole vectors, of all floating-point arithmetic in the machine code of its loops.
    VectorShare,
    /// Loops the compiler turned into vector code.
    VectorLoops,
    /// Loops the compiler left scalar.
    ScalarLoops,
}

impl Metric {
    /// The unit that its values have everywhere.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::DurationNs | Self::KernelTimeNs | Self::GapNs => Unit::Nanoseconds,
            Self::SmClockHz | Self::DramClockHz => Unit::Hertz,
            Self::StaticSharedBytes
            | Self::DynamicSharedBytes
            | Self::SharedBytes
            | Self::SpillStoreBytes
            | Self::SpillLoadBytes
            | Self::StackBytes
            | Self::SpillBytes
            | Self::DramReadBytes
            | Self::DramWriteBytes => Unit::Bytes,
            Self::DramBytesPerS | Self::UsefulBytesPerS => Unit::BytesPerSecond,
            Self::OperationsPerS | Self::UsefulOperationsPerS => Unit::OperationsPerSecond,
            Self::TheoreticalOccupancyShare
            | Self::AchievedOccupancyShare
            | Self::IssueShare
            | Self::SmActiveShare
            | Self::ComputeThroughputShare
            | Self::MemoryThroughputShare
            | Self::DramThroughputShare
            | Self::L2ThroughputShare
            | Self::L1ThroughputShare
            | Self::TensorShare
            | Self::FmaShare
            | Self::Fp64Share
            | Self::AluShare
            | Self::XuShare
            | Self::L1HitShare
            | Self::L2HitShare
            | Self::ExcessSectorsShare
            | Self::SharedConflictShare
            | Self::AtomicThroughputShare
            | Self::TailIdleShare
            | Self::MemoryStallShare
            | Self::SharedStallShare
            | Self::BarrierStallShare
            | Self::DependencyStallShare
            | Self::LocalRequestsShare
            | Self::LocalInstructionsShare
            | Self::CopyRateShare
            | Self::MatrixRateShare
            | Self::HalfOperationsShare
            | Self::KernelBusyShare
            | Self::ProcessorsBusyShare
            | Self::PageFaultShare
            | Self::CacheMissShare
            | Self::BranchMissShare
            | Self::VectorShare => Unit::Share,
            Self::VectorBits => Unit::Bits,
            _ => Unit::Count,
        }
    }

    /// The name on the wire, e.g. `dram_bytes_per_s`.
    #[must_use]
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// The name for people: the wire's, without the unit and in words, e.g. `dram bandwidth`.
    #[must_use]
    pub fn label(self) -> String {
        let name = self.name();
        let name =
            ["_bytes_per_s", "_per_s", "_share", "_ns", "_hz", "_bytes"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        name.replace('_', " ")
    }

    /// A value with its unit, three digits long: `3.12 TB/s`, `81.4 %`, `18.4 us`.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self.unit() {
            Unit::Count => number(value),
            Unit::Nanoseconds => Nanoseconds::from_seconds(value / 1e9).to_string(),
            Unit::Bytes => Bytes(value.max(0.0).round() as u64).to_string(),
            Unit::BytesPerSecond => scaled(value, "B/s"),
            Unit::OperationsPerSecond => scaled(value, "op/s"),
            Unit::Hertz => scaled(value, "Hz"),
            Unit::Share => format!("{:.1} %", value * 100.0),
            Unit::Bits => format!("{value:.0} bit"),
        }
    }
}

/// Counts stay whole where they are; others keep three digits.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e7 {
        return format!("{value:.0}");
    }
    match value.abs() {
        v if v >= 1e6 => scaled(value, "").trim_end().to_owned(),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn scaled(value: f64, unit: &str) -> String {
    let (value, prefix) = match value.abs() {
        v if v >= 1e12 => (value / 1e12, "T"),
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = if value.abs() >= 100.0 { 0 } else { 1 + usize::from(value.abs() < 10.0) };
    format!("{value:.digits$} {prefix}{unit}")
}

/// The figures that were measured. What is not in it was not measured; a zero was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Figures(BTreeMap<Metric, f64>);

impl Figures {
    /// The value, if it was measured, in the metric's unit.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }

    /// Notes a value; one that is no number is no measurement.
    pub fn set(&mut self, metric: Metric, value: f64) {
        if value.is_finite() {
            self.0.insert(metric, value);
        }
    }

    /// Notes a value where there is one.
    pub fn set_known(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value {
            self.set(metric, value);
        }
    }

    /// All of them, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, f64)> + '_ {
        self.0.iter().map(|(metric, value)| (*metric, *value))
    }

    /// Whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Metric, f64)> for Figures {
    fn from_iter<I: IntoIterator<Item = (Metric, f64)>>(figures: I) -> Self {
        let mut found = Self::default();
        for (metric, value) in figures {
            found.set(metric, value);
        }
        found
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_named_as_one_and_a_size_in_bytes() {
        let figures = r#"{"dram_bytes_per_s": 3.12e12, "l2_hit_share": 0.814, "duration_ns": 18400.0, "blocks": 132.0, "dynamic_shared_bytes": 98304.0}"#;
        let figures: Figures = serde_json::from_str(figures).unwrap();
        let shown: Vec<String> = figures.iter().map(|(metric, value)| format!("{metric}: {}", metric.show(value))).collect();
        assert_eq!(shown, ["duration: 18.4 us", "blocks: 132", "dynamic shared: 96.0 KiB", "dram: 3.12 TB/s", "l2 hit: 81.4 %"]);
    }

    #[test]
    fn units_agree_with_the_names_on_the_wire() {
        let schema = serde_json::to_value(schemars::schema_for!(Metric)).unwrap();
        let names: Vec<Metric> =
            schema["oneOf"].as_array().unwrap().iter().map(|one| serde_json::from_value(one["const"].clone()).unwrap()).collect();
        assert!(names.len() > 60, "{schema}");
        for metric in names {
            let name = metric.name();
            assert_eq!(name.ends_with("_share"), metric.unit() == Unit::Share, "{name}");
            assert_eq!(name.ends_with("_bytes"), metric.unit() == Unit::Bytes, "{name}");
            assert_eq!(name.ends_with("_hz"), metric.unit() == Unit::Hertz, "{name}");
            assert_eq!(name.ends_with("_ns"), metric.unit() == Unit::Nanoseconds, "{name}");
        }
    }

    #[test]
    fn what_is_no_number_is_not_measured() {
        let figures: Figures = [(Metric::L2HitShare, f64::NAN), (Metric::Waves, 0.0)].into_iter().collect();
        assert_eq!((figures.get(Metric::L2HitShare), figures.get(Metric::Waves)), (None, Some(0.0)));
    }
}
