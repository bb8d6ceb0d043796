//! `kernelwright report`: a run's report, made anew from its events.

use kernelwright_engine::{Run, report};

use super::{Context, find_run};
use crate::args::Report;
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(context: &Context, args: &Report) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    let run = Run::load(&find_run(&settings, args.run.as_deref())?)?;
    context.printer.verbatim(report::render(&run).trim_end())?;
    Ok(Exit::Success)
}
