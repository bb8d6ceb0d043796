//! Anthropic's messages, streamed or whole, into a draft.

use serde_json::{Value, json};

use super::{
    Broken, Flow,
    draft::{Draft, DraftCall},
    take,
};
use crate::{Counted, Finish, Piece, TextSink, Usage};

/// A message being put together.
#[derive(Debug, Default)]
pub(crate) struct MessagesAssembly {
    blocks: Vec<Block>,
    usage: Option<Usage>,
    finish: Option<Finish>,
    model: String,
}

#[derive(Debug)]
struct Block {
    index: Option<u64>,
    /// The block as it began, with what was added to its texts.
    value: Value,
    /// The pieces of a call's input, which are JSON only together.
    input: String,
}

impl MessagesAssembly {
    pub(super) fn event(&mut self, mut value: Value, sink: &dyn TextSink) -> Result<Flow, Broken> {
        match value["type"].as_str() {
            Some("message_start") => {
                let message = &value["message"];
                message["model"].as_str().unwrap_or_default().clone_into(&mut self.model);
                self.count(&message["usage"]);
            }
            Some("content_block_start") => {
                let index = value["index"].as_u64();
                self.begin(index, take(&mut value, "content_block"), sink);
            }
            Some("content_block_delta") => self.delta(value["index"].as_u64(), &value["delta"], sink),
            Some("message_delta") => {
                if let Some(reason) = value["delta"]["stop_reason"].as_str() {
                    self.finish = Some(finish_of(reason));
                }
                self.count(&value["usage"]);
            }
            Some("message_stop") => return Ok(Flow::Done),
            Some("error") => return Err(Broken::Error(value)),
            // Pings, ends of blocks, and whatever will be added.
            _ => {}
        }
        Ok(Flow::More)
    }

    pub(crate) fn whole(&mut self, mut value: Value, sink: &dyn TextSink) -> Result<(), Broken> {
        if value["type"] == "error" || !value["error"].is_null() {
            return Err(Broken::Error(value));
        }
        let Value::Array(blocks) = take(&mut value, "content") else {
            return Err(Broken::Garbled("it has no list `content`".to_owned()));
        };
        value["model"].as_str().unwrap_or_default().clone_into(&mut self.model);
        self.count(&value["usage"]);
        for mut block in blocks {
            let input = if block["type"] == "tool_use" { take(&mut block, "input").to_string() } else { String::new() };
            self.begin(None, block, sink);
            if let Some(block) = self.blocks.last_mut() {
                block.input = input;
            }
        }
        self.finish = Some(value["stop_reason"].as_str().map_or(Finish::Stop, finish_of));
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Draft, Broken> {
        let finish = self.finish.ok_or(Broken::Unfinished)?;
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut content = Vec::new();
        let mut thought_bytes = 0;
        let mut has_more = false;
        for Block { value, input, .. } in self.blocks {
            match value["type"].as_str() {
                Some("text") => {
                    let said = value["text"].as_str().unwrap_or_default();
                    text.push_str(said);
                    // An empty text may be sent but not be sent back.
                    if !said.trim().is_empty() {
                        content.push(json!({"type": "text", "text": said}));
                    }
                }
                Some("tool_use") => {
                    content.push(json!({"type": "tool_use", "call": calls.len()}));
                    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
                    // A call without input comes without pieces, its input already in the first event.
                    let arguments = if input.is_empty() { value["input"].to_string() } else { input };
                    calls.push(DraftCall { id: field("id"), name: field("name"), arguments });
                }
                _ => {
                    thought_bytes += value["thinking"].as_str().map_or(0, str::len);
                    has_more = true;
                    content.push(value);
                }
            }
        }
        let carry = has_more.then(|| json!({"provider": "anthropic", "content": content}));
        Ok(Draft { text, calls, carry, usage: self.usage, finish, model: self.model, thought_bytes })
    }

    fn begin(&mut self, index: Option<u64>, value: Value, sink: &dyn TextSink) {
        match value["type"].as_str() {
            Some("tool_use") => sink.take(Piece::Call(value["name"].as_str().unwrap_or_default())),
            Some("text") => say(value["text"].as_str(), sink, Piece::Text),
            Some("thinking") => say(value["thinking"].as_str(), sink, Piece::Thinking),
            _ => {}
        }
        self.blocks.push(Block { index, value, input: String::new() });
    }

    fn delta(&mut self, index: Option<u64>, delta: &Value, sink: &dyn TextSink) {
        let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == index) else { return };
        let piece = |name: &str| delta[name].as_str();
        match delta["type"].as_str() {
            Some("text_delta") => {
                say(piece("text"), sink, Piece::Text);
                append(&mut block.value, "text", piece("text"));
            }
            Some("thinking_delta") => {
                say(piece("thinking"), sink, Piece::Thinking);
                append(&mut block.value, "thinking", piece("thinking"));
            }
            Some("signature_delta") => append(&mut block.value, "signature", piece("signature")),
            Some("input_json_delta") => block.input.push_str(piece("partial_json").unwrap_or_default()),
            _ => {}
        }
    }

    /// Takes counts over what is known: they are totals so far, and the later events repeat only some of them.
    fn count(&mut self, value: &Value) {
        let field = |name: &str| value[name].as_u64();
        let cached = field("cache_read_input_tokens");
        let written = field("cache_creation_input_tokens");
        let usage = match field("input_tokens") {
            // The provider's input tokens are those that no cache had to do with.
            Some(fresh) => Usage {
                input: fresh + cached.unwrap_or(0) + written.unwrap_or(0),
                output: 0,
                cached_input: cached,
                cache_written: written,
                counted: Counted::ByProvider,
            },
            None => self.usage.unwrap_or_default(),
        };
        let output = field("output_tokens").or(self.usage.map(|usage| usage.output));
        if field("input_tokens").is_some() || (self.usage.is_some() && output.is_some()) {
            self.usage = Some(Usage { output: output.unwrap_or(0), ..usage });
        }
    }
}

fn say<'a>(text: Option<&'a str>, sink: &dyn TextSink, piece: fn(&'a str) -> Piece<'a>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        sink.take(piece(text));
    }
}

fn append(block: &mut Value, field: &str, piece: Option<&str>) {
    let Some(piece) = piece else { return };
    let Value::Object(block) = block else { return };
    match block.get_mut(field) {
        Some(Value::String(all)) => all.push_str(piece),
        _ => {
            block.insert(field.to_owned(), piece.into());
        }
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refused,
        other => Finish::Other(other.to_owned()),
    }
}
