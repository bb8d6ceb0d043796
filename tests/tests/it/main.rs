//! End-to-end tests over the real executable, real torch and real MCP.
#![allow(clippy::unwrap_used, missing_docs)]

mod adversarial;
mod agent;
mod bad_input;
mod compile;
mod evaluate;
mod nursery;
mod profile;
mod support;
