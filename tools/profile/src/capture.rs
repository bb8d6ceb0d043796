//! Everything one profiler said of one module, in one form, before anything is concluded or left out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kernelwright_protocol::{Bytes, Figures, KernelProfile, KernelTime, Metric, Nanoseconds, ProfilerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one question for a profile brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// What the profiler said of the candidate, or of the problem where none was asked about.
    pub capture: Capture,
    /// The problem's own kernels, where a candidate was asked about.
    pub before: Vec<KernelTime>,
    /// What a call has to move and compute at least.
    pub work: Option<Work>,
    /// Files of the profiler that were kept.
    pub files: Vec<PathBuf>,
    /// Which better profilers were passed over, and why, in sentences.
    pub passed_over: Vec<String>,
}

/// What a call has to move and compute, whatever kernels it uses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Inputs, parameters and outputs, each once.
    pub bytes: Bytes,
    /// Arithmetic of the matrix products and convolutions, multiply-adds counted twice, by dtype, e.g. `float16`.
    #[serde(default)]
    pub operations: BTreeMap<String, f64>,
}

impl Work {
    /// Notes in the figures of a call how fast this was done.
    pub(crate) fn note_rates(&self, wall_per_call: Option<Nanoseconds>, call: &mut Figures) {
        let Some(wall) = wall_per_call.filter(|wall| wall.0 > 0) else { return };
        let per_second = |amount: f64| (amount > 0.0).then(|| amount / (wall.0 as f64 / 1e9));
        call.set_known(Metric::UsefulBytesPerS, per_second(self.bytes.0 as f64));
        call.set_known(Metric::UsefulOperationsPerS, per_second(self.operations.values().sum()));
    }
}

/// One profiler, and whether it works on a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// Which.
    pub profiler: ProfilerKind,
    /// Whether it can be used here and now.
    pub works: bool,
    /// What it tells, in a sentence.
    pub tells: String,
    /// What it cannot know, in a sentence.
    pub cannot: String,
    /// Why it does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The exact step that makes it work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

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

impl Capture {
    /// One call of which nothing is known yet.
    #[must_use]
    pub fn new(profiler: ProfilerKind) -> Self {
        Self {
            profiler,
            device: None,
            calls: 1,
            wall_per_call_ns: None,
            kernels: Vec::new(),
            call: Figures::default(),
            limits: Vec::new(),
            raw: Vec::new(),
        }
    }
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
