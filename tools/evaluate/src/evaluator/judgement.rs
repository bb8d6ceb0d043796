//! From a candidate's process to an evaluation: the verdict, the deep check of what is correct, and what is worth knowing beside them.

use std::time::Duration;

use kernelwright_builds::Built;
use kernelwright_harness::{Company, gpu_turn};
use kernelwright_protocol::{CandidateId, Correct, DeepCheck, Evaluation, Finding, ProblemId, Sandbox, Severity, TRIAL_SKIPPED, Verdict};
use tokio_util::sync::CancellationToken;

use super::case::{Case, build};
use super::until;
use crate::candidate::Candidate;
use crate::deep_check::{self, Examination, Sanitizer};
use crate::problem::Problem;
use crate::verdict::{Stop, deciding_finding, has_overrun};
use crate::workshop::{Started, TritonMode};
use crate::{EvaluateError, Limits, afterwards, launches};

/// A GPU, or what a candidate may have on processors, has to hold the inputs of a call so often.
const OVERLAP: u64 = 64;

impl Case<'_> {
    /// Judges the candidate in the process that was started for it, and ends that.
    pub(super) async fn evaluate(
        mut self,
        problem: &mut Problem,
        started: Started,
        sanitizer: Option<&Sanitizer>,
        say: &(dyn Fn(&str) + Send + Sync),
        cancelled: &CancellationToken,
    ) -> Result<Evaluation, EvaluateError> {
        let Started { worker, not_forked: reason } = started;
        let mut candidate = Candidate::new(worker, self.limits, self.request.target.backend);
        let sandbox = candidate.sandbox().clone();
        let mut outcome = match until(cancelled, Box::pin(self.run(problem, &mut candidate, say))).await {
            Ok(outcome) => outcome,
            Err(given_up) => {
                candidate.end().await;
                return Err(given_up);
            }
        };
        if let Ok(Correct { timing: Some(timing), .. }) = &outcome {
            let usual = Duration::from_nanos(timing.candidate_ns.0);
            self.workshop.learn(self.triton, launches::look(problem, &mut candidate, usual).await);
        }
        let (noticed, uncopied) = (candidate.noticed(), candidate.uncopied());
        let slowed = outcome.as_mut().ok().filter(|correct| afterwards::is_called_for(problem, correct));
        // The deep check needs the memory.
        if can_overlap(problem, &self.limits) && sanitizer.is_none() && slowed.is_none() {
            self.workshop.end(self.request.target, candidate).await;
        } else {
            candidate.end().await;
        }
        let mut findings: Vec<Finding> = problem
            .degenerate()
            .into_iter()
            .chain(problem.tf32_note())
            .chain(problem.gradients_note())
            .chain(problem.structure_note())
            .chain(degraded(&sandbox))
            .chain(not_forked(reason))
            .collect();
        if let Some(correct) = slowed {
            findings.extend(until(cancelled, afterwards::charge(problem, correct)).await??);
        }
        let mut verdict = match outcome {
            Ok(correct) => Verdict::Correct(Box::new(correct)),
            Err(Stop::Decided(verdict)) => *verdict,
            Err(Stop::Failed(error)) => return Err(error),
        };
        let mut deep_check = None;
        if let Some(sanitizer) = sanitizer.filter(|_| matches!(verdict, Verdict::Correct(_)) || has_overrun(&verdict)) {
            // It takes long and measures nothing.
            self.turn = None;
            self.turn = until(cancelled, gpu_turn(self.request.target, Company::Others)).await?;
            let found = until(cancelled, self.examine(sanitizer, problem, say)).await??;
            findings.extend(deep_check::findings(&found));
            verdict = deep_check::verdict(&found).unwrap_or(verdict);
            deep_check = Some(found);
        }
        findings.extend(noticed);
        findings.extend(deciding_finding(&verdict));
        findings.extend(not_copied(&verdict, &uncopied));
        findings.extend(skipped_trials(&verdict));
        findings.extend(interpreted(self.triton));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Ok(Evaluation {
            problem: ProblemId::of(&self.request.problem_source),
            candidate: CandidateId::of(&self.request.candidate_source),
            target: self.request.target,
            verdict,
            findings,
            deep_check,
            sandbox,
            wall_ns: self.began.elapsed().into(),
        })
    }

    /// Has a candidate that is correct, but for what it may write beyond its memory, looked at by compute-sanitizer. What it has torch build is there already.
    async fn examine(
        &self,
        sanitizer: &Sanitizer,
        problem: &mut Problem,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<DeepCheck, EvaluateError> {
        let Self { request, workshop, limits, .. } = *self;
        let built = match build(workshop, request, &limits, say).await {
            Ok(built) => built,
            Err(Stop::Failed(error)) => return Err(error),
            // It was built a moment ago; whatever keeps it from that now shows when it is imported.
            Err(Stop::Decided(_)) => Built::default(),
        };
        Examination { sanitizer, workshop, request, limits }.run(problem, &built, say).await
    }
}

/// Whether a candidate's process may still be ending while the next one is built: of large inputs there may be no room for more.
fn can_overlap(problem: &Problem, limits: &Limits) -> bool {
    let memory = problem.facts.device_memory.unwrap_or(limits.memory.0);
    problem.base_bytes().saturating_mul(OVERLAP) <= memory
}

fn degraded(sandbox: &Sandbox) -> Option<Finding> {
    let missing = sandbox.missing.join("; ");
    let message = format!("the candidate ran without some layers of isolation: {missing}");
    (!missing.is_empty()).then(|| Finding { rule: "sandbox_degraded".to_owned(), severity: Severity::Note, message })
}

fn not_forked(reason: Option<String>) -> Option<Finding> {
    let message = format!("the candidate's process was started from nothing, which takes seconds: {}", reason?);
    Some(Finding { rule: "worker_not_forked".to_owned(), severity: Severity::Note, message })
}

fn interpreted(triton: TritonMode) -> Option<Finding> {
    let message = "Triton kernels ran in Triton's interpreter: values were checked, time and races were not".to_owned();
    let finding = Finding { rule: "triton_interpreter".to_owned(), severity: Severity::Warning, message };
    (triton == TritonMode::Interpreted).then_some(finding)
}

/// Where outputs differ, what of the problem's state the candidate's module had no place for: it may be right with other weights.
fn not_copied(verdict: &Verdict, names: &[String]) -> Option<Finding> {
    let is_told = matches!(verdict, Verdict::Incorrect { .. }) && !names.is_empty();
    let of = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMES { format!(" and {} more", names.len() - NAMES) } else { String::new() };
    let message = format!(
        "the candidate has no parameter or buffer of the name, shape and dtype of {of}{more}, and holds what it has made itself there"
    );
    is_told.then(|| Finding { rule: "state_not_copied".to_owned(), severity: Severity::Note, message })
}

/// So many names are told.
const NAMES: usize = 8;

fn skipped_trials(verdict: &Verdict) -> Vec<Finding> {
    let trials = match verdict {
        Verdict::Correct(correct) => &correct.trials,
        Verdict::Incorrect { trials, .. } => trials,
        _ => return vec![],
    };
    let skipped = |label: &String| Finding { rule: TRIAL_SKIPPED.to_owned(), severity: Severity::Note, message: label.clone() };
    trials.skipped.iter().map(skipped).collect()
}
