//! Suites: many problems evaluated, one after the other on each device, with a log that says all there is to say about it.
//!
//! [`source`] finds the problems, [`log`] is the only truth of what was done, [`run`] does what the log does not hold yet
//! on all the [`seats`], and [`summary`] is a fold over it.

pub mod log;
pub mod run;
pub mod seats;
pub mod source;
pub mod summary;

use std::path::PathBuf;

/// One problem of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its name, unique in the suite, e.g. `level1/19_ReLU`.
    pub name: String,
    /// A second name that a candidate for it may have, unique in the suite as well, e.g. `19_ReLU`.
    pub short: Option<String>,
    /// The text of the problem file, or why it cannot be read.
    pub source: Result<String, String>,
    /// Where that was read; nowhere for generated problems.
    pub path: Option<PathBuf>,
}

/// A suite with its problems in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// What messages and log files call it, e.g. `aten`.
    pub name: String,
    /// At least one.
    pub problems: Vec<Problem>,
    /// What makes no problem, with the reason.
    pub excluded: Vec<(String, String)>,
}
