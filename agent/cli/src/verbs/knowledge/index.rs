//! Bringing the index up to date.

use std::time::Instant;

use serde_json::json;

use super::{library, tell_passed_over};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::counted;
use crate::settings::Settings;
use crate::verbs::Context;

pub fn run(context: &Context, settings: &Settings, id: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
    let printer = context.printer;
    let library = library(settings);
    let began = Instant::now();
    let (packs, what) = if let Some(id) = id {
        (vec![library.index(id)?], format!("{id} is indexed"))
    } else {
        let packs = library.index_all()?;
        tell_passed_over(printer, &library)?;
        let what = format!("{} are indexed", counted(packs.len(), "pack"));
        (packs, what)
    };
    let milliseconds = began.elapsed().as_millis();
    if as_json {
        printer.json(&json!({"type": "indexed", "packs": packs, "milliseconds": milliseconds}))?;
    } else {
        printer.result(format!("{what}, after {milliseconds} ms"))?;
    }
    Ok(Exit::Success)
}
