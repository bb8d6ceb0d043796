//! Bringing the index up to date.

use std::time::Instant;

use serde_json::json;

use super::library;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::verbs::Context;

pub fn run(context: &Context, settings: &Settings, as_json: bool) -> Result<Exit, Failure> {
    let began = Instant::now();
    let packs = library(settings).packs()?;
    let milliseconds = began.elapsed().as_millis();
    let printer = context.printer;
    if as_json {
        printer.json(&json!({"type": "indexed", "packs": packs, "milliseconds": milliseconds}))?;
    } else {
        printer.result(format!("{} packs are indexed, after {milliseconds} ms", packs.len()))?;
    }
    Ok(Exit::Success)
}
