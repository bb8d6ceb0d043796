//! One kernel of a profile.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::Figures;
use crate::Nanoseconds;

/// A kernel's or operator's part of a call's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelTime {
    /// The kernel's or operator's name.
    pub name: String,
    /// Launches per call of the module.
    pub launches_per_call: f64,
    /// Its own time in one call of the module.
    pub time_per_call_ns: Nanoseconds,
    /// Its share of all kernels' time, 0 to 1.
    pub share: f64,
}

/// One kernel or operator: its time, and what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelProfile {
    /// Its name and time.
    #[serde(flatten)]
    pub time: KernelTime,
    /// How it was launched, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchShape>,
    /// What was measured, by metric; the names say the units. What is absent was not measured.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub figures: Figures,
    /// What its warps waited for, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Its costliest source lines or instructions, the costliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hot_lines: Vec<HotLine>,
}

impl From<KernelTime> for KernelProfile {
    /// A kernel of which only the time is known.
    fn from(time: KernelTime) -> Self {
        Self { time, launch: None, figures: Figures::default(), stalls: Vec::new(), hot_lines: Vec::new() }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchShape {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
}

impl fmt::Display for LaunchShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
        write!(f, "{} blocks of {}", sides(self.grid), sides(self.block))
    }
}

/// What a warp that cannot issue waits for; Nsight Compute's own classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallReason {
    /// A barrier of the block.
    Barrier,
    /// A branch's target.
    BranchResolving,
    /// Another warp was chosen.
    NotSelected,
    /// Register banks or the dispatcher.
    DispatchStall,
    /// Memory instructions draining at the warp's end.
    Drain,
    /// A load from constant memory missing its cache.
    ImcMiss,
    /// The queue for local and global memory instructions being full.
    LgThrottle,
    /// Data from global, local, texture or surface memory.
    LongScoreboard,
    /// The arithmetic unit being busy.
    MathPipeThrottle,
    /// A fence.
    Membar,
    /// The queue for shared memory and special instructions being full.
    MioThrottle,
    /// Other causes.
    Misc,
    /// The next instruction being fetched.
    NoInstruction,
    /// Data from shared memory or a special function.
    ShortScoreboard,
    /// Having said that it sleeps.
    Sleeping,
    /// The texture queue being full.
    TexThrottle,
    /// The fixed latency of the instruction before.
    Wait,
    /// Asynchronous group operations of the tensor cores.
    Gmma,
    /// Nothing: it issued.
    Selected,
}

/// Nsight Compute's word for it, e.g. `long_scoreboard`.
impl fmt::Display for StallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The time of warps that went into one reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Why they waited.
    pub reason: StallReason,
    /// The part of all warps' resident time, 0 to 1.
    pub share: f64,
}

/// One line of source, or one instruction where no source is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotLine {
    /// File and line, or the instruction's address.
    pub place: String,
    /// The source line, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The costliest machine instruction of the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The part of the kernel's samples that fell on it, 0 to 1.
    pub share: f64,
    /// What warps mostly waited for there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<StallReason>,
}
