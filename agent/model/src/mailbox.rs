//! A folder in which questions lie until somebody or something puts the answers there: a person, a script, a batch service, or a machine
//! with a network beside one without.
//!
//! Question N is `NNNN.request.json`, a body for chat completions that can be posted as it is; its answer is `NNNN.reply.json`. Both appear
//! whole or not at all. Nothing waits in here: a question without an answer suspends the run.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{
    Answer, LimitField, MailboxSettings, ModelError, Piece, Place, Request, TextSink, Transfer, Usage,
    prices::Prices,
    wire::{self, Broken, ChatAssembly, Field, Flow, MessagesAssembly, Style},
};

/// The model's name in requests when the settings give none.
const NO_MODEL: &str = "mailbox";

/// A folder of questions and answers.
#[derive(Debug)]
pub struct Mailbox {
    dir: PathBuf,
    style: Style,
    prices: Prices,
}

impl Mailbox {
    pub(crate) fn open(settings: &MailboxSettings) -> Result<Self, ModelError> {
        std::fs::create_dir_all(&settings.dir).map_err(|source| ModelError::Mailbox { path: settings.dir.clone(), source })?;
        let style = Style {
            model: settings.model.clone().unwrap_or_else(|| NO_MODEL.to_owned()),
            transfer: Transfer::Whole,
            limit_field: LimitField::Auto,
            usage_chunk: Field::Refused,
            tool_choice: Field::Sent,
            extra_body: settings.extra_body.clone(),
        };
        let prices = Prices::new(settings.prices.clone(), &style.model);
        Ok(Self { dir: settings.dir.clone(), style, prices })
    }

    pub(crate) fn answer(&self, request: &Request, place: Place, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        let request_path = self.dir.join(format!("{:04}.request.json", place.ask));
        let reply_path = self.dir.join(format!("{:04}.reply.json", place.ask));
        let body = self.body(request, place);
        let is_same = load(&request_path)?.map(|text| serde_json::from_slice::<Value>(&text).is_ok_and(|asked| asked == body));
        match (load(&reply_path)?, is_same) {
            // Without its question, a reply was put there by somebody who knows what comes.
            (Some(reply), None | Some(true)) => {
                put(&request_path, &body, is_same)?;
                let answer =
                    read_reply(&reply, request, &self.style.model).map_err(|reason| ModelError::BadReply { path: reply_path, reason })?;
                tell(&answer, sink);
                Ok(answer)
            }
            // The answer to another question is worse than none.
            (Some(_), Some(false)) => Err(ModelError::OtherQuestion { path: request_path }),
            (None, _) => {
                put(&request_path, &body, is_same)?;
                Err(ModelError::Suspended { waiting: vec![reply_path] })
            }
        }
    }

    pub(crate) fn cost(&self, usage: &Usage, model: &str) -> Option<f64> {
        self.prices.find(model)?.cost(usage)
    }

    pub(crate) fn has_price(&self) -> bool {
        self.prices.has_asked()
    }

    pub(crate) fn describe(&self) -> Value {
        json!({"provider": "mailbox", "model": self.style.model, "path": self.dir})
    }

    /// The request for chat completions. Where it belongs in the run stands in `metadata`, which the format has for such things.
    fn body(&self, request: &Request, place: Place) -> Value {
        let mut body = wire::chat_body(request, &self.style);
        if let Some(body) = body.as_object_mut() {
            let place = json!({"ask": place.ask.to_string(), "step": place.step.to_string(), "turn": place.turn.to_string()});
            body.insert("metadata".to_owned(), place);
        }
        body
    }
}

fn load(path: &Path) -> Result<Option<Vec<u8>>, ModelError> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ModelError::Mailbox { path: path.to_owned(), source }),
    }
}

/// Writes a question unless it lies there already.
fn put(path: &Path, body: &Value, is_same: Option<bool>) -> Result<(), ModelError> {
    if is_same == Some(true) {
        return Ok(());
    }
    let write = || {
        // A name that no one who looks for requests or replies will match.
        let unfinished = path.with_extension("unfinished");
        let mut file = std::fs::File::create(&unfinished)?;
        serde_json::to_writer_pretty(&mut file, body)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path)
    };
    write().map_err(|source| ModelError::Mailbox { path: path.to_owned(), source })
}

/// Reads a reply: a chat completion, a message, one of them as a batch service wraps it, or what a person would write.
fn read_reply(text: &[u8], request: &Request, model: &str) -> Result<Answer, String> {
    let mut value: Value = serde_json::from_slice(text).map_err(|error| format!("it is not JSON: {error}"))?;
    if let Some(inner) = value.pointer_mut("/response/body") {
        value = inner.take();
    }
    if let Some(status) = value["status"].as_u64() {
        return Err(format!("it reports a failure with status {status}"));
    }
    let draft = if value["choices"].is_array() {
        let mut assembly = ChatAssembly::default();
        assembly.whole(value, &crate::NoSink).and_then(|()| assembly.finish(Flow::Done))
    } else if value["type"] == "message" || value["type"] == "error" {
        let mut assembly = MessagesAssembly::default();
        assembly.whole(value, &crate::NoSink).and_then(|()| assembly.finish())
    } else {
        let mut assembly = ChatAssembly::default();
        simple(value).and_then(|value| assembly.whole(value, &crate::NoSink)).and_then(|()| assembly.finish(Flow::Done))
    };
    let draft = draft.map_err(|broken| match broken {
        Broken::Error(error) => format!("it reports a failure: {error}"),
        Broken::Garbled(reason) => reason,
        Broken::Unfinished => "it is incomplete".to_owned(),
    })?;
    if draft.text.trim().is_empty() && draft.calls.is_empty() {
        return Err("it has neither text nor tool calls".to_owned());
    }
    Ok(draft.into_answer(request, model))
}

/// Puts `{content, tool_calls: [{name, arguments}]}` into the form of a chat completion.
fn simple(value: Value) -> Result<Value, Broken> {
    let Value::Object(reply) = value else { return Err(Broken::Garbled("it is not an object".to_owned())) };
    let known = ["content", "tool_calls", "model", "usage"];
    if let Some(unknown) = reply.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(Broken::Garbled(format!("it has an unknown field {unknown:?}")));
    }
    if !matches!(reply.get("content"), None | Some(Value::Null | Value::String(_))) {
        return Err(Broken::Garbled("its `content` is not text".to_owned()));
    }
    let calls = match reply.get("tool_calls") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(calls)) => calls.as_slice(),
        Some(_) => return Err(Broken::Garbled("its `tool_calls` is not a list".to_owned())),
    };
    let mut functions = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        // The nested form of chat completions is what somebody copies out of one.
        let function = if call["function"].is_object() { &call["function"] } else { call };
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Broken::Garbled(format!("tool_calls[{index}] has no name")))?;
        functions.push(json!({"id": call["id"], "function": {"name": name, "arguments": function["arguments"]}}));
    }
    let message = json!({"content": reply.get("content"), "tool_calls": functions});
    Ok(json!({"model": reply.get("model"), "usage": reply.get("usage"), "choices": [{"message": message, "finish_reason": "stop"}]}))
}

fn tell(answer: &Answer, sink: &dyn TextSink) {
    if let Some(text) = &answer.text {
        sink.take(Piece::Text(text));
    }
    for call in &answer.calls {
        sink.take(Piece::Call(&call.name));
    }
}
