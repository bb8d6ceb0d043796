//! Problems with several sets of inputs: which one is being looked at, and one verdict out of those on each.
//!
//! A candidate is built once and tried on every set in turn. One wrong set makes it wrong, and is named; the speedup is the geometric mean of
//! the sets' speedups, each against the faster baseline of that set.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernelwright_protocol::{
    Baseline, BaselineKind, Control, Correct, Fault, Finding, Nanoseconds, NotMeasured, SetResult, Severity, Timeout, Timing, Trials,
    Verdict,
};
use serde::Deserialize;
use serde_json::json;

use crate::EvaluateError;
use crate::draws::DrawKind;
use crate::problem::{Facts, Places, Problem, unmeasured};
use crate::verdict::Stop;
use crate::wire::Aliases;

/// What is kept of the sets that are not selected.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    selected: usize,
    baselines: BTreeMap<usize, Vec<Baseline>>,
    /// Why verdicts on sets seen so far are worth little, where they are.
    degenerate: BTreeMap<usize, (String, String)>,
    /// Baselines that were prepared since the last change.
    ready: Vec<BaselineKind>,
}

impl Problem {
    /// How many sets of inputs there are; at least one.
    pub(crate) fn count_sets(&self) -> usize {
        self.facts.sets.len().max(1)
    }

    /// Whether the first set is selected.
    pub(crate) fn is_first_set(&self) -> bool {
        self.sets.selected == 0
    }

    /// The selected set in words.
    pub(crate) fn set_name(&self) -> String {
        match self.facts.sets.get(self.sets.selected) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => self.facts.inputs.join(", "),
        }
    }

    /// Goes over to another set; every entry is gone then, and baselines have to be prepared again.
    pub(crate) async fn select(&mut self, set: usize) -> Result<(), EvaluateError> {
        if set == self.sets.selected {
            return Ok(());
        }
        let known = std::mem::take(&mut self.baselines);
        self.sets.baselines.insert(self.sets.selected, known);
        self.baselines = self.sets.baselines.remove(&set).unwrap_or_default();
        self.alone.clear();
        self.go_to(set).await
    }

    /// Takes the place of a problem whose worker was lost: what is known of its baselines stays, and so does its set.
    pub(crate) async fn inherit(&mut self, lost: Self) -> Result<(), EvaluateError> {
        self.baselines = lost.baselines;
        self.lost_on = lost.lost_on;
        self.state = lost.state;
        self.takes_scaled = lost.takes_scaled;
        self.moves = lost.moves;
        // The other one was loaded with TF32 allowed already.
        self.facts.turns_tf32_on = lost.facts.turns_tf32_on;
        let set = lost.sets.selected;
        self.sets = Sets { selected: 0, ready: vec![], ..lost.sets };
        if set == 0 { Ok(()) } else { self.go_to(set).await }
    }

    async fn go_to(&mut self, set: usize) -> Result<(), EvaluateError> {
        #[derive(Deserialize)]
        struct Selected {
            inputs: Vec<String>,
            outputs: Vec<String>,
            #[serde(default)]
            degenerate: Option<String>,
            structures: Arc<[Option<Places>]>,
            structure: Vec<String>,
            more_draws: Arc<[DrawKind]>,
            #[serde(default)]
            in_inputs: Aliases,
            reference_ns: u64,
            #[serde(default)]
            device_memory: Option<u64>,
        }
        self.note_degenerate();
        self.sets.ready.clear();
        self.moves = None;
        let (new, _): (Selected, _) = self.ask("select", json!({"set": set}), &[]).await?;
        self.sets.selected = set;
        let Facts { inputs, outputs, degenerate, structures, structure, more_draws, in_inputs, reference_ns, device_memory, .. } =
            &mut self.facts;
        (*inputs, *outputs, *degenerate) = (new.inputs, new.outputs, new.degenerate);
        (*structures, *structure) = (new.structures, new.structure);
        (*more_draws, *in_inputs) = (new.more_draws, new.in_inputs);
        (*reference_ns, *device_memory) = (new.reference_ns, new.device_memory);
        self.note_degenerate();
        Ok(())
    }

    pub(crate) fn note_degenerate(&mut self) {
        if let Some(reason) = self.facts.degenerate.clone() {
            let name = self.set_name();
            self.sets.degenerate.insert(self.sets.selected, (name, reason));
        }
    }

    /// Why a verdict on this problem is worth little, where it is: on the sets that were selected so far.
    pub(crate) fn degenerate(&self) -> Option<Finding> {
        let several = self.count_sets() > 1;
        let reason = match self.sets.degenerate.first_key_value() {
            Some((_, (name, reason))) if several => match self.sets.degenerate.len() {
                1 => format!("set {name}: {reason}"),
                count => format!("set {name} and {} more: {reason}", count - 1),
            },
            _ => self.facts.degenerate.clone()?,
        };
        let message = format!("a verdict on this problem is worth little: {reason}");
        Some(Finding { rule: "degenerate_problem".to_owned(), severity: Severity::Warning, message })
    }

    /// Whether the baseline can be timed on the selected set as it is.
    pub(crate) fn is_ready(&self, kind: BaselineKind) -> bool {
        self.sets.ready.contains(&kind)
    }

    /// Notes that the baseline can be timed.
    pub(crate) fn set_ready(&mut self, kind: BaselineKind) {
        self.sets.ready.push(kind);
    }
}

