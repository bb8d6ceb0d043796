//! Where in its source a kernel's warps were when the profiler looked.

use std::collections::BTreeMap;

use kernelwright_protocol::{HotLine, StallReason};

use super::container::Container;
use super::lines::Lines;
use super::messages::{Instruction, Launched, Module};
use super::stalls;

/// Samples of instructions, all of them and by reason.
const SAMPLES: &str = "smsp__pcsamp_sample_count";
const SAMPLED: &str = "smsp__pcsamp_warps_issue_stalled_";

/// Instructions that are looked at, and lines that are kept. The greatest kernels have some hundred thousand instructions.
const INSTRUCTIONS: usize = 1 << 18;
const LINES: usize = 100;

#[derive(Default)]
struct Spot {
    samples: f64,
    waits: BTreeMap<StallReason, f64>,
}

/// A line, or an instruction of which no line is known.
struct Place {
    spot: Spot,
    /// The instruction with the most samples.
    hottest: (f64, Option<String>),
}

/// The costliest lines; empty where the profiler did not sample.
pub(super) fn hot_lines(launched: Launched<'_>, container: &Container<'_>) -> Vec<HotLine> {
    let spots = sampled(launched);
    let total: f64 = spots.values().map(|spot| spot.samples).sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let (begin, lines) = function(launched, container, spots.keys().next().copied().unwrap_or(0));
    let texts: BTreeMap<u64, Instruction<'_>> =
        launched.instructions().take(INSTRUCTIONS).map(|instruction| (instruction.address, instruction)).collect();
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for (address, spot) in spots.into_iter().filter(|(_, spot)| spot.samples > 0.0) {
        let offset = begin.map(|begin| address - begin);
        let text = texts.get(&address).or_else(|| texts.get(&offset?));
        let line = lines.as_ref().zip(offset).and_then(|(lines, offset)| lines.find(offset)).map(|(file, line)| format!("{file}:{line}"));
        let line = line.or_else(|| text?.line.as_ref().map(|(file, line)| format!("{file}:{line}")));
        let name = line.or_else(|| offset.map(|offset| format!("+{offset:#x}"))).unwrap_or_else(|| format!("{address:#x}"));
        let place = places.entry(name).or_insert_with(|| Place { spot: Spot::default(), hottest: (0.0, None) });
        if spot.samples > place.hottest.0 {
            place.hottest = (spot.samples, text.map(|instruction| instruction.text.clone().into_owned()));
        }
        place.spot.samples += spot.samples;
        for (reason, samples) in spot.waits {
            *place.spot.waits.entry(reason).or_default() += samples;
        }
    }
    let mut hot: Vec<HotLine> = places.into_iter().map(|(name, place)| line(name, place, total)).collect();
    hot.sort_by(|left, right| right.share.total_cmp(&left.share));
    hot.truncate(LINES);
    hot
}

fn line(place: String, at: Place, total: f64) -> HotLine {
    let waits = at.spot.waits.into_iter().filter(|(reason, samples)| *reason != StallReason::Selected && *samples > 0.0);
    HotLine {
        place,
        source: None,
        instruction: at.hottest.1,
        share: at.spot.samples / total,
        waits_for: waits.max_by(|(_, left), (_, right)| left.total_cmp(right)).map(|(reason, _)| reason),
    }
}

/// Samples by the instruction's address.
fn sampled(launched: Launched<'_>) -> BTreeMap<u64, Spot> {
    let mut spots: BTreeMap<u64, Spot> = BTreeMap::new();
    for (name, metric) in launched.metrics() {
        let reason = name.strip_prefix(SAMPLED).and_then(stalls::reason);
        if name != SAMPLES && reason.is_none() {
            continue;
        }
        for (address, samples) in metric.instances().take(INSTRUCTIONS).filter(|(_, samples)| *samples > 0.0) {
            if spots.len() == INSTRUCTIONS && !spots.contains_key(&address) {
                continue;
            }
            let spot = spots.entry(address).or_default();
            match reason {
                Some(reason) => *spot.waits.entry(reason).or_default() += samples,
                None => spot.samples += samples,
            }
        }
    }
    spots
}

/// Where the kernel begins, not after its first sample, and its line table.
fn function(launched: Launched<'_>, container: &Container<'_>, first: u64) -> (Option<u64>, Option<Lines>) {
    let Some(symbol) = launched.symbol() else { return (None, None) };
    // Modules that are compiled while the program runs often have functions of the same name.
    let own: Vec<u64> = launched.modules().collect();
    let modules = container.sources.iter().map(|message| Module::of(message));
    let home = modules
        .filter(|module| own.is_empty() || module.number().is_some_and(|number| own.contains(&number)))
        .filter_map(|module| Some((module, module.address(&symbol).filter(|begin| *begin <= first)?)))
        .max_by_key(|(_, begin)| *begin);
    home.map_or((None, None), |(module, begin)| (Some(begin), module.code().and_then(|code| Lines::of(code, &symbol))))
}
