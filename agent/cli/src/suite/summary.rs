//! What a suite's log comes to: counts, the share of problems beaten, the mean speedup, and what did not work.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernelwright_protocol::Verdict;
use serde::Serialize;

use super::log::{Ending, Entry, Unjudged};
use crate::progress::verdict;

/// The speedups at which `fast_p` is told.
const LEVELS: [f64; 5] = [0.0, 1.0, 1.5, 2.0, 4.0];

/// How far from 1 the speedup of a problem over itself may be.
const IDENTITY_SLACK: f64 = 0.05;

/// A fold over the entries of a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "summary")]
pub struct Summary {
    /// The suite.
    pub suite: String,
    /// Problems that were asked for.
    pub problems: usize,
    /// Problems by status, those that were not reached apart.
    pub statuses: BTreeMap<&'static str, usize>,
    /// The share of all problems that are correct and faster than p times the baseline; `p = 0` asks for correct only. Empty where nothing was
    /// timed, but for that.
    pub fast_p: Vec<FastP>,
    /// Of the speedups that were measured; absent where there is none.
    pub geometric_mean: Option<f64>,
    /// How many speedups were measured, and how many of them are within 5 % of 1.
    pub timed: usize,
    /// See `timed`.
    pub near_one: usize,
    /// What is not correct, in the suite's order.
    pub failures: Vec<Failed>,
}

/// One value of KernelBench's metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FastP {
    /// The speedup to exceed.
    pub p: f64,
    /// Of all problems, 0 to 1.
    pub share: f64,
}

/// A problem that did not end correct.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failed {
    /// The problem.
    pub name: String,
    /// How it ended.
    pub status: &'static str,
    /// Why, in a line.
    pub reason: String,
}

impl Summary {
    /// Of the entries of `problems` problems.
    pub fn of<'a>(suite: &str, problems: usize, entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut statuses = BTreeMap::new();
        let (mut speedups, mut failures) = (Vec::new(), Vec::new());
        for entry in entries {
            *statuses.entry(entry.ending.status()).or_default() += 1;
            match &entry.ending {
                Ending::Evaluation(evaluation) if matches!(evaluation.verdict, Verdict::Correct(_)) => {
                    speedups.extend(evaluation.fitness());
                }
                ending => failures.push(Failed { name: entry.name.clone(), status: ending.status(), reason: reason(ending) }),
            }
        }
        let correct = statuses.get("correct").copied().unwrap_or_default();
        let share = |p: f64| {
            let faster = if p == 0.0 { correct } else { speedups.iter().filter(|&&speedup| speedup > p).count() };
            FastP { p, share: faster as f64 / problems.max(1) as f64 }
        };
        let levels = if speedups.is_empty() { &LEVELS[..1] } else { &LEVELS };
        Self {
            suite: suite.to_owned(),
            problems,
            statuses,
            fast_p: levels.iter().map(|&p| share(p)).collect(),
            geometric_mean: (!speedups.is_empty()).then(|| (speedups.iter().map(|s| s.ln()).sum::<f64>() / speedups.len() as f64).exp()),
            timed: speedups.len(),
            near_one: speedups.iter().filter(|&&speedup| (speedup - 1.0).abs() <= IDENTITY_SLACK).count(),
            failures,
        }
    }

    /// Problems that were dealt with.
    pub fn done(&self) -> usize {
        self.statuses.values().sum()
    }

    /// Whether every problem ended correct.
    pub fn is_all_correct(&self) -> bool {
        self.statuses.get("correct") == Some(&self.problems)
    }

    /// Whether nothing came of any problem because the evaluator itself failed.
    pub fn is_all_evaluator_failed(&self) -> bool {
        let failed = Unjudged::EvaluatorFailed.as_str();
        self.statuses.keys().all(|status| *status == failed)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {} of {} problems", self.suite, self.done(), self.problems);
        // Writing into a `String` does not fail.
        for (status, count) in &self.statuses {
            let _ = write!(text, "\n  {status:<20} {count}");
        }
        for FastP { p, share } in &self.fast_p {
            let _ = write!(text, "\n  {:<20} {:.1} %", format!("fast_{p}"), share * 100.0);
        }
        if let Some(mean) = self.geometric_mean {
            let _ = write!(
                text,
                "\n  {:<20} {mean:.3}x geometric mean of {}, {} of them within 5 % of 1x",
                "speedup", self.timed, self.near_one
            );
        }
        if !self.failures.is_empty() {
            text.push_str("\nnot correct");
        }
        for Failed { name, status, reason } in &self.failures {
            let _ = write!(text, "\n  {name}  {status}: {reason}");
        }
        text
    }
}

