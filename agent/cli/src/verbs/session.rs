//! What `optimize` and `resume` have in common: the way from a request to a summary.

use std::path::{Path, PathBuf};

use kernelwright_engine::{EngineError, Outcome, Setup, StopToken};
use kernelwright_model::ClientSettings;
use kernelwright_search::Record;

use super::{Context, runtime};
use crate::args::RunFlags;
use crate::built_in::executable;
use crate::continuation;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Verbosity;
use crate::progress::{Progress, Stdout};
use crate::settings::Settings;
use crate::summary;

/// What the engine works with.
pub fn setup(settings: &Settings, model: ClientSettings) -> Result<Setup, Failure> {
    Ok(Setup { model, servers: settings.servers(&executable()?)?, prompts_dir: settings.prompts.clone() })
}

/// Where the best kernel is also to be written, wherever the run is resumed from. A place for no file is refused before anything is spent.
pub fn output(context: &Context, flags: &RunFlags, runs: &Path) -> Result<Option<PathBuf>, Failure> {
    let Some(path) = flags.output.as_ref().map(|path| context.environment.folder.join(path)) else { return Ok(None) };
    let refuse = |what: &str, hint: &str| {
        Err(Failure::new(Exit::Usage, format!("--output cannot be written: {what}")).at(path.display().to_string()).hint(hint))
    };
    if path.is_dir() {
        return refuse("it is a folder", "name a file in it");
    }
    // The run makes the folder of runs itself.
    let is_there = |folder: &Path| folder.is_dir() || folder == context.environment.folder.join(runs);
    if !path.parent().is_some_and(is_there) {
        return refuse("its folder is not there", "make the folder, or name a file in another one");
    }
    Ok(Some(path))
}

/// Runs the engine under the eyes of the user, and says how it ended.
pub fn work(
    context: &Context,
    flags: &RunFlags,
    history: &[Record],
    engine: impl AsyncFnOnce(&mut Progress, StopToken) -> Result<Outcome, EngineError>,
) -> Result<Exit, Failure> {
    let printer = context.printer;
    let runtime = runtime()?;
    let stop = StopToken::new();
    let stdout = if flags.json { Stdout::Records } else { Stdout::Summary };
    let mut progress = Progress::new(printer, stdout, history, stop.clone());
    let outcome = runtime.block_on(async {
        interrupt::watch(stop.clone(), progress.announcer())?;
        let outcome = engine(&mut progress, stop).await;
        progress.finish();
        outcome.map_err(Failure::from)
    });
    // A question to the model or a server that hangs must not keep the process.
    runtime.shutdown_background();
    let mut unrecorded = flags.unrecorded();
    unrecorded.extend(context.config.as_ref().map(|path| ("--config", path.display().to_string())));
    let outcome = outcome.map_err(|failure| match progress.dir() {
        // An invalid problem stays invalid; everything else may be mended and the run gone on with.
        Some(dir) if failure.exit != Exit::ProblemInvalid => {
            failure.and_then(format!("the run is kept: {}", continuation::command(dir, &unrecorded, progress.graph())))
        }
        _ => failure,
    })?;
    match (stdout, printer.verbosity) {
        // Whoever read the records may have left, which is no failure.
        (Stdout::Records, _) => drop(printer.try_json(&summary::json(&outcome))),
        (Stdout::Summary, Verbosity::Quiet) => {
            if let Some(best) = &outcome.best {
                printer.result(best.path.display())?;
            }
        }
        (Stdout::Summary, _) => {
            printer.say("");
            let go_on = continuation::command(&outcome.dir, &unrecorded, progress.graph());
            printer.result(summary::text(&outcome, &go_on, printer))?;
        }
    }
    Ok(summary::exit(&outcome))
}
