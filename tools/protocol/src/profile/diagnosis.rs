//! What follows from a profile's figures: causes with the signs that show them, what is not the cause, and how much is left to gain.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Metric;
use crate::Nanoseconds;

/// Why a module is not faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Device memory moves bytes as fast as it can.
    MemoryBandwidth,
    /// Threads of a warp touch more sectors than their bytes need.
    UncoalescedAccess,
    /// Threads of a warp ask the same bank of shared memory for different words.
    BankConflicts,
    /// Too few warps are resident to hide latency.
    LowOccupancy,
    /// Warps wait for memory, and nothing is busy.
    MemoryLatency,
    /// Warps wait for the instruction before, and nothing is busy.
    DependentInstructions,
    /// Registers overflow into memory.
    RegisterSpills,
    /// Launching kernels takes longer than running them.
    LaunchOverhead,
    /// The host, not the device, sets the pace.
    HostBound,
    /// The grid has fewer blocks than the device can run at once.
    TooFewBlocks,
    /// The last round of blocks leaves most of the device idle.
    TailEffect,
    /// Matrix arithmetic runs on the general units.
    NoTensorCores,
    /// An arithmetic unit runs as fast as it can.
    Compute,
    /// Data that was in the second-level cache is fetched again.
    CacheThrash,
    /// Atomic operations queue at the same addresses.
    AtomicContention,
    /// Warps wait at barriers.
    Barriers,
    /// Threads of a warp take different branches.
    Divergence,
    /// One block or one thread does work that could be shared.
    Serialisation,
    /// Shared memory or the first-level cache moves bytes as fast as it can.
    SharedMemoryBandwidth,
    /// Instructions that are neither arithmetic nor memory accesses of the problem take the schedulers' time.
    InstructionIssue,
    /// The compiler left loops scalar.
    NotVectorised,
    /// Fewer processors work than may.
    TooFewThreads,
    /// Fresh memory is mapped, page by page, in every call.
    PageFaults,
    /// Branches are mispredicted.
    BranchMisses,
    /// Python takes the time.
    Interpreter,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MemoryBandwidth => "memory bandwidth",
            Self::UncoalescedAccess => "uncoalesced access",
            Self::BankConflicts => "bank conflicts",
            Self::LowOccupancy => "low occupancy",
            Self::MemoryLatency => "memory latency",
            Self::DependentInstructions => "dependent instructions",
            Self::RegisterSpills => "register spills",
            Self::LaunchOverhead => "launch overhead",
            Self::HostBound => "host bound",
            Self::TooFewBlocks => "too few blocks",
            Self::TailEffect => "tail effect",
            Self::NoTensorCores => "no tensor cores",
            Self::Compute => "compute",
            Self::CacheThrash => "cache thrash",
            Self::AtomicContention => "atomic contention",
            Self::Barriers => "barriers",
            Self::Divergence => "divergence",
            Self::Serialisation => "serialisation",
            Self::SharedMemoryBandwidth => "shared memory bandwidth",
            Self::InstructionIssue => "instruction issue",
            Self::NotVectorised => "not vectorised",
            Self::TooFewThreads => "too few threads",
            Self::PageFaults => "page faults",
            Self::BranchMisses => "branch misses",
            Self::Interpreter => "interpreter",
        })
    }
}

/// One cause, with what shows it and what helps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// Why.
    pub cause: Cause,
    /// The kernel it was found in; absent for the call as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The part of the call's time that is at stake, estimated from the signs, 0 to 1: how much shorter the call were without the cause.
    pub at_stake: f64,
    /// In one sentence, with figures.
    pub summary: String,
    /// The figures that show it.
    pub signs: Vec<Sign>,
    /// What to do about it.
    pub remedies: Vec<Remedy>,
}

/// A figure, and the bound that makes it matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sign {
    /// What was measured.
    pub metric: Metric,
    /// Its value, in the metric's unit.
    pub value: f64,
    /// The bound it is beyond, in words, e.g. `above 25.0 %`.
    pub bound: String,
}

/// A change that treats a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// What to change.
    pub advice: String,
    /// The knowledge entry that says how, for `read_entry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// A cause that was looked for and is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    /// What is not the problem.
    pub cause: Cause,
    /// The figures that say so, in words.
    pub because: String,
}

/// The distance from what the device allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// The shortest time that bytes and operations allow at the measured ceilings.
    pub floor_ns: Nanoseconds,
    /// What sets it: `memory` or `arithmetic`.
    pub bound_by: String,
    /// How it was computed, e.g. `512 MiB at 4.12 TB/s`.
    pub computed: String,
    /// Time over floor: 1 is the best there can be.
    pub ratio: f64,
    /// Whether going on is worth it.
    pub stop: Stop,
}

impl Headroom {
    /// Up to this ratio nothing is left. A depthwise convolution that was 1.11 times its floor became 1.03 times by other strips alone.
    pub const AT_FLOOR: f64 = 1.05;
}

/// What the headroom advises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Much is left.
    GoOn,
    /// Little is left: only what is cheap to try.
    NearFloor,
    /// Nothing is left but doing less work.
    AtFloor,
}