/// Why a problem did not end correct, or how it did, in a line.
pub fn reason(ending: &Ending) -> String {
    match ending {
        Ending::Evaluation(evaluation) => verdict(evaluation),
        Ending::NoVerdict(none) => none.reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::{BaselineKind, CandidateId, Correct, Evaluation, Nanoseconds, ProblemId, Sandbox, Target, Timing, Trials};

    use super::*;
    use crate::suite::log::NoVerdict;

    fn entry(name: &str, ending: Ending) -> Entry {
        Entry { suite: "s".into(), name: name.into(), key: name.into(), judge: "j".into(), ending, wall_ns: Nanoseconds(1) }
    }

    fn judged(verdict: Verdict) -> Ending {
        Ending::Evaluation(Box::new(Evaluation {
            problem: ProblemId::of("p"),
            candidate: CandidateId::of("c"),
            target: Target::CPU,
            verdict,
            findings: vec![],
            deep_check: None,
            sandbox: Sandbox::default(),
            wall_ns: Nanoseconds(1),
        }))
    }

    fn correct(speedup: Option<f64>) -> Ending {
        let timing = speedup.map(|speedup| Timing {
            speedup,
            speedup_low: speedup,
            speedup_high: speedup,
            candidate_ns: Nanoseconds(1),
            candidate_spread: 0.0,
            baseline: BaselineKind::Eager,
            baselines: vec![],
            pairs: 6,
            calls_per_batch: 1,
            batches_ns: None,
            control: None,
            device_state: None,
            build_ns: Nanoseconds(1),
            first_call_ns: Nanoseconds(1),
        });
        let correct = Correct { trials: Trials::default(), error_over_tolerance: 0.0, timing, not_measured: None, sets: vec![] };
        judged(Verdict::Correct(Box::new(correct)))
    }

    #[test]
    fn says_what_was_beaten_and_what_did_not_work() {
        let entries = [
            entry("a", correct(Some(4.0))),
            entry("b", correct(Some(1.0))),
            entry("c", judged(Verdict::Rejected { rule: "clock_disagreement".into(), explanation: "it lies".into() })),
            entry("d", Ending::NoVerdict(NoVerdict::new(Unjudged::TooLarge, "it needs 16 GB"))),
        ];
        let summary = Summary::of("s", 5, &entries);
        assert!(!summary.is_all_correct());
        insta::assert_snapshot!(summary.text(), @r"
        s: 4 of 5 problems
          correct              2
          rejected             1
          too_large            1
          fast_0               40.0 %
          fast_1               20.0 %
          fast_1.5             20.0 %
          fast_2               20.0 %
          fast_4               0.0 %
          speedup              2.000x geometric mean of 2, 1 of them within 5 % of 1x
        not correct
          c  rejected: rejected (clock_disagreement): it lies
          d  too_large: it needs 16 GB
        ");
    }

    #[test]
    fn without_times_there_is_correctness_only() {
        let summary = Summary::of("s", 1, &[entry("a", correct(None))]);
        assert!(summary.is_all_correct());
        insta::assert_snapshot!(summary.text(), @r"
        s: 1 of 1 problems
          correct              1
          fast_0               100.0 %
        ");
    }
}
