//! Whether a correct candidate has a kernel of its own, or hands its work to torch's.
//!
//! What ran is told by the candidate's process, so this is a warning beside a verdict and never decides one. A candidate that calls
//! nothing but the library, falls back to it, or launches a kernel whose result it ignores, is correct and as fast as the library; it is
//! no kernel.

use std::time::Duration;

use kernelwright_protocol::{NO_CUSTOM_KERNEL, Severity};

use crate::batch::Calls;
use crate::candidate::{Candidate, Trace};
use crate::problem::Problem;

/// A candidate of whose time the library has at least this share does nothing to speak of by itself.
const LIBRARY_SHARE: f64 = 0.85;

/// The most kernels a message names, and the least share of the time of one that is worth a name.
const NAMED: usize = 3;
const WORTH_A_NAME: f64 = 0.01;

/// What a traced call may take in any case, and how many times as long as another: the device waits for it.
const PATIENCE: Duration = Duration::from_secs(20);
const SLOWED: u32 = 100;

/// Makes one more call, which takes `usual` when nobody looks, and says so where the candidate leaves the work to the library. The launchers that Triton
/// had to build for it. A candidate that does not answer in time is not asked anything else.
pub(crate) async fn look(problem: &Problem, candidate: &mut Candidate, usual: Duration) -> Vec<Vec<String>> {
    let mut launchers = vec![];
    for call in Calls::of(problem).fresh(1) {
        let Ok(Some(trace)) = tokio::time::timeout(PATIENCE + usual * SLOWED, candidate.trace(call)).await else { continue };
        if let Some(message) = left_to_the_library(&trace) {
            candidate.note(NO_CUSTOM_KERNEL, Severity::Warning, &message);
        }
        launchers.extend(trace.launchers);
    }
    launchers
}

/// What to say of a candidate without a kernel that matters; none for one that has such a kernel.
fn left_to_the_library(trace: &Trace) -> Option<String> {
    let ran: Vec<_> = trace
        .kernels
        .iter()
        .filter(|kernel| kernel.library && kernel.share >= WORTH_A_NAME)
        .take(NAMED)
        .map(|kernel| format!("{} ({:.0} %)", kernel.name, kernel.share * 100.0))
        .collect();
    if trace.foreign.is_empty() {
        return Some(match ran.as_slice() {
            [] => "no kernel of its own ran, nor torch's operators: the time went into Python and what it has imported".to_owned(),
            ran => format!("no kernel of its own ran, only what torch and its libraries have: {}", ran.join(", ")),
        });
    }
    let ran = if ran.is_empty() { String::new() } else { format!(": {}", ran.join(", ")) };
    let share = trace.library_share.filter(|&share| share >= LIBRARY_SHARE)?;
    let own = trace.foreign.join(", ");
    Some(format!(
        "torch's own operators and kernels had {:.0} % of the time{ran}; what it brought itself ({own}) does next to nothing",
        share * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Launched;

    fn trace(kernels: &[(&str, f64, bool)], foreign: &[&str]) -> Trace {
        let share = kernels.iter().filter(|(_, _, library)| *library).map(|(_, share, _)| share).sum();
        let launched = |&(name, share, library): &(&str, f64, bool)| Launched { name: name.to_owned(), share, library };
        Trace {
            kernels: kernels.iter().map(launched).collect(),
            library_share: Some(share),
            foreign: foreign.iter().map(|name| (*name).to_owned()).collect(),
            launchers: vec![],
        }
    }

    #[test]
    fn the_library_s_work_is_told_from_the_candidate_s() {
        let wrapper = trace(&[("aten.mm.default", 0.6, true), ("(outside torch)", 0.4, false)], &[]);
        insta::assert_snapshot!(left_to_the_library(&wrapper).unwrap(), @"no kernel of its own ran, only what torch and its libraries have: aten.mm.default (60 %)");
        let numpy = trace(&[("(outside torch)", 0.998, false), ("aten.empty", 0.002, true)], &[]);
        insta::assert_snapshot!(left_to_the_library(&numpy).unwrap(), @"no kernel of its own ran, nor torch's operators: the time went into Python and what it has imported");
        let decoy = trace(&[("cublas_gemm", 0.97, true), ("decoy", 0.03, false)], &["triton: decoy"]);
        insta::assert_snapshot!(left_to_the_library(&decoy).unwrap(), @"torch's own operators and kernels had 97 % of the time: cublas_gemm (97 %); what it brought itself (triton: decoy) does next to nothing");
        assert_eq!(left_to_the_library(&trace(&[("softmax_kernel", 0.9, false), ("Memset", 0.1, true)], &["k.so"])), None);
    }
}
