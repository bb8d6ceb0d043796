//! Whether a candidate does what the module does in another state than the one it is built in.
//!
//! Scales of one, biases of zero, running statistics and closed gates do nothing until somebody trains the module, and layers that begin as copies of
//! one are the same until then: a candidate that makes use of it is right on every draw of inputs. So both sides hold other values there for one trial.
//! A candidate that packs or folds its state while it is built, or at its first call, cannot follow that; it is built once more, in a process of its own,
//! with those values from the beginning. Which of its tensors stand for the module's is told in one way after another: it has to be right by one of them.
//!
//! Whichever process is right goes on in that state, and so does the problem's: what is timed is what was right there.
//!
//! A problem that is trained goes one step further: its weights change in place, as they do between two of its calls, and who packs them has to notice.

use kernelwright_protocol::{Severity, Verdict};

use super::case::{Case, build};
use crate::EvaluateError;
use crate::baselines::{self, Reload};
use crate::candidate::{Candidate, Offer};
use crate::correctness::{self, Passed};
use crate::draws::{self, random_u32};
use crate::problem::{BASE, Change, Inputs, OtherState, Policy, Problem, Setting, State};
use crate::verdict::Stop;
use crate::workshop::Bench;

/// The entry of the inputs of this trial, beside those of the others.
const OTHER: u32 = BASE + 5;

const LABEL: &str = "another state of the module";
const STEP: &str = "a step of training";

/// What a candidate should be told that is wrong after it.
const STALE: &str = "its parameters were given other values in place, as an optimizer does, and the candidate goes on with what it has made of those before";

/// So many names of a state tell which it is.
const NAMED: usize = 4;

impl Case<'_> {
    /// Tries the candidate in another state of the problem's module, where that has one, in which both go on then; and after a step of training, where it is
    /// trained.
    pub(super) async fn follows_state(
        &mut self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        reload: &Reload<'_>,
        passed: &mut Passed,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), Stop> {
        // An even seed turns the signs of scales, which not every module bears.
        let mut seed = random_u32() & !1;
        let mut names = vary(problem, reload, Change { seed, beside: None }).await?;
        if names.is_empty() {
            seed += 1;
            names = vary(problem, reload, Change { seed, beside: None }).await?;
        }
        if !names.is_empty() {
            say(&format!("checking {LABEL}"));
            if let Ok(inputs) = problem.draw(OTHER, draws::fresh()).await? {
                let inputs = Inputs { label: format!("{LABEL} ({})", told(&names)), ..inputs };
                let state = OtherState { seed, names: names.clone(), policy: Policy::ByValue };
                self.in_state(problem, candidate, state, &inputs, passed, say).await?;
                problem.forget(&[OTHER]).await?;
            } else {
                problem.vary(None).await?;
            }
        }
        if problem.facts.form.trains() {
            let beside = if matches!(problem.state, State::Another(_)) { names } else { vec![] };
            follows_step(problem, candidate, reload, (seed, beside), passed, say).await?;
        }
        Ok(())
    }

    async fn in_state(
        &mut self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        mut state: OtherState,
        inputs: &Inputs,
        passed: &mut Passed,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), Stop> {
        let lacking = candidate.vary(&state).await?;
        let mut judged = if lacking.is_empty() { Some(correctness::one(problem, candidate, OTHER, inputs, passed).await) } else { None };
        if let Some(Err(stop)) = &judged
            && !is_incorrect(stop)
        {
            // It has crashed, or nothing can be said; there is nobody left to be asked.
            return judged.unwrap_or(Ok(()));
        }
        for policy in [Policy::ByValue, Policy::ByName, Policy::OfAny, Policy::FirstOfAny, Policy::LastOfAny] {
            if matches!(judged, Some(Ok(()))) {
                break;
            }
            state.policy = policy;
            judged = Some(self.built_in_state(problem, candidate, &state, inputs, passed, say).await);
        }
        match judged {
            None | Some(Ok(())) => {
                passed.trials.ran.push(inputs.label.clone());
                Ok(())
            }
            Some(Err(stop)) if is_incorrect(&stop) => Err(stop.explained(&remark(&lacking))),
            Some(Err(Stop::Decided(verdict))) => {
                let message = format!(
                    "whether it is right in {} is not known: it is not in the process that it has, where it may have packed its state, and built in that \
                     state it ends as `{}`",
                    inputs.label,
                    verdict.status()
                );
                candidate.note("state_not_followed", Severity::Warning, &message);
                candidate.vary_back(&state).await?;
                problem.vary(None).await?;
                self.untimed = Some("it could not be tried in another state of the module, so that its time may leave out what that does");
                Ok(())
            }
            Some(failed) => failed,
        }
    }

    /// The same with a process in which the candidate is built in that state. Where it is right it takes the other's place.
    async fn built_in_state(
        &self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        state: &OtherState,
        inputs: &Inputs,
        passed: &mut Passed,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), Stop> {
        say("building the candidate in another state of the module");
        let setting = Setting { threads: self.workshop.threads(problem.setting.target, self.triton), ..problem.setting };
        let built = build(self.workshop, self.request, &self.limits, say).await?;
        let bench = Bench { backend: self.request.target.backend, triton: self.triton, process: self.limits.process };
        let started = self.workshop.untrusted(bench, &problem.setting).await.map_err(EvaluateError::from)?;
        let mut again = Candidate::new(started.worker, self.limits, self.request.target.backend);
        let offer = Offer { problem_name: self.request.problem_name.clone(), constants: problem.facts.constants.clone() };
        let judged = async {
            again.build(&self.request.candidate_source, &setting, &offer, &built, None).await?;
            again.construct_in(problem, Some(state)).await?;
            let shared = Inputs { label: inputs.label.clone(), ..problem.share(OTHER).await? };
            correctness::one(problem, &mut again, OTHER, &shared, passed).await?;
            let base = problem.share(BASE).await?;
            again.give(BASE, &base).await.map(drop)
        };
        let judged = judged.await;
        if judged.is_ok() {
            again.take_notes(candidate);
            std::mem::swap(candidate, &mut again);
        }
        again.end().await;
        judged
    }
}

