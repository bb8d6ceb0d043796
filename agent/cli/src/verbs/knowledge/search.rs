//! Finding passages and reading entries.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use kernelwright_knowledge::{Library, LibraryError, Query};
use kernelwright_protocol::Passages;

use super::{library, tell_passed_over};
use crate::args::Search;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};
use crate::settings::Settings;
use crate::verbs::Context;

/// How long a person waits for an index that another process makes before hearing of it.
const PATIENCE: Duration = Duration::from_secs(1);

pub fn search(context: &Context, settings: &Settings, args: &Search) -> Result<Exit, Failure> {
    let printer = context.printer;
    let query = Query {
        text: args.query.join(" "),
        vendor: args.vendor.clone(),
        arch: args.arch.clone(),
        language: args.language.clone(),
        kind: args.kind,
        bottleneck: args.bottleneck,
        phase: args.phase,
        pack: args.pack.clone(),
        limit: args.limit,
        ..Query::default()
    };
    let library = library(settings);
    let found = patiently(printer, &library, &query)?;
    tell_passed_over(printer, &library)?;
    if args.json {
        printer.json(&found)?;
        return Ok(Exit::Success);
    }
    if found.passages.is_empty() {
        printer.say("nothing found");
    }
    for (index, passage) in found.passages.iter().enumerate() {
        if index > 0 {
            printer.result("")?;
        }
        let place = format!("{} ({}, {}:{})", passage.heading, passage.kind.as_str(), passage.entry, passage.start_line);
        printer.result(printer.on_stdout(Tone::Strong, &place))?;
        printer.result(passage.text.trim_end())?;
    }
    Ok(Exit::Success)
}

/// Searches, and says what for when it waits for another process.
fn patiently(printer: Printer, library: &Library, query: &Query) -> Result<Passages, LibraryError> {
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                if let Some(pack) = library.waits_for() {
                    return printer.say(printer.on_stderr(Tone::Faint, &format!("waiting for another process, which is indexing {pack}")));
                }
            }
        });
        let found = library.search(query);
        drop(done);
        found
    })
}

/// The whole text, however many pages it has.
pub fn read(context: &Context, settings: &Settings, id: &str, as_json: bool) -> Result<Exit, Failure> {
    let library = library(settings);
    let mut entry = library.read(id, 0)?;
    while let Some(offset) = entry.next_offset {
        let page = library.read(id, offset as usize)?;
        entry.text.push_str(&page.text);
        entry.next_offset = page.next_offset;
    }
    let printer = context.printer;
    if as_json {
        printer.json(&entry)?;
        return Ok(Exit::Success);
    }
    printer.result(printer.on_stdout(Tone::Strong, &format!("{} ({}, {})", entry.title, entry.kind.as_str(), entry.id)))?;
    printer.result(entry.text.trim_end())?;
    for source in &entry.sources {
        printer.result(printer.on_stdout(Tone::Faint, &format!("source: {source}")))?;
    }
    Ok(Exit::Success)
}
