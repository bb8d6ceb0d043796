//! What moved from one report to another.

use std::collections::BTreeSet;

use kernelwright_protocol::{
    Cause, ContentHash, FigureMove, Figures, KernelMove, KernelProfile, KernelTime, Nanoseconds, ProfileComparison, ProfileSide, Unit,
};

use crate::report::Report;

/// Times of the same kernel differ by this much from profile to profile.
const TIME_NOISE: f64 = 0.05;
/// Other figures as well; counts of the same work are exact.
const FIGURE_NOISE: f64 = 0.05;
/// Shares differ by points.
const SHARE_NOISE: f64 = 0.02;
/// What is listed of each kind.
const LISTED: usize = 8;
/// Listed figures.
const FIGURES: usize = 16;

/// Compares two kept reports.
pub(crate) fn compare(before: (&ContentHash, &Report), after: (&ContentHash, &Report)) -> ProfileComparison {
    let (first, second) = (before.1, after.1);
    let (old, new) = (causes(first), causes(second));
    let pairs = pairs(&first.capture.kernels, &second.capture.kernels);
    let alone = |kernels: &[KernelProfile], side: fn(&Pair) -> usize| -> Vec<KernelTime> {
        let paired: BTreeSet<usize> = pairs.iter().map(side).collect();
        let rest = kernels.iter().enumerate().filter(|(position, _)| !paired.contains(position));
        rest.map(|(_, kernel)| kernel.time.clone()).take(LISTED).collect()
    };
    let (before, after) = (side(before), side(after));
    ProfileComparison {
        speedup: time(&before).zip(time(&after)).map(|(before, after)| before / after),
        causes_gone: old.difference(&new).copied().collect(),
        causes_new: new.difference(&old).copied().collect(),
        causes_stayed: old.intersection(&new).copied().collect(),
        kernels_gone: alone(&first.capture.kernels, |pair| pair.before),
        kernels_new: alone(&second.capture.kernels, |pair| pair.after),
        kernels_moved: kernels_moved(first, second, &pairs),
        figures_moved: figures_moved(first, second, &pairs),
        cautions: cautions(first, second),
        before,
        after,
    }
}

/// One kernel in both reports, by position.
#[derive(Clone, Copy)]
struct Pair {
    before: usize,
    after: usize,
}

/// Kernels of the same name, of the same shape of launch first and then in their order; and the two most expensive ones, where each is most of its
/// call and has no namesake.
fn pairs(before: &[KernelProfile], after: &[KernelProfile]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for by_shape in [true, false] {
        for (position, kernel) in after.iter().enumerate() {
            if pairs.iter().any(|pair| pair.after == position) {
                continue;
            }
            let is_same = |other: &KernelProfile| other.time.name == kernel.time.name && (!by_shape || other.launch == kernel.launch);
            let is_free = |position: &usize| !pairs.iter().any(|pair| pair.before == *position);
            let same = (0..before.len()).filter(|&other| is_same(&before[other])).find(is_free);
            pairs.extend(same.map(|before| Pair { before, after: position }));
        }
    }
    let leads = |kernels: &[KernelProfile]| kernels.first().is_some_and(|kernel| kernel.time.share > 0.5);
    let taken = pairs.iter().any(|pair| pair.before == 0 || pair.after == 0);
    if leads(before) && leads(after) && !taken {
        pairs.push(Pair { before: 0, after: 0 });
    }
    pairs
}

fn kernels_moved(before: &Report, after: &Report, pairs: &[Pair]) -> Vec<KernelMove> {
    let moved = pairs.iter().filter_map(|pair| {
        let (was, is) = (&before.capture.kernels[pair.before].time, &after.capture.kernels[pair.after].time);
        let (before_ns, after_ns) = (was.time_per_call_ns, is.time_per_call_ns);
        let other_name = was.name != is.name;
        let noise = !beyond(before_ns.0 as f64, after_ns.0 as f64, TIME_NOISE);
        (other_name || !noise).then(|| KernelMove { name: is.name.clone(), was: other_name.then(|| was.name.clone()), before_ns, after_ns })
    });
    let mut moved: Vec<KernelMove> = moved.collect();
    moved.sort_by_key(|one| std::cmp::Reverse(one.before_ns.0.abs_diff(one.after_ns.0)));
    moved.truncate(LISTED);
    moved
}

fn figures_moved(before: &Report, after: &Report, pairs: &[Pair]) -> Vec<FigureMove> {
    let of = |was: &Figures, is: &Figures, kernel: Option<&str>| -> Vec<FigureMove> {
        let both = is.iter().filter_map(|(metric, after)| Some((metric, was.get(metric)?, after)));
        let moved = both.filter(|(metric, before, after)| match metric.unit() {
            Unit::Share => (before - after).abs() > SHARE_NOISE,
            _ => beyond(*before, *after, FIGURE_NOISE),
        });
        moved.map(|(metric, before, after)| FigureMove { kernel: kernel.map(str::to_owned), metric, before, after }).collect()
    };
    let mut moved = of(&before.capture.call, &after.capture.call, None);
    for pair in pairs {
        let (was, is) = (&before.capture.kernels[pair.before], &after.capture.kernels[pair.after]);
        moved.extend(of(&was.figures, &is.figures, Some(&is.time.name)));
    }
    moved.sort_by(|a, b| change(b).total_cmp(&change(a)));
    moved.truncate(FIGURES);
    moved
}

