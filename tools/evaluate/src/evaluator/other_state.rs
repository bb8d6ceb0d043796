//! Whether a candidate does what the module does in another state than the one it is built in.
//!
//! Scales of one, biases of zero, running statistics and closed gates do nothing until somebody trains the module: a candidate that leaves them out
//! is right on every draw of inputs. So both sides hold other values there for one trial. A candidate that packs or folds its state while it is built,
//! or at its first call, cannot follow that; it is built once more, in a process of its own, with those values from the beginning.

use kernelwright_protocol::{Severity, Verdict};

use super::case::{Case, build};
use crate::EvaluateError;
use crate::baselines::{self, Reload};
use crate::candidate::{Candidate, Offer};
use crate::correctness::{self, Passed};
use crate::draws::{self, random_u32};
use crate::problem::{BASE, Inputs, Problem, Setting};
use crate::verdict::Stop;
use crate::workshop::Bench;

/// The entry of the inputs of this trial, beside those of the others.
const OTHER: u32 = BASE + 5;

const LABEL: &str = "another state of the module";

/// So many names of a state tell which it is.
const NAMED: usize = 4;

impl Case<'_> {
    /// Tries the candidate in another state of the problem's module, where that has one.
    pub(super) async fn follows_state(
        &self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        reload: &Reload<'_>,
        passed: &mut Passed,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), Stop> {
        let state = random_u32();
        let names = match problem.vary(Some(state)).await {
            Err(EvaluateError::Problem(refusal)) if refusal.message.contains("CUDA error") => {
                baselines::recover(problem, reload).await?;
                problem.keeps_state();
                vec![]
            }
            answer => answer?,
        };
        if names.is_empty() {
            return Ok(());
        }
        say(&format!("checking {LABEL}"));
        let judged = match problem.draw(OTHER, draws::fresh()).await? {
            Ok(inputs) => {
                let inputs = Inputs { label: format!("{LABEL} ({})", told(&names)), ..inputs };
                self.in_state(problem, candidate, state, &inputs, passed, say).await
            }
            Err(_) => Ok(()),
        };
        if let Err(Stop::Failed(error)) = judged {
            return Err(error.into());
        }
        problem.vary(None).await?;
        problem.forget(&[OTHER]).await?;
        judged
    }

    async fn in_state(
        &self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        state: u32,
        inputs: &Inputs,
        passed: &mut Passed,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), Stop> {
        let has_all = candidate.vary(Some(state)).await?.is_empty();
        let followed = if has_all { Some(correctness::one(problem, candidate, OTHER, inputs, passed).await) } else { None };
        match followed {
            Some(Err(stop)) if !is_incorrect(&stop) => return Err(stop),
            _ => candidate.vary(None).await?,
        };
        let result = match followed {
            Some(Ok(())) => Ok(()),
            _ => self.built_in_state(problem, state, passed, say).await,
        };
        match result {
            Ok(()) => {
                passed.trials.ran.push(inputs.label.clone());
                Ok(())
            }
            Err(stop) if is_incorrect(&stop) => Err(stop.explained(
                "the module's state held other values than those it is built with, as it does after training; the candidate leaves out what they do",
            )),
            Err(Stop::Decided(verdict)) => {
                let message = format!(
                    "whether it is right in {} is not known: it is not in the process that it has, where it may have packed its state, and built in that \
                     state it ends as `{}`",
                    inputs.label,
                    verdict.status()
                );
                candidate.note("state_not_followed", Severity::Warning, &message);
                Ok(())
            }
            Err(failed) => Err(failed),
        }
    }

    /// The same with a process in which the candidate is built in that state.
    async fn built_in_state(
        &self,
        problem: &mut Problem,
        state: u32,
        passed: &mut Passed,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), Stop> {
        say("building the candidate in another state of the module");
        let setting = Setting { threads: self.workshop.threads(self.triton), ..problem.setting };
        let built = build(self.workshop, self.request, &self.limits, say).await?;
        let bench = Bench { backend: self.request.target.backend, triton: self.triton, process: self.limits.process };
        let started = self.workshop.bench(bench, &problem.setting).await.map_err(EvaluateError::from)?;
        let mut again = Candidate::new(started.worker, self.limits, self.request.target.backend);
        let offer = Offer { problem_name: self.request.problem_name.clone(), constants: problem.facts.constants.clone() };
        let judged = async {
            again.build(&self.request.candidate_source, &setting, &offer, &built).await?;
            again.construct_in(problem, Some(state)).await?;
            let inputs = problem.share(OTHER).await?;
            correctness::one(problem, &mut again, OTHER, &Inputs { label: LABEL.to_owned(), ..inputs }, passed).await
        };
        let judged = judged.await;
        again.end().await;
        judged
    }
}

fn is_incorrect(stop: &Stop) -> bool {
    matches!(stop, Stop::Decided(verdict) if matches!(**verdict, Verdict::Incorrect { .. }))
}

/// The first names, and how many there are beside them.
fn told(names: &[String]) -> String {
    let first = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { format!("{first} and {} more", names.len() - NAMED) } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_state_is_told_by_its_first_names() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
        assert_eq!((told(&names[..4]), told(&names)), ("a, b, c, d".to_owned(), "a, b, c, d and 2 more".to_owned()));
    }
}
