//! What goes between the two sides of an evaluation: inputs, what a call has left behind, what comparing it came to, and the calls of a batch.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use kernelwright_protocol::Mismatch;
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::Places;
use crate::draws::random_u32;

/// The inputs of one call, to be passed on.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) tree: Value,
    pub(crate) tensors: Vec<Value>,
    pub(crate) arena: Option<OwnedFd>,
    pub(crate) label: String,
    /// Whether they are known to decide what their kind of draw is there for.
    pub(crate) decides: bool,
    /// As in [`super::Facts`].
    pub(crate) structures: Arc<[Option<Places>]>,
}

impl Inputs {
    /// How elements of a tensor may be moved about; none where anyhow, or not known for its form: shapes may depend on chance.
    pub(crate) fn places(&self, index: usize) -> Option<&Places> {
        let (known, tensor) = (self.structures.get(index)?.as_ref()?, self.tensors.get(index)?);
        (tensor["shape"] == json!(known.shape) && tensor["strides"] == json!(known.strides)).then_some(known)
    }
}

/// What `draw` and `share` say.
#[derive(Deserialize)]
pub(super) struct Drawn {
    #[serde(default)]
    inputs: Value,
    #[serde(default)]
    tensors: Vec<Value>,
    #[serde(default)]
    pub(super) label: String,
    #[serde(default)]
    pub(super) skipped: Option<String>,
}

impl Drawn {
    pub(super) fn inputs(self, fds: Vec<OwnedFd>, structures: &Arc<[Option<Places>]>) -> Inputs {
        // How many there are may depend on chance, and with that which is which.
        let structures = if structures.len() == self.tensors.len() { Arc::clone(structures) } else { Arc::default() };
        Inputs { tree: self.inputs, tensors: self.tensors, arena: fds.into_iter().next(), label: self.label, decides: false, structures }
    }
}

/// Of calls on several entries in a row, how many of the first there is something to compare with.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Row {
    pub(crate) calls: usize,
    /// Why there is nothing for the others, if there are any.
    pub(crate) skipped: Option<String>,
}

/// What `compare` says.
#[derive(Debug, Deserialize)]
pub(crate) struct Comparison {
    mismatches: Vec<Difference>,
    /// The largest error over the allowed one; null where nothing is numeric.
    error_over_tolerance: Option<f64>,
    /// Why there is no answer, if so.
    #[serde(default)]
    pub(crate) undecided: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Difference {
    output: String,
    detail: String,
    error_over_tolerance: Option<f64>,
}

impl Comparison {
    /// The error over the allowed error, or the differences, each with the name of its trial.
    pub(crate) fn outcome(self, trial: &str) -> Result<f64, Vec<Mismatch>> {
        if self.mismatches.is_empty() {
            return Ok(self.error_over_tolerance.unwrap_or(0.0));
        }
        let name = |Difference { output, detail, error_over_tolerance }| Mismatch {
            trial: trial.to_owned(),
            output,
            detail,
            error_over_tolerance,
        };
        Err(self.mismatches.into_iter().map(name).collect())
    }
}

/// Something a candidate's call has left behind, read out of its memory.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) outputs: Value,
    pub(crate) tensors: Vec<Value>,
    /// The inputs after the call.
    pub(crate) after: Value,
    pub(crate) after_tensors: Vec<Value>,
    /// Absent where everything lies in device memory.
    pub(crate) arena: Option<OwnedFd>,
}

/// What a timed call has left behind.
#[derive(Debug)]
pub(crate) struct TimedOutcome {
    pub(crate) placed: Placed,
    pub(crate) outputs: Value,
    pub(crate) tensors: Vec<Value>,
    /// Its inputs after the call.
    pub(crate) after: Value,
    pub(crate) after_tensors: Vec<Value>,
}

/// What several timed calls have left behind.
#[derive(Debug)]
pub(crate) struct TimedOutcomes {
    pub(crate) calls: Vec<TimedOutcome>,
    /// Absent where everything lies in device memory.
    pub(crate) arena: Option<OwnedFd>,
}

