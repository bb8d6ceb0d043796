//! Logs go to stderr: on stdio, stdout carries JSON-RPC and nothing else.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Sends tracing events to stderr, filtered by `RUST_LOG` or, without it, by `default` (e.g. `warn,kernelwright_knowledge=info`).
///
/// Does nothing when the process has a subscriber already.
pub fn log_to_stderr(default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    // An error means that the executable has installed its own subscriber, which is then the one to use.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Its complaint about a closed stderr would go to stderr, and end the task that logged.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
}
