//! The one form in which this program says that something failed: what, where, hint, and the exit code that goes with it.

use std::fmt;
use std::io;

use clap::error::ErrorKind;
use kernelwright_engine::{EngineError, StoreError};
use kernelwright_evaluate::EvaluateError;
use kernelwright_harness::HarnessError;
use kernelwright_model::ModelError;
use kernelwright_profile::ProfileError;
use kernelwright_prompts::PromptError;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::settings::SettingsError;

/// Why the process ends without its result.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    what: String,
    place: Option<String>,
    hint: Option<String>,
}

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, what: what.into(), place: None, hint: None }
    }

    /// What the parser of the command line says, without what is there for people alone.
    pub fn of_arguments(error: &clap::Error) -> Self {
        let text = error.to_string();
        let what = match error.kind() {
            // It prints the help.
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing",
            _ => text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ").trim(),
        };
        Self::new(Exit::Usage, what).hint("`--help` lists what there is")
    }

    /// Where it happened: a file with its line, a tool server, an address.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// The same for programs.
    pub fn to_json(&self) -> Value {
        json!({"type": "error", "exit_code": self.exit.code(), "what": self.what, "where": self.place, "hint": self.hint})
    }

    /// A further thing to try, on a line of its own.
    #[must_use]
    pub fn and_then(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = Some(match self.hint {
            Some(before) => format!("{before}\n{hint}"),
            None => hint,
        });
        self
    }

    /// What to try.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Several lines without a last line break; further lines of a text are set under its first.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let under = |text: &str| text.trim_end().replace('\n', "\n         ");
        write!(f, "error: {}", self.what.trim_end().replace('\n', "\n       "))?;
        if let Some(place) = &self.place {
            write!(f, "\n  where: {}", under(place))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", under(hint))?;
        }
        Ok(())
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        let exit = match error {
            SettingsError::Missing { .. } => Exit::Model,
            _ => Exit::Usage,
        };
        let failure = Self::new(exit, error.to_string()).hint(error.hint());
        match error.place() {
            Some(place) => failure.at(place),
            None => failure,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let exit = match &error {
            EngineError::Problem { .. } => Exit::ProblemInvalid,
            EngineError::ToolServer(_) | EngineError::ToolRefused { .. } => Exit::ToolServer,
            EngineError::Model(error) => model_exit(error),
            EngineError::UnknownPrice { .. } => Exit::Model,
            EngineError::Store(_) | EngineError::Log { .. } => Exit::RunFolder,
            EngineError::Prompt(_) => Exit::Usage,
            EngineError::StoppedEarly => Exit::Interrupted,
        };
        let place = match &error {
            EngineError::ToolServer(error) => Some(format!("log {}", error.log.display())),
            _ => None,
        };
        let failure = Self::new(exit, error.to_string()).hint(error.hint());
        match place {
            Some(place) => failure.at(place),
            None => failure,
        }
    }
}

fn model_exit(error: &ModelError) -> Exit {
    match error {
        ModelError::Suspended { .. } => Exit::Suspended,
        ModelError::Outage { .. } => Exit::Paused,
        _ => Exit::Model,
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::new(model_exit(&error), error.to_string()).hint(error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(Exit::RunFolder, error.to_string()).hint(error.hint())
    }
}

impl From<PromptError> for Failure {
    fn from(error: PromptError) -> Self {
        Self::new(Exit::Usage, error.to_string()).hint(error.hint())
    }
}

impl From<HarnessError> for Failure {
    fn from(error: HarnessError) -> Self {
        Self::new(Exit::ToolServer, error.to_string()).hint(error.hint())
    }
}

impl From<EvaluateError> for Failure {
    fn from(error: EvaluateError) -> Self {
        let exit = match error.code() {
            "problem_invalid" | "file_unreadable" => Exit::ProblemInvalid,
            "internal" => Exit::Unexpected,
            _ => Exit::ToolServer,
        };
        let failure = Self::new(exit, error.to_string()).hint(error.hint());
        match error.details() {
            Some(details) => failure.at(details),
            None => failure,
        }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        let exit = match &error {
            ProfileError::Problem(_) | ProfileError::Candidate(_) | ProfileError::Unreadable { .. } | ProfileError::Import(_) => {
                Exit::ProblemInvalid
            }
            ProfileError::Arguments(_)
            | ProfileError::NoSuchProfile(_)
            | ProfileError::NoSuchSection { .. }
            | ProfileError::NoSuchKernel(_)
            | ProfileError::NotForTarget { .. } => Exit::Usage,
            _ => Exit::ToolServer,
        };
        let failure = Self::new(exit, error.to_string()).hint(error.hint());
        match error.diagnostics().trim() {
            "" => failure,
            diagnostics => failure.at(diagnostics),
        }
    }
}

/// Output that cannot be written; a closed pipe is no failure and is dealt with before it becomes one.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Unexpected, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_where_and_what_to_try() {
        let failure = Failure::new(Exit::ToolServer, "no torch\nin this Python").at("one\ntwo").hint("install it");
        insta::assert_snapshot!(failure, @r"
        error: no torch
               in this Python
          where: one
                 two
          hint: install it
        ");
        insta::assert_snapshot!(Failure::new(Exit::Unexpected, "only this"), @"error: only this");
        insta::assert_snapshot!(failure.to_json(), @r#"{"type":"error","exit_code":21,"what":"no torch\nin this Python","where":"one\ntwo","hint":"install it"}"#);
    }

    #[test]
    fn every_kind_of_failure_has_its_code() {
        let exit = |error: EngineError| Failure::from(error).exit;
        let store = |error: StoreError| exit(EngineError::Store(error));
        assert_eq!(exit(EngineError::Problem { path: "p.py".into(), reason: String::new(), fix: None }), Exit::ProblemInvalid);
        assert_eq!(exit(EngineError::UnknownPrice { model: "m".into() }), Exit::Model);
        assert_eq!(store(StoreError::Locked { dir: "run".into() }), Exit::RunFolder);
        assert_eq!(store(StoreError::DiskFull { path: "run".into() }), Exit::RunFolder);
        assert_eq!(exit(EngineError::Model(ModelError::Suspended { waiting: vec![] })), Exit::Suspended);
    }
}
