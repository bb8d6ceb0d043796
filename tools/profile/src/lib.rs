//! The profile server: what a target is and can do, and where the time of a module's calls goes.
//!
//! [`serve`] is the MCP server; [`Profiler`] is the same as a library. Each question gets a Python worker of its own, which ends with the
//! answer. Figures taken with a candidate come out of the process the candidate runs in: they are advice, never a verdict, and say so.
//!
//! Limits: the Torch profiler only, so nothing is known of what holds a kernel back; the figures of one server do not disturb each other, but
//! it knows nothing of other servers that measure on the same device.

mod capture;
mod claim;
mod diagnosis;
mod error;
mod headroom;
mod profiler;
mod surface;

pub use capture::{Capture, RawFigure, Rung, Taken, Work};
pub use error::ProfileError;
pub use profiler::{ProfileRequest, Profiler, Settings};
pub use surface::serve;
