//! One evaluation on its target: waits for it, has the problem and a process for the candidate there, and keeps the problem for the next one.

use std::time::{Duration, Instant};

use kernelwright_harness::{Company, gpu_turn};
use kernelwright_protocol::{Backend, Evaluation, ProblemId, Verdict};
use tokio_util::sync::CancellationToken;

use super::case::{Case, build};
use super::{Evaluator, until};
use crate::deep_check::Sanitizer;
use crate::devices::Device;
use crate::problem::Problem;
use crate::shelf::{Key, Shelf};
use crate::workshop::{Bench, Started, TritonMode, Workshop};
use crate::{EvaluateError, EvaluateRequest};

/// Why a draw is left out where memory does not suffice for it (`trials.py`).
const NO_ROOM: &str = "there is no memory left for it beside the problem's own";

/// How long a problem may take to answer what a cancelled evaluation has asked it. It would take longer to load it again.
const RECOVERY: Duration = Duration::from_secs(5);

impl Evaluator {
    pub(super) async fn attempt(
        &self,
        request: &EvaluateRequest,
        say: &(dyn Fn(&str) + Send + Sync),
        cancelled: &CancellationToken,
    ) -> Result<Evaluation, EvaluateError> {
        let began = Instant::now();
        let sanitizer = request.options.deep_check.then(|| Sanitizer::find(request.target)).transpose()?;
        let choices = self.inner.devices.choices(request.target);
        let workshop = self.workshop().await?;
        let triton = TritonMode::of(&request.candidate_source, request.target);
        let limits = request.options.limits.unwrap_or(self.inner.settings.limits);
        let bench = Bench { backend: request.target.backend, triton, process: limits.process };
        // Compilers take nothing from what is measured on a GPU; on the processors that they would share with it, they wait their turn.
        let early = match request.target.backend {
            Backend::Cuda => {
                let for_one = EvaluateRequest { target: choices[0], ..request.clone() };
                Some(until(cancelled, build(workshop, &for_one, &limits, say)).await?)
            }
            Backend::Cpu => None,
        };
        say("waiting for the target");
        let Device { target, shelf: mut loaded } = until(cancelled, self.inner.devices.take(&choices)).await?;
        let request = &EvaluateRequest { target, ..request.clone() };
        let key = Key { problem: ProblemId::of(&request.problem_source), tf32: request.options.tf32 };
        let is_crowded = loaded.holds_others(&key);
        let place = OnTarget { workshop, bench, key: &key, sanitizer: sanitizer.as_ref(), cancelled };
        let case = Case { began, request, workshop, triton, limits, next: None, early, turn: None, is_alone: false, untimed: None };
        let first = Box::pin(self.on_target(&mut loaded, &place, case, say)).await;
        if !(is_crowded && ran_out_of_memory(&first)) {
            return first;
        }
        say("making room: memory of the target has run out");
        loaded.end_all().await;
        let case = Case { began, request, workshop, triton, limits, next: None, early: None, turn: None, is_alone: false, untimed: None };
        Box::pin(self.on_target(&mut loaded, &place, case, say)).await
    }

    /// The same on the target that it was given.
    async fn on_target(
        &self,
        loaded: &mut Shelf,
        place: &OnTarget<'_>,
        mut case: Case<'_>,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Evaluation, EvaluateError> {
        let OnTarget { workshop, bench, key, sanitizer, cancelled } = *place;
        case.turn = until(cancelled, gpu_turn(case.request.target, Company::Others)).await?;
        let known = loaded.take(key);
        loaded.rest().await;
        let is_known = known.is_some();
        let (mut problem, started) = if let Some(problem) = known {
            say("starting the candidate's process");
            let started = workshop.untrusted(bench, &problem.setting).await?;
            (problem, started)
        } else {
            say("loading the problem");
            loaded.make_room().await;
            until(cancelled, load(workshop, case.request, bench)).await??
        };
        // Whoever evaluates a second candidate of a problem goes on with a third.
        case.next = is_known.then_some(bench);
        match Box::pin(case.evaluate(&mut problem, started, sanitizer, say, cancelled)).await {
            Ok(evaluation) => {
                self.put_back(loaded, key.clone(), problem).await;
                Ok(evaluation)
            }
            Err(given_up @ EvaluateError::Cancelled) => {
                if problem.recover(RECOVERY).await {
                    self.put_back(loaded, key.clone(), problem).await;
                }
                Err(given_up)
            }
            Err(error) => Err(error),
        }
    }
}

/// What an evaluation has on its target.
struct OnTarget<'a> {
    workshop: &'a Workshop,
    bench: Bench,
    key: &'a Key,
    sanitizer: Option<&'a Sanitizer>,
    cancelled: &'a CancellationToken,
}

/// Whether either side asked for more memory than the device had left, or a draw was left out for it.
fn ran_out_of_memory(result: &Result<Evaluation, EvaluateError>) -> bool {
    match result {
        Ok(Evaluation { verdict: Verdict::Correct(correct), .. }) => correct.trials.skipped.iter().any(|reason| reason.ends_with(NO_ROOM)),
        Ok(Evaluation { verdict: Verdict::Faulted(fault), .. }) => fault.summary.contains("OutOfMemoryError"),
        Err(EvaluateError::Problem(refusal)) => refusal.kind == "memory",
        _ => false,
    }
}

/// The problem, and meanwhile a process for the candidate.
async fn load(workshop: &Workshop, request: &EvaluateRequest, bench: Bench) -> Result<(Problem, Started), EvaluateError> {
    let setting = workshop.setting(request.target, request.options.tf32);
    let problem = workshop.load(&request.problem_source, &request.problem_name, &setting);
    Box::pin(async { tokio::try_join!(problem, async { Ok(workshop.untrusted(bench, &setting).await?) }) }).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn correct(skipped: &[&str]) -> Evaluation {
        serde_json::from_value(json!({
            "problem": "0".repeat(64), "candidate": "1".repeat(64), "target": "cuda:0", "status": "correct",
            "trials": {"ran": ["problem's distribution"], "skipped": skipped, "timed_calls_verified": 0},
            "error_over_tolerance": 0.1, "not_measured": {"reason": "no baseline could be measured"},
            "findings": [], "sandbox": {"active": [], "missing": []}, "wall_ns": 1,
        }))
        .unwrap()
    }

    #[test]
    fn draws_without_memory_are_worth_another_attempt() {
        assert!(!ran_out_of_memory(&Ok(correct(&["scaled x100: the reference gives 1 of 1 values that are not finite"]))));
        assert!(ran_out_of_memory(&Ok(correct(&["special: no answer", &format!("scaled x100: {NO_ROOM}")]))));
        let worker = include_str!("../../../harness/python/kernelwright_worker/trials.py");
        assert!(worker.contains(&format!("_NO_ROOM = \"{NO_ROOM}\"")), "the worker words it otherwise");
    }
}
