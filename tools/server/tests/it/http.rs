//! HTTP: who may call, and who may not.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

use crate::client::{call, fixture, initialize};

pub(crate) struct Server {
    _child: Child,
    pub(crate) addr: String,
}

impl Server {
    /// Starts a server on a free port and reads its address where a user would: on stderr.
    pub(crate) async fn start(token: Option<&str>) -> Self {
        let mut child = fixture().args(["http", "127.0.0.1:0"]).args(token).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = stderr.next_line().await.unwrap().unwrap();
        let addr = line.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap().to_owned();
        Self { _child: child, addr }
    }

    /// Posts an `initialize` with extra header lines; returns the status and the response.
    async fn post(&self, host: &str, headers: &[&str]) -> (u16, String) {
        self.post_message(&initialize(1), host, headers).await
    }

    async fn post_message(&self, message: &Value, host: &str, headers: &[&str]) -> (u16, String) {
        let mut stream = self.send(message, host, headers).await;
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        (status, response)
    }

    /// Posts a message; the connection that the response comes on.
    async fn send(&self, message: &Value, host: &str, headers: &[&str]) -> TcpStream {
        let body = message.to_string();
        let mut stream = TcpStream::connect(&self.addr).await.unwrap();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{body}",
            body.len(),
            headers.iter().flat_map(|header| [header, "\r\n"]).collect::<String>()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// Opens a session; its header line.
    async fn session(&self) -> String {
        let (_, opened) = self.post(&self.addr, &[]).await;
        let session = opened.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id: ")).unwrap();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post_message(&initialized, &self.addr, &[session]).await.0, 202);
        session.to_owned()
    }

    async fn status(&self, headers: &[&str]) -> u16 {
        self.post(&self.addr, headers).await.0
    }
}

#[tokio::test]
async fn a_local_client_opens_a_session() {
    let server = Server::start(None).await;
    let (status, response) = server.post(&server.addr, &[]).await;
    assert_eq!(status, 200, "{response}");
    let opened = response.lines().find_map(|line| line.strip_prefix("data: {")).map(|rest| format!("{{{rest}")).unwrap();
    let opened: Value = serde_json::from_str(&opened).unwrap();
    assert_eq!(opened["result"]["serverInfo"]["name"], "fixture");
}

#[tokio::test]
async fn malformed_requests_are_told_what_is_wrong() {
    let server = Server::start(None).await;
    let session = server.session().await;
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_job", "arguments": "{}"}});
    let (_, response) = server.post_message(&call, &server.addr, &[&session]).await;
    assert!(response.contains("`arguments` of tools/call is a string and has to be an object"), "{response}");
    assert!(response.contains("-32602"), "{response}");
}

/// The library does not say that the stream broke, as a client may resume it: that is why ids that were given out are good for a while only.
#[tokio::test]
async fn a_broken_connection_does_not_end_work_within_a_session() {
    let server = Server::start(None).await;
    let session = server.session().await;
    let mut response = BufReader::new(server.send(&call(2, "build", &json!({"name": "a hut"})), &server.addr, &[&session]).await);
    let mut line = String::new();
    while !line.contains("building a hut") {
        line.clear();
        assert_ne!(response.read_line(&mut line).await.unwrap(), 0);
    }
    drop(response);
    let (_, allowed) = server.post_message(&call(3, "allow", &json!({"builds": 1})), &server.addr, &[&session]).await;
    assert!(allowed.contains(r#""cancellations":0"#), "{allowed}");
    let (_, built) = server.post_message(&call(4, "build", &json!({"name": "a hut"})), &server.addr, &[&session]).await;
    assert!(built.contains(r#""number":1"#), "{built}");
}

#[tokio::test]
async fn web_pages_of_other_origins_are_refused() {
    let server = Server::start(None).await;
    assert_eq!(server.status(&["Origin: http://localhost:8080"]).await, 200);
    assert_eq!(server.status(&["Origin: https://example.com"]).await, 403);
}

#[tokio::test]
async fn rebound_host_names_are_refused() {
    let server = Server::start(None).await;
    assert_eq!(server.post("rebound.example.com", &[]).await.0, 403);
}

#[tokio::test]
async fn a_server_with_a_token_wants_it() {
    let server = Server::start(Some("open-sesame")).await;
    assert_eq!(server.status(&[]).await, 401);
    assert_eq!(server.status(&["Authorization: Bearer open-sesamf"]).await, 401);
    assert_eq!(server.status(&["Authorization: Bearer open-sesame"]).await, 200);
}

#[tokio::test]
async fn an_open_address_without_a_token_is_refused() {
    let output = fixture().args(["http", "0.0.0.0:0"]).output().await.unwrap();
    assert!(!output.status.success());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("refusing to listen on 0.0.0.0:0 without a token"), "{stderr}");
    assert!(output.stdout.is_empty());
}