/// One call with inputs of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    /// A name for the inputs, unique in an evaluation.
    pub(crate) entry: u32,
    /// The entry that they are made from.
    pub(crate) base: u32,
    pub(crate) recipe: Recipe,
}

/// How the inputs of a call are made from those of another entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Recipe {
    /// Floating tensors times `scale`, then rolled along their first dimension that is longer than one.
    Changed { scale: f64, roll: u32 },
    /// Dense floating tensors with their last `by` rows in front, then stirred, where `stir` is not 0; see [`crate::rotation`]. Those with a
    /// structure are only stirred, as far as that keeps it.
    Rotated { by: u32, stir: u32 },
    /// The same with another draw of the entry's kind, from this seed; not 0. Only where the problem's process writes inputs itself: on a GPU.
    Redrawn { draw: u32, by: u32, stir: u32 },
}

impl Recipe {
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::Changed { scale, roll } => json!({"scale": scale, "roll": roll}),
            Self::Rotated { by, stir } => json!({"rotate": by, "stir": stir}),
            Self::Redrawn { draw, by, stir } => json!({"draw": draw, "rotate": by, "stir": stir}),
        }
    }
}

/// How far the inputs of a call may be moved about, so that the reference still runs on them: a matrix that is to be positive definite is not when its
/// rows were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    None,
    Rotated,
    Stirred,
}

impl Moves {
    /// Another recipe for every call.
    pub(crate) fn draw(self) -> Recipe {
        let (by, stir) = self.numbers();
        Recipe::Rotated { by, stir }
    }

    /// The same from another draw.
    pub(crate) fn redraw(self, draw: u32) -> Recipe {
        let (by, stir) = self.numbers();
        Recipe::Redrawn { draw, by, stir }
    }

    pub(super) fn numbers(self) -> (u32, u32) {
        let by = if self == Self::None { 0 } else { random_u32() % ROTATIONS };
        (by, if self == Self::Stirred { random_u32().max(1) } else { 0 })
    }
}

/// Rotations are numbers below this.
const ROTATIONS: u32 = 4096;

impl Placed {
    /// The same call with the inputs of another entry.
    pub(crate) fn instead(self, base: u32, recipe: Recipe) -> Self {
        Self { base, recipe, ..self }
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"entry": self.entry, "base": self.base, "recipe": self.recipe.to_json()})
    }
}

/// The allocations of device memory in which tensors of many calls lie, each described once: a handle takes longer to say than everything else of a
/// call.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) described: Vec<Value>,
    /// Their numbers by device and handle.
    known: HashMap<(u64, String), usize>,
}

impl Blocks {
    /// The number of the allocation that holds a located tensor, and where in it; null for one that lies in none.
    pub(super) fn place(&mut self, memory: &Value) -> Value {
        let (Some(handle), Some(device)) = (memory["handle"].as_str(), memory["device"].as_u64()) else { return Value::Null };
        let number = *self.known.entry((device, handle.to_owned())).or_insert_with(|| {
            self.described.push(json!({"handle": handle, "device": device}));
            self.described.len() - 1
        });
        json!([number, memory["handle_offset"]])
    }
}

/// The entry that timing builds on: the first draw of the problem's own distribution.
pub(crate) const BASE: u32 = 0;

/// Whether tensors have the same forms, whatever they hold.
pub(crate) fn alike(tensors: &[Value], others: &[Value]) -> bool {
    let same = |(a, b): (&Value, &Value)| ["dtype", "shape", "strides", "nbytes"].iter().all(|field| a[field] == b[field]);
    tensors.len() == others.len() && tensors.iter().zip(others).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_described_once() {
        let mut blocks = Blocks::default();
        let memory = |handle: &str, offset: u64| json!({"handle": handle, "handle_offset": offset, "address": 1, "device": 0});
        let places = [memory("a", 0), memory("b", 512), memory("a", 1024), Value::Null].map(|memory| blocks.place(&memory));
        assert_eq!(places, [json!([0, 0]), json!([1, 512]), json!([0, 1024]), Value::Null]);
        assert_eq!(blocks.described, [json!({"handle": "a", "device": 0}), json!({"handle": "b", "device": 0})]);
    }
}
