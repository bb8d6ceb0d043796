//! A first question, the smallest that shows whether a model can be used: one tool, and a request to call it.

use serde_json::json;

use crate::{Answer, Finish, Message, ModelError, Request, ToolChoice, ToolSpec, Usage};

/// The tool's name.
const TOOL: &str = "report_ready";

/// Room for the call and for some thinking before it.
pub(crate) const LIMIT: u32 = 2048;

pub(crate) fn question(tool_choice: ToolChoice, limit: Option<u32>) -> Request {
    Request {
        system: "This is a connection test. Do nothing but call the tool.".to_owned(),
        messages: vec![Message::User { text: format!("Call the tool `{TOOL}` with ready = true.") }],
        tools: vec![ToolSpec {
            name: TOOL.to_owned(),
            description: "Reports that tools can be called.".to_owned(),
            parameters: json!({"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"]}),
        }],
        max_output_tokens: limit,
        temperature: None,
        tool_choice,
    }
}

/// What the answer says about the model.
pub(crate) fn judge(answer: &Answer, url: &str) -> Result<Usage, ModelError> {
    // A model that thought until the limit has shown nothing, neither way.
    if answer.finish == Finish::Length || answer.calls.iter().any(|call| call.name == TOOL) {
        return Ok(answer.usage);
    }
    let message = match (&answer.calls.first(), &answer.text) {
        (Some(call), _) => format!("asked to call {TOOL:?}, it called {:?}", call.name),
        (None, Some(text)) => {
            let said: String = text.trim().chars().take(80).collect();
            format!("asked to call a tool, it wrote {said:?}")
        }
        (None, None) => "asked to call a tool, it said nothing".to_owned(),
    };
    Err(ModelError::NoToolSupport { url: url.to_owned(), model: answer.model.clone(), message })
}
