//! From figures to causes: a table of rules, and what they say of one capture.
//!
//! Each [`Rule`] is data: the figures and bounds that show a cause, those that rule it out, what the cause costs, of which other causes it is a
//! symptom, and what helps. A bound on a figure that was not measured never holds, so nothing is concluded from what
//! is not known. To add a rule, add a row to one of the tables:
//!
//! - `ceilings`: units that are as busy as they get, and traffic that is waste;
//! - `waiting`: kernels in which nothing is busy, and why;
//! - `calls`: time between kernels, and the processor.
//!
//! Bounds are those of Nsight Compute's own rules where it has one, and otherwise say where they come from. What a cause costs is an estimate
//! (`cost`) that puts the largest first; it never exceeds the distance from the floor.

mod calls;
mod ceilings;
mod cost;
mod facts;
mod rule;
mod waiting;

#[cfg(test)]
mod tests;

use kernelwright_protocol::{Cause, Diagnosis, Headroom, Metric, Remedy, RuledOut};

use self::facts::{Facts, shares_of_call};
pub(crate) use self::facts::{MOST_OF_COPY_RATE, Surroundings, matrix_seconds};
use self::rule::{AtCeiling, Bound, Rule, Scope};
use crate::capture::Capture;

/// A cause that costs less is not told: it is within the noise of the estimates.
const WORTH_SAYING: f64 = 0.05;
/// Kernels that take less of a call's time decide nothing.
const WORTH_LOOKING: f64 = 0.05;

/// Where the module ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a GPU.
    Gpu,
    /// On the processor.
    Cpu,
}

/// What the rules say of one capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Findings {
    /// The causes that were found, the costliest first.
    pub(crate) diagnoses: Vec<Diagnosis>,
    /// Those that were looked for and are not there.
    pub(crate) ruled_out: Vec<RuledOut>,
    /// Those that could not be looked for: what would show them was not measured.
    pub(crate) untold: Vec<Cause>,
}

/// Applies the rules to a capture.
pub(crate) fn diagnose(capture: &Capture, place: Place, around: Surroundings, headroom: Option<&Headroom>) -> Findings {
    let call = Facts::of_call(capture, around);
    let mut found: Vec<Diagnosis> = Vec::new();
    let mut looked_at = Vec::new();
    if place == Place::Gpu {
        let shares = shares_of_call(capture);
        let large = capture.kernels.iter().zip(shares).filter(|(_, share)| *share >= WORTH_LOOKING);
        for facts in large.map(|(kernel, share)| Facts::of_kernel(kernel, share, capture, around)) {
            found.extend(in_place(&facts, Scope::Kernel));
            looked_at.push((Scope::Kernel, facts));
        }
    }
    let whole = if place == Place::Gpu { Scope::Call } else { Scope::Cpu };
    // A kernel's own figures tell more than the call's.
    let told = |found: &[Diagnosis], cause| found.iter().any(|diagnosis| diagnosis.cause == cause);
    let of_call = in_place(&call, whole).into_iter().filter(|diagnosis| !told(&found, diagnosis.cause));
    found.extend(of_call.collect::<Vec<_>>());
    looked_at.push((whole, call));

    found.sort_by(|a, b| b.at_stake.total_cmp(&a.at_stake));
    let most = headroom.map_or(1.0, |headroom| (1.0 - 1.0 / headroom.ratio.max(1.0)).max(0.0));
    for diagnosis in &mut found {
        diagnosis.at_stake = diagnosis.at_stake.min(most);
    }
    found.retain(|diagnosis| diagnosis.at_stake >= WORTH_SAYING || is_ceiling(diagnosis.cause));
    let mut findings = Findings { ruled_out: ruled_out(&looked_at, &found), diagnoses: found, untold: Vec::new() };
    // Where no kernel is worth a look, the figures of the dearest say what could have been seen.
    let dearest = capture.kernels.first().filter(|_| place == Place::Gpu);
    looked_at.extend(dearest.map(|kernel| (Scope::Kernel, Facts::of_kernel(kernel, 0.0, capture, around))));
    findings.untold = untold(&looked_at, &findings);
    findings
}

/// All rules.
fn rules() -> impl Iterator<Item = &'static Rule> {
    ceilings::RULES.iter().chain(waiting::RULES).chain(calls::RULES)
}

/// Whether a cause is a ceiling of the device, which is no fault of the kernel.
pub(crate) fn is_ceiling(cause: Cause) -> bool {
    rules().any(|rule| rule.cause == cause && matches!(rule.at_ceiling, AtCeiling::Ceiling))
}

/// What the rules of one scope find in one place.
fn in_place(facts: &Facts, scope: Scope) -> Vec<Diagnosis> {
    let at_ceiling = at_ceiling(facts, scope);
    let shown: Vec<(&Rule, Diagnosis)> = rules()
        .filter(|rule| rule.scope == scope)
        .filter(|rule| match rule.at_ceiling {
            AtCeiling::Silent => !at_ceiling,
            AtCeiling::Speaks(bounds) => !at_ceiling || bounds.iter().all(|bound| bound.holds(&facts.figures)),
            AtCeiling::Ceiling => true,
        })
        .filter_map(|rule| Some((rule, apply(rule, facts)?)))
        .collect();
    // What costs next to nothing explains nothing.
    let explains = |cause: &Cause, other: &Diagnosis| {
        shown.iter().any(|(_, root)| {
            root.cause == *cause
                && (root.at_stake >= 0.25 * other.at_stake || is_ceiling(other.cause))
                && root.at_stake >= WORTH_SAYING * facts.share_of_call
        })
    };
    shown
        .iter()
        .filter(|(rule, diagnosis)| !rule.symptom_of.iter().any(|cause| explains(cause, diagnosis)))
        .map(|(_, diagnosis)| diagnosis.clone())
        .collect()
}

