//! The engine against a real tool server process, with recorded model answers.

#![expect(clippy::unwrap_used, reason = "what the tests share may fail like they do")]

mod bench;
mod conversation;
mod faults;
mod learning;
mod resume;
mod run;