/// The same end of an evaluation, with the set in which it came.
pub(crate) fn named(stop: Stop, set: &str) -> Stop {
    let Stop::Decided(verdict) = stop else { return stop };
    let fault = |fault: Fault| Fault { summary: format!("set {set}: {}", fault.summary), ..fault };
    Stop::Decided(Box::new(match *verdict {
        Verdict::Incorrect { mut mismatches, trials } => {
            for mismatch in &mut mismatches {
                mismatch.trial = format!("set {set}, {}", mismatch.trial);
            }
            Verdict::Incorrect { mismatches, trials }
        }
        Verdict::Faulted(of) => Verdict::Faulted(fault(of)),
        Verdict::BuildFailed(of) => Verdict::BuildFailed(fault(of)),
        Verdict::Rejected { rule, explanation } => Verdict::Rejected { rule, explanation: format!("set {set}: {explanation}") },
        Verdict::TimedOut(timeout) => Verdict::TimedOut(Timeout { phase: format!("{} (set {set})", timeout.phase), ..timeout }),
        Verdict::Correct(correct) => Verdict::Correct(correct),
    }))
}

/// One verdict out of those on each set.
pub(crate) fn combined(results: Vec<(String, Correct)>) -> Correct {
    let mut trials = Trials::default();
    for (name, Correct { trials: of_set, .. }) in &results {
        for label in &of_set.ran {
            if !trials.ran.contains(label) {
                trials.ran.push(label.clone());
            }
        }
        trials.skipped.extend(of_set.skipped.iter().map(|label| format!("set {name}: {label}")));
        trials.timed_calls_verified += of_set.timed_calls_verified;
    }
    let timings: Vec<&Timing> = results.iter().filter_map(|(_, correct)| correct.timing.as_ref()).collect();
    let timing = (timings.len() == results.len()).then(|| together(&timings)).flatten();
    let untimed = results.iter().find_map(|(name, correct)| Some((name, correct.not_measured.as_ref()?)));
    let not_measured = untimed.map(|(name, why)| {
        // What holds for every set needs no name.
        let all = results.iter().all(|(_, correct)| correct.not_measured.as_ref() == Some(why));
        NotMeasured { reason: if all { why.reason.clone() } else { format!("set {name}: {}", why.reason) } }
    });
    Correct {
        trials,
        error_over_tolerance: results.iter().map(|(_, correct)| correct.error_over_tolerance).fold(0.0, f64::max),
        timing,
        not_measured,
        sets: results.into_iter().map(|(name, correct)| of_set(name, correct)).collect(),
    }
}

