//! Where a server listens, and how it ends.

use std::net::SocketAddr;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::service::ServerInitializeError;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{http, stdio};

/// How long calls in flight may go on when the client or a signal ends the server. Parents send SIGTERM 3 s after closing stdin and
/// SIGKILL later; workers have to be gone before that.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// How long threads may go on after everything else has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Servers wait for other processes most of the time; what computes runs on blocking threads.
const WORKER_THREADS: usize = 2;

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// JSON-RPC lines on the standard streams; the server ends with its stdin.
    Stdio,
    /// Streamable HTTP under `/mcp`.
    Http {
        /// Where to listen; port 0 takes a free one. The bound address is printed on stderr.
        addr: SocketAddr,
        /// What clients have to send as `Authorization: Bearer ...`; needed for every address that is not loopback.
        token: Option<String>,
    },
}

/// A server could not start or broke down.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Anyone on the network could run code through an open server.
    #[error("refusing to listen on {addr} without a token")]
    TokenNeeded {
        /// The address that was asked for.
        addr: SocketAddr,
    },
    /// A token that no client can send.
    #[error("the token is empty or holds characters that no HTTP header can carry")]
    TokenUnusable,
    /// The address cannot be bound.
    #[error("cannot listen on {addr}")]
    Bind {
        /// The address that was asked for.
        addr: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The client's first messages were no MCP.
    #[error("the client did not open an MCP session")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The listener failed while it served.
    #[error("the HTTP listener failed")]
    Listener(#[source] std::io::Error),
    /// The signal handlers could not be installed.
    #[error("cannot handle SIGTERM and SIGINT")]
    Signals(#[source] std::io::Error),
    /// The task that reads the client's messages died.
    #[error("the message loop died")]
    Loop(#[source] tokio::task::JoinError),
}

impl ServeError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TokenNeeded { .. } => "listen on 127.0.0.1, or give a token that clients must send",
            Self::TokenUnusable => "use letters, digits and punctuation without spaces",
            Self::Bind { .. } => "use an address of this machine and a free port; port 0 takes any",
            Self::Handshake(_) => "start the server from an MCP client; it does not talk to a terminal",
            Self::Listener(_) | Self::Signals(_) | Self::Loop(_) => "start the server again with RUST_LOG=debug and look at stderr",
        }
    }
}

/// Serves `handler` until the client goes away (stdio) or SIGTERM or SIGINT arrives (both), then returns.
///
/// Calls in flight see their [`Progress`](crate::Progress) cancelled and get about a second to end. What still runs then is dropped
/// with the runtime: whatever a handler holds that must not outlive the server (child processes above all) has to die with its owner.
/// Call it inside [`run`], which does that without waiting for the last read of stdin.
pub async fn serve<H: ServerHandler + Clone>(handler: H, transport: Transport) -> Result<(), ServeError> {
    let stop = CancellationToken::new();
    cancel_on_signal(stop.clone())?;
    match transport {
        Transport::Stdio => stdio::serve(handler, stop).await,
        Transport::Http { addr, token } => http::serve(handler, addr, token, stop).await,
    }
}

/// Runs a server's future on a runtime of its own, and leaves the runtime as a server should.
///
/// Hosts that start servers from Node give them a socket as stdin, which is read by a thread that cannot be interrupted; dropping the
/// runtime would wait for it until the host closes its end. Here tasks are dropped, and with them their child processes, and
/// threads get a fifth of a second before they are left to the end of the process.
pub fn run<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKER_THREADS).enable_all().build()?;
    let output = runtime.block_on(future);
    runtime.shutdown_timeout(LAST_WORDS);
    Ok(output)
}

/// Cancels `stop` at the first SIGTERM or SIGINT.
fn cancel_on_signal(stop: CancellationToken) -> Result<(), ServeError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Signals)?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => tracing::info!("SIGTERM: shutting down"),
            _ = interrupt.recv() => tracing::info!("SIGINT: shutting down"),
        }
        stop.cancel();
    });
    Ok(())
}
