//! Everything one profiler said of one module, in one form, before anything is concluded or left out.

use kernelwright_protocol::{Figures, KernelProfile, Nanoseconds, ProfilerKind};
use serde::{Deserialize, Serialize};

/// What a profiler said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capture {
    /// Which profiler.
    pub profiler: ProfilerKind,
    /// The device's name, where the profiler says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// How many calls of the module it saw; 1 where a file does not say.
    pub calls: u32,
    /// Wall time of one call, taken without the profiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_per_call_ns: Option<Nanoseconds>,
    /// Kernels or operators, one for each name and shape of launch, the most expensive first.
    pub kernels: Vec<KernelProfile>,
    /// Figures of the call as a whole: on `cpu` the process's counters.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub call: Figures,
    /// What the profiler could not know, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// The profiler's own figures under its own names, by the position of the kernel in `kernels`: what the digest was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<Vec<RawFigure>>,
}

/// One figure as the profiler printed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawFigure {
    /// The profiler's name for it, e.g. `dram__bytes_read.sum`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The profiler's unit, e.g. `byte/second`; empty for plain numbers.
    pub unit: String,
}
