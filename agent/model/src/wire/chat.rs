//! A request as a body for chat completions.

use serde_json::{Map, Value, json};

use super::{Field, Style};
use crate::{LimitField, Message, Request, ToolCall, ToolChoice, Transfer};

/// The body.
pub(crate) fn body(request: &Request, style: &Style) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), style.model.as_str().into());
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    messages.extend(request.messages.iter().map(|message| of_message(message, &style.model)));
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(
            |tool| json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}),
        );
        body.insert("tools".to_owned(), tools.collect());
        // `auto` is what every server does by itself, and some refuse to be told.
        if request.tool_choice == ToolChoice::Required && style.tool_choice == Field::Sent {
            body.insert("tool_choice".to_owned(), "required".into());
        }
    }
    if let Some(limit) = request.max_output_tokens {
        let field = match style.limit_field {
            LimitField::MaxCompletionTokens => "max_completion_tokens",
            LimitField::MaxTokens | LimitField::Auto => "max_tokens",
        };
        body.insert(field.to_owned(), limit.into());
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if style.transfer == Transfer::Streamed {
        body.insert("stream".to_owned(), true.into());
        if style.usage_chunk == Field::Sent {
            body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
    }
    body.extend(style.extra_body.clone());
    Value::Object(body)
}

fn of_message(message: &Message, model: &str) -> Value {
    match message {
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::ToolResult { call_id, text, .. } => json!({"role": "tool", "tool_call_id": call_id, "content": text}),
        Message::Assistant { text, calls, carry } => {
            of_assistant(text.as_deref(), calls, carry.as_ref().filter(|carry| is_ours(carry, model)))
        }
    }
}

/// Whether something carried came from this wire format and model.
fn is_ours(carry: &Value, model: &str) -> bool {
    carry["provider"] == "openai" && carry["model"] == model
}

fn of_assistant(text: Option<&str>, calls: &[ToolCall], carry: Option<&Value>) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    // Only beside tool calls may the content be null.
    let content = if calls.is_empty() { text.unwrap_or_default().into() } else { text.map_or(Value::Null, Value::from) };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        let of_call = |(index, call): (usize, &ToolCall)| {
            let mut value =
                json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments.to_wire()}});
            if let (Some(extra), Some(value)) = (carry.and_then(|carry| carry["calls"][index].as_object()), value.as_object_mut()) {
                value.extend(extra.clone());
            }
            value
        };
        message.insert("tool_calls".to_owned(), calls.iter().enumerate().map(of_call).collect());
    }
    if let Some(extra) = carry.and_then(|carry| carry["message"].as_object()) {
        message.extend(extra.clone());
    }
    Value::Object(message)
}
