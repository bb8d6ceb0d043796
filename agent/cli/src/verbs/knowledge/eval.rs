//! How well questions whose answers are known are answered.

use std::path::Path;

use kernelwright_knowledge::{EvalError, eval};

use super::library;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::verbs::Context;

pub fn run(context: &Context, settings: &Settings, questions: &Path, pack: Option<&str>, as_json: bool) -> Result<Exit, Failure> {
    let library = library(settings);
    let report = eval(&library, questions, pack)?;
    if as_json {
        context.printer.json(&report)?;
    } else {
        context.printer.result(report)?;
    }
    Ok(Exit::Success)
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        let exit = match &error {
            EvalError::Library(_) => Exit::Pack,
            _ => Exit::Usage,
        };
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::new(exit, format!("{error}{cause}")).hint(error.hint())
    }
}
