//! Profiles as people read them: what limits it and why, what to do, and then the kernels.

use std::fmt::Write as _;

use kernelwright_profile::Rung;
use kernelwright_protocol::{Cause, Diagnosis, Headroom, KernelProfile, KernelTime, Metric, Profile, ProfileComparison, ProfileSide, Stop};

use crate::printer::{Printer, Tone};

/// How much of a kernel's name is shown.
const NAME: usize = 80;

// Writing into a `String` does not fail.

/// The digest.
pub(super) fn profile(profile: &Profile, printer: Printer) -> String {
    let mut text = String::new();
    let strong = |words: &str| printer.on_stdout(Tone::Strong, words);
    let wall = profile.wall_per_call_ns.map_or_else(|| "a call of unknown length".to_owned(), |wall| format!("{wall} per call"));
    let device = profile.device.as_ref().map(|device| format!(" on {device}")).unwrap_or_default();
    let _ = writeln!(text, "{}{device}, by the {} profiler", strong(&wall), profile.profiler);
    if let Some(headroom) = &profile.headroom {
        let _ = writeln!(text, "{}", self::headroom(headroom, printer));
    }
    for diagnosis in &profile.diagnoses {
        self::diagnosis(&mut text, diagnosis, printer);
    }
    if profile.diagnoses.is_empty() {
        let _ = writeln!(text, "nothing that was measured stands out");
    }
    if !profile.ruled_out.is_empty() {
        let _ = writeln!(text, "{}", strong("not the problem"));
        for one in &profile.ruled_out {
            let _ = writeln!(text, "  {}: {}", one.cause, one.because);
        }
    }
    let call: Vec<String> = profile.call.iter().map(|(metric, value)| format!("{metric} {}", metric.show(value))).collect();
    if !call.is_empty() {
        let _ = writeln!(text, "{}\n  {}", strong("in a call"), call.join(", "));
    }
    kernels(&mut text, profile, printer);
    for limit in &profile.limits {
        let _ = writeln!(text, "not known: {limit}");
    }
    if let Some(id) = &profile.id {
        let _ = writeln!(text, "more: kernelwright profile --read {id} {}", profile.sections.join("|"));
    }
    text
}

fn headroom(headroom: &Headroom, printer: Printer) -> String {
    let Headroom { floor_ns, bound_by, computed, ratio, .. } = headroom;
    let (tone, advice) = match headroom.stop {
        Stop::GoOn => (Tone::Plain, "much is left".to_owned()),
        Stop::NearFloor => (Tone::Careful, format!("{:.0} % of it is left", 100.0 * (1.0 - 1.0 / ratio))),
        Stop::AtFloor => (Tone::Good, "nothing is left but doing less work".to_owned()),
    };
    format!("floor {floor_ns} by {bound_by} ({computed}); {ratio:.2} times that: {}", printer.on_stdout(tone, &advice))
}

fn diagnosis(text: &mut String, diagnosis: &Diagnosis, printer: Printer) {
    let place = diagnosis.kernel.as_ref().map(|kernel| format!(" in {}", short(kernel))).unwrap_or_default();
    let tone = if matches!(diagnosis.cause, Cause::MemoryBandwidth | Cause::Compute) { Tone::Careful } else { Tone::Bad };
    let cause = printer.on_stdout(tone, &diagnosis.cause.to_string());
    let _ = writeln!(text, "{cause}{place}: {:.0} % of the call at stake\n  {}", diagnosis.at_stake * 100.0, diagnosis.summary);
    for sign in &diagnosis.signs {
        let _ = writeln!(text, "  {}: {}, {}", sign.metric, sign.metric.show(sign.value), sign.bound);
    }
    for remedy in &diagnosis.remedies {
        let entry = remedy.entry.as_ref().map(|entry| format!(" [{entry}]")).unwrap_or_default();
        let _ = writeln!(text, "  > {}{entry}", remedy.advice);
    }
}

