//! Chat completions, streamed or whole, into a draft.
//!
//! Servers differ most here, so the reading is lenient: a call's index may be missing or always 0, its name may be repeated, arguments
//! may be an object, content may be a list of parts, and the last chunks may never come.

use serde_json::{Map, Value, json};

use super::{
    Broken, Flow,
    draft::{Draft, DraftCall},
    take,
};
use crate::{Counted, Finish, Piece, TextSink, Usage};

/// Fields of a message in which servers put the model's thinking as plain text.
const THINKING: [&str; 2] = ["reasoning_content", "reasoning"];

/// A chat completion being put together.
#[derive(Debug, Default)]
pub(crate) struct ChatAssembly {
    text: String,
    /// Thinking, by the field it came in.
    thinking: Map<String, Value>,
    /// Thinking in blocks, signed or encrypted, as routers pass it on.
    details: Vec<Value>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    finish: Option<Finish>,
    refusal: String,
    model: String,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    draft: DraftCall,
    /// Fields beyond the usual ones, e.g. a signature of the thinking before the call. The server wants them back.
    extra: Map<String, Value>,
}

impl ChatAssembly {
    pub(super) fn event(&mut self, mut value: Value, sink: &dyn TextSink) -> Result<Flow, Broken> {
        self.common(&value)?;
        // The chunk that counts the tokens has no choice.
        if let Some(choice) = value.pointer_mut("/choices/0") {
            let delta = take(choice, "delta");
            self.delta(delta, sink);
            if let Some(reason) = choice["finish_reason"].as_str() {
                self.finish = Some(finish_of(reason));
            }
        }
        Ok(Flow::More)
    }

