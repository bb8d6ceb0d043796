//! The library and its server: questions over the built-in packs, packs of a user, and the tools as a client sees them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod documents;
mod packs;
mod questions;
