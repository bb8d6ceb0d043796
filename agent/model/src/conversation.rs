//! What is said to a model and what it answers, in no provider's words.
//!
//! Answers are written to run logs and replayed from them, so the JSON form of everything here is stable: fields may be added with a
//! default, never renamed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Usage, arguments::Arguments};

/// One question: the whole conversation so far, and the tools that may be called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The system prompt.
    pub system: String,
    /// The conversation, oldest first. Every tool call of an assistant message is answered by a tool result before the next one.
    pub messages: Vec<Message>,
    /// The tools the model may call.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// The longest answer, in tokens, thinking included; the provider's limit when absent.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; the provider's default when absent.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Whether a tool has to be called.
    #[serde(default)]
    pub tool_choice: ToolChoice,
}

/// Whether a tool has to be called. Without any tool in the request it has no meaning and is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// At least one call. A server that refuses to be told is asked without, so the answer may have none all the same.
    Required,
}

/// A tool as the model is told about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// A JSON schema of type `object`.
    pub parameters: Value,
}

/// One turn of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Said to the model.
    User {
        /// What.
        text: String,
    },
    /// Said by the model.
    Assistant {
        /// Its words, if any.
        #[serde(default)]
        text: Option<String>,
        /// The tools it called.
        #[serde(default)]
        calls: Vec<ToolCall>,
        /// What the provider wants back unchanged, see [`Answer::carry`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carry: Option<Value>,
    },
    /// What came of a tool call.
    ToolResult {
        /// Which call.
        call_id: String,
        /// The result as the model is told it.
        text: String,
        /// Whether the call failed. Providers without a field for this get only the text, which must therefore say so itself.
        #[serde(default)]
        is_error: bool,
    },
}

/// A tool call that the model made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call inside the conversation; unique in it.
    pub id: String,
    /// Which tool. The model may well name one that does not exist.
    pub name: String,
    /// With what.
    pub arguments: Arguments,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its words, if any. Thinking is not part of them.
    #[serde(default)]
    pub text: Option<String>,
    /// The tools it called, in its order.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    /// What this provider and model want back unchanged in the next request, e.g. signed thinking. Another provider or model ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry: Option<Value>,
    /// Tokens.
    #[serde(default)]
    pub usage: Usage,
    /// Why it stopped.
    pub finish: Finish,
    /// Which model answered, as the provider names it.
    #[serde(default)]
    pub model: String,
}

impl Answer {
    /// The answer as the next message of the conversation.
    #[must_use]
    pub fn to_message(&self) -> Message {
        Message::Assistant { text: self.text.clone(), calls: self.calls.clone(), carry: self.carry.clone() }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// The answer or the conversation reached a length limit; the last tool call may be cut off.
    Length,
    /// It, or a filter of the provider, refused.
    Refused,
    /// A reason this version does not know, as the provider names it.
    Other(String),
}

impl Request {
    /// Gives every call an id that no other call of the conversation has: results find their call by it, and some servers leave ids
    /// empty or begin at the same one in every answer.
    pub(crate) fn make_ids_unique(&self, calls: &mut [ToolCall]) {
        let mut taken: Vec<String> = Vec::new();
        for message in &self.messages {
            if let Message::Assistant { calls, .. } = message {
                taken.extend(calls.iter().map(|call| call.id.clone()));
            }
        }
        for call in calls {
            let mut number = taken.len();
            while call.id.is_empty() || taken.contains(&call.id) {
                call.id = format!("call_{number}");
                number += 1;
            }
            taken.push(call.id.clone());
        }
    }

    /// The request's length in bytes, for servers that do not count tokens.
    pub(crate) fn len_bytes(&self) -> usize {
        let of_message = |message: &Message| match message {
            Message::User { text } | Message::ToolResult { text, .. } => text.len(),
            Message::Assistant { text, calls, .. } => {
                text.as_ref().map_or(0, String::len)
                    + calls.iter().map(|call| call.name.len() + call.arguments.to_wire().len()).sum::<usize>()
            }
        };
        let of_tool = |tool: &ToolSpec| tool.name.len() + tool.description.len() + tool.parameters.to_string().len();
        self.system.len() + self.messages.iter().map(of_message).sum::<usize>() + self.tools.iter().map(of_tool).sum::<usize>()
    }
}
