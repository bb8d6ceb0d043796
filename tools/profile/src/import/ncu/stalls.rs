//! What warps waited for, from whichever of the profiler's three ways of saying it a report has.

use kernelwright_protocol::{Stall, StallReason};

use super::metrics::Measured;

/// The profiler's words, older and newer ones.
const REASONS: &[(&str, StallReason)] = &[
    ("barrier", StallReason::Barrier),
    ("branch_resolving", StallReason::BranchResolving),
    ("dispatch_stall", StallReason::DispatchStall),
    ("drain", StallReason::Drain),
    ("gmma", StallReason::Gmma),
    ("imc_miss", StallReason::ImcMiss),
    ("lg_throttle", StallReason::LgThrottle),
    ("long_scoreboard", StallReason::LongScoreboard),
    ("math_pipe_throttle", StallReason::MathPipeThrottle),
    ("membar", StallReason::Membar),
    ("mio_throttle", StallReason::MioThrottle),
    ("misc", StallReason::Misc),
    ("no_instruction", StallReason::NoInstruction),
    ("no_instructions", StallReason::NoInstruction),
    ("not_selected", StallReason::NotSelected),
    ("selected", StallReason::Selected),
    ("short_scoreboard", StallReason::ShortScoreboard),
    ("sleeping", StallReason::Sleeping),
    ("tex_throttle", StallReason::TexThrottle),
    ("wait", StallReason::Wait),
    ("warpgroup_arrive", StallReason::Gmma),
];

/// Where reasons stand in the names of metrics that count warps, the most exact first: counted by hardware, then sampled.
const FAMILIES: &[(&str, &str)] = &[
    ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"),
    ("smsp__average_warp_latency_issue_stalled_", ".ratio"),
    ("smsp__pcsamp_warps_issue_stalled_", ""),
];

/// The class of a reason by the profiler's word for it.
pub(in crate::import) fn reason(word: &str) -> Option<StallReason> {
    REASONS.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, reason)| *reason)
}

/// The reasons with their shares of all warps' resident time, the longest first; empty where the report does not say enough.
pub(in crate::import) fn of(measured: &Measured<'_>) -> Vec<Stall> {
    let counted = FAMILIES.iter().map(|(begin, end)| shares(measured.between(begin, end))).find(|stalls| !stalls.is_empty());
    // These are shares of resident time as they are, so some of them alone are worth having.
    counted.unwrap_or_else(|| sorted(measured.between("smsp__warp_issue_stalled_", "_per_warp_active.pct"), 1.0))
}

/// Shares from numbers of warps. Warps are always in one of the classes, so the sum over all classes is their time. That holds only where
/// the family is whole, which shows by the class of warps that issue being there.
pub(in crate::import) fn shares<'a>(classes: impl Iterator<Item = (&'a str, f64)>) -> Vec<Stall> {
    // Samples are counted twice, once more for those in which no warp issued.
    let classes: Vec<(&str, f64)> = classes.filter(|(word, value)| !word.ends_with("_not_issued") && *value >= 0.0).collect();
    let whole: f64 = classes.iter().map(|(_, value)| value).sum();
    if whole <= 0.0 || !classes.iter().any(|(word, _)| reason(word) == Some(StallReason::Selected)) {
        return Vec::new();
    }
    sorted(classes.into_iter(), whole)
}

fn sorted<'a>(classes: impl Iterator<Item = (&'a str, f64)>, whole: f64) -> Vec<Stall> {
    let mut stalls: Vec<Stall> = Vec::new();
    for (word, value) in classes.filter(|(_, value)| *value > 0.0) {
        let Some(reason) = reason(word) else { continue };
        match stalls.iter_mut().find(|stall| stall.reason == reason) {
            Some(stall) => stall.share += value / whole,
            None => stalls.push(Stall { reason, share: value / whole }),
        }
    }
    stalls.sort_by(|left, right| right.share.total_cmp(&left.share));
    stalls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_classes_and_only_of_whole_families() {
        let classes = [("long_scoreboard", 6.0), ("selected", 1.0), ("wait", 2.0), ("something_newer", 1.0), ("wait_not_issued", 2.0)];
        let stalls: Vec<_> = shares(classes.into_iter()).into_iter().map(|stall| (stall.reason, stall.share)).collect();
        assert_eq!(stalls, [(StallReason::LongScoreboard, 0.6), (StallReason::Wait, 0.2), (StallReason::Selected, 0.1)]);
        assert!(shares([("long_scoreboard", 6.0), ("wait", 2.0)].into_iter()).is_empty());
    }
}
