//! Installing packs and fetching them again.

use std::path::Path;
use std::time::{Duration, Instant};

use kernelwright_packs::{Added, Labels, Origin, PdfReader, Progress};
use serde_json::json;

use super::{home, library};
use crate::args::Add;
use crate::built_in::executable;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone, Verbosity, counted};
use crate::settings::Settings;
use crate::verbs::Context;

/// How often a person is told how far it is.
const BEAT: Duration = Duration::from_millis(500);

/// How many left-out files and problems are named unless the user wants all.
const NAMED: usize = 5;

pub fn add(context: &Context, settings: &Settings, args: &Add) -> Result<Exit, Failure> {
    let labels =
        Labels { vendor: args.labels.vendor.clone(), architectures: args.labels.arch.clone(), languages: args.labels.language.clone() };
    let origin = Origin { source: followable(&args.source, &context.environment.folder), id: args.id.clone(), labels };
    let mut teller = Teller::new(context.printer);
    let added = home(settings).add(&origin, &PdfReader::new(executable()?), &mut |progress| teller.tell(progress))?;
    tell(context.printer, "added", &added, args.json)?;
    indexed(context.printer, settings, &added.pack.id);
    Ok(Exit::Success)
}

pub fn update(context: &Context, settings: &Settings, id: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
    let home = home(settings);
    let ids = match id {
        Some(id) => vec![id.to_owned()],
        None => home.packs()?.into_iter().filter(|pack| pack.origin.is_some()).map(|pack| pack.id).collect(),
    };
    if ids.is_empty() {
        context.printer.say(format!("no pack in {} can be fetched again", home.folder().display()));
    }
    let all = ids.len();
    let mut failed = Vec::new();
    for id in ids {
        let mut teller = Teller::new(context.printer);
        match home.update(&id, &PdfReader::new(executable()?), &mut |progress| teller.tell(progress)) {
            Ok(added) => {
                tell(context.printer, "updated", &added, as_json)?;
                indexed(context.printer, settings, &id);
            }
            Err(error) if all == 1 => return Err(error.into()),
            // The others can do without it.
            Err(error) => failed.push(format!("{id}: {error}")),
        }
    }
    if failed.is_empty() {
        return Ok(Exit::Success);
    }
    let what = format!("{} of {all} packs could not be fetched again: {}", failed.len(), failed.join("; "));
    Err(Failure::new(Exit::Pack, what).hint("`kernelwright knowledge update ID` says more of one; all others are up to date"))
}

/// A path that can be followed from anywhere; an address as it is.
fn followable(source: &str, folder: &Path) -> String {
    let is_address = source.contains("://") || source.starts_with("git@");
    if is_address { source.to_owned() } else { folder.join(source).display().to_string() }
}

/// What has been done: one line as the result, what people should know beside it.
fn tell(printer: Printer, what: &str, added: &Added, as_json: bool) -> Result<(), Failure> {
    let Added { pack, skipped, problems } = added;
    if as_json {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        printer.json(&json!({
            "type": what, "pack": pack.id, "version": pack.version, "entries": pack.entries.len(), "documents": pack.documents.len(),
            "folder": pack.root, "skipped": skipped, "problems": problems,
        }))?;
        return Ok(());
    }
    let named = |lines: Vec<String>, hint: &str| {
        let shown = if printer.verbosity > Verbosity::Normal { lines.len() } else { NAMED.min(lines.len()) };
        for line in &lines[..shown] {
            printer.say(printer.on_stderr(Tone::Faint, &format!("  {line}")));
        }
        if shown < lines.len() {
            printer.say(printer.on_stderr(Tone::Faint, &format!("  and {} more{hint}", lines.len() - shown)));
        }
    };
    if !skipped.is_empty() {
        printer.say(format!("left out {}:", counted(skipped.len(), "file")));
        named(skipped.iter().map(ToString::to_string).collect(), " (-v names them)");
    }
    if !problems.is_empty() {
        printer.say(format!("to be corrected by its author, {}:", counted(problems.len(), "problem")));
        named(problems.iter().map(ToString::to_string).collect(), " (`kernelwright knowledge check` names them)");
    }
    let parts = [counted(pack.entries.len(), "entry"), counted(pack.documents.len(), "document")];
    printer.result(format!("{what} {}: {}", pack.id, parts.join(", ")))?;
    Ok(())
}

/// Indexes a pack at once, so that the first question does not wait. It is installed whether or not that works.
fn indexed(printer: Printer, settings: &Settings, id: &str) {
    if let Err(error) = library(settings).index(id) {
        printer.say(printer.on_stderr(Tone::Careful, &format!("not indexed yet: {error}\n  hint: {}", error.hint())));
    }
}

/// Progress on stderr, a line now and then.
struct Teller {
    printer: Printer,
    last: Instant,
}

impl Teller {
    fn new(printer: Printer) -> Self {
        Self { printer, last: Instant::now() }
    }

    fn tell(&mut self, progress: Progress<'_>) {
        let line = match progress {
            Progress::Fetching { address } => format!("fetching {address}"),
            Progress::Unpacking => "unpacking".to_owned(),
            Progress::Reading { done, total, path } => {
                if self.last.elapsed() < BEAT {
                    return;
                }
                format!("reading {} of {total}: {path}", done + 1)
            }
        };
        self.last = Instant::now();
        self.printer.say(self.printer.on_stderr(Tone::Faint, &line));
    }
}
