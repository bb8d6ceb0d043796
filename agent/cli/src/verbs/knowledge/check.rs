//! What is wrong with packs, before others see them.

use std::path::PathBuf;

use kernelwright_packs::{Problem, check, check_built_in};
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::counted;
use crate::verbs::Context;

pub fn run(context: &Context, paths: &[PathBuf], built_in: bool, as_json: bool) -> Result<Exit, Failure> {
    let mut problems: Vec<Problem> = if built_in { check_built_in() } else { vec![] };
    for path in paths {
        problems.extend(check(path)?);
    }
    let printer = context.printer;
    for problem in &problems {
        if as_json {
            printer.json(&json!({"type": "problem", "path": problem.path, "line": problem.line, "what": problem.fault.to_string()}))?;
        } else {
            printer.result(problem)?;
        }
    }
    if problems.is_empty() {
        printer.say("nothing to correct");
        return Ok(Exit::Success);
    }
    printer.say(format!(
        "{}; `kernelwright knowledge new NAME` writes a pack of the right form to compare with",
        counted(problems.len(), "problem")
    ));
    Ok(Exit::PackProblems)
}
