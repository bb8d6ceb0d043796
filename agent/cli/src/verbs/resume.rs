//! `kernelwright resume`: a run that goes on.

use std::path::Path;

use kernelwright_engine::{Overrides, ResumeRequest, Store};
use kernelwright_protocol::{Dollars, Nanoseconds, Tokens};
use kernelwright_search::{Budget, Event, Record};

use super::{Context, find_run, session};
use crate::args::{Resume, RunFlags};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::{Recorded, parse_duration};

pub fn run(context: &Context, args: &Resume) -> Result<Exit, Failure> {
    let flags = args.flags.flags();
    let run_dir = find_run(&context.settings(&flags)?, args.run.as_deref())?;
    let history = Store::read(&run_dir)?;
    let settings = context.settings_of(&recorded_model(&history), &flags)?;
    let model = settings.model()?;
    let setup = session::setup(&settings, model)?;
    let request = ResumeRequest { run_dir, overrides: overrides(context, &args.flags, &settings.runs)?, setup };
    session::work(context, &args.flags, &history, async |progress, stop| kernelwright_engine::resume(request, progress, stop).await)
}

/// Only what this command line says: settings files hold for new runs.
fn overrides(context: &Context, flags: &RunFlags, runs: &Path) -> Result<Overrides, Failure> {
    Ok(Overrides {
        budget: Budget {
            steps: flags.steps,
            evaluations: flags.evaluations,
            tokens: flags.tokens.map(Tokens),
            dollars: flags.dollars.map(Dollars::new),
            wall: flags.wall.as_deref().and_then(parse_duration).map(Nanoseconds::from),
        },
        stall_steps: flags.stall,
        target_speedup: flags.target_speedup,
        inner_turns: flags.inner_turns,
        output: session::output(context, flags, runs)?,
    })
}

/// Provider, name and address of the model, as the run recorded them. Where the key is was not recorded and follows the usual rules.
fn recorded_model(history: &[Record]) -> Recorded {
    let settings = history.iter().rev().find_map(|record| match &record.event {
        Event::RunStarted { settings, .. } | Event::RunResumed { settings } => Some(settings),
        _ => None,
    });
    let Some(settings) = settings else { return Recorded::new() };
    let fields = [("provider", "model.provider"), ("model", "model.name"), ("url", "model.base_url"), ("path", "model.path")];
    let text = |field: &str| settings.model.get(field).and_then(serde_json::Value::as_str);
    fields.into_iter().filter_map(|(field, key)| Some((key, text(field)?.to_owned()))).collect()
}
