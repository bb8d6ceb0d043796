//! `kernelwright knowledge`: what the model would find, for people, and packs of their own.

mod add;
mod check;
mod eval;
mod index;
mod lessons;
mod list;
mod new;
mod search;

use kernelwright_knowledge::{LessonError, Library, LibraryError};
use kernelwright_packs::{Home, HomeError, PackError, Problem, export_built_in};
use serde_json::json;

use super::Context;
use crate::args::{Knowledge, KnowledgeVerb};
use crate::built_in::library_settings;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};
use crate::settings::Settings;

pub fn run(context: &Context, args: &Knowledge) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    match &args.verb {
        KnowledgeVerb::Search(args) => search::search(context, &settings, args),
        KnowledgeVerb::Read { entry, json } => search::read(context, &settings, entry, *json),
        KnowledgeVerb::List { json } => list::list(context, &settings, *json),
        KnowledgeVerb::Add(args) => add::add(context, &settings, args),
        KnowledgeVerb::Update { id, json } => add::update(context, &settings, id.as_deref(), *json),
        KnowledgeVerb::Remove { id, json } => remove(context, &settings, id, *json),
        KnowledgeVerb::New(args) => new::run(context, args),
        KnowledgeVerb::Check { paths, built_in, json } => check::run(context, paths, *built_in, *json),
        KnowledgeVerb::Export { id, archive, json } => export(context, &settings, id, archive, *json),
        KnowledgeVerb::Eval { questions, pack, json } => eval::run(context, &settings, questions, pack.as_deref(), *json),
        KnowledgeVerb::Lessons(args) => lessons::run(context, &settings, args),
        KnowledgeVerb::Index { id, json } => index::run(context, &settings, id.as_deref(), *json),
    }
}

fn library(settings: &Settings) -> Library {
    Library::open(library_settings(settings))
}

/// Names the installed packs that are passed over, and the files of others that are.
fn tell_passed_over(printer: Printer, library: &Library) -> Result<(), Failure> {
    for pack in library.unreadable()? {
        printer.say(printer.on_stderr(Tone::Careful, &format!("passed over, because it cannot be read: {pack}")));
    }
    tell_damaged(printer, &library.damaged()?);
    Ok(())
}

/// Names the files of installed packs that are passed over.
fn tell_damaged(printer: Printer, damaged: &[Problem]) {
    for problem in damaged {
        printer.say(printer.on_stderr(Tone::Careful, &format!("passed over, because it is damaged: {problem}")));
    }
}

fn home(settings: &Settings) -> Home {
    Home::at(&settings.pack_home)
}

fn remove(context: &Context, settings: &Settings, id: &str, as_json: bool) -> Result<Exit, Failure> {
    home(settings).remove(id)?;
    let printer = context.printer;
    if let Err(error) = library(settings).forget_index(id) {
        printer.say(printer.on_stderr(Tone::Careful, &format!("its index is still in {}: {error}", settings.cache.display())));
    }
    if as_json {
        printer.json(&json!({"type": "removed", "pack": id}))?;
    } else {
        printer.result(format!("removed {id}"))?;
    }
    Ok(Exit::Success)
}

fn export(context: &Context, settings: &Settings, id: &str, archive: &std::path::Path, as_json: bool) -> Result<Exit, Failure> {
    match home(settings).export(id, archive) {
        Err(unknown @ HomeError::Unknown { .. }) => match export_built_in(id, archive) {
            Some(exported) => exported?,
            None => return Err(unknown.into()),
        },
        exported => exported?,
    }
    let printer = context.printer;
    if as_json {
        printer.json(&json!({"type": "exported", "pack": id, "archive": archive}))?;
    } else {
        printer.result(archive.display())?;
    }
    Ok(Exit::Success)
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        let exit = match &error {
            HomeError::Id(_) | HomeError::Unknown { .. } | HomeError::Source(_) => Exit::Usage,
            _ => Exit::Pack,
        };
        Self::new(exit, error.to_string()).hint(error.hint())
    }
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::new(Exit::Pack, format!("{error}{cause}")).hint(error.hint())
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        match &error {
            LibraryError::UnknownPack { known, .. } => {
                Self::new(Exit::Usage, error.to_string()).hint(format!("there are {}", known.join(", ")))
            }
            LibraryError::UnknownEntry { .. } | LibraryError::UnknownLabel { .. } => {
                Self::new(Exit::Usage, error.to_string()).hint(error.hint())
            }
            _ => Self::new(Exit::Pack, error.to_string()).hint(error.hint()),
        }
    }
}

impl From<LessonError> for Failure {
    fn from(error: LessonError) -> Self {
        Self::new(Exit::Pack, error.to_string()).hint(error.hint())
    }
}
