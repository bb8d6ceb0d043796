//! A real HTTP server that gives prepared replies, in order, and keeps what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderMap, Response},
};
use futures_util::{StreamExt, stream};
use serde_json::Value;

/// One reply.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    chunks: Vec<Vec<u8>>,
    end: End,
}

/// How a reply's body ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// As it should.
    Clean,
    /// The connection is dropped.
    Cut,
    /// Nothing more comes, and the connection stays.
    Silence,
}

#[expect(clippy::needless_pass_by_value, reason = "replies are written on the spot")]
impl Reply {
    pub fn json(status: u16, body: impl ToString) -> Self {
        Self::new(status, "application/json", vec![body.to_string().into_bytes()])
    }

    pub fn html(status: u16, body: &str) -> Self {
        Self::new(status, "text/html; charset=utf-8", vec![body.as_bytes().to_vec()])
    }

    /// A stream of events, sent in pieces of this many bytes.
    pub fn stream(body: &str, piece: usize) -> Self {
        Self::new(200, "text/event-stream", body.as_bytes().chunks(piece).map(<[u8]>::to_vec).collect())
    }

    pub fn with_header(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    pub fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    fn new(status: u16, kind: &str, chunks: Vec<Vec<u8>>) -> Self {
        Self { status, headers: vec![("content-type", kind.to_owned())], chunks, end: End::Clean }
    }

    fn into_response(self) -> Response<Body> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(*name, value);
        }
        let chunks = stream::iter(self.chunks.into_iter().map(|chunk| Ok::<Bytes, std::io::Error>(chunk.into())));
        let body = match self.end {
            End::Clean => Body::from_stream(chunks),
            // An error in the body makes the server drop the connection; the pause lets what came before it leave.
            End::Cut => Body::from_stream(chunks.chain(stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            }))),
            End::Silence => Body::from_stream(chunks.chain(stream::pending())),
        };
        response.body(body).unwrap()
    }
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

#[derive(Clone, Default)]
struct Shared {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

pub struct Server {
    pub url: String,
    shared: Shared,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Starts a server. The last reply is given again and again.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Shared { replies: Arc::new(Mutex::new(replies.into_iter().collect())), ..Shared::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap();
    shared.asked.lock().unwrap().push(Asked { path: parts.uri.to_string(), headers: parts.headers, body });
    let mut replies = shared.replies.lock().unwrap();
    let reply = if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
    reply.unwrap().into_response()
}
