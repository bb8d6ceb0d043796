//! The profile server: what a target is and can do, where the time of a module's calls goes, and why.
//!
//! [`serve`] is the MCP server; [`Profiles`] is the same as a library, and [`Profiler`] the part that runs workers. A profiler's output, taken here
//! or read from a file, is a [`Capture`]; rules draw conclusions from it (`diagnosis`, `headroom`); the whole report is kept on disk (`archive`) and
//! the answer is its digest (`digest`), with the rest read section by section (`sections`) and compared (`compare`). Figures taken with a candidate
//! come out of the process the candidate runs in: they are advice, never a verdict, and say so.
//!
//! Limits: the figures of one server do not disturb each other, but it knows nothing of other servers that measure on the same device.

mod archive;
mod arguments;
mod capture;
mod claim;
mod compare;
mod diagnosis;
mod digest;
mod error;
mod headroom;
mod pending;
mod profiler;
mod profiles;
mod report;
mod sections;
mod surface;
#[cfg(test)]
mod testing;

pub use capture::{Capture, RawFigure, Rung, Taken, Work};
pub use error::ProfileError;
pub use pending::{ImportError, import};
pub use profiler::{ProfileRequest, Profiler, Settings};
pub use profiles::Profiles;
pub use sections::Reading;
pub use surface::serve;
