//! What every tool server shares: transports, schema tidying, failures, progress and logging.
//!
//! A tool server is a [`rmcp::ServerHandler`] whose router went through [`prepare`] and which is handed to [`serve`]:
//!
//! - [`serve`], inside [`run`], speaks MCP over the standard streams or streamable HTTP and ends soon after its client does;
//! - [`prepare`] makes the tools acceptable to every host: plain schemas, and failures that say how to go on;
//! - [`ToolFailure`] is the one form of a tool's failure: code, reason, fix; what it repeats of a client's words is [`shortened`];
//! - [`Progress`] keeps hosts from giving up on a long call, and says when nobody waits for it any more;
//! - [`Jobs`] lets work outlast the call that asked for it, as hosts that give up all the same make it;
//! - [`read_source`] reads the files that calls name, and neither waits for ever nor fills the memory;
//! - [`lint`] lists what hosts would object to, for each server's tests.
//!
//! The crate knows nothing of kernels.

mod arguments;
mod failure;
mod http;
mod jobs;
mod lint;
mod logging;
mod progress;
mod router;
mod schema;
mod source;
mod stdio;
mod strict;
mod text;
mod transport;

pub use failure::ToolFailure;
pub use jobs::{JobAnswer, JobRequest, Jobs, Work, job_output};
pub use lint::lint;
pub use logging::log_to_stderr;
pub use progress::Progress;
pub use router::prepare;
pub use schema::{tidy_input, tidy_output};
pub use source::read_source;
pub use text::shortened;
pub use transport::{ServeError, Transport, run, serve};
