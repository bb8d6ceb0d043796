//! Where the time goes, and what the machine can do: figures with units, and nothing that was not measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, CandidateId, Nanoseconds, Target};

/// Where the time of one module's calls goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// What was profiled: a candidate, or the problem itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateId>,
    /// Where it ran.
    pub target: Target,
    /// Which profiler took the figures, e.g. `torch`.
    pub profiler: String,
    /// How many calls of the module were profiled.
    pub calls: u32,
    /// Wall time of one call.
    pub wall_per_call_ns: Nanoseconds,
    /// Kernels (on `cpu`: operators, by self time), the most expensive first.
    pub kernels: Vec<KernelTime>,
    /// What the profiler could not know, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// One kernel or operator of a profile.
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

/// What a target is and can do; every figure was read from the device or measured on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetDescription {
    /// Which target.
    pub target: Target,
    /// The product's own name, e.g. `NVIDIA H200`.
    pub name: String,
    /// The architecture's name for compilers and packs: `sm_90`, `x86_64-avx512`.
    pub arch: String,
    /// Memory that kernels can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Bytes per second of a large copy, counting bytes read plus bytes written; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_second: Option<f64>,
    /// Limits and features, each with its figure and where it comes from.
    pub facts: Vec<TargetFact>,
    /// Versions of what builds and runs kernels here: torch, triton, compilers, driver.
    pub software: Vec<String>,
}

/// One fact of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFact {
    /// What it is, e.g. `shared memory per block (opt-in)`.
    pub name: String,
    /// The figure with its unit, e.g. `227 KiB`.
    pub value: String,
    /// `read` from the device or `measured` on it.
    pub source: String,
}