/// How large a change is: points of shares count as they are, other figures by their quotient.
fn change(one: &FigureMove) -> f64 {
    match one.metric.unit() {
        Unit::Share => (one.before - one.after).abs(),
        _ => (one.before - one.after).abs() / one.before.abs().max(one.after.abs()).max(f64::MIN_POSITIVE),
    }
}

fn beyond(before: f64, after: f64, noise: f64) -> bool {
    (before - after).abs() > noise * before.abs().max(after.abs())
}

fn causes(report: &Report) -> BTreeSet<Cause> {
    report.diagnoses.iter().map(|diagnosis| diagnosis.cause).collect()
}

fn side((id, report): (&ContentHash, &Report)) -> ProfileSide {
    let capture = &report.capture;
    ProfileSide {
        id: id.clone(),
        candidate: report.subject.candidate.clone(),
        profiler: capture.profiler,
        wall_per_call_ns: capture.wall_per_call_ns,
        kernels_per_call_ns: capture.kernels.iter().map(|kernel| kernel.time.time_per_call_ns).sum(),
        kernels: capture.kernels.len(),
        launches_per_call: capture.kernels.iter().map(|kernel| kernel.time.launches_per_call).sum(),
        headroom: report.headroom.clone(),
    }
}

fn time(side: &ProfileSide) -> Option<f64> {
    Some(side.wall_per_call_ns.unwrap_or(side.kernels_per_call_ns)).filter(|time| *time > Nanoseconds(0)).map(Nanoseconds::seconds)
}

fn cautions(before: &Report, after: &Report) -> Vec<String> {
    let mut cautions = Vec::new();
    let (first, second) = (before.capture.profiler, after.capture.profiler);
    if first != second {
        cautions.push(format!("The profilers differ: {first} and {second}."));
    }
    if before.subject.target != after.subject.target || before.capture.device != after.capture.device {
        cautions.push("They were not taken on the same device.".to_owned());
    }
    if before.capture.wall_per_call_ns.is_some() != after.capture.wall_per_call_ns.is_some() {
        cautions.push("Only one has a wall time; the other one's time is that of its kernels.".to_owned());
    }
    cautions
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::{LaunchShape, Metric};

    use super::*;
    use crate::testing::{id, report};

    fn check(before: &Report, after: &Report) -> ProfileComparison {
        compare((&id(), before), (&id(), after))
    }

    #[test]
    fn nothing_moved_between_a_profile_and_itself() {
        let same = check(&report(3), &report(3));
        assert_eq!((same.speedup, same.causes_stayed), (Some(1.0), vec![Cause::UncoalescedAccess]));
        assert!(
            same.kernels_gone.is_empty() && same.kernels_new.is_empty() && same.kernels_moved.is_empty() && same.figures_moved.is_empty()
        );
        assert_eq!(same.cautions, Vec::<String>::new());
    }

    #[test]
    fn kernels_of_one_name_are_the_same_where_they_are_launched_alike() {
        let launched = |blocks: u32, ns: u64| KernelProfile {
            launch: Some(LaunchShape { grid: [blocks, 1, 1], block: [128, 1, 1] }),
            ..KernelProfile::from(KernelTime { name: "gemm".into(), launches_per_call: 1.0, time_per_call_ns: Nanoseconds(ns), share: 0.5 })
        };
        let of = |kernels| {
            let mut report = report(0);
            report.capture.kernels = kernels;
            report
        };
        let moved =
            check(&of(vec![launched(1024, 100_000), launched(64, 20_000)]), &of(vec![launched(64, 20_000), launched(1024, 10_000)]));
        let times: Vec<_> = moved.kernels_moved.iter().map(|one| (one.before_ns.0, one.after_ns.0)).collect();
        assert_eq!(times, [(100_000, 10_000)]);
    }

    #[test]
    fn what_moved_beyond_noise_is_told() {
        let (before, mut after) = (report(3), report(2));
        after.capture.wall_per_call_ns = Some(Nanoseconds(150_000));
        after.capture.kernels[0].time.time_per_call_ns = Nanoseconds(40_000);
        after.capture.kernels[0].figures.set(Metric::ExcessSectorsShare, 0.01);
        after.capture.kernels[0].figures.set(Metric::RegistersPerThread, 33.0);
        after.capture.kernels[1].time.name = "fused".into();
        after.diagnoses.clear();
        let moved = check(&before, &after);
        let names = |kernels: &[KernelTime]| kernels.iter().map(|kernel| kernel.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&moved.kernels_gone), names(&moved.kernels_new)),
            (vec!["kernel_1".into(), "kernel_2".into()], vec!["fused".into()])
        );
        assert_eq!(moved.causes_gone, [Cause::UncoalescedAccess]);
        assert_eq!(moved.figures_moved.iter().map(|one| one.metric).collect::<Vec<_>>(), [Metric::ExcessSectorsShare]);
        assert_eq!(moved.kernels_moved[0].after_ns, Nanoseconds(40_000));
        assert!((moved.speedup.unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn kernels_that_do_most_of_the_work_are_taken_for_each_other() {
        let (mut before, mut after) = (report(1), report(1));
        before.capture.kernels[0].time.name = "naive".into();
        after.capture.kernels[0].time.name = "tiled".into();
        let moved = check(&before, &after);
        assert_eq!(moved.kernels_moved[0].was.as_deref(), Some("naive"));
        assert!(moved.kernels_gone.is_empty() && moved.kernels_new.is_empty());
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        let mut other = report(1);
        other.capture.profiler = kernelwright_protocol::ProfilerKind::Torch;
        other.capture.device = Some("another".into());
        assert_eq!(check(&report(1), &other).cautions.len(), 2);
    }
}
