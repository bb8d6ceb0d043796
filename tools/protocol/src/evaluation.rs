//! What an evaluation says: one status, never a bare boolean, and a time only where the kernel is correct.
//!
//! The JSON form is one flat object: `{"status": "correct", "speedup": 38.1, ..., "findings": [...]}`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CandidateId, DeepCheck, Nanoseconds, ProblemId, Target};

/// The result of evaluating one candidate against one problem on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// The hash of the problem's source.
    pub problem: ProblemId,
    /// The hash of the candidate's source: this text, and no other, was evaluated.
    pub candidate: CandidateId,
    /// Where it ran.
    pub target: Target,
    /// The decision, with what belongs to it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What else was noticed, most severe first.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// What compute-sanitizer says of it; only where that was asked for and every output was right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep_check: Option<DeepCheck>,
    /// Which isolation the candidate ran under.
    pub sandbox: Sandbox,
    /// Wall time of the whole evaluation.
    pub wall_ns: Nanoseconds,
}

/// The rule of the finding that a candidate leaves the work to the library and has no kernel that matters.
pub const NO_CUSTOM_KERNEL: &str = "no_custom_kernel";

/// The rule of the findings that say which draws were left out, and why: those of the verdict's own trials once more.
pub const TRIAL_SKIPPED: &str = "trial_skipped";

impl Evaluation {
    /// The speedup that is sure: the lower end of its interval, and no more than 1 without a kernel of its own, because a wrapper around the
    /// library is no win. Absent where there is no time.
    #[must_use]
    pub fn sure_speedup(&self) -> Option<f64> {
        let Verdict::Correct(correct) = &self.verdict else { return None };
        let low = correct.timing.as_ref()?.speedup_low;
        let wraps = self.findings.iter().any(|finding| finding.rule == NO_CUSTOM_KERNEL);
        Some(if wraps { low.min(1.0) } else { low })
    }

    /// `t_reference / t_candidate` against the faster baseline; 0 when the kernel does not build, faults, is wrong or cheats;
    /// absent when it is correct but was not timed.
    #[must_use]
    pub fn fitness(&self) -> Option<f64> {
        match &self.verdict {
            Verdict::Correct(correct) => correct.timing.as_ref().map(|t| t.speedup),
            _ => Some(0.0),
        }
    }
}

/// The one status of an evaluation. Only `correct` can carry a time and a speedup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate could not be imported, compiled or constructed.
    BuildFailed(Fault),
    /// The candidate crashed, raised or made an illegal access while it ran, or the deep check found an error in it.
    Faulted(Fault),
    /// A phase outlasted its limit; the whole process group was killed.
    TimedOut(Timeout),
    /// An output differs from the reference.
    Incorrect {
        /// The worst differences first; at most eight.
        mismatches: Vec<Mismatch>,
        /// What was tried.
        trials: Trials,
    },
    /// An integrity rule was broken; the rule is also the first finding.
    Rejected {
        /// The rule's identifier, e.g. `clock_disagreement`.
        rule: String,
        /// What was seen, in a sentence.
        explanation: String,
    },
    /// Every output of every trial and of every inspected timed call was right.
    Correct(Box<Correct>),
}

impl Verdict {
    /// The wire name of the status.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self {
            Self::BuildFailed(_) => "build_failed",
            Self::Faulted(_) => "faulted",
            Self::TimedOut(_) => "timed_out",
            Self::Incorrect { .. } => "incorrect",
            Self::Rejected { .. } => "rejected",
            Self::Correct(_) => "correct",
        }
    }
}

/// A failure to build or run, with messages cut to what a model can use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// Which phase: `import`, `construct`, `run`, `time`, `deep_check`.
    pub phase: String,
    /// One line: the exception and its message, the signal, or the exit code.
    pub summary: String,
    /// The tail of the compiler's or Python's messages, at most about 4,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub diagnostics: String,
    /// The file with everything that was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// What did not come to an end in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeout {
    /// Which phase: `build`, `run` or `time`.
    pub phase: String,
    /// The limit it outlasted.
    pub limit_ns: Nanoseconds,
    /// The trial in which that was, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<String>,
    /// The file with everything that was printed until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { phase, limit_ns, trial, .. } = self;
        write!(f, "{phase} took more than {limit_ns}")?;
        trial.as_ref().map_or(Ok(()), |trial| write!(f, ", in {trial}"))
    }
}

/// One output that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Which trial, e.g. `trial 2 (scaled x100)` or `timed call 14`.
    pub trial: String,
    /// Which output, e.g. `output`, `output[1]`, `output["logits"]`, `input[0] after the call`.
    pub output: String,
    /// What is wrong, in a sentence with figures: dtype, shape, worst element and its index, or NaN positions.
    pub detail: String,
    /// The largest error over the allowed error; above 1 is a failure. Absent where the difference is not numeric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_over_tolerance: Option<f64>,
}

/// What was tried to decide on correctness.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    /// One label per trial that ran, e.g. `problem's distribution`, `scaled x100`, `equal rows`.
    pub ran: Vec<String>,
    /// One label per trial that was left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// How many outputs of timed calls were verified as well.
    pub timed_calls_verified: u32,
}