fn of_set(name: String, correct: Correct) -> SetResult {
    let Correct { error_over_tolerance, timing, not_measured, .. } = correct;
    SetResult { name, error_over_tolerance, timing, not_measured }
}

fn together(timings: &[&Timing]) -> Option<Timing> {
    let (first, last) = (timings.first()?, timings.last()?);
    let mean = |of: fn(&Timing) -> f64| geometric_mean(timings.iter().map(|timing| of(timing)));
    let sum = |of: fn(&Timing) -> Nanoseconds| Nanoseconds(timings.iter().map(|timing| of(timing).0).sum());
    let won = |kind: BaselineKind| timings.iter().filter(|timing| timing.baseline == kind).count();
    let controls: Option<Vec<Control>> = timings.iter().map(|timing| timing.control).collect();
    Some(Timing {
        speedup: mean(|timing| timing.speedup),
        speedup_low: mean(|timing| timing.speedup_low),
        speedup_high: mean(|timing| timing.speedup_high),
        candidate_ns: sum(|timing| timing.candidate_ns),
        candidate_spread: timings.iter().map(|timing| timing.candidate_spread).fold(0.0, f64::max),
        baseline: if won(BaselineKind::Compile) > won(BaselineKind::Eager) { BaselineKind::Compile } else { BaselineKind::Eager },
        baselines: summed(&timings.iter().map(|timing| timing.baselines.as_slice()).collect::<Vec<_>>()),
        pairs: timings.iter().map(|timing| timing.pairs).min().unwrap_or_default(),
        calls_per_batch: timings.iter().map(|timing| timing.calls_per_batch).min().unwrap_or_default(),
        batches_ns: timings.iter().map(|timing| timing.batches_ns.map(|time| time.0)).sum::<Option<u64>>().map(Nanoseconds),
        control: controls.map(|controls| Control {
            ratio: geometric_mean(controls.iter().map(|control| control.ratio)),
            low: controls.iter().map(|control| control.low).fold(f64::INFINITY, f64::min),
            high: controls.iter().map(|control| control.high).fold(0.0, f64::max),
        }),
        device_state: last.device_state,
        build_ns: first.build_ns,
        first_call_ns: sum(|timing| timing.first_call_ns),
    })
}

