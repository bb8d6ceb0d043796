//! The clients against a real HTTP server and real files, as a caller uses them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod chat;
mod failures;
mod keys;
mod mailbox;
mod messages;
mod probe;
mod replay;
mod server;

use std::sync::Mutex;
use std::time::Duration;

use kernelwright_model::{
    Answer, Client, ClientSettings, HostedSettings, Message, ModelError, NoSink, Patience, Piece, Place, Request, TextSink, ToolCall,
    ToolSpec,
};
use serde_json::json;

/// A place for tests that do not care.
const SOMEWHERE: Place = Place { ask: 1, step: 1, turn: 1 };

/// Patience for tests: long enough for a slow machine where something should happen, short where nothing should.
fn patience() -> Patience {
    let ms = Duration::from_millis;
    Patience { first_delay: ms(1), longest_delay: ms(2), outage: ms(50), ..Patience::default() }
}

fn settings(url: &str) -> HostedSettings {
    HostedSettings { base_url: Some(url.to_owned()), patience: patience(), ..HostedSettings::new("m-1") }
}

fn chat(settings: HostedSettings) -> Client {
    Client::open(&ClientSettings::OpenAi(settings)).unwrap()
}

fn messages(settings: HostedSettings) -> Client {
    Client::open(&ClientSettings::Anthropic(settings)).unwrap()
}

/// A question with one tool.
fn question() -> Request {
    Request {
        system: "Be brief.".to_owned(),
        messages: vec![Message::User { text: "Make it faster.".to_owned() }],
        tools: vec![ToolSpec {
            name: "evaluate".to_owned(),
            description: "Evaluates a candidate.".to_owned(),
            parameters: json!({"type": "object", "properties": {"code": {"type": "string"}}}),
        }],
        ..Request::default()
    }
}

/// The question that follows an answer: the same conversation, with a result for every call.
fn follow_up(request: &Request, answer: &Answer) -> Request {
    let mut next = request.clone();
    next.messages.push(answer.to_message());
    for call in &answer.calls {
        next.messages.push(Message::ToolResult { call_id: call.id.clone(), text: format!("result of {}", call.name), is_error: false });
    }
    next
}

async fn ask(client: &Client, request: &Request) -> Result<Answer, ModelError> {
    client.ask(request, SOMEWHERE, &NoSink).await
}

/// The calls as one line each.
fn calls(calls: &[ToolCall]) -> Vec<String> {
    calls.iter().map(|call| format!("{} {} {}", call.id, call.name, serde_json::to_string(&call.arguments).unwrap())).collect()
}

/// Keeps pieces as lines.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl TextSink for Kept {
    fn take(&self, piece: Piece<'_>) {
        let line = match piece {
            Piece::Text(text) => format!("text {text}"),
            Piece::Thinking(text) => format!("thinking {text}"),
            Piece::Call(name) => format!("call {name}"),
            Piece::Retry { failed, reason, .. } => format!("retry {failed} {reason}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Kept {
    fn lines(self) -> Vec<String> {
        self.0.into_inner().unwrap()
    }
}

#[test]
fn a_question_can_be_asked_from_any_thread() {
    fn is_send<T: Send>(_: &T) {}
    let client = chat(settings("http://127.0.0.1:9"));
    is_send(&client.ask(&question(), SOMEWHERE, &NoSink));
    is_send(&client.probe(&NoSink));
}