impl Trials {
    /// The trials that ran, for people: `problem's distribution (3 draws); scaled x100`.
    #[must_use]
    pub fn checked_on(&self) -> String {
        let mut labels: Vec<(&str, usize)> = vec![];
        for label in &self.ran {
            match labels.iter_mut().find(|(known, _)| known == label) {
                Some((_, count)) => *count += 1,
                None => labels.push((label, 1)),
            }
        }
        let told = labels.iter().map(|&(label, count)| if count == 1 { label.to_owned() } else { format!("{label} ({count} draws)") });
        told.collect::<Vec<_>>().join("; ")
    }
}

/// What is known of a correct kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correct {
    /// What was tried.
    pub trials: Trials,
    /// The largest error over the allowed error, over all trials; below 1.
    pub error_over_tolerance: f64,
    /// `speedup`, times and baselines; absent when the kernel was not timed.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Why there is no time, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<NotMeasured>,
    /// The sets of inputs of a problem that has several, one by one. The figures beside them are then of all together: the speedup is the
    /// geometric mean of the sets' speedups, times are sums over one call of each set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<SetResult>,
}

/// What is known of a correct kernel on one of a problem's sets of inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetResult {
    /// Which set: its element of `SHAPES`, or what its inputs are.
    pub name: String,
    /// The largest error over the allowed error; below 1.
    pub error_over_tolerance: f64,
    /// `speedup`, times and baselines; absent when the kernel was not timed on this set.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// Why there is no time, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<NotMeasured>,
}

impl Correct {
    /// Whether the trials are known that the verdict rests on: another evaluator may name none, and then there is no largest error either.
    #[must_use]
    pub fn names_trials(&self) -> bool {
        !self.trials.ran.is_empty()
    }

    /// The largest error as a share of the allowed one, for people: `0.31 %`.
    #[must_use]
    pub fn largest_error(&self) -> String {
        match self.error_over_tolerance * 100.0 {
            0.0 => "0 %".to_owned(),
            p if p < 0.01 => "under 0.01 %".to_owned(),
            p if p < 1.0 => format!("{p:.2} %"),
            p => format!("{p:.1} %"),
        }
    }
}

/// Why a figure is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// In a sentence, e.g. `Triton's interpreter checks correctness only`.
    pub reason: String,
}

/// The candidate's time and the baselines measured beside it in the same session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The faster baseline's time over the candidate's: the median of the interleaved pairs' ratios.
    pub speedup: f64,
    /// The lower end of the 95 % interval of that median, which is no narrower than the control's.
    pub speedup_low: f64,
    /// The upper end of the 95 % interval of that median.
    pub speedup_high: f64,
    /// Median time of one call of the candidate.
    pub candidate_ns: Nanoseconds,
    /// Interquartile range of the candidate's time over its median.
    pub candidate_spread: f64,
    /// Which baseline the speedup is against: the faster one.
    pub baseline: BaselineKind,
    /// Every baseline, measured or not.
    pub baselines: Vec<Baseline>,
    /// How many interleaved pairs of batches these figures are from: those in which a thread waited for a processor do not count while there are others.
    pub pairs: u32,
    /// Calls in one batch.
    pub calls_per_batch: u32,
    /// What all batches of both sides took together, those that do not count included: the part of `wall_ns` in which calls were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches_ns: Option<Nanoseconds>,
    /// What this session made of equal kernels; absent where there were too few pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// The device's state right after the batches; absent on `cpu` and where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_state: Option<DeviceState>,
    /// Set-up: import and compilation of the candidate.
    pub build_ns: Nanoseconds,
    /// Set-up: the first call, with autotuning and just-in-time compilation.
    pub first_call_ns: Nanoseconds,
}

impl Timing {
    /// Whether the times were taken in pairs here: another evaluator's come without an interval, without spread and without set-up.
    #[must_use]
    pub fn is_of_pairs(&self) -> bool {
        self.pairs > 0
    }
}

/// The noise floor of a session: neighbouring batches of the same kernel over each other, in turns the first over the second and the second
/// over the first. A speedup whose distance from 1 is not well beyond that of this interval says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// The median ratio; 1 where nothing disturbed.
    pub ratio: f64,
    /// The lower end of the 95 % interval of that median.
    pub low: f64,
    /// The upper end of the 95 % interval of that median.
    pub high: f64,
}

/// What an accelerator said of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceState {
    /// The clock of its processors, in MHz.
    pub clock_mhz: u32,
    /// The clock of its memory, in MHz.
    pub memory_clock_mhz: u32,
    /// Its temperature, in degrees Celsius.
    pub temperature_c: u32,
}

/// What a candidate is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaselineKind {
    /// The problem's module as written.
    Eager,
    /// The module through `torch.compile(mode="max-autotune-no-cudagraphs")`.
    Compile,
}

impl std::fmt::Display for BaselineKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Eager => "eager",
            Self::Compile => "torch.compile",
        })
    }
}

/// One baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Which one.
    pub kind: BaselineKind,
    /// Median time of one call; absent when it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<Nanoseconds>,
    /// Interquartile range over the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The first call, with compilation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_call_ns: Option<Nanoseconds>,
    /// Why there is no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_measured: Option<NotMeasured>,
}

