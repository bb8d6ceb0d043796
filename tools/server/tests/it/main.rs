//! The transports' contract, over real processes: what every tool server owes its clients.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod client;
mod eras;
mod http;
mod jobs;
mod source;
mod stdio;