fn kernels(text: &mut String, profile: &Profile, printer: Printer) {
    let now = profile.kernels.len() + profile.more_kernels;
    let counted = match profile.before.len() {
        0 => format!("kernels ({now})"),
        before => format!("kernels ({now} now, {before} before)"),
    };
    let _ = writeln!(text, "{}", printer.on_stdout(Tone::Strong, &counted));
    for KernelProfile { time, launch, .. } in &profile.kernels {
        let launch = launch.map(|launch| format!(", {launch}")).unwrap_or_default();
        let _ = writeln!(text, "  {}{launch}", kernel(time));
    }
    if profile.more_kernels > 0 {
        let _ = writeln!(text, "  and {} more", profile.more_kernels);
    }
    if !profile.before.is_empty() {
        let _ = writeln!(text, "{}", printer.on_stdout(Tone::Strong, "before"));
        for time in &profile.before {
            let _ = writeln!(text, "  {}", kernel(time));
        }
    }
}

fn kernel(time: &KernelTime) -> String {
    let launches = Metric::LaunchesPerCall.show(time.launches_per_call);
    format!("{:>5.1} %  {:>8}  x{launches:<4} {}", time.share * 100.0, time.time_per_call_ns.to_string(), short(&time.name))
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME { name.to_owned() } else { name.chars().take(NAME - 1).chain(['…']).collect() }
}

/// What moved.
pub(super) fn comparison(comparison: &ProfileComparison) -> String {
    let mut text = String::new();
    let whole = |side: &ProfileSide| {
        let time = side.wall_per_call_ns.unwrap_or(side.kernels_per_call_ns);
        format!("{time} in {} launches of {} kernels", Metric::LaunchesPerCall.show(side.launches_per_call), side.kernels)
    };
    let speedup = comparison.speedup.map(|speedup| format!(" ({speedup:.2}x)")).unwrap_or_default();
    let _ = writeln!(text, "before  {}\nafter   {}{speedup}", whole(&comparison.before), whole(&comparison.after));
    for (said, causes) in [("no longer", &comparison.causes_gone), ("new", &comparison.causes_new), ("still", &comparison.causes_stayed)] {
        if !causes.is_empty() {
            let names: Vec<String> = causes.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "{said}: {}", names.join(", "));
        }
    }
    for (sign, kernels) in [("-", &comparison.kernels_gone), ("+", &comparison.kernels_new)] {
        for time in kernels {
            let _ = writeln!(text, "{sign} {}", kernel(time));
        }
    }
    for one in &comparison.kernels_moved {
        let was = one.was.as_ref().map(|was| format!(" (before: {})", short(was))).unwrap_or_default();
        let _ = writeln!(text, "~ {} -> {}  {}{was}", one.before_ns, one.after_ns, short(&one.name));
    }
    for one in &comparison.figures_moved {
        let kernel = one.kernel.as_ref().map(|kernel| format!(" in {}", short(kernel))).unwrap_or_default();
        let _ = writeln!(text, "  {}: {} -> {}{kernel}", one.metric, one.metric.show(one.before), one.metric.show(one.after));
    }
    for caution in &comparison.cautions {
        let _ = writeln!(text, "careful: {caution}");
    }
    text
}

