//! The evaluate server: builds, checks and times candidate kernels, and decides.
//!
//! One evaluation is a conversation of the supervisor (this crate) with two workers. The *trusted* one holds the user's problem, its
//! reference and the baselines; the *untrusted* one holds the candidate, confined and stopped whenever it has nothing to answer. Outputs
//! are read out of the stopped candidate's memory, and time is the supervisor's own wall clock. Nothing that the candidate prints,
//! returns or claims decides anything.
//!
//! What the candidate does wrong is an [`Evaluation`](kernelwright_protocol::Evaluation); what the problem, the environment or the
//! request does wrong is an [`EvaluateError`].

mod afterwards;
mod ahead;
mod baseline_cache;
mod baselines;
mod batch;
mod calibration;
mod candidate;
mod checks;
mod clocks;
mod command;
mod compile;
mod cores;
mod correctness;
mod deep_check;
mod devices;
mod draws;
mod error;
mod evaluator;
mod floor;
mod identity;
mod interrupted;
mod late;
mod launches;
mod locations;
mod nurseries;
mod pairs;
mod preparation;
mod problem;
mod processors;
mod remarks;
mod request;
mod rotation;
mod samples;
mod sets;
mod shelf;
mod singles;
mod statistics;
mod surface;
mod timing;
mod turns;
mod verdict;
mod vigil;
mod waits;
mod wire;
mod workshop;

pub use deep_check::sanitizer;
pub use error::EvaluateError;
pub use evaluator::Evaluator;
pub use identity::identity;
pub use kernelwright_compile::{CompileError, CompileRequest, CompileTarget, Gpu, KernelCompiler, UnknownArch};
pub use request::{BaselineChoice, EvaluateRequest, Limits, Options, Settings};
pub use surface::serve;

/// The version of what decides: this crate's, and a hash of the Python that its workers run. Verdicts of two versions need not agree.
#[must_use]
pub fn version() -> String {
    format!("{}+{}", env!("CARGO_PKG_VERSION"), kernelwright_harness::Package::digest())
}
