//! What is read beyond the digest: pages of a kept profile, and what moved between two of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diagnosis::Cause;
use super::kernel::KernelTime;
use super::metric::Metric;
use super::{Headroom, ProfilerKind};
use crate::{CandidateId, ContentHash, Nanoseconds};

/// A part of one section of a kept profile, line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilePage {
    /// The profile.
    pub id: ContentHash,
    /// The section.
    pub section: String,
    /// The kernel that is spoken of, where the section is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The first line's number, from 0.
    pub offset: usize,
    /// The lines.
    pub lines: Vec<String>,
    /// How many lines the section has.
    pub total: usize,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// What moved from one profile to another. Only differences beyond the noise of profilers are listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileComparison {
    /// The first profile as a whole.
    pub before: ProfileSide,
    /// The second one.
    pub after: ProfileSide,
    /// Time before over time after: above 1 the second one is faster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<f64>,
    /// Causes that were found before and are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes_gone: Vec<Cause>,
    /// Causes that are new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes_new: Vec<Cause>,
    /// Causes that are found in both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes_stayed: Vec<Cause>,
    /// Kernels that are not launched any more, the most expensive first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels_gone: Vec<KernelTime>,
    /// Kernels that are new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels_new: Vec<KernelTime>,
    /// Kernels of both whose time moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels_moved: Vec<KernelMove>,
    /// Figures of these and of the call that moved, the largest change first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures_moved: Vec<FigureMove>,
    /// What makes the two hard to compare, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
}

/// One profile of a comparison, as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileSide {
    /// The profile.
    pub id: ContentHash,
    /// The candidate; absent for the problem itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateId>,
    /// Which profiler.
    pub profiler: ProfilerKind,
    /// Wall time of one call, where calls were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_per_call_ns: Option<Nanoseconds>,
    /// All kernels' time in one call.
    pub kernels_per_call_ns: Nanoseconds,
    /// How many different kernels.
    pub kernels: usize,
    /// Launches in one call.
    pub launches_per_call: f64,
    /// The distance from the floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
}

/// A kernel whose time moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelMove {
    /// Its name.
    pub name: String,
    /// Its name before, where that was another one: the most expensive kernels of both are taken for each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Its time in one call before.
    pub before_ns: Nanoseconds,
    /// And after.
    pub after_ns: Nanoseconds,
}

/// A figure that moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureMove {
    /// The kernel; absent for the call as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// What was measured.
    pub metric: Metric,
    /// Its value before.
    pub before: f64,
    /// And after.
    pub after: f64,
}
