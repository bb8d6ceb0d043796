//! The run loop: from a problem to a verified faster kernel, and back again after a crash.
//!
//! [`optimize`] begins a run, [`resume`] goes on with one. Both do the same thing: look at the graph that the events add up to, do the next
//! thing that is missing in it, and record what came of it before it has any effect. A fresh run is a resume of nothing.
//!
//! Nothing here knows how a kernel is compiled, measured or found in a book: that is what tool servers do, over MCP. Nothing here knows how
//! a model is reached or how a prompt is worded either.

mod archive;
mod asking;
mod bindings;
mod calls;
mod client;
mod disk;
mod error;
mod floor;
mod lessons;
mod mcp;
mod observer;
mod outcome;
mod own_tools;
mod prompt;
mod render;
pub mod report;
mod request;
mod retrieval;
mod run;
mod session;
mod step;
mod stop;
mod store;
mod toolbox;
mod warm_start;

pub use client::{ToolRefusal, ToolServer};
pub use error::{EngineError, ServerFailure, ToolServerError};
pub use observer::{Activity, Observer};
pub use outcome::{Best, End, Outcome};
pub use report::Run;
pub use request::{Launch, Overrides, ProblemSource, ResumeRequest, RunRequest, ServerSpec, Setup};
pub use run::{optimize, resume};
pub use stop::StopToken;
pub use store::{Opened, Store, StoreError};
