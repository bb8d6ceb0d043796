//! JSON-RPC on the standard streams.
//!
//! Left alone, rmcp waits five seconds for calls in flight once stdin has ended, and does not tell them. A client that leaves wants
//! its compilers and workers gone before it loses patience, so the end of stdin is noticed here, while it is being read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ServerHandler, ServiceExt};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::strict::Strict;
use crate::transport::{GRACE, ServeError};

/// Serves the standard streams until stdin ends or `stop` is cancelled.
pub(crate) async fn serve<H: ServerHandler>(handler: H, stop: CancellationToken) -> Result<(), ServeError> {
    let (stdin, stdout) = stdio_pipes();
    let ended = CancellationToken::new();
    let transport = (WatchEnd { inner: stdin, ended: ended.clone() }, stdout);

    // Cancelling this token cancels every request's own token.
    let calls = CancellationToken::new();
    let running = tokio::select! {
        running = Strict(handler).serve_with_ct(transport, calls.clone()) => match running {
            Ok(running) => running,
            // Opened and closed again without a word: a probe, or a client that died early.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Handshake(Box::new(error))),
        },
        () = stop.cancelled() => return Ok(()),
    };

    let mut serving = std::pin::pin!(running.waiting());
    tokio::select! {
        quit = &mut serving => return quit.map(drop).map_err(ServeError::Loop),
        () = stop.cancelled() => {}
        () = ended.cancelled() => {
            // A client may close stdin and still read its last answers: short calls get to finish.
            if let Ok(quit) = timeout(GRACE / 2, &mut serving).await {
                return quit.map(drop).map_err(ServeError::Loop);
            }
        }
    }
    calls.cancel();
    if let Ok(quit) = timeout(GRACE, serving).await {
        return quit.map(drop).map_err(ServeError::Loop);
    }
    tracing::warn!("a call did not end when it was cancelled; leaving it behind");
    Ok(())
}

/// A reader that says when its stream has ended.
struct WatchEnd<R> {
    inner: R,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for WatchEnd<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.inner).poll_read(cx, buf);
        let at_end = match &poll {
            Poll::Ready(Ok(())) => buf.remaining() > 0 && buf.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if at_end {
            self.ended.cancel();
        }
        poll
    }
}
