//! One file per verb, and what several of them need.

mod compile;
mod completions;
mod config;
mod doctor;
mod evaluate;
mod knowledge;
mod optimize;
mod profile;
mod report;
mod resume;
mod runs;
mod serve;
mod session;
mod suite;

use std::io;
use std::path::{Path, PathBuf};

use kernelwright_engine::Store;
use tokio::runtime::Runtime;

use crate::args::{Cli, ConfigVerb, RunsVerb, SuiteVerb, Verb};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Verbosity};
use crate::settings::{Flags, Recorded, Settings};
use crate::source_file;

/// What every verb gets.
pub struct Context<'a> {
    pub environment: &'a Environment,
    pub printer: Printer,
    config: Option<PathBuf>,
}

impl Context<'_> {
    /// The settings with these flags over them.
    pub fn settings(&self, flags: &Flags) -> Result<Settings, Failure> {
        self.settings_of(&Recorded::new(), flags)
    }

    /// The settings for a run that recorded these.
    fn settings_of(&self, recorded: &Recorded, flags: &Flags) -> Result<Settings, Failure> {
        Ok(Settings::resolve(self.environment, self.config.as_deref(), recorded, flags)?)
    }
}

/// Does what the command line says.
pub fn run(cli: Cli, environment: &Environment, printer: Printer) -> Result<Exit, Failure> {
    let context = Context { environment, printer, config: cli.global.config };
    if !matches!(cli.verb, Verb::Serve(_)) {
        kernelwright_server::log_to_stderr(log_filter(printer.verbosity));
    }
    match cli.verb {
        Verb::Optimize(args) => optimize::run(&context, &args),
        Verb::Resume(args) => resume::run(&context, &args),
        Verb::Runs(args) => runs::run(&context, args),
        Verb::Report(args) => report::run(&context, &args),
        Verb::Evaluate(args) => evaluate::run(&context, &args),
        Verb::Compile(args) => compile::run(&context, &args),
        Verb::Profile(args) => profile::run(&context, &args),
        Verb::Suite(args) => suite::run(&context, &args),
        Verb::Knowledge(args) => knowledge::run(&context, &args),
        Verb::Serve(args) => serve::run(&context, &args),
        Verb::Doctor(args) => doctor::run(&context, &args),
        Verb::Config(args) => config::run(&context, &args),
        Verb::Completions { shell } => completions::run(&context, shell),
    }
}

impl Verb {
    /// Whether stdout is for a program.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Optimize(args) => args.run.json,
            Self::Resume(args) => args.flags.json,
            Self::Runs(args) => match &args.verb {
                RunsVerb::List { place } | RunsVerb::Show { place, .. } => place.json,
            },
            Self::Evaluate(args) => args.json,
            Self::Compile(args) => args.json,
            Self::Profile(args) => args.json,
            Self::Suite(args) => match &args.verb {
                SuiteVerb::Run(run) => run.json,
                SuiteVerb::List { json, .. } => *json,
                SuiteVerb::Show { .. } => false,
            },
            Self::Knowledge(args) => args.verb.wants_json(),
            Self::Doctor(args) => args.json,
            Self::Config(args) => match &args.verb {
                ConfigVerb::Show { json } => *json,
            },
            Self::Report(_) | Self::Serve(_) | Self::Completions { .. } => false,
        }
    }
}

/// What is logged without `RUST_LOG`. Failures are reported by the program itself, so that a live region stays whole.
fn log_filter(verbosity: Verbosity) -> &'static str {
    match verbosity {
        Verbosity::Quiet => "off",
        Verbosity::Normal => "error",
        Verbosity::Verbose => "warn,kernelwright=info",
        Verbosity::Everything => "info,kernelwright=debug",
    }
}

/// The runtime of the verbs that wait for something.
fn runtime() -> Result<Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

/// A source file that the user named.
fn read_source(path: &Path, what: &str) -> Result<String, Failure> {
    source_file::read(path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::InvalidData => "save it as UTF-8".to_owned(),
            _ => format!("name a Python file that holds the {what}"),
        };
        Failure::new(Exit::ProblemInvalid, format!("cannot read the {what}: {error}")).at(path.display().to_string()).hint(hint)
    })
}

/// A run's folder, given its path, its name, or nothing for the newest.
fn find_run(settings: &Settings, run: Option<&str>) -> Result<PathBuf, Failure> {
    let Some(run) = run else { return Ok(Store::find_last(&settings.runs)?) };
    let named = settings.runs.join(run);
    let path = Path::new(run);
    // A name first: a folder of that name beside the runs would be a coincidence.
    Ok(if named.is_dir() || !path.exists() { named } else { path.to_path_buf() })
}
