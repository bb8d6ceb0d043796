//! Inputs that nobody could have looked at before the clock runs.
//!
//! A candidate's process holds the inputs of a batch before it is timed: it could work ahead, or know the answer from inputs like them.
//! So a few calls of some batches, known to nobody but the supervisor, get other inputs, drawn from the problem's own distribution, after the
//! process was stopped for the last time before its clock starts; and their outputs are always verified.

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

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    /// The calls that got other inputs, by number: they must be verified.
    pub(crate) calls: Vec<usize>,
    /// The one of which nobody knows what inputs it has.
    pub(crate) unknown: Option<usize>,
}

/// Gives up to `most` of the placed calls other inputs, all of them the same. Leaves all as they are where new ones are not of the same form:
/// shapes may depend on chance.
pub(crate) async fn refill(
    problem: &mut Problem,
    candidate: &Candidate,
    placed: &Locations,
    calls: &mut [Placed],
    most: usize,
) -> Result<Late, Stop> {
    let mut late = Late::default();
    if most == 0 {
        return Ok(late);
    }
    let Ok(inputs) = problem.draw_only(LATE, draws::fresh()).await? else { return Ok(late) };
    let mut numbers: Vec<usize> = (0..calls.len()).collect();
    while late.calls.len() < most && !numbers.is_empty() {
        let index = numbers.swap_remove(random_below(numbers.len()));
        let Some((tree, located)) = placed.call(index) else { break };
        if *tree != inputs.tree || !alike(&located, &inputs) {
            break;
        }
        match problem.setting.target.backend {
            Backend::Cpu => candidate.overwrite(&located, &inputs).await?,
            Backend::Cuda => {
                if !problem.fill(LATE, &located).await? {
                    late.unknown = Some(index);
                    break;
                }
            }
        }
        calls[index] = calls[index].instead(LATE);
        late.calls.push(index);
    }
    Ok(late)
}

/// Frees their inputs.
pub(crate) async fn forget(problem: &mut Problem, late: &Late) -> Result<(), EvaluateError> {
    if *late == Late::default() { Ok(()) } else { problem.forget(&[LATE]).await }
}

fn alike(located: &[Value], inputs: &Inputs) -> bool {
    let same = |(a, b): (&Value, &Value)| ["dtype", "shape", "strides", "nbytes"].iter().all(|field| a[field] == b[field]);
    located.len() == inputs.tensors.len() && located.iter().zip(&inputs.tensors).all(same)
}
