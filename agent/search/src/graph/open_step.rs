//! The conversation of the step that is open.

use kernelwright_protocol::ContentHash;
use serde_json::Value;

use crate::{AskId, NodeId, Phase, StepId};

/// A step that has begun and not ended: everything needed to go on with its conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenStep {
    /// Its number.
    pub id: StepId,
    /// Where it started from.
    pub parent: Option<NodeId>,
    /// Why it is taken.
    pub phase: Phase,
    /// The questions so far, in order.
    pub turns: Vec<Turn>,
    /// Set once the step's node is in the graph and only its end is missing.
    pub node: Option<NodeId>,
}

/// One question to the model and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Which question of the run.
    pub ask: AskId,
    /// The hash of the request.
    pub request_hash: ContentHash,
    /// The answer, once there is one.
    pub answer: Option<Value>,
    /// The answer's tool calls that were begun, in order.
    pub calls: Vec<Call>,
    /// What the model was told when it called no tool.
    pub nudge: Option<String>,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which call of the answer.
    pub index: u32,
    /// The provider's name for it.
    pub call_id: String,
    /// Which tool.
    pub tool: String,
    /// As the model wrote them.
    pub arguments: Value,
    /// The result, once there is one.
    pub returned: Option<Returned>,
}

/// A tool's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Returned {
    /// What the model is told.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The result in full.
    pub structured: Option<Value>,
}
