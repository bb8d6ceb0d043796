//! Verdicts, times and facts in the words that the model and the report's readers get: compact, with units, and nothing twice.

use std::fmt::Write as _;

use kernelwright_protocol::{
    Baseline, Evaluation, Fault, Figures, Headroom, KernelProfile, Passage, Profile, Remedy, RuledOut, Severity, Stop, TRIAL_SKIPPED,
    Timing, Verdict,
};

/// A verdict for the model: the status, and then what helps with the next kernel.
pub(crate) fn evaluation(evaluation: &Evaluation) -> String {
    let mut text = format!("candidate {}: {}\n", evaluation.candidate, headline(evaluation));
    match &evaluation.verdict {
        Verdict::Correct(correct) => {
            if let Some(timing) = &correct.timing {
                let brackets = if timing.is_of_pairs() { "; in brackets its 95 % interval" } else { "" };
                let _ = writeln!(text, "the speedup is against {}{brackets}", timing.baseline);
                for baseline in &timing.baselines {
                    let _ = writeln!(text, "baseline {}", self::baseline(baseline));
                }
                let _ = writeln!(text, "build {}, first call {}", timing.build_ns, timing.first_call_ns);
            }
            let _ = writeln!(text, "largest error over the allowed error: {:.3}", correct.error_over_tolerance);
            skipped(&mut text, &correct.trials.skipped);
        }
        Verdict::Incorrect { mismatches, trials } => {
            for mismatch in mismatches {
                let over =
                    mismatch.error_over_tolerance.map(|over| format!(" (error {over:.1} times the allowed one)")).unwrap_or_default();
                let _ = writeln!(text, "- {}, {}: {}{over}", mismatch.trial, mismatch.output, mismatch.detail);
            }
            let _ = writeln!(text, "trials: {}", trials.ran.join("; "));
            skipped(&mut text, &trials.skipped);
        }
        Verdict::BuildFailed(Fault { diagnostics, .. }) | Verdict::Faulted(Fault { diagnostics, .. }) if !diagnostics.is_empty() => {
            let _ = writeln!(text, "```\n{}\n```", diagnostics.trim_end());
        }
        Verdict::BuildFailed(_) | Verdict::Faulted(_) | Verdict::TimedOut(_) | Verdict::Rejected { .. } => {}
    }
    if let Some(check) = &evaluation.deep_check {
        let _ = writeln!(text, "deep check by compute-sanitizer, of one call on {}", check.inputs);
        for tool in &check.tools {
            let _ = writeln!(text, "{tool}");
        }
    }
    for finding in evaluation.findings.iter().filter(|finding| finding.rule != TRIAL_SKIPPED) {
        let _ = writeln!(text, "{}: {} ({})", severity(finding.severity), finding.message, finding.rule);
    }
    text.truncate(text.trim_end().len());
    text
}

fn skipped(text: &mut String, labels: &[String]) {
    if !labels.is_empty() {
        let _ = writeln!(text, "not tried: {}", labels.join("; "));
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Rejection => "rejected because",
    }
}

/// A verdict in one line.
pub(crate) fn headline(evaluation: &Evaluation) -> String {
    match &evaluation.verdict {
        Verdict::Correct(correct) => match (&correct.timing, &correct.not_measured) {
            (Some(timing), _) => format!("correct, {}", speedup(timing)),
            (None, Some(why)) => format!("correct, not timed: {}", why.reason),
            (None, None) => "correct, not timed".to_owned(),
        },
        Verdict::Incorrect { mismatches, .. } => match mismatches.first() {
            Some(worst) => format!("incorrect: {} of {}: {}", worst.output, worst.trial, worst.detail),
            None => "incorrect".to_owned(),
        },
        Verdict::BuildFailed(fault) => format!("build_failed in {}: {}", fault.phase, fault.summary),
        Verdict::Faulted(fault) => format!("faulted in {}: {}", fault.phase, fault.summary),
        Verdict::TimedOut(timeout) => format!("timed_out: {timeout}"),
        Verdict::Rejected { rule, explanation } => format!("rejected ({rule}): {explanation}"),
    }
}

/// `2.10x (2.05x to 2.14x), 1.20 ms`: the speedup with its 95 % interval, and the time of one call.
fn speedup(timing: &Timing) -> String {
    let interval =
        if timing.is_of_pairs() { format!(" ({:.2}x to {:.2}x)", timing.speedup_low, timing.speedup_high) } else { String::new() };
    format!("{:.2}x{interval}, {}", timing.speedup, timing.candidate_ns)
}

/// One baseline: `eager: 2.51 ms (spread 1.2 %)`.
pub(crate) fn baseline(baseline: &Baseline) -> String {
    let kind = baseline.kind;
    match (&baseline.time_ns, &baseline.not_measured) {
        (Some(time), _) => {
            let spread = baseline.spread.map(|spread| format!(" (spread {:.1} %)", spread * 100.0)).unwrap_or_default();
            format!("{kind}: {time}{spread}")
        }
        (None, Some(why)) => format!("{kind}: not measured: {}", why.reason),
        (None, None) => format!("{kind}: not measured"),
    }
}

