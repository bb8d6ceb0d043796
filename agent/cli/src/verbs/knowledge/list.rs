//! Which packs there are.

use kernelwright_packs::{Pack, PackError, built_in, load};
use serde_json::json;

use super::{home, tell_damaged};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, counted};
use crate::settings::Settings;
use crate::verbs::Context;

pub fn list(context: &Context, settings: &Settings, as_json: bool) -> Result<Exit, Failure> {
    let printer = context.printer;
    for pack in built_in()? {
        show(printer, &pack, "built in", as_json)?;
    }
    for installed in home(settings).packs()? {
        let place = installed.origin.map_or_else(|| "installed".to_owned(), |origin| format!("installed from {}", origin.source));
        match installed.pack {
            Ok(pack) => show(printer, &pack, &place, as_json)?,
            Err(error) => broken(printer, &installed.id, &error, as_json)?,
        }
        tell_damaged(printer, &installed.damaged);
    }
    for folder in &settings.packs {
        match load(folder) {
            Ok(packs) => packs.iter().try_for_each(|pack| show(printer, pack, &format!("in {}", folder.display()), as_json))?,
            Err(error) => broken(printer, &folder.display().to_string(), &error, as_json)?,
        }
    }
    Ok(Exit::Success)
}

fn show(printer: Printer, pack: &Pack, place: &str, as_json: bool) -> Result<(), Failure> {
    if as_json {
        printer.json(&json!({
            "type": "pack", "pack": pack.id, "version": pack.version, "licence": pack.licence, "description": pack.description, "vendor": pack.vendor,
            "architectures": pack.architectures, "languages": pack.languages, "entries": pack.entries.len(), "documents": pack.documents.len(),
            "place": place, "folder": pack.root,
        }))?;
    } else {
        let holds = [(pack.entries.len(), "entry"), (pack.documents.len(), "document")];
        let holds: Vec<String> = holds.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
        printer.result(format!("{:<18} {:<8} {:<24} {place}", pack.id, pack.version, holds.join(", ")))?;
        printer.result(format!("    {}", pack.description))?;
    }
    Ok(())
}

/// One that cannot be read must not hide the others.
fn broken(printer: Printer, id: &str, error: &PackError, as_json: bool) -> Result<(), Failure> {
    if as_json {
        printer.json(&json!({"type": "pack", "pack": id, "error": error.to_string(), "hint": error.hint()}))?;
    } else {
        printer.result(format!("{id:<18} cannot be read: {error}"))?;
    }
    Ok(())
}
