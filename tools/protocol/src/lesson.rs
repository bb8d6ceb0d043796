//! What one kernel proves about a change: lessons, and what crosses MCP to keep and find them.
//!
//! A lesson is a change and its measured effect. The words are those of whoever made the change and are quoted; the effect follows from
//! verdicts of the evaluator and from nothing else ([`Proof::of`]).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CandidateId, Evaluation, NO_CUSTOM_KERNEL, Subject, Timing, Verdict};

/// What a change did, for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The kernel became faster, with its whole interval.
    Faster,
    /// The kernel became slower, with its whole interval.
    Slower,
    /// The kernel is not correct.
    Wrong,
}

impl Effect {
    /// The wire name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Wrong => "wrong",
        }
    }
}

/// How many times as fast, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The middle.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ratio {
    fn of(timing: &Timing) -> Self {
        Self { median: timing.speedup, low: timing.speedup_low, high: timing.speedup_high }
    }

    /// This over another, with the widest interval the two allow.
    fn over(self, other: Self) -> Option<Self> {
        let sound = other.low > 0.0 && other.median > 0.0 && other.high > 0.0;
        sound.then(|| Self { median: self.median / other.median, low: self.low / other.high, high: self.high / other.low })
    }

    fn effect(self) -> Option<Effect> {
        match self {
            Self { low, .. } if low > 1.0 => Some(Effect::Faster),
            Self { high, .. } if high < 1.0 => Some(Effect::Slower),
            _ => None,
        }
    }
}

/// `1.80x (1.70x to 1.91x)`.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}x ({:.2}x to {:.2}x)", self.median, self.low, self.high)
    }
}

/// What verdicts prove about a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof {
    /// What it did: to the kernel it was made from where that was timed, else against the baseline.
    pub effect: Effect,
    /// Over the kernel it was made from; absent without one that was timed against the same baseline.
    pub over_parent: Option<Ratio>,
    /// Over the baseline; absent where the kernel is not correct.
    pub over_baseline: Option<Ratio>,
}

impl Proof {
    /// Nothing when the intervals overlap, when there is no time, or when the kernel leaves the work to the library.
    #[must_use]
    pub fn of(verdict: &Evaluation, parent: Option<&Evaluation>) -> Option<Self> {
        let Verdict::Correct(_) = &verdict.verdict else {
            return Some(Self { effect: Effect::Wrong, over_parent: None, over_baseline: None });
        };
        if verdict.findings.iter().any(|finding| finding.rule == NO_CUSTOM_KERNEL) {
            return None;
        }
        let timing = timing(verdict)?;
        let over_baseline = Ratio::of(timing);
        let parent = parent.and_then(self::timing).filter(|parent| parent.baseline == timing.baseline);
        let over_parent = parent.and_then(|parent| over_baseline.over(Ratio::of(parent)));
        let effect = over_parent.unwrap_or(over_baseline).effect()?;
        Some(Self { effect, over_parent, over_baseline: Some(over_baseline) })
    }
}

fn timing(evaluation: &Evaluation) -> Option<&Timing> {
    match &evaluation.verdict {
        Verdict::Correct(correct) => correct.timing.as_ref(),
        _ => None,
    }
}

/// Where a verdict is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The file: a run's `events.jsonl`, or what `evaluate --json` printed. An absolute path.
    pub file: String,
    /// Which record of the run: its `seq`. Leave it out for a file that holds one verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
    /// The candidate that the verdict has to be on: its SHA-256.
    pub candidate: CandidateId,
}

/// The arguments of `record_lesson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLesson {
    /// What was changed, in a few sentences. It is quoted as the words of whoever changed it; figures are taken from the verdicts.
    pub change: String,
    /// The problem's name.
    pub problem: String,
    /// What the problem is about, and on which device it was measured.
    pub subject: Subject,
    /// The run's name.
    pub run: String,
    /// The verdict on the changed kernel.
    pub verdict: Evidence,
    /// The verdict on the kernel it was made from; leave it out for one that was made from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Evidence>,
}

/// The answer of `record_lesson`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedLesson {
    /// The lesson: `learnt/NAME`.
    pub lesson: String,
    /// What the verdicts prove.
    pub effect: Effect,
    /// How often it has been measured by now: different problems or devices, each counted once.
    pub measurements: u32,
}

