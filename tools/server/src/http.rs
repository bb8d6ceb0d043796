//! Streamable HTTP under `/mcp`.
//!
//! Loopback servers answer to loopback names and browser origins only, which keeps web pages from reaching them through a rebound
//! name. Servers on other addresses cannot know by which names they are called; there the bearer token is the guard.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::strict::Strict;
use crate::transport::{GRACE, ServeError};

/// The only browser origins that may call us.
const ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// A vanished client is noticed at the next byte sent to it, so bytes are sent this often.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Serves HTTP until `stop` is cancelled.
pub(crate) async fn serve<H: ServerHandler + Clone>(
    handler: H,
    addr: SocketAddr,
    token: Option<String>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    if token.is_none() && !addr.ip().is_loopback() {
        return Err(ServeError::TokenNeeded { addr });
    }
    let expected = token.as_deref().map(bearer).transpose()?;

    let listener = TcpListener::bind(addr).await.map_err(|source| ServeError::Bind { addr, source })?;
    let bound = listener.local_addr().map_err(|source| ServeError::Bind { addr, source })?;

    let mut config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop.child_token())
        .with_allowed_origins(ORIGINS)
        .with_sse_keep_alive(Some(KEEP_ALIVE));
    config = if bound.ip().is_loopback() {
        config.with_allowed_hosts(["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), bound.ip().to_string()])
    } else {
        config.disable_allowed_hosts()
    };
    let service = StreamableHttpService::new(move || Ok(Strict(handler.clone())), Arc::new(LocalSessionManager::default()), config);
    let mut app = Router::new().nest_service("/mcp", service);
    if let Some(expected) = expected {
        app = app.layer(from_fn(move |request: Request, next: Next| {
            let expected = expected.clone();
            async move { if authorised(&request, &expected) { next.run(request).await } else { unauthorised() } }
        }));
    }

    // Whoever started us on port 0 reads the address here, whatever the log level is.
    let _ = writeln!(std::io::stderr(), "listening on http://{bound}/mcp");

    // Without TCP_NODELAY, answers wait for a delayed acknowledgement: about 40 ms a call with some clients.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
    });
    let mut serving = std::pin::pin!(axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned()).into_future());
    tokio::select! {
        result = &mut serving => return result.map_err(ServeError::Listener),
        () = stop.cancelled() => {}
    }
    // Streams to clients stay open as long as they like; they do not hold us up.
    timeout(GRACE, serving).await.unwrap_or(Ok(())).map_err(ServeError::Listener)
}

/// The header that clients have to send.
fn bearer(token: &str) -> Result<HeaderValue, ServeError> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ServeError::TokenUnusable);
    }
    HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ServeError::TokenUnusable)
}

/// Compares every byte, so that the time to refuse tells nothing about how much of a guess was right.
fn authorised(request: &Request, expected: &HeaderValue) -> bool {
    let Some(given) = request.headers().get(header::AUTHORIZATION) else { return false };
    let (given, expected) = (given.as_bytes(), expected.as_bytes());
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

fn unauthorised() -> Response {
    let body = Body::from("send the server's token as `Authorization: Bearer TOKEN`\n");
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], body).into_response()
}
