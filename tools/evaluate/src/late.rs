//! Inputs that nobody could have looked at before the clock runs.
//!
//! A candidate's process holds the inputs of a batch before it is timed: it could work ahead, or know the answer from inputs like them.
//! So one call of some batches, known to nobody but the supervisor, gets other inputs, drawn from the problem's own distribution, after the
//! process was stopped for the last time before its clock starts; and its output is always verified.

use kernelwright_protocol::Backend;
use serde_json::Value;

use crate::EvaluateError;
use crate::candidate::Candidate;
use crate::draws::{self, random_below};
use crate::locations::Locations;
use crate::problem::{BASE, Inputs, Placed, Problem};
use crate::verdict::Stop;

/// The entry of such inputs, beside those of the trials.
const LATE: u32 = BASE + 4;

/// What became of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// No call got other inputs.
    None,
    /// This one did.
    Call(usize),
    /// Nobody knows what inputs this one has.
    Unknown(usize),
}

impl Late {
    /// The call that must be verified.
    pub(crate) fn call(self) -> Option<usize> {
        match self {
            Self::Call(index) => Some(index),
            Self::None | Self::Unknown(_) => None,
        }
    }

    /// Whether what this call should have given is known.
    pub(crate) fn knows(self, index: usize) -> bool {
        self != Self::Unknown(index)
    }
}

/// Gives one of the placed calls other inputs. Leaves all as they are where new ones are not of the same form: shapes may depend on chance.
pub(crate) async fn refill(problem: &mut Problem, candidate: &Candidate, placed: &Locations, calls: &mut [Placed]) -> Result<Late, Stop> {
    let index = random_below(calls.len());
    let Ok(inputs) = problem.draw_only(LATE, draws::fresh()).await? else { return Ok(Late::None) };
    let Some((tree, located)) = placed.call(index) else { return Ok(Late::None) };
    if *tree != inputs.tree || !alike(&located, &inputs) {
        return Ok(Late::None);
    }
    match problem.setting.target.backend {
        Backend::Cpu => candidate.overwrite(&located, &inputs).await?,
        Backend::Cuda => match problem.fill(LATE, &located).await {
            Ok(true) => {}
            Ok(false) => return Ok(Late::Unknown(index)),
            Err(error) => return Err(Stop::Failed(error)),
        },
    }
    calls[index] = calls[index].instead(LATE);
    Ok(Late::Call(index))
}

/// Frees the inputs of the last such call.
pub(crate) async fn forget(problem: &mut Problem) -> Result<(), EvaluateError> {
    problem.forget(&[LATE]).await
}

fn alike(located: &[Value], inputs: &Inputs) -> bool {
    let same = |(a, b): (&Value, &Value)| ["dtype", "shape", "strides", "nbytes"].iter().all(|field| a[field] == b[field]);
    located.len() == inputs.tensors.len() && located.iter().zip(&inputs.tensors).all(same)
}
