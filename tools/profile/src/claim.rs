//! What a profile worker says, made safe to pass on: a candidate in the same process may have written all of it.

use std::collections::BTreeMap;

use kernelwright_protocol::{Bytes, KernelProfile, KernelTime, Nanoseconds, Target, TargetDescription, TargetFact};
use serde::Deserialize;

use crate::capture::Work;

/// Names of C++ template instances reach thousands of characters; what tells them apart stands in front.
const NAME_LIMIT: usize = 200;
/// The worker lists forty entries and one for the rest.
const KERNEL_LIMIT: usize = 41;
/// The worker knows half a dozen sentences.
const SENTENCE_LIMIT: usize = 8;

/// The reply to `load`: the module was called until it was warm.
#[derive(Deserialize)]
pub(crate) struct Loaded {
    /// How many calls a profiler is shown.
    pub(crate) calls: u32,
    /// How many sets of inputs the problem has.
    pub(crate) input_sets: u32,
}

/// The reply to `run`: calls were made and nothing else.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Ran {
    /// How many.
    pub(crate) calls: u32,
    pub(crate) wall_per_call_ns: Nanoseconds,
}

/// The reply to `work`; no foreign code but the user's problem runs in that process.
#[derive(Deserialize)]
pub(crate) struct WorkClaim {
    pub(crate) work: Option<Work>,
}

/// The reply to `trace`.
#[derive(Deserialize)]
pub(crate) struct Traced {
    kernels: Vec<KernelTime>,
    limits: Vec<String>,
}

impl Traced {
    /// Kernels and what the profiler could not know, bounded in size.
    pub(crate) fn bounded(self) -> (Vec<KernelProfile>, Vec<String>) {
        let kernel = |kernel: KernelTime| {
            KernelProfile::from(KernelTime {
                name: cut(kernel.name, NAME_LIMIT),
                share: kernel.share.clamp(0.0, 1.0),
                launches_per_call: kernel.launches_per_call.max(0.0),
                ..kernel
            })
        };
        (self.kernels.into_iter().take(KERNEL_LIMIT).map(kernel).collect(), sentences(self.limits))
    }
}

/// Sentences of a worker, bounded in number and length.
pub(crate) fn sentences(said: Vec<String>) -> Vec<String> {
    said.into_iter().take(SENTENCE_LIMIT).map(|sentence| cut(sentence, 2 * NAME_LIMIT)).collect()
}

/// The reply to `describe`; no foreign code runs in that process.
#[derive(Deserialize)]
pub(crate) struct DescriptionClaim {
    name: String,
    arch: String,
    memory: Option<Bytes>,
    copy_bytes_per_second: Option<f64>,
    matrix_operations_per_second: BTreeMap<String, f64>,
    facts: Vec<TargetFact>,
    software: Vec<String>,
}

impl DescriptionClaim {
    /// The description of `target`.
    pub(crate) fn into_description(self, target: Target) -> TargetDescription {
        let Self { name, arch, memory, copy_bytes_per_second, matrix_operations_per_second, facts, software } = self;
        TargetDescription { target, name, arch, memory, copy_bytes_per_second, matrix_operations_per_second, facts, software }
    }
}

/// The text, at most `limit` characters long, with a mark where something is missing.
fn cut(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_candidate_may_have_written_is_bounded() {
        let kernel = serde_json::json!({"name": "ä".repeat(5000), "launches_per_call": 1.0, "time_per_call_ns": 5, "share": 7.5});
        let reply = serde_json::json!({"kernels": vec![kernel; 5000], "limits": vec!["x".repeat(5000); 5000]});
        let (kernels, limits) = serde_json::from_value::<Traced>(reply).unwrap().bounded();
        assert_eq!((kernels.len(), limits.len()), (KERNEL_LIMIT, SENTENCE_LIMIT));
        assert_eq!(kernels[0].time.name.chars().count(), NAME_LIMIT + 1);
        assert!((kernels[0].time.share - 1.0).abs() < f64::EPSILON);
        assert_eq!(limits[0].chars().count(), 2 * NAME_LIMIT + 1);
    }
}
