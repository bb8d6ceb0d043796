//! One profile in full: what the profiler said, what follows from it, and what was asked. This is what is kept on disk.

use std::path::PathBuf;

use kernelwright_protocol::{
    Backend, CandidateId, Cause, Diagnosis, Headroom, KernelTime, ProfilerKind, RuledOut, Target, TargetDescription,
};
use serde::{Deserialize, Serialize};

use crate::capture::{Capture, Taken, Work};
use crate::diagnosis::{Findings, Place, Surroundings, diagnose};
use crate::headroom::headroom;

/// What was profiled, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Subject {
    /// The candidate; absent for the problem itself and for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) candidate: Option<CandidateId>,
    /// Where it ran; absent for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Target>,
}

/// One profile in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) subject: Subject,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) headroom: Option<Headroom>,
    #[serde(default)]
    pub(crate) diagnoses: Vec<Diagnosis>,
    #[serde(default)]
    pub(crate) ruled_out: Vec<RuledOut>,
    #[serde(default)]
    pub(crate) before: Vec<KernelTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) work: Option<Work>,
    /// What could not be known, in sentences: passed-over profilers first.
    #[serde(default)]
    pub(crate) limits: Vec<String>,
    #[serde(default)]
    pub(crate) files: Vec<PathBuf>,
    /// Last, because it is the longest.
    pub(crate) capture: Capture,
}

impl Report {
    /// Draws the conclusions.
    pub(crate) fn of(subject: Subject, taken: Taken, target: Option<&TargetDescription>) -> Self {
        let Taken { mut capture, before, work, files, passed_over } = taken;
        // What is no number cannot be kept, and was not measured.
        capture.raw.iter_mut().for_each(|figures| figures.retain(|figure| figure.value.is_finite()));
        capture.kernels.iter_mut().for_each(|kernel| kernel.stalls.retain(|stall| stall.share.is_finite()));
        let around = Surroundings { work: work.as_ref(), target };
        let headroom = headroom(&capture, around);
        let place = place(&subject, &capture);
        let Findings { diagnoses, ruled_out, untold } = diagnose(&capture, place, around, headroom.as_ref());
        let mut limits = passed_over;
        limits.extend(capture.limits.iter().cloned());
        limits.extend(not_looked_for(&untold));
        Self { subject, headroom, diagnoses, ruled_out, before, work, limits, files, capture }
    }
}

/// A file does not say where it was taken; torch names the processor's operators in its own way.
fn place(subject: &Subject, capture: &Capture) -> Place {
    let operators = || capture.kernels.iter().any(|kernel| kernel.time.name.starts_with("aten::"));
    let on_cpu = match subject.target {
        Some(target) => target.backend == Backend::Cpu,
        None => capture.profiler == ProfilerKind::Cpu || operators(),
    };
    if on_cpu { Place::Cpu } else { Place::Gpu }
}

fn not_looked_for(untold: &[Cause]) -> Option<String> {
    let names: Vec<String> = untold.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| format!("Not looked for, because what would show it was not measured: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::{KernelProfile, Nanoseconds};

    use super::*;

    #[test]
    fn a_trace_with_operators_of_torch_is_a_processors() {
        let place = |names: &[&str]| {
            let time =
                |name: &&str| KernelTime { name: (*name).into(), launches_per_call: 1.0, time_per_call_ns: Nanoseconds(1000), share: 0.5 };
            let kernels = names.iter().map(|name| KernelProfile::from(time(name))).collect();
            super::place(&Subject::default(), &Capture { kernels, ..Capture::new(ProfilerKind::Torch) })
        };
        assert_eq!(place(&["autograd::engine::evaluate_function: MulBackward0", "aten::mul", "detach"]), Place::Cpu);
        assert_eq!(place(&["triton_poi_fused_mul_0"]), Place::Gpu);
    }
}
