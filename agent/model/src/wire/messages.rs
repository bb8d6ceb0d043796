//! A request as a body for Anthropic's messages.

use serde_json::{Map, Value, json};

use super::{Field, Style};
use crate::{Message, Request, ToolCall, ToolChoice, Transfer};

/// The longest answer when neither request nor settings say: room for thinking and a kernel, and within every current model's limit.
const USUAL_LIMIT: u32 = 32_000;

/// The body. The prompt is cached up to the end of the system prompt, which all questions of a run share, and up to the end of the
/// conversation, which the next question continues.
pub(crate) fn body(request: &Request, style: &Style) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), style.model.as_str().into());
    body.insert("max_tokens".to_owned(), request.max_output_tokens.unwrap_or(USUAL_LIMIT).into());
    if !request.system.is_empty() {
        body.insert("system".to_owned(), json!([{"type": "text", "text": request.system, "cache_control": cache_mark()}]));
    }
    let mut messages = of_messages(&request.messages, &style.model);
    mark_last_block(&mut messages);
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let tools = request.tools.iter();
        let tools = tools.map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}));
        body.insert("tools".to_owned(), tools.collect());
        if request.tool_choice == ToolChoice::Required && style.tool_choice == Field::Sent {
            body.insert("tool_choice".to_owned(), json!({"type": "any"}));
        }
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    if style.transfer == Transfer::Streamed {
        body.insert("stream".to_owned(), true.into());
    }
    body.extend(style.extra_body.clone());
    Value::Object(body)
}

fn cache_mark() -> Value {
    json!({"type": "ephemeral"})
}

fn mark_last_block(messages: &mut [Value]) {
    let last = messages.last_mut().and_then(|message| message["content"].as_array_mut()).and_then(|blocks| blocks.last_mut());
    // Thinking cannot be marked; a conversation that ends with it is not worth another rule.
    if let Some(Value::Object(block)) = last
        && matches!(block.get("type").and_then(Value::as_str), Some("text" | "tool_result" | "tool_use"))
    {
        block.insert("cache_control".to_owned(), cache_mark());
    }
}

/// Messages of one side after another become one: the results of parallel calls must come together, right after the calls.
fn of_messages(messages: &[Message], model: &str) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { text } => ("user", text_block(text).into_iter().collect()),
            Message::ToolResult { call_id, text, is_error } => {
                let mut block = json!({"type": "tool_result", "tool_use_id": safe_id(call_id), "content": text});
                if *is_error {
                    block["is_error"] = true.into();
                }
                ("user", vec![block])
            }
            Message::Assistant { text, calls, carry } => ("assistant", of_assistant(text.as_deref(), calls, carry.as_ref(), model)),
        };
        // Neither a message nor a text may be empty.
        if blocks.is_empty() {
            continue;
        }
        match out.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    out.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn of_assistant(text: Option<&str>, calls: &[ToolCall], carry: Option<&Value>, model: &str) -> Vec<Value> {
    let ours = carry.filter(|carry| carry["provider"] == "anthropic" && carry["model"] == model);
    if let Some(blocks) = ours.and_then(|carry| carry["content"].as_array()) {
        return blocks.iter().filter_map(|block| restore(block, calls)).collect();
    }
    text.and_then(text_block).into_iter().chain(calls.iter().map(call_block)).collect()
}

/// A carried block. Calls are carried as their place among the calls, so that ids and arguments have one home.
fn restore(block: &Value, calls: &[ToolCall]) -> Option<Value> {
    match block["call"].as_u64() {
        Some(place) => calls.get(usize::try_from(place).ok()?).map(call_block),
        None => Some(block.clone()),
    }
}

fn call_block(call: &ToolCall) -> Value {
    json!({"type": "tool_use", "id": safe_id(&call.id), "name": call.name, "input": call.arguments.to_object()})
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// Ids of other servers may hold characters that are refused here; a call and its result change alike.
fn safe_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}