/// Whether the place is as fast as a unit allows.
fn at_ceiling(facts: &Facts, scope: Scope) -> bool {
    match scope {
        Scope::Kernel => {
            let reached = |bounds: &[Bound]| bounds.iter().any(|bound| bound.holds(&facts.figures));
            reached(ceilings::CEILINGS) || reached(ceilings::CEILINGS_WHILE_ACTIVE) && !ceilings::PARTLY_IDLE.holds(&facts.figures)
        }
        // Bytes over the whole call's time: at that rate neither gaps nor waits are left.
        Scope::Call | Scope::Cpu => rules()
            .filter(|rule| rule.scope == scope && matches!(rule.at_ceiling, AtCeiling::Ceiling))
            .any(|rule| shows(rule, facts).is_some()),
    }
}

fn shows(rule: &'static Rule, facts: &Facts) -> Option<&'static rule::Show> {
    rule.shows.iter().find(|show| show.holds(&facts.figures))
}

fn apply(rule: &'static Rule, facts: &Facts) -> Option<Diagnosis> {
    let show = shows(rule, facts)?;
    let mut summary = show.sentence(&facts.figures);
    if let Some(limiter) = (rule.cause == Cause::LowOccupancy).then(|| limiter(facts)).flatten() {
        summary.push_str("; the limit is ");
        summary.push_str(limiter);
    }
    Some(Diagnosis {
        cause: rule.cause,
        kernel: facts.kernel.clone(),
        at_stake: facts.share_of_call * (rule.cost)(facts).clamp(0.0, 1.0),
        summary,
        signs: show.signs(&facts.figures),
        remedies: rule.remedies.iter().map(|advice| Remedy { advice: advice.advice.into(), entry: Some(advice.entry.into()) }).collect(),
    })
}

/// What keeps more blocks from being resident.
fn limiter(facts: &Facts) -> Option<&'static str> {
    const LIMITS: [(Metric, &str); 4] = [
        (Metric::BlocksByRegisters, "registers"),
        (Metric::BlocksBySharedMemory, "shared memory"),
        (Metric::BlocksByWarps, "warps, which more threads in a block do not change"),
        (Metric::BlocksBySlots, "the number of blocks, each of which has too few threads"),
    ];
    let known = LIMITS.iter().filter_map(|(metric, name)| Some((facts.get(*metric)?, *name)));
    known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Causes that are excluded wherever they were looked for; told with the figures of the place that takes the most time.
fn ruled_out(places: &[(Scope, Facts)], found: &[Diagnosis]) -> Vec<RuledOut> {
    let mut out: Vec<RuledOut> = Vec::new();
    for rule in rules() {
        let known = found.iter().any(|diagnosis| diagnosis.cause == rule.cause) || out.iter().any(|one| one.cause == rule.cause);
        if known || is_open(rule.cause, places) {
            continue;
        }
        let here: Vec<&Facts> = places.iter().filter(|(scope, _)| *scope == rule.scope).map(|(_, facts)| facts).collect();
        let clear = |facts: &&Facts| rule.cleared.iter().find(|show| show.holds(&facts.figures)).map(|show| show.sentence(&facts.figures));
        let because: Option<Vec<String>> = here.iter().map(clear).collect();
        if let Some(because) = because.and_then(|sentences| sentences.into_iter().next()) {
            out.push(RuledOut { cause: rule.cause, because });
        }
    }
    out
}

/// Whether some place was measured for a cause, be it by another rule, and is not clear of it: it may hold there, and be told by what it follows from.
fn is_open(cause: Cause, places: &[(Scope, Facts)]) -> bool {
    let holds = |shows: &[rule::Show], facts: &Facts| shows.iter().any(|show| show.holds(&facts.figures));
    rules().filter(|rule| rule.cause == cause).any(|rule| {
        let here = places.iter().filter(|(scope, _)| *scope == rule.scope).map(|(_, facts)| facts);
        let measured = |facts: &&Facts| rule.shows.iter().any(|show| show.is_decided(&facts.figures));
        here.filter(measured).any(|facts| !holds(rule.cleared, facts))
    })
}

/// Causes that nothing measured could have shown, and nothing excludes.
fn untold(places: &[(Scope, Facts)], findings: &Findings) -> Vec<Cause> {
    let here = |scope: Scope| places.iter().filter(move |(other, _)| *other == scope).map(|(_, facts)| &facts.figures);
    let shows = |rule: &Rule| here(rule.scope).any(|figures| rule.shows.iter().any(|show| show.is_decided(figures)));
    let told = |cause: Cause| {
        rules().any(|rule| rule.cause == cause && shows(rule))
            || findings.diagnoses.iter().any(|diagnosis| diagnosis.cause == cause)
            || findings.ruled_out.iter().any(|one| one.cause == cause)
    };
    let on_cpu = places.iter().any(|(scope, _)| *scope == Scope::Cpu);
    let of_place = rules().filter(|rule| (rule.scope == Scope::Cpu) == on_cpu);
    let mut causes: Vec<Cause> = of_place.map(|rule| rule.cause).filter(|cause| !told(*cause)).collect();
    causes.sort_unstable();
    causes.dedup();
    causes
}
