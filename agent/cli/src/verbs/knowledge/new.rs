//! The beginning of a pack.

use kernelwright_packs::{Labels, begin};
use serde_json::json;

use crate::args::New;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::verbs::Context;

pub fn run(context: &Context, args: &New) -> Result<Exit, Failure> {
    let labels =
        Labels { vendor: args.labels.vendor.clone(), architectures: args.labels.arch.clone(), languages: args.labels.language.clone() };
    let written = begin(&context.environment.folder, &args.name, &labels)?;
    let printer = context.printer;
    if args.json {
        printer.json(&json!({"type": "begun", "pack": args.name, "files": written}))?;
        return Ok(Exit::Success);
    }
    for file in &written {
        printer.result(file.display())?;
    }
    let name = &args.name;
    printer.say(format!("fill in what says FILL IN, then: kernelwright knowledge check {name}, and kernelwright knowledge add {name}"));
    Ok(Exit::Success)
}
