//! Where the time goes and why: one schema for every profiler's output, and what follows from it.

mod diagnosis;
mod kernel;
mod metric;
mod reading;
mod target;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use diagnosis::{Cause, Diagnosis, Headroom, Remedy, RuledOut, Sign, Stop};
pub use kernel::{HotLine, KernelProfile, KernelTime, LaunchShape, Stall, StallReason};
pub use metric::{Figures, Metric, Unit};
pub use reading::{FigureMove, KernelMove, ProfileComparison, ProfilePage, ProfileSide};
pub use target::{TargetDescription, TargetFact};

use crate::{CandidateId, ContentHash, Nanoseconds, Target};

/// What took the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfilerKind {
    /// Nsight Compute: hardware counters of NVIDIA GPUs.
    Ncu,
    /// Triton's Proton: times of every launch.
    Proton,
    /// The Torch profiler: times of kernels and operators.
    Torch,
    /// The processor's own counters beside the Torch profiler's times.
    Cpu,
    /// Compilers' reports: what is known without running.
    Static,
}

impl fmt::Display for ProfilerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ncu => "ncu",
            Self::Proton => "proton",
            Self::Torch => "torch",
            Self::Cpu => "cpu",
            Self::Static => "static",
        })
    }
}

/// Where the time of one module's calls goes, and why: the digest of one profile. The rest of it is read by its `id`, section by section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Names the whole profile for `read_profile` and `compare_profiles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ContentHash>,
    /// What was profiled: a candidate, or the problem itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateId>,
    /// Where it ran; absent for a file from elsewhere that does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The device's own name, where the profiler says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Which profiler took the figures.
    pub profiler: ProfilerKind,
    /// How many calls of the module were profiled.
    pub calls: u32,
    /// Wall time of one call, where calls were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_per_call_ns: Option<Nanoseconds>,
    /// What limits it, the costliest first; empty where nothing stands out or nothing could be known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<Diagnosis>,
    /// What was looked at and is not the problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ruled_out: Vec<RuledOut>,
    /// How far it is from what the device allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
    /// Figures of the call as a whole: on `cpu` the process's counters.
    #[serde(default, skip_serializing_if = "Figures::is_empty")]
    pub call: Figures,
    /// Kernels (on `cpu`: operators, by self time), the most expensive first.
    pub kernels: Vec<KernelProfile>,
    /// How many kernels are left out of `kernels`; all of them are in the section `kernels`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_kernels: usize,
    /// The problem's own kernels, for comparison with a candidate's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<KernelTime>,
    /// What the profiler could not know, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// What `read_profile` has beyond this, e.g. `stalls`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
    /// The whole profile as a resource of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The profiler's own files on the server's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl Profile {
    /// A profile of so many calls in which nothing was found yet.
    #[must_use]
    pub fn new(profiler: ProfilerKind, calls: u32) -> Self {
        Self {
            id: None,
            candidate: None,
            target: None,
            device: None,
            profiler,
            calls,
            wall_per_call_ns: None,
            diagnoses: Vec::new(),
            ruled_out: Vec::new(),
            headroom: None,
            call: Figures::default(),
            kernels: Vec::new(),
            more_kernels: 0,
            before: Vec::new(),
            limits: Vec::new(),
            sections: Vec::new(),
            resource: None,
            files: Vec::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
