//! Whether a candidate's outputs are right, on several draws of inputs.

use std::time::Duration;

use kernelwright_harness::Refusal;
use kernelwright_protocol::Trials;

use crate::EvaluateError;
use crate::candidate::{Call, Candidate};
use crate::draws::Draw;
use crate::problem::{BASE, Inputs, Problem};
use crate::verdict::Stop;
use crate::wire;

/// What the trials found about a candidate that passed them all.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) trials: Trials,
    pub(crate) error_over_tolerance: f64,
    /// The first call, with just-in-time compilation.
    pub(crate) first_call: Duration,
    /// Inputs and outputs of one call, in bytes.
    pub(crate) bytes_per_call: u64,
    /// What one call has to write, in bytes: outputs in memory of their own.
    pub(crate) written_per_call: u64,
}

/// Runs every trial: the first on `base`, the inputs of the base entry, which stay in both workers.
pub(crate) async fn check(
    problem: &mut Problem,
    candidate: &mut Candidate,
    base: Inputs,
    draws: &[Draw],
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<Passed, Stop> {
    let mut passed =
        Passed { trials: Trials::default(), error_over_tolerance: 0.0, first_call: Duration::ZERO, bytes_per_call: 0, written_per_call: 0 };
    let mut base = Some(base);
    for (index, &draw) in draws.iter().enumerate() {
        say(&format!("checking trial {} of {} ({})", index + 1, draws.len(), draw.kind.as_str()));
        // Later trials share two entries in turn: some inputs come to lie where others lay before.
        let entry = if index == 0 { BASE } else { BASE + 1 + index as u32 % 2 };
        let attempt = match base.take() {
            Some(base) => Ok(base),
            None => problem.draw(entry, draw).await?,
        };
        let inputs = match attempt {
            Ok(inputs) => inputs,
            Err(skipped) => {
                passed.trials.skipped.push(skipped);
                continue;
            }
        };
        let label = format!("trial {} ({})", index + 1, inputs.label);
        passed.trials.ran.push(inputs.label.clone());
        let first = trial(problem, candidate, entry, &inputs, &label, &mut passed).await?;
        if index == 0 {
            passed.first_call = first.wall;
            passed.bytes_per_call = wire::total_bytes(&inputs.tensors) + wire::total_bytes(&first.outcome.tensors);
            passed.written_per_call = first.written;
            // The same inputs once more: a result that differs beyond tolerance is a race, or a memory of the first call.
            let again = format!("{label}, the same inputs again");
            trial(problem, candidate, entry, &inputs, &again, &mut passed).await?;
        } else {
            problem.forget(&[entry]).await?;
        }
    }
    Ok(passed)
}

/// The problem's own draw has run while it was loaded; without it there is nothing to compare.
pub(crate) fn base_failed(message: String) -> EvaluateError {
    EvaluateError::Problem(Refusal { kind: "problem_run".to_owned(), phase: "expect".to_owned(), message, traceback: String::new() })
}

async fn trial(
    problem: &mut Problem,
    candidate: &mut Candidate,
    entry: u32,
    inputs: &Inputs,
    label: &str,
    passed: &mut Passed,
) -> Result<Call, Stop> {
    let given = candidate.give(entry, inputs).await?;
    let call = candidate.run(entry, &given).await?;
    let comparison = problem.compare(entry, &call.outcome).await?;
    let error = comparison.outcome(label).map_err(|mismatches| Stop::incorrect(mismatches, passed.trials.clone()))?;
    passed.error_over_tolerance = passed.error_over_tolerance.max(error);
    Ok(call)
}
