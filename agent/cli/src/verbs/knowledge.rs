//! `kernelwright knowledge search`: what the model would find, for people.

use kernelwright_knowledge::{BuiltIn, Library, Query};

use super::Context;
use crate::args::{Knowledge, KnowledgeVerb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Tone;
use crate::settings::{Flags, Settings};

pub fn run(context: &Context, args: Knowledge) -> Result<Exit, Failure> {
    let KnowledgeVerb::Search { query, arch, language, limit, json } = args.verb;
    let settings = context.settings(&Flags::new())?;
    let printer = context.printer;
    let query = Query { text: query.join(" "), arch, language, limit, ..Query::default() };
    let found = Library::open(library_settings(&settings))
        .search(&query)
        .map_err(|error| Failure::new(Exit::Unexpected, error.to_string()).hint(error.hint()))?;
    if json {
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

/// The library that the settings describe.
pub fn library_settings(settings: &Settings) -> kernelwright_knowledge::Settings {
    kernelwright_knowledge::Settings { built_in: BuiltIn::Included, packs: settings.packs.clone(), cache_dir: Some(settings.cache.clone()) }
}
