//! One evaluation on its target: waits for it, has the problem and a process for the candidate there, and keeps the problem for the next one.

use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Evaluation, ProblemId};
use tokio_util::sync::CancellationToken;

use super::case::{Case, build};
use super::{Evaluator, until};
use crate::deep_check::Sanitizer;
use crate::problem::Problem;
use crate::shelf::Key;
use crate::workshop::{Bench, Started, TritonMode, Workshop};
use crate::{EvaluateError, EvaluateRequest};

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
        let ticket = self.inner.devices.queue(request.target);
        let request = &EvaluateRequest { target: ticket.target, ..request.clone() };
        let workshop = self.workshop().await?;
        let triton = TritonMode::of(&request.candidate_source, request.target);
        let limits = request.options.limits.unwrap_or(self.inner.settings.limits);
        let bench = Bench { backend: request.target.backend, triton, process: limits.process };
        // Compilers take nothing from what is measured on a GPU; on the processors that they would share with it, they wait their turn.
        let early = match request.target.backend {
            Backend::Cuda => Some(until(cancelled, build(workshop, request, &limits, say)).await?),
            Backend::Cpu => None,
        };
        say("waiting for the target");
        let mut loaded = until(cancelled, ticket.shelf.lock()).await?;
        let key = Key { problem: ProblemId::of(&request.problem_source), tf32: request.options.tf32 };
        let known = loaded.take(&key);
        loaded.rest().await;
        let is_known = known.is_some();
        let (mut problem, started) = if let Some(problem) = known {
            say("starting the candidate's process");
            let started = workshop.bench(bench, &problem.setting).await?;
            (problem, started)
        } else {
            say("loading the problem");
            loaded.make_room().await;
            until(cancelled, load(workshop, request, bench)).await??
        };
        // Whoever evaluates a second candidate of a problem goes on with a third.
        let next = (is_known && request.target.backend == Backend::Cuda).then_some(bench);
        let case = Case { began, request, workshop, triton, limits, next, early };
        match case.evaluate(&mut problem, started, sanitizer.as_ref(), say, cancelled).await {
            Ok(evaluation) => {
                self.put_back(&mut loaded, key, problem).await;
                Ok(evaluation)
            }
            Err(given_up @ EvaluateError::Cancelled) => {
                if problem.recover(RECOVERY).await {
                    self.put_back(&mut loaded, key, problem).await;
                }
                Err(given_up)
            }
            Err(error) => Err(error),
        }
    }
}

/// The problem, and meanwhile a process for the candidate.
async fn load(workshop: &Workshop, request: &EvaluateRequest, bench: Bench) -> Result<(Problem, Started), EvaluateError> {
    let setting = workshop.setting(request.target, request.options.tf32);
    let problem = workshop.load(&request.problem_source, &request.problem_name, &setting);
    Box::pin(async { tokio::try_join!(problem, async { Ok(workshop.bench(bench, &setting).await?) }) }).await
}
