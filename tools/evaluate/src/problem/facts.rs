//! What is known of a problem once it is loaded.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::draws::DrawKind;
use crate::wire::Aliases;

/// What `load` says about a problem.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Facts {
    /// One line per input.
    pub(crate) inputs: Vec<String>,
    /// One line per output.
    pub(crate) outputs: Vec<String>,
    /// Arguments of the constructor, with their tensors, which lie in [`Problem::construction`].
    pub(crate) init: Value,
    pub(crate) tensors: Vec<Value>,
    /// Parameters and buffers by name.
    pub(crate) state: Value,
    /// Why a verdict on this problem is worth little.
    #[serde(default)]
    pub(crate) degenerate: Option<String>,
    /// For each tensor of the inputs, how its elements may be moved about so that it stays what it is in every draw; none where anyhow.
    #[serde(default)]
    pub(crate) structures: Arc<[Option<Places>]>,
    /// What inputs are in every draw, in words.
    #[serde(default)]
    pub(crate) structure: Vec<String>,
    /// Draws that suit what it gives, and its inputs, beside those that every problem has.
    #[serde(default)]
    pub(crate) more_draws: Arc<[DrawKind]>,
    /// Whether what a call gives depends on the calls before it.
    #[serde(default)]
    pub(crate) carries_state: bool,
    /// Which of its outputs lie in the memory of its inputs.
    #[serde(default)]
    pub(crate) in_inputs: Aliases,
    /// Buffers that every call moves although no output shows it, by name.
    #[serde(default)]
    pub(crate) moving: Vec<String>,
    /// One run of the reference.
    pub(crate) reference_ns: u64,
    /// Device memory that was free; absent on `cpu`.
    #[serde(default)]
    pub(crate) device_memory: Option<u64>,
    /// How the problem wants to be called, for the candidate's worker.
    #[serde(default)]
    pub(crate) form: Form,
    /// The name of every set of inputs; the figures above are those of the selected one.
    #[serde(default)]
    pub(crate) sets: Vec<String>,
    /// Whether its own code turns TF32 on, though nobody asked for it: both sides may use it then.
    #[serde(default)]
    pub(crate) turns_tf32_on: bool,
    /// Whether inputs of the first set ask for gradients, and the file does not say whether they are to be compared.
    #[serde(default)]
    pub(crate) leaves_gradients_open: bool,
    /// Plain data that a candidate may import from the problem.
    #[serde(default)]
    pub(crate) constants: Value,
}

/// Elements of a tensor that may take each other's values, counted in its window as it lies in memory: a triangular matrix stays one, a symmetric one
/// too, and of one in ascending order none may.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Places {
    pub(crate) elements: Vec<u64>,
    /// The element that always has the same value as each; itself where there is none.
    pub(crate) mirrors: Vec<u64>,
    /// Elements come in so many groups of the same length, one after the other; those of one group are moved about at a time.
    pub(crate) groups: usize,
    /// Whether the tensor stays what it is when it is multiplied by a number: a mask does not.
    pub(crate) scales: bool,
    /// The bytes of an element.
    pub(crate) unit: u64,
    /// The form of the tensor: in a draw of another one these are not its elements.
    pub(crate) shape: Vec<u64>,
    pub(crate) strides: Vec<u64>,
}

/// How a problem wants to be called, beside the usual way.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Form {
    /// Inputs and outputs are numpy arrays.
    #[serde(default)]
    numpy: bool,
    /// The parameters whose gradients are asked for; none where only the forward pass is.
    #[serde(default)]
    gradients: Option<Vec<String>>,
    /// Whether calls put other tensors into lists and dicts among their inputs.
    #[serde(default)]
    rebinds: bool,
}

impl Form {
    /// Whether gradients are asked for.
    pub(crate) fn trains(&self) -> bool {
        self.gradients.is_some()
    }

    /// What the writer of a candidate has to know of it.
    pub(super) fn told(&self) -> Option<String> {
        if self.numpy {
            let text = "the reference works on numpy arrays: on cpu the candidate gets numpy arrays too, on cuda tensors; \
                it may be a function `kernel(*inputs)` in place of `ModelNew`";
            return Some(text.to_owned());
        }
        let names = self.gradients.as_ref()?;
        let of_parameters = if names.is_empty() { String::new() } else { format!(" and of the parameters {}", names.join(", ")) };
        Some(format!(
            "a training problem: the outputs and, through autograd, the gradients of the floating inputs{of_parameters} are compared, and a \
             timed call is a forward and a backward pass; kernels need a `torch.autograd.Function`. The last of the inputs listed are the \
             gradients of the outputs, which the evaluator passes to the backward pass; `forward` does not take them"
        ))
    }
}
