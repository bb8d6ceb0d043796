//! `kernelwright config show`: every setting, its value, and who says so. Never a key: tables show the names of their members only.

use serde_json::{Value, json};

use super::Context;
use crate::args::{Config, ConfigVerb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Tone;
use crate::settings::{Flags, KEYS, Setting, Settings, Value as Set, sections};

pub fn run(context: &Context, args: &Config) -> Result<Exit, Failure> {
    let ConfigVerb::Show { json } = args.verb;
    let settings = context.settings(&Flags::new())?;
    if json {
        context.printer.json(&as_json(&settings))?;
    } else {
        as_text(context, &settings)?;
    }
    Ok(Exit::Success)
}

/// Everything there is to set, in the order of the table, then the user's servers.
fn all(settings: &Settings) -> Vec<(String, Option<&Setting>, &'static str)> {
    let layers = settings.layers();
    let keys = KEYS.iter().map(|key| (key.name.to_owned(), layers.get(key.name), key.help));
    let servers = layers.below("servers.").map(|(name, setting)| (format!("servers.{name}"), Some(setting), "a tool server"));
    keys.chain(servers).collect()
}

/// A value as people may pass it on: addresses without a password or a key in them. Nothing can be reached by such an address, but it is easily written.
fn shown(value: &Set) -> Set {
    match value {
        Set::Text(text) if text.contains("://") => Set::Text(kernelwright_model::without_secrets(text)),
        other => other.clone(),
    }
}

fn as_text(context: &Context, settings: &Settings) -> Result<(), Failure> {
    let printer = context.printer;
    for section in sections() {
        let members: Vec<_> = all(settings).into_iter().filter(|(name, ..)| name.split('.').next() == Some(section)).collect();
        if members.is_empty() {
            continue;
        }
        printer.result(printer.on_stdout(Tone::Strong, &format!("[{section}]")))?;
        for (name, setting, help) in members {
            let name = &name[section.len() + 1..];
            match setting {
                Some(setting) => {
                    let origin = printer.on_stdout(Tone::Faint, &format!("# {}", setting.origin));
                    printer.result(format!("{:<40} {origin}", format!("{name} = {}", shown(&setting.value).to_toml())))?;
                }
                None => printer.result(printer.on_stdout(Tone::Faint, &format!("{:<40} # not set: {help}", format!("# {name}"))))?,
            }
        }
    }
    Ok(())
}

fn as_json(settings: &Settings) -> Value {
    let one = |(name, setting, help): (String, Option<&Setting>, &str)| {
        let (value, origin) = setting.map(|setting| (shown(&setting.value).to_json(), setting.origin.to_string())).unzip();
        (name, json!({"value": value, "origin": origin, "help": help}))
    };
    all(settings).into_iter().map(one).collect::<serde_json::Map<_, _>>().into()
}