/// The arguments of `find_lessons`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonQuery {
    /// What you are working on.
    pub subject: Subject,
    /// At most this many, 1 to 20; 4 without it.
    #[serde(default)]
    #[schemars(range(min = 1, max = LessonQuery::MOST))]
    pub limit: Option<u32>,
}

impl LessonQuery {
    /// The most lessons of an answer.
    pub const MOST: u32 = 20;
}

/// The answer of `find_lessons`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lessons {
    /// Most useful first.
    pub lessons: Vec<FoundLesson>,
}

/// One lesson that bears on what was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundLesson {
    /// The lesson: `learnt/NAME`.
    pub lesson: String,
    /// What the change did where it was measured on the most similar subject.
    pub effect: Effect,
    /// How similar that subject is, between 0 and 1.
    pub likeness: f64,
    /// The same in words.
    pub why: String,
    /// How often it was shown before a kernel was written.
    pub shown: u32,
    /// How often that kernel then improved.
    pub helped: u32,
    /// The change and its measured effects, with their evidence.
    pub text: String,
}

/// The arguments of `rate_lessons`: what became of a kernel that was written with lessons in view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonUse {
    /// The lessons that were shown.
    pub lessons: Vec<String>,
    /// In which run.
    pub run: String,
    /// In which step of it. The same run and step count once, however often they are told.
    pub step: u32,
    /// Whether the kernel improved for sure.
    pub helped: bool,
}

/// The answer of `rate_lessons`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RatedLessons {
    /// How many of them there are; a lesson may have been removed meanwhile.
    pub known: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ContentHash;

    fn timed(speedup: f64, low: f64, high: f64) -> Evaluation {
        serde_json::from_value(json!({
            "problem": ContentHash::of("p"), "candidate": ContentHash::of("c"), "target": "cpu", "status": "correct",
            "trials": {"ran": [], "timed_calls_verified": 0}, "error_over_tolerance": 0.1, "speedup": speedup, "speedup_low": low,
            "speedup_high": high, "candidate_ns": 500, "candidate_spread": 0.01, "baseline": "eager", "baselines": [], "pairs": 9,
            "calls_per_batch": 4, "build_ns": 1, "first_call_ns": 2, "sandbox": {"active": []}, "wall_ns": 1,
        }))
        .unwrap()
    }

    fn effect(verdict: &Evaluation, parent: Option<&Evaluation>) -> Option<Effect> {
        Proof::of(verdict, parent).map(|proof| proof.effect)
    }

    #[test]
    fn only_intervals_that_separate_prove_something() {
        let parent = timed(2.0, 1.9, 2.1);
        assert_eq!(effect(&timed(3.0, 2.8, 3.2), Some(&parent)), Some(Effect::Faster));
        assert_eq!(effect(&timed(2.2, 2.0, 2.4), Some(&parent)), None, "the intervals overlap");
        assert_eq!(effect(&timed(1.5, 1.4, 1.6), Some(&parent)), Some(Effect::Slower), "faster than the baseline, slower than before");
        assert_eq!(effect(&timed(1.5, 1.4, 1.6), None), Some(Effect::Faster));
        assert_eq!(effect(&timed(1.1, 0.9, 1.3), None), None);
    }

    #[test]
    fn the_gain_over_the_parent_has_the_widest_interval() {
        let proof = Proof::of(&timed(3.0, 2.8, 3.2), Some(&timed(2.0, 1.9, 2.1))).unwrap();
        assert_eq!(proof.over_parent.unwrap().to_string(), "1.50x (1.33x to 1.68x)");
        assert_eq!(proof.over_baseline.unwrap().to_string(), "3.00x (2.80x to 3.20x)");
    }

    #[test]
    fn wrong_kernels_teach_and_wrappers_do_not() {
        let wrong = Evaluation { verdict: Verdict::Rejected { rule: "r".into(), explanation: "e".into() }, ..timed(1.0, 1.0, 1.0) };
        assert_eq!(effect(&wrong, None), Some(Effect::Wrong));
        let mut wrapper = timed(3.0, 2.8, 3.2);
        wrapper.findings.push(crate::Finding { rule: NO_CUSTOM_KERNEL.into(), severity: crate::Severity::Warning, message: String::new() });
        assert_eq!(effect(&wrapper, None), None);
    }
}
