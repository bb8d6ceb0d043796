//! The `kernelwright` executable: arguments, settings, progress and exit codes, over the engine and the tool servers.

mod args;
mod built_in;
mod continuation;
mod environment;
mod exit;
mod failure;
mod interrupt;
mod judge;
mod printer;
mod progress;
mod settings;
mod source_file;
mod suite;
mod summary;
mod verbs;

use std::process::ExitCode;

use clap::Parser as _;
use kernelwright_harness::sandbox;
use kernelwright_packs::{PDF_VERB, print_pdf};

use crate::args::Cli;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Verbosity};

fn main() -> ExitCode {
    // Before anything else: the sandbox has to be set up while there is one thread.
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(verb) if verb == sandbox::VERB => sandbox::enter(args),
        Some(verb) if verb == PDF_VERB => return print_pdf(args),
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let environment = Environment::read();
    let verbosity = match (cli.global.quiet, cli.global.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, 1) => Verbosity::Verbose,
        (false, _) => Verbosity::Everything,
    };
    let printer = Printer::new(&environment, verbosity);
    let wants_json = cli.verb.wants_json();
    match verbs::run(cli, &environment, printer) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            printer.error(&failure);
            if wants_json {
                // The same for programs; nobody may be reading any more, which is then all there is to say.
                let _ = printer.try_json(&failure.to_json());
            }
            failure.exit.into()
        }
    }
}

/// Help and version are results; anything else is a mistake, which programs are told of as of any other.
fn refuse(error: &clap::Error) -> ExitCode {
    // A reader who has left is told nothing.
    let _ = error.print();
    let mut words = std::env::args_os().take_while(|word| word != "--");
    if error.use_stderr() && words.any(|word| word == "--json") {
        let printer = Printer::new(&Environment::read(), Verbosity::Normal);
        let _ = printer.try_json(&Failure::of_arguments(error).to_json());
    }
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Success.into() }
}
