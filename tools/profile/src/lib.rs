//! The profile server: what a target is and can do, and where the time of a module's calls goes.
//!
//! [`serve`] is the MCP server; [`Profiler`] is the same as a library. Each question gets a Python worker of its own, which ends with the
//! answer. Figures taken with a candidate come out of the process the candidate runs in: they are advice, never a verdict, and say so. Those of
//! the problem come from another process, which no candidate has seen, and so do counts of what a process uses.
//!
//! A target has several profilers, best first ([`Profiler::rungs`]). One that is denied or missing is passed over, and what would make it work
//! is said.
//!
//! Limits: the figures of one server do not disturb each other, but it knows nothing of other servers that measure on the same device.

mod capture;
mod claim;
mod compiled;
mod counters;
mod cpu;
mod error;
mod import;
mod imported;
mod kept;
mod ladder;
mod ncu;
mod profiler;
mod proton;
mod surface;
mod timed;
mod workers;

pub use capture::{Capture, RawFigure, Rung, Taken, Work};
pub use error::ProfileError;
pub use import::{Fault, Format, ImportError, import};
pub use profiler::{ProfileRequest, Profiler, Settings};
pub use surface::serve;
