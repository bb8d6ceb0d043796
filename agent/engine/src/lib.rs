//! The run loop: from a problem to a verified faster kernel, and back again after a crash.
//!
//! [`optimize`] begins a run, [`resume`] goes on with one. Both do the same thing: look at the graph that the events add up to, do the next
//! thing that is missing in it, and record what came of it before it has any effect. A fresh run is a resume of nothing.
//!
//! Nothing here knows how a kernel is compiled, measured or found in a book: that is what tool servers do, over MCP. Nothing here knows how
//! a model is reached or how a prompt is worded either.

mod error;
mod mcp;
mod observer;
mod outcome;
mod request;
mod stop;
mod store;

pub use error::{EngineError, ServerFailure, ToolServerError};
pub use observer::{Activity, Observer};
pub use outcome::{Best, End, Outcome};
pub use request::{Launch, Overrides, ProblemSource, ResumeRequest, RunRequest, ServerSpec, Setup};
pub use stop::StopToken;
pub use store::{Opened, Store, StoreError};

/// Begins a run and works on it until its budget is spent, a stop rule holds, or it is stopped.
pub async fn optimize(request: RunRequest, observer: &mut dyn Observer, stop: StopToken) -> Result<Outcome, EngineError> {
    let _ = (request, observer, stop);
    unimplemented!("published early for its callers")
}

/// Goes on with a run, from wherever its log ends.
pub async fn resume(request: ResumeRequest, observer: &mut dyn Observer, stop: StopToken) -> Result<Outcome, EngineError> {
    let _ = (request, observer, stop);
    unimplemented!("published early for its callers")
}
