//! Both eras of the protocol, with sessions and without, over both transports: progress arrives, and cancelling reaches the tool.

use rmcp::model::{CallToolRequestParams, ClientRequest, ProgressNotificationParam, ProtocolVersion, Request};
use rmcp::service::{NotificationContext, PeerRequestOptions, RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use tokio::sync::mpsc;

use crate::client::fixture;
use crate::http::Server;

/// A client that passes on what it is told.
pub(crate) struct Listener(pub(crate) mpsc::UnboundedSender<String>);

impl ClientHandler for Listener {
    async fn on_progress(&self, progress: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let _ = self.0.send(progress.message.unwrap_or_default());
    }
}

fn without_sessions() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Starts endless work, hears of it, cancels it, and asks until the tool has noticed.
async fn work_and_cancel(client: RunningService<RoleClient, Listener>, mut told: mpsc::UnboundedReceiver<String>) {
    let work = ClientRequest::CallToolRequest(Request::new(CallToolRequestParams::new("work")));
    let call = client.send_cancellable_request(work, PeerRequestOptions::no_options()).await.unwrap();
    assert_eq!(told.recv().await.as_deref(), Some("working"));
    call.cancel(Some("enough".to_owned())).await.unwrap();
    loop {
        let count = client.call_tool(CallToolRequestParams::new("count")).await.unwrap();
        if count.structured_content.unwrap()["cancellations"] == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
}

async fn over_http(lifecycle: ClientLifecycleMode) {
    // The client wants one even where nothing is encrypted; another test may have been here before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start(Some("open-sesame")).await;
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", server.addr)).auth_header("open-sesame");
    let (listener, told) = mpsc::unbounded_channel();
    let client = Listener(listener).serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle).await.unwrap();
    work_and_cancel(client, told).await;
}

async fn over_stdio(lifecycle: ClientLifecycleMode) {
    let mut command = fixture();
    command.arg("stdio");
    let (listener, told) = mpsc::unbounded_channel();
    let client = Listener(listener).serve_with_lifecycle(TokioChildProcess::new(command).unwrap(), lifecycle).await.unwrap();
    work_and_cancel(client, told).await;
}

#[tokio::test]
async fn http_with_a_session() {
    over_http(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn http_without_sessions() {
    over_http(without_sessions()).await;
}

#[tokio::test]
async fn stdio_with_a_session() {
    over_stdio(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn stdio_without_sessions() {
    over_stdio(without_sessions()).await;
}
