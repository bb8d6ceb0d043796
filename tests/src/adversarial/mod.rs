//! The adversarial suite: cheats that have to be refused, faults that have to be named, and honest kernels that look suspicious.
//!
//! A case is one candidate file below `tests/adversarial/cases`; its folder is the mechanism's family. Comment lines at its beginning
//! say what it is for (see [`Case`]). Problems are in `tests/adversarial/problems`. The same code runs as a test on the CPU and as a
//! program (`make adversarial TARGET=cuda`) wherever there is a device.

mod case;
mod table;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernelwright_evaluate::{BaselineChoice, EvaluateRequest, Evaluator, Limits, Options, Settings};
use kernelwright_protocol::{Evaluation, Target, Timeout, Verdict};

pub use case::{Case, CaseError, Kind, cases};
pub(crate) use case::{entries, header};
pub use table::Table;

/// What became of a case.
#[derive(Debug)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// How the verdict reads, in a line.
    pub reading: String,
    /// What is wrong with the verdict; absent where it is one of those expected.
    pub wrong: Option<String>,
    /// Wall time.
    pub wall: Duration,
}

/// Where an evaluator under test keeps what it needs.
#[derive(Debug)]
pub struct Bench {
    evaluator: Evaluator,
    target: Target,
}

impl Bench {
    /// One evaluator for all cases, so that loaded problems are used again.
    #[must_use]
    pub fn new(binary: PathBuf, python: PathBuf, cache: &Path, target: Target) -> Self {
        let settings = Settings { python: Some(python), cache_dir: cache.to_path_buf(), ..Settings::new(binary) };
        Self { evaluator: Evaluator::new(settings), target }
    }

    /// Evaluates one case and compares its verdict with the expected ones.
    pub async fn judge(&self, case: Case) -> Outcome {
        let started = Instant::now();
        let mut evaluated = self.evaluate(&case).await;
        for _ in 0..AGAIN {
            if evaluated.as_ref().is_ok_and(|evaluation| case.is_disturbed(evaluation)) {
                evaluated = self.evaluate(&case).await;
            }
        }
        let (reading, wrong) = match evaluated {
            Ok(evaluation) => (reading(&evaluation), case.objection(&evaluation)),
            Err(error) => (format!("no verdict: {error}"), Some("no verdict".to_owned())),
        };
        Outcome { case, reading, wrong, wall: started.elapsed() }
    }

    async fn evaluate(&self, case: &Case) -> Result<Evaluation, Box<dyn std::error::Error + Send + Sync>> {
        let limit = case.limit.unwrap_or(Duration::from_secs(90));
        let limits = Limits { build: limit.max(Duration::from_secs(2)), run: limit, time: limit, ..Limits::default() };
        let request = EvaluateRequest {
            problem_source: case.problem_source.clone(),
            problem_name: format!("{}.py", case.problem),
            candidate_source: case.source.clone(),
            target: self.target,
            options: Options {
                trials: NonZeroU32::new(TRIALS).ok_or("no trials")?,
                baselines: BaselineChoice::EagerOnly,
                measure: case.timed,
                tf32: case.tf32,
                pairs: NonZeroU32::new(PAIRS),
                deep_check: false,
                limits: Some(limits),
            },
        };
        Ok(self.evaluator.evaluate(&request, &|_| {}).await?)
    }
}

/// How often a time is taken again that others have disturbed.
const AGAIN: usize = 2;

/// One draw of every kind.
pub const TRIALS: u32 = 6;

/// Enough pairs for a median, and short.
pub const PAIRS: u32 = 5;

/// A verdict as a line: its status with what decided it, and the findings' rules.
#[must_use]
pub fn reading(evaluation: &Evaluation) -> String {
    let status = evaluation.verdict.status();
    let detail = match &evaluation.verdict {
        Verdict::BuildFailed(fault) | Verdict::Faulted(fault) => format!("in {}: {}", fault.phase, fault.summary),
        Verdict::TimedOut(Timeout { phase, .. }) => format!("in {phase}"),
        Verdict::Incorrect { mismatches, .. } => {
            mismatches.first().map(|m| format!("{}: {}: {}", m.trial, m.output, m.detail)).unwrap_or_default()
        }
        Verdict::Rejected { rule, explanation } => format!("{rule}: {explanation}"),
        Verdict::Correct(correct) => match &correct.timing {
            Some(timing) => format!("{:.2}x, error {}", timing.speedup, correct.largest_error()),
            None => format!("not timed, error {}", correct.largest_error()),
        },
    };
    let rules: Vec<_> = evaluation.findings.iter().map(|finding| finding.rule.as_str()).collect();
    format!("{status} {detail} [{}]", rules.join(", "))
}