    pub(crate) fn whole(&mut self, mut value: Value, sink: &dyn TextSink) -> Result<(), Broken> {
        self.common(&value)?;
        let Some(choice) = value.pointer_mut("/choices/0") else {
            return Err(Broken::Garbled("it has no choices[0]".to_owned()));
        };
        let mut message = take(choice, "message");
        if !message.is_object() {
            return Err(Broken::Garbled("it has no choices[0].message".to_owned()));
        }
        // A call's place in a whole answer is its index.
        for (index, call) in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
            if let Some(call) = call.as_object_mut() {
                call.insert("index".to_owned(), index.into());
            }
        }
        self.delta(message, sink);
        self.finish = Some(choice["finish_reason"].as_str().map_or(Finish::Stop, finish_of));
        Ok(())
    }

    pub(crate) fn finish(mut self, ended: Flow) -> Result<Draft, Broken> {
        let finish = match (self.finish.take(), ended) {
            (Some(finish), _) => finish,
            (None, Flow::Done) if !self.text.is_empty() || !self.calls.is_empty() => Finish::Stop,
            (None, _) => return Err(Broken::Unfinished),
        };
        let finish = if self.refusal.is_empty() { finish } else { Finish::Refused };
        let thought_bytes = self.thinking.values().filter_map(Value::as_str).map(str::len).sum();
        let carry = self.carry();
        let text = if self.text.is_empty() { self.refusal } else { self.text };
        let calls = self.calls.into_iter().map(|call| call.draft).collect();
        Ok(Draft { text, calls, carry, usage: self.usage, finish, model: self.model, thought_bytes })
    }

    fn common(&mut self, value: &Value) -> Result<(), Broken> {
        if !value["error"].is_null() {
            return Err(Broken::Error(value.clone()));
        }
        if let (true, Some(model)) = (self.model.is_empty(), value["model"].as_str()) {
            model.clone_into(&mut self.model);
        }
        // Some servers count in every chunk; the last one has it all.
        if let Some(usage) = usage_of(&value["usage"]) {
            self.usage = Some(usage);
        }
        Ok(())
    }

    fn delta(&mut self, delta: Value, sink: &dyn TextSink) {
        let Value::Object(mut delta) = delta else { return };
        for field in THINKING {
            if let Some(Value::String(text)) = delta.remove(field) {
                self.think(field, &text, sink);
            }
        }
        if let Some(Value::Array(details)) = delta.remove("reasoning_details") {
            for detail in details {
                merge_detail(&mut self.details, detail);
            }
        }
        match delta.remove("content") {
            Some(Value::String(text)) => self.say(&text, sink),
            Some(Value::Array(parts)) => {
                for part in &parts {
                    self.part(part, sink);
                }
            }
            _ => {}
        }
        if let Some(Value::String(text)) = delta.remove("refusal") {
            self.refusal.push_str(&text);
        }
        if let Some(Value::Array(calls)) = delta.remove("tool_calls") {
            for call in calls {
                self.call(call, sink);
            }
        }
    }

    fn say(&mut self, text: &str, sink: &dyn TextSink) {
        if !text.is_empty() {
            sink.take(Piece::Text(text));
            self.text.push_str(text);
        }
    }

    fn think(&mut self, field: &str, text: &str, sink: &dyn TextSink) {
        if text.is_empty() {
            return;
        }
        // Servers in transition send the same thinking in both fields.
        if self.thinking.keys().all(|known| known == field) {
            sink.take(Piece::Thinking(text));
        }
        match self.thinking.get_mut(field) {
            Some(Value::String(all)) => all.push_str(text),
            _ => {
                self.thinking.insert(field.to_owned(), text.into());
            }
        }
    }

    fn part(&mut self, part: &Value, sink: &dyn TextSink) {
        match part["type"].as_str() {
            Some("thinking") => {
                for inner in part["thinking"].as_array().into_iter().flatten() {
                    if let Some(text) = inner["text"].as_str() {
                        sink.take(Piece::Thinking(text));
                    }
                }
            }
            _ => {
                if let Some(text) = part["text"].as_str() {
                    self.say(text, sink);
                }
            }
        }
    }

    fn call(&mut self, call: Value, sink: &dyn TextSink) {
        let Value::Object(mut call) = call else { return };
        let index = call.remove("index").and_then(|index| index.as_u64());
        let id = call.remove("id").and_then(into_string).unwrap_or_default();
        let mut function = call.remove("function").unwrap_or_default();
        let name = into_string(take(&mut function, "name")).unwrap_or_default();
        call.remove("type");
        let at = self.place_of(index, &id, &name);
        let known = &mut self.calls[at];
        if known.draft.id.is_empty() {
            known.draft.id = id;
        }
        // The name comes once, in parts, or again with every chunk.
        if !name.is_empty() && name != known.draft.name {
            known.draft.name.push_str(&name);
            sink.take(Piece::Call(&known.draft.name));
        }
        match take(&mut function, "arguments") {
            Value::String(part) => known.draft.arguments.push_str(&part),
            Value::Null => {}
            whole => known.draft.arguments = whole.to_string(),
        }
        known.extra.extend(call.into_iter().filter(|(_, value)| !value.is_null()));
    }

    /// Which call a chunk belongs to; a new one where none fits.
    fn place_of(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        // A chunk with a name and an id of its own begins a call, whatever its index: some servers leave the index at 0.
        let begins = |call: &Call| !name.is_empty() && !id.is_empty() && !call.draft.id.is_empty() && call.draft.id != id;
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().rposition(|call| !id.is_empty() && call.draft.id == id),
        };
        match found {
            Some(at) if !begins(&self.calls[at]) => at,
            _ => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        }
    }

    /// What the server wants back. Thinking only beside tool calls: without them the model's turn is over, and some servers refuse it then.
    fn carry(&mut self) -> Option<Value> {
        if self.calls.is_empty() {
            return None;
        }
        let mut message = Map::new();
        if self.details.is_empty() {
            message.append(&mut self.thinking);
        } else {
            message.insert("reasoning_details".to_owned(), Value::Array(std::mem::take(&mut self.details)));
        }
        let extra: Vec<Value> = self.calls.iter_mut().map(|call| Value::Object(std::mem::take(&mut call.extra))).collect();
        let has_extra = extra.iter().any(|extra| extra.as_object().is_some_and(|extra| !extra.is_empty()));
        if message.is_empty() && !has_extra {
            return None;
        }
        let mut carry = json!({"provider": "openai", "message": message});
        if has_extra {
            carry["calls"] = Value::Array(extra);
        }
        Some(carry)
    }
}

fn into_string(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Adds a piece of a thinking block to the block with its index: texts grow, anything else is replaced.
fn merge_detail(details: &mut Vec<Value>, piece: Value) {
    let same = |known: &&mut Value| !piece["index"].is_null() && known["index"] == piece["index"] && known["type"] == piece["type"];
    let Some(Value::Object(known)) = details.iter_mut().find(same) else {
        details.push(piece);
        return;
    };
    let Value::Object(piece) = piece else { return };
    for (name, value) in piece {
        match (known.get_mut(&name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(all)), Value::String(part)) if matches!(name.as_str(), "text" | "summary" | "data") => all.push_str(&part),
            (_, value) => {
                known.insert(name, value);
            }
        }
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" | "end_turn" | "eos" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" | "refusal" => Finish::Refused,
        other => Finish::Other(other.to_owned()),
    }
}

fn usage_of(value: &Value) -> Option<Usage> {
    let input = value["prompt_tokens"].as_u64()?;
    let output = value["completion_tokens"].as_u64().unwrap_or(0);
    // Where thinking is not among the completion tokens, only the total has it.
    let output = value["total_tokens"].as_u64().map_or(output, |total| output.max(total.saturating_sub(input)));
    let details = &value["prompt_tokens_details"];
    Some(Usage {
        input,
        output,
        cached_input: details["cached_tokens"].as_u64().or_else(|| value["prompt_cache_hit_tokens"].as_u64()),
        cache_written: details["cache_write_tokens"].as_u64(),
        counted: Counted::ByProvider,
    })
}
