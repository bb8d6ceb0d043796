//! End-to-end tests over the real executable, real torch and real MCP.
#![allow(clippy::unwrap_used, missing_docs)]

mod adversarial;
mod agent;
mod around;
mod aurora;
mod bad_input;
mod bottlenecks;
mod builds;
mod captures;
mod compile;
mod demo;
mod evaluate;
mod examples;
mod jobs;
mod learning;
mod nursery;
mod profile;
mod soak;
mod suite;
mod support;