/// The answer of `measure_baseline`: what a candidate has to beat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineReport {
    /// The hash of the problem's source.
    pub problem: ProblemId,
    /// Where it ran.
    pub target: Target,
    /// Every baseline, measured or not.
    pub baselines: Vec<Baseline>,
    /// The inputs in words: one line each, e.g. `float32[4096, 4096] contiguous`.
    pub inputs: Vec<String>,
    /// The outputs in words.
    pub outputs: Vec<String>,
    /// Warnings about the problem itself, e.g. that its output does not depend on its input.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// Something noticed beside the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule's identifier in `snake_case`, e.g. `no_custom_kernel`, `degenerate_problem`, `below_floor`.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen, in a sentence.
    pub message: String,
}

/// How much a finding matters, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Lowers what the verdict is worth.
    Warning,
    /// Decides the verdict: `rejected`.
    Rejection,
}

/// The isolation a candidate ran under: which layers were active and which could not be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sandbox {
    /// Active layers, e.g. `landlock`, `seccomp`, `rlimits`, `network namespace`.
    pub active: Vec<String>,
    /// Layers that are missing, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContentHash;

    fn evaluation(verdict: Verdict) -> Evaluation {
        Evaluation {
            problem: ContentHash::of("problem"),
            candidate: ContentHash::of("candidate"),
            target: Target::CPU,
            verdict,
            findings: vec![],
            deep_check: None,
            sandbox: Sandbox::default(),
            wall_ns: Nanoseconds(1),
        }
    }

    #[test]
    fn trials_on_the_same_kind_of_draw_are_told_once() {
        let ran = ["own", "scaled x100", "own", "own"].map(str::to_owned).to_vec();
        assert_eq!(Trials { ran, ..Trials::default() }.checked_on(), "own (3 draws); scaled x100");
    }

    #[test]
    fn the_json_form_is_one_flat_object_that_reads_back() {
        let timing = Timing {
            speedup: 2.0,
            speedup_low: 1.9,
            speedup_high: 2.1,
            candidate_ns: Nanoseconds(500),
            candidate_spread: 0.01,
            baseline: BaselineKind::Eager,
            baselines: vec![],
            pairs: 9,
            calls_per_batch: 4,
            batches_ns: None,
            control: Some(Control { ratio: 1.0, low: 0.99, high: 1.01 }),
            device_state: None,
            build_ns: Nanoseconds(1),
            first_call_ns: Nanoseconds(2),
        };
        let correct =
            Correct { trials: Trials::default(), error_over_tolerance: 0.1, timing: Some(timing), not_measured: None, sets: vec![] };
        let correct_error = correct.largest_error();
        let value = serde_json::to_value(evaluation(Verdict::Correct(Box::new(correct)))).unwrap();
        assert_eq!((&value["status"], &value["speedup"], correct_error), (&"correct".into(), &2.0.into(), "10.0 %".to_owned()));
        let read: Evaluation = serde_json::from_value(value).unwrap();
        assert_eq!(read.fitness(), Some(2.0));
    }

    #[test]
    fn a_wrapper_around_the_library_is_no_win() {
        let value = serde_json::json!({
            "problem": ContentHash::of("p"), "candidate": ContentHash::of("c"), "target": "cpu", "status": "correct",
            "trials": Trials::default(), "error_over_tolerance": 0.1, "speedup": 2.0, "speedup_low": 1.8, "speedup_high": 2.2,
            "candidate_ns": 500, "candidate_spread": 0.01, "baseline": "eager", "baselines": [], "pairs": 9, "calls_per_batch": 4,
            "build_ns": 1, "first_call_ns": 2, "sandbox": {"active": []}, "wall_ns": 1,
        });
        let mut evaluation: Evaluation = serde_json::from_value(value).unwrap();
        assert_eq!(evaluation.sure_speedup(), Some(1.8));
        let finding = Finding { rule: NO_CUSTOM_KERNEL.to_owned(), severity: Severity::Warning, message: String::new() };
        evaluation.findings.push(finding);
        assert_eq!(evaluation.sure_speedup(), Some(1.0));
    }

    #[test]
    fn a_kernel_that_was_not_timed_has_no_time_and_reads_back() {
        let correct = Correct {
            trials: Trials::default(),
            error_over_tolerance: 0.1,
            timing: None,
            not_measured: Some(NotMeasured { reason: "interpreter".into() }),
            sets: vec![],
        };
        let value = serde_json::to_value(evaluation(Verdict::Correct(Box::new(correct)))).unwrap();
        assert!(value.get("speedup").is_none() && value.get("candidate_ns").is_none());
        let read: Evaluation = serde_json::from_value(value).unwrap();
        assert_eq!(read.fitness(), None);
    }

    #[test]
    fn what_is_not_correct_is_worth_nothing() {
        let verdict = Verdict::TimedOut(Timeout { phase: "run".into(), limit_ns: Nanoseconds(1), trial: None, log: None });
        assert_eq!(evaluation(verdict).fitness(), Some(0.0));
    }
}
