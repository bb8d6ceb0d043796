//! The profile server: what a target is and can do, where the time of a module's calls goes, and why.
//!
//! [`serve`] is the MCP server; [`Profiles`] is the same as a library, and [`Profiler`] the part that runs workers. A profiler's output, taken here
//! or read from a file, is a [`Capture`]; rules draw conclusions from it (`diagnosis`, `headroom`); the whole report is kept on disk (`archive`) and
//! the answer is its digest (`digest`), with the rest read section by section (`sections`) and compared (`compare`). Figures taken with a candidate
//! come out of the process the candidate runs in: they are advice, never a verdict, and say so. Those of
//! the problem come from another process, which no candidate has seen, and so do counts of what a process uses.
//!
//! A target has several profilers, best first ([`Profiler::rungs`]). One that is denied or missing is passed over, and what would make it work
//! is said.
//!
//! On a GPU, measurements take turns with those of other processes of the machine; on a CPU only with those of the same server.

mod archive;
mod arguments;
mod capture;
mod claim;
mod compare;
mod compiled;
mod counters;
mod cpu;
mod descriptions;
mod diagnosis;
mod digest;
mod error;
mod headroom;
mod import;
mod kept;
mod ladder;
mod ncu;
mod profiler;
mod profiles;
mod proton;
mod report;
mod sections;
mod surface;
#[cfg(test)]
mod testing;
mod timed;
mod workers;

pub use capture::{Capture, RawFigure, Rung, Taken, Work};
pub use error::{Contradiction, NoKernel, ProfileError};
pub use import::{Fault, Format, ImportError, import};
pub use ncu::ncu_command;
pub use profiler::{ProfileRequest, Profiler, Settings};
pub use profiles::Profiles;
pub use sections::Reading;
pub use surface::serve;
