//! Real HTTP endpoints that give the answers of a recorded run, in the wire format of an OpenAI-compatible server or of Anthropic's
//! messages interface, streamed as those servers stream.
//!
//! A capability probe (a request that offers a tool which the recording does not know) is answered with a call of that tool.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// The wire format to speak.
#[derive(Clone, Copy)]
pub enum Wire {
    OpenAi,
    Anthropic,
}

/// A running endpoint; it ends with the test's runtime.
pub struct Endpoint {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Endpoint {
    /// Serves the recording's answers, in order, on a free loopback port.
    pub async fn serve(recording: &Path, wire: Wire) -> Self {
        let log = std::fs::read_to_string(recording).unwrap();
        let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let answers: Vec<Value> = records.filter(|r| r["type"] == "model_answered").map(|r| r["answer"].clone()).collect();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let state = Arc::new(Recorded { answers, wire, requests: Arc::clone(&requests) });
        let path = match wire {
            Wire::OpenAi => "/v1/chat/completions",
            Wire::Anthropic => "/v1/messages",
        };
        let router = Router::new().route(path, post(answer)).with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, requests }
    }

    /// The base address that a user would configure.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of all requests so far, the probe left out.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

struct Recorded {
    answers: Vec<Value>,
    wire: Wire,
    requests: Arc<Mutex<Vec<Value>>>,
}

async fn answer(State(state): State<Arc<Recorded>>, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    let answer = if let Some(name) = probe_tool(&request) {
        json!({"calls": [{"id": "probe", "name": name, "arguments": {"object": {}}}], "usage": {"input": 20, "output": 5}})
    } else {
        let mut requests = state.requests.lock().unwrap();
        requests.push(request);
        state.answers.get(requests.len() - 1).cloned().unwrap_or_else(|| json!({"text": "The recording ends here."}))
    };
    let events = match state.wire {
        Wire::OpenAi => openai_stream(&answer),
        Wire::Anthropic => anthropic_stream(&answer),
    };
    ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
}

/// The only tool of a request that offers just one.
fn probe_tool(request: &Value) -> Option<String> {
    let [tool] = request["tools"].as_array()?.as_slice() else { return None };
    let name = tool.pointer("/function/name").or_else(|| tool.get("name"))?;
    name.as_str().map(str::to_owned)
}

fn calls(answer: &Value) -> Vec<Value> {
    answer["calls"].as_array().cloned().unwrap_or_default()
}

/// Arguments as the model wrote them.
fn arguments(call: &Value) -> String {
    call["arguments"]["object"].to_string()
}

/// Two halves at a character boundary, so that clients have to put deltas together.
fn halves(text: &str) -> [&str; 2] {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle -= 1;
    }
    text.split_at(middle).into()
}

fn openai_stream(answer: &Value) -> String {
    let mut deltas = vec![json!({"role": "assistant", "content": answer["text"]})];
    for (index, call) in calls(answer).iter().enumerate() {
        deltas.push(json!({"tool_calls": [{"index": index, "id": call["id"], "type": "function",
            "function": {"name": call["name"], "arguments": ""}}]}));
        for part in halves(&arguments(call)) {
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]}));
        }
    }
    let finish = if calls(answer).is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({"prompt_tokens": answer["usage"]["input"], "completion_tokens": answer["usage"]["output"]});
    let chunk = |choices: Value, usage: Value| json!({"id": "recorded", "object": "chat.completion.chunk", "model": "recorded", "choices": choices, "usage": usage});
    let mut chunks: Vec<Value> =
        deltas.into_iter().map(|delta| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)).collect();
    chunks.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null));
    chunks.push(chunk(json!([]), usage));
    let lines: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    lines.concat() + "data: [DONE]\n\n"
}

fn anthropic_stream(answer: &Value) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {"id": "recorded", "type": "message", "role": "assistant",
        "model": "recorded", "content": [], "usage": {"input_tokens": answer["usage"]["input"], "output_tokens": 1}}})];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if let Some(text) = answer["text"].as_str() {
        block(json!({"type": "text", "text": ""}), halves(text).map(|part| json!({"type": "text_delta", "text": part})).into());
    }
    for call in calls(answer) {
        let start = json!({"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}});
        let parts = arguments(&call);
        block(start, halves(&parts).map(|part| json!({"type": "input_json_delta", "partial_json": part})).into());
    }
    let reason = if calls(answer).is_empty() { "end_turn" } else { "tool_use" };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": answer["usage"]["output"]}}));
    events.push(json!({"type": "message_stop"}));
    let lines: Vec<String> = events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    lines.concat()
}