/// What limits it and why, and where the time goes: the ten most expensive kernels.
pub(crate) fn profile(profile: &Profile) -> String {
    let wall = profile.wall_per_call_ns.map(|wall| format!("{wall} per call, ")).unwrap_or_default();
    let mut text = format!("{wall}by the {} profiler over {} calls\n", profile.profiler, profile.calls);
    if let Some(headroom) = &profile.headroom {
        let _ = writeln!(text, "{}", self::headroom(headroom));
    }
    for diagnosis in &profile.diagnoses {
        let place = diagnosis.kernel.as_ref().map(|kernel| format!(" in {kernel}")).unwrap_or_default();
        let (cause, stake, summary) = (diagnosis.cause, diagnosis.at_stake * 100.0, &diagnosis.summary);
        let _ = writeln!(text, "limited by {cause}{place}, {stake:.0} % of the call at stake: {summary}");
        for remedy in diagnosis.remedies.iter().map(remedy) {
            let _ = writeln!(text, "  do: {remedy}");
        }
    }
    for one in profile.ruled_out.iter().map(ruled_out) {
        let _ = writeln!(text, "not the problem: {one}");
    }
    for KernelProfile { time, launch, figures, .. } in profile.kernels.iter().take(10) {
        let share = time.share * 100.0;
        let launch = launch.map(|launch| format!(", {launch}")).unwrap_or_default();
        let launches = plain(time.launches_per_call);
        let _ = writeln!(text, "- {share:.1} % {} {} ({launches} per call{launch})", time.time_per_call_ns, time.name);
        if !figures.is_empty() {
            let _ = writeln!(text, "  {}", self::figures(figures));
        }
    }
    if profile.more_kernels > 0 {
        let _ = writeln!(text, "- and {} more", profile.more_kernels);
    }
    if !profile.call.is_empty() {
        let _ = writeln!(text, "in a call: {}", figures(&profile.call));
    }
    if let Some(before) = before(profile) {
        let _ = writeln!(text, "{before}");
    }
    for limit in &profile.limits {
        let _ = writeln!(text, "caveat: {limit}");
    }
    if let Some(id) = &profile.id {
        let _ = writeln!(text, "id for read_profile and compare_profiles: {id}; sections: {}", profile.sections.join(", "));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Figures in one line: `dram: 3.12 TB/s, l2 hit: 81.4 %`.
fn figures(figures: &Figures) -> String {
    figures.iter().map(|(metric, value)| format!("{metric}: {}", metric.show(value))).collect::<Vec<_>>().join(", ")
}

/// The distance from the floor, and whether going on is worth it.
pub(crate) fn headroom(headroom: &Headroom) -> String {
    let Headroom { floor_ns, bound_by, computed, ratio, .. } = headroom;
    let advice = match headroom.stop {
        Stop::GoOn => "much is left".to_owned(),
        Stop::NearFloor => format!("{:.0} % of the call lies above it: what is cheap to try", 100.0 * (1.0 - 1.0 / ratio)),
        Stop::AtFloor => "nothing is left but doing less work".to_owned(),
    };
    format!("{ratio:.2} times the floor of {floor_ns} that {bound_by} sets ({computed}): {advice}")
}

/// What to do, and where to read how.
pub(crate) fn remedy(remedy: &Remedy) -> String {
    let entry = remedy.entry.as_ref().map(|entry| format!(" (read_entry {entry})")).unwrap_or_default();
    format!("{}{entry}", remedy.advice)
}

/// What is not the problem, and why.
pub(crate) fn ruled_out(one: &RuledOut) -> String {
    format!("{} ({})", one.cause, one.because)
}

/// The problem's own kernels beside a candidate's: `5 kernels before, 2 now; before: 60.0 % aten::mul, ...`.
pub(crate) fn before(profile: &Profile) -> Option<String> {
    let now = profile.kernels.len() + profile.more_kernels;
    let most: Vec<String> =
        profile.before.iter().take(3).map(|time| format!("{:.0} % {}", time.share * 100.0, elide(&time.name, 80))).collect();
    let kernels = if profile.before.len() == 1 { "kernel" } else { "kernels" };
    (!most.is_empty()).then(|| format!("{} {kernels} before, {now} now; before: {}", profile.before.len(), most.join(", ")))
}

/// A number with at most three decimals and no trailing zeros.
pub(crate) fn plain(number: f64) -> String {
    format!("{number:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A found passage under its address.
pub(crate) fn passage(passage: &Passage) -> String {
    let heading = if passage.heading.is_empty() { String::new() } else { format!(" > {}", passage.heading) };
    format!("[{}{heading}] ({})\n{}", passage.entry, passage.kind.as_str(), passage.text.trim())
}

/// Cuts a name, or another text of one line, in the middle: of names of kernels both the beginning and the end tell them apart.
pub(crate) fn elide(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let half = limit.saturating_sub(1) / 2;
    text.chars().take(half).chain(['…']).chain(text.chars().skip(count - half)).collect()
}

/// Cuts a text of several lines in the middle, at character boundaries, and says how much is missing.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let half = limit / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n[... {} characters left out ...]\n{tail}", count - 2 * half)
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::{KernelTime, Nanoseconds, ProfilerKind};

    use super::*;

    #[test]
    fn a_name_keeps_both_its_ends_and_one_line() {
        assert_eq!(elide("conv<float, 3>", 14), "conv<float, 3>");
        assert_eq!(elide("conv<float, 3>", 9), "conv…, 3>");
        assert_eq!(elide("größer als gedacht", 7), "grö…cht");
    }

    #[test]
    fn one_kernel_is_no_plural() {
        let profile = |names: &[&str]| {
            let time = |name: &&str| KernelTime {
                name: (*name).to_owned(),
                launches_per_call: 1.0,
                time_per_call_ns: Nanoseconds(1000),
                share: 0.5,
            };
            Profile { before: names.iter().map(time).collect(), ..Profile::new(ProfilerKind::Ncu, 1) }
        };
        assert_eq!(before(&profile(&[])), None);
        assert_eq!(before(&profile(&["mm"])).as_deref(), Some("1 kernel before, 0 now; before: 50 % mm"));
        assert_eq!(before(&profile(&["mm", "add"])).as_deref(), Some("2 kernels before, 0 now; before: 50 % mm, 50 % add"));
    }
}