/// Tries the candidate after a step of training, from the state of a seed on in which what is `beside` holds other values.
async fn follows_step(
    problem: &mut Problem,
    candidate: &mut Candidate,
    reload: &Reload<'_>,
    (seed, beside): (u32, Vec<String>),
    passed: &mut Passed,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), Stop> {
    let learnt = vary(problem, reload, Change { seed, beside: Some(beside.clone()) }).await?;
    if problem.state == State::Kept {
        // The reference has lost its device over it, and goes on in its own state.
        return candidate.vary_back(&OtherState { seed, names: beside, policy: Policy::ByValue }).await;
    }
    if learnt.is_empty() {
        return Ok(());
    }
    say(&format!("checking {STEP}"));
    let label = format!("{STEP} ({})", told(&learnt));
    candidate.vary(&OtherState { seed, names: [beside, learnt].concat(), policy: Policy::ByValue }).await?;
    if let Ok(inputs) = problem.draw(OTHER, draws::fresh()).await? {
        let inputs = Inputs { label: label.clone(), ..inputs };
        passed.trials.ran.push(label);
        let judged = correctness::one(problem, candidate, OTHER, &inputs, passed).await;
        judged.map_err(|stop| if is_incorrect(&stop) { stop.explained(STALE) } else { stop })?;
        problem.forget(&[OTHER]).await?;
    }
    Ok(())
}

/// What a wrong candidate should be told; `lacking` are names that its module does not have, or not in that form.
fn remark(lacking: &[String]) -> String {
    let why = "what training changes held other values than those it is built with, and the candidate leaves out what they do";
    if lacking.is_empty() {
        return why.to_owned();
    }
    format!("{why}; it has no tensor of the same name, shape and dtype as {}", told(lacking))
}

/// Has the problem go over to another state; the names of what is another then, none where it cannot.
async fn vary(problem: &mut Problem, reload: &Reload<'_>, change: Change) -> Result<Vec<String>, Stop> {
    match problem.vary(Some(change)).await {
        Err(EvaluateError::Problem(refusal)) if refusal.lost_the_device() => {
            problem.keeps_state();
            baselines::recover(problem, reload).await?;
            Ok(vec![])
        }
        answer => Ok(answer?),
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

    #[test]
    fn names_that_a_module_lacks_are_told() {
        assert!(remark(&["norm.weight".to_owned()]).ends_with("it has no tensor of the same name, shape and dtype as norm.weight"));
        assert!(remark(&[]).ends_with("leaves out what they do"));
    }
}
