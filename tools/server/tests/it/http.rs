//! HTTP: who may call, and who may not.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Child;

use crate::client::{fixture, initialize};

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

    /// Posts an `initialize` with extra header lines; returns the status and the body.
    async fn post(&self, host: &str, headers: &[&str]) -> (u16, String) {
        let body = initialize(1).to_string();
        let mut stream = TcpStream::connect(&self.addr).await.unwrap();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{body}",
            body.len(),
            headers.iter().flat_map(|header| [header, "\r\n"]).collect::<String>()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        (status, response)
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