/// The profilers.
pub(super) fn rungs(rungs: &[Rung], printer: Printer) -> String {
    let mut text = String::new();
    for rung in rungs {
        let state = if rung.works { printer.on_stdout(Tone::Good, "works") } else { printer.on_stdout(Tone::Bad, "does not work") };
        let _ = writeln!(text, "{:<7} {state}", rung.profiler.to_string());
        let _ = writeln!(text, "  tells: {}\n  cannot tell: {}", rung.tells, rung.cannot);
        if let Some(reason) = &rung.reason {
            let _ = writeln!(text, "  because: {reason}");
        }
        if let Some(fix) = &rung.fix {
            let _ = writeln!(text, "  fix: {fix}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_says_first_what_limits_it() {
        let given = serde_json::json!({
            "id": "ab".repeat(32), "profiler": "ncu", "calls": 3, "device": "NVIDIA H200", "wall_per_call_ns": 300_000,
            "headroom": {"floor_ns": 200_000, "bound_by": "memory", "computed": "800 MiB at 4.20 TB/s", "ratio": 1.5, "stop": "go_on"},
            "diagnoses": [{
                "cause": "uncoalesced_access", "kernel": "columns", "at_stake": 0.333, "summary": "86.1 % of the sectors are not needed",
                "signs": [{"metric": "excess_sectors_share", "value": 0.861, "bound": "above 25.0 %"}],
                "remedies": [{"advice": "let adjacent threads touch adjacent addresses", "entry": "nvidia-hopper/coalescing"}],
            }],
            "ruled_out": [{"cause": "bank_conflicts", "because": "0.0 % of the shared-memory wavefronts are bank conflicts"}],
            "kernels": [{
                "name": "columns", "launches_per_call": 1.0, "time_per_call_ns": 290_000, "share": 1.0,
                "launch": {"grid": [4096, 1, 1], "block": [256, 1, 1]},
            }],
            "before": [
                {"name": "mul", "launches_per_call": 1.0, "time_per_call_ns": 400_000, "share": 0.8},
                {"name": "sum", "launches_per_call": 2.0, "time_per_call_ns": 100_000, "share": 0.2},
            ],
            "limits": ["Each kernel ran alone."], "sections": ["kernels", "raw"],
        });
        let given: Profile = serde_json::from_value(given).unwrap();
        insta::assert_snapshot!(profile(&given, Printer::plain()), @"
        300 us per call on NVIDIA H200, by the ncu profiler
        floor 200 us by memory (800 MiB at 4.20 TB/s); 1.50 times that: much is left
        uncoalesced access in columns: 33 % of the call at stake
          86.1 % of the sectors are not needed
          excess sectors: 86.1 %, above 25.0 %
          > let adjacent threads touch adjacent addresses [nvidia-hopper/coalescing]
        not the problem
          bank conflicts: 0.0 % of the shared-memory wavefronts are bank conflicts
        kernels (1 now, 2 before)
          100.0 %    290 us  x1    columns, 4096x1x1 blocks of 256x1x1
        before
           80.0 %    400 us  x1    mul
           20.0 %    100 us  x2    sum
        not known: Each kernel ran alone.
        more: kernelwright profile --read ababababab kernels|raw
        ");
    }

    #[test]
    fn a_comparison_says_what_moved() {
        let side = |wall: u64| {
            serde_json::json!({
            "id": "ab".repeat(32), "profiler": "ncu", "wall_per_call_ns": wall, "kernels_per_call_ns": wall, "kernels": 2, "launches_per_call": 2.0})
        };
        let given = serde_json::json!({
            "before": side(300_000), "after": side(150_000), "speedup": 2.0, "causes_gone": ["uncoalesced_access"],
            "kernels_gone": [{"name": "mul", "launches_per_call": 1.0, "time_per_call_ns": 90_000, "share": 0.3}],
            "kernels_moved": [{"name": "tiled", "was": "naive", "before_ns": 200_000, "after_ns": 140_000}],
            "figures_moved": [{"kernel": "tiled", "metric": "l2_hit_share", "before": 0.5, "after": 0.8}],
            "cautions": ["They were not taken on the same device."],
        });
        let given: ProfileComparison = serde_json::from_value(given).unwrap();
        insta::assert_snapshot!(comparison(&given), @"
        before  300 us in 2 launches of 2 kernels
        after   150 us in 2 launches of 2 kernels (2.00x)
        no longer: uncoalesced access
        -  30.0 %   90.0 us  x1    mul
        ~ 200 us -> 140 us  tiled (before: naive)
          l2 hit: 50.0 % -> 80.0 % in tiled
        careful: They were not taken on the same device.
        ");
    }
}
