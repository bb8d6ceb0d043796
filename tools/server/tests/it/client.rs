//! A client that shows the bare messages: one JSON value a line, no library in between.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub(crate) fn fixture() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fixture-server"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

pub(crate) fn initialize(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

pub(crate) fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {"progressToken": format!("token {id}")}}})
}

/// A server on stdio with an initialized session.
pub(crate) struct Session {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Session {
    pub(crate) fn start() -> Self {
        let mut child = fixture().arg("stdio").spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { stdin: child.stdin.take(), stdout, child }
    }

    pub(crate) async fn initialized() -> Self {
        let mut session = Self::start();
        session.send(&initialize(0)).await;
        session.answer(0).await;
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        session
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    /// The next message; `None` at the end of stdout. Whatever is no JSON on stdout fails the test.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        let line = self.stdout.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}")))
    }

    pub(crate) async fn answer(&mut self, id: u32) -> Value {
        loop {
            let message = self.receive().await.expect("an answer before the end of stdout");
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) async fn call(&mut self, id: u32, tool: &str, arguments: &Value) -> Value {
        self.send(&call(id, tool, arguments)).await;
        self.answer(id).await["result"].take()
    }
}
