//! `kernelwright completions`: a script for the shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Context;
use crate::args::Cli;
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(context: &Context, shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kernelwright", &mut script);
    context.printer.verbatim(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Success)
}
