//! What a profile worker says, made safe to pass on: a candidate in the same process may have written all of it.

use std::collections::BTreeMap;

use kernelwright_protocol::{Figures, KernelProfile, KernelTime, Nanoseconds, ProfilerKind, Target, TargetDescription, TargetFact};
use serde::Deserialize;

use crate::capture::Capture;

/// Names of C++ template instances reach thousands of characters; what tells them apart stands in front.
const NAME_LIMIT: usize = 200;
/// The worker lists forty entries and one for the rest.
const KERNEL_LIMIT: usize = 41;
/// The worker knows half a dozen sentences.
const SENTENCE_LIMIT: usize = 8;

/// The reply to `profile`.
#[derive(Deserialize)]
pub(crate) struct ProfileClaim {
    calls: u32,
    wall_per_call_ns: Nanoseconds,
    kernels: Vec<KernelTime>,
    limits: Vec<String>,
}

impl ProfileClaim {
    /// The capture, bounded in size, with what has to be known about where it was taken.
    pub(crate) fn into_capture(self, of_candidate: bool) -> Capture {
        let mut limits = Vec::new();
        if of_candidate {
            limits.push(
                "Taken inside the candidate's own process: advice, which a candidate could falsify; the verdict comes from evaluation."
                    .to_owned(),
            );
        }
        limits.extend(self.limits.into_iter().take(SENTENCE_LIMIT).map(|sentence| cut(sentence, 2 * NAME_LIMIT)));
        let bounded = |kernel: KernelTime| {
            KernelProfile::from(KernelTime {
                name: cut(kernel.name, NAME_LIMIT),
                share: kernel.share.clamp(0.0, 1.0),
                launches_per_call: kernel.launches_per_call.max(0.0),
                ..kernel
            })
        };
        Capture {
            profiler: ProfilerKind::Torch,
            device: None,
            calls: self.calls,
            wall_per_call_ns: Some(self.wall_per_call_ns),
            kernels: self.kernels.into_iter().take(KERNEL_LIMIT).map(bounded).collect(),
            call: Figures::default(),
            limits,
            raw: Vec::new(),
        }
    }
}

/// The reply to `describe`; no foreign code runs in that process.
#[derive(Deserialize)]
pub(crate) struct DescriptionClaim {
    name: String,
    arch: String,
    memory: Option<kernelwright_protocol::Bytes>,
    copy_bytes_per_second: Option<f64>,
    #[serde(default)]
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

    fn claim(kernels: usize, name: &str) -> ProfileClaim {
        let kernel = serde_json::json!({"name": name, "launches_per_call": 1.0, "time_per_call_ns": 5, "share": 7.5});
        let reply = serde_json::json!({
            "profiler": "torch", "calls": 20, "wall_per_call_ns": 10, "kernels": vec![kernel; kernels], "limits": ["one sentence."]});
        serde_json::from_value(reply).unwrap()
    }

    #[test]
    fn a_candidates_profile_says_where_it_was_taken() {
        let profile = claim(1, "kernel").into_capture(true);
        insta::assert_snapshot!(profile.limits.join("\n"), @"
        Taken inside the candidate's own process: advice, which a candidate could falsify; the verdict comes from evaluation.
        one sentence.
        ");
        let own = claim(1, "kernel").into_capture(false);
        assert_eq!(own.limits, ["one sentence."]);
    }

    #[test]
    fn what_a_candidate_may_have_written_is_bounded() {
        let profile = claim(5000, &"ä".repeat(5000)).into_capture(false);
        assert_eq!(profile.kernels.len(), KERNEL_LIMIT);
        assert_eq!(profile.kernels[0].time.name.chars().count(), NAME_LIMIT + 1);
        assert!((profile.kernels[0].time.share - 1.0).abs() < f64::EPSILON);
    }
}