/// The baselines of several sets as one call of each set; unmeasured where one set has no time.
pub(crate) fn summed(sets: &[&[Baseline]]) -> Vec<Baseline> {
    let Some((first, _)) = sets.split_first() else { return vec![] };
    let sum = |kind: BaselineKind| {
        let of_kind: Vec<&Baseline> = sets.iter().filter_map(|set| set.iter().find(|baseline| baseline.kind == kind)).collect();
        let total = |of: fn(&Baseline) -> Option<Nanoseconds>| {
            let times: Option<Vec<Nanoseconds>> = of_kind.iter().map(|baseline| of(baseline)).collect();
            times.filter(|times| times.len() == sets.len()).map(|times| Nanoseconds(times.iter().map(|time| time.0).sum()))
        };
        let Some(time) = total(|baseline| baseline.time_ns) else {
            let why = of_kind.iter().find_map(|baseline| baseline.not_measured.as_ref());
            return unmeasured(kind, why.map_or("it was not measured on every set", |why| why.reason.as_str()));
        };
        Baseline {
            kind,
            time_ns: Some(time),
            spread: of_kind.iter().filter_map(|baseline| baseline.spread).max_by(f64::total_cmp),
            first_call_ns: total(|baseline| baseline.first_call_ns),
            not_measured: None,
        }
    };
    first.iter().map(|baseline| sum(baseline.kind)).collect()
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value.ln(), count + 1));
    (sum / f64::from(count.max(1))).exp()
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::Mismatch;

    use super::*;

    fn timing(speedup: f64, candidate: u64, baselines: &[(BaselineKind, u64)], baseline: BaselineKind) -> Timing {
        let time = |&(kind, time): &(BaselineKind, u64)| Baseline {
            kind,
            time_ns: Some(Nanoseconds(time)),
            spread: Some(0.1),
            first_call_ns: Some(Nanoseconds(1)),
            not_measured: None,
        };
        Timing {
            speedup,
            speedup_low: speedup / 2.0,
            speedup_high: speedup * 2.0,
            candidate_ns: Nanoseconds(candidate),
            candidate_spread: 0.0,
            baseline,
            baselines: baselines.iter().map(time).collect(),
            pairs: 6,
            calls_per_batch: 2,
            batches_ns: Some(Nanoseconds(5)),
            control: None,
            device_state: None,
            build_ns: Nanoseconds(5),
            first_call_ns: Nanoseconds(7),
        }
    }

    fn correct(timing: Option<Timing>, skipped: &str) -> Correct {
        let not_measured = timing.is_none().then(|| NotMeasured { reason: "asked for correctness only".to_owned() });
        let trials = Trials { ran: vec!["problem's distribution".to_owned()], skipped: vec![skipped.to_owned()], timed_calls_verified: 2 };
        Correct { trials, error_over_tolerance: 0.25, timing, not_measured, sets: vec![] }
    }

    #[test]
    fn the_speedup_is_the_geometric_mean_and_times_are_sums() {
        use BaselineKind::{Compile, Eager};
        let results = vec![
            ("a".to_owned(), correct(Some(timing(4.0, 10, &[(Eager, 40), (Compile, 50)], Eager)), "x")),
            ("b".to_owned(), correct(Some(timing(1.0, 20, &[(Eager, 20), (Compile, 25)], Eager)), "y")),
        ];
        let all = combined(results);
        let timing = all.timing.as_ref().unwrap();
        assert!((timing.speedup - 2.0).abs() < 1e-12 && (timing.speedup_low - 1.0).abs() < 1e-12, "{timing:?}");
        assert_eq!((timing.candidate_ns, timing.baseline, timing.batches_ns), (Nanoseconds(30), Eager, Some(Nanoseconds(10))));
        assert_eq!(timing.baselines.iter().map(|b| b.time_ns.unwrap().0).collect::<Vec<_>>(), [60, 75]);
        assert_eq!(all.trials.ran, ["problem's distribution"]);
        assert_eq!((all.trials.skipped, all.trials.timed_calls_verified), (vec!["set a: x".to_owned(), "set b: y".to_owned()], 4));
        assert_eq!(all.sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn one_set_without_a_time_leaves_the_whole_without_one() {
        let timed = correct(Some(timing(4.0, 10, &[], BaselineKind::Eager)), "x");
        let all = combined(vec![("a".to_owned(), timed), ("b".to_owned(), correct(None, "y"))]);
        assert_eq!((all.timing, all.not_measured.unwrap().reason.as_str()), (None, "set b: asked for correctness only"));
        let untimed = combined(vec![("a".to_owned(), correct(None, "x")), ("b".to_owned(), correct(None, "y"))]);
        assert_eq!(untimed.not_measured.unwrap().reason, "asked for correctness only");
    }

    #[test]
    fn a_wrong_set_is_named() {
        let mismatch = Mismatch { trial: "trial 1".into(), output: "output".into(), detail: "d".into(), error_over_tolerance: None };
        let Stop::Decided(verdict) = named(Stop::incorrect(vec![mismatch], Trials::default()), "(4, 8)") else { panic!("no verdict") };
        let Verdict::Incorrect { mismatches, .. } = *verdict else { panic!("another verdict") };
        assert_eq!(mismatches[0].trial, "set (4, 8), trial 1");
    }
}
