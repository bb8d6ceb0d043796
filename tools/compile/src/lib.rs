//! Compiling alone: what a candidate's kernels become on any architecture, on a machine without a device.
//!
//! One confined worker follows the candidate's `forward` with tensors that have shapes and no memory, and compiles every launch it makes and
//! every configuration it would tune over. The figures are the compilers' own; limits and occupancy are computed here. They come out of the
//! process that the candidate runs in: they inform, and decide nothing.

mod artifacts;
mod claim;
mod compiler;
mod error;
mod occupancy;
mod parts;

pub use artifacts::{Artifacts, ReadError, SCHEME};
pub use compiler::{CompileRequest, KernelCompiler, Settings};
pub use error::CompileError;
pub use parts::{CompileTarget, Gpu, UnknownArch};
