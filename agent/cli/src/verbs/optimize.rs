//! `kernelwright optimize`: a new run.

use kernelwright_engine::{ProblemSource, RunRequest};

use super::{Context, read_source, session};
use crate::args::Optimize;
use crate::exit::Exit;
use crate::failure::Failure;

pub fn run(context: &Context, args: &Optimize) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    let source = read_source(&args.problem, "problem")?;
    let model = settings.model()?;
    let name = args.problem.file_stem().map_or_else(|| "problem".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let request = RunRequest {
        problem: ProblemSource { path: args.problem.clone(), name, source },
        target: settings.evaluate.target,
        budget: settings.budget.clone(),
        stop_rules: settings.stop.clone(),
        policy: settings.policy.clone(),
        inner_turns: settings.inner_turns,
        seeds: settings.seeds,
        profile_share: settings.profile_share,
        baselines: settings.evaluate.baselines.clone(),
        evaluation: settings.evaluation_options(),
        runs_dir: settings.runs.clone(),
        output: session::output(context, &args.run, &settings.runs)?,
        setup: session::setup(&settings, model)?,
    };
    session::work(context, &args.run, &[], async |progress, stop| kernelwright_engine::optimize(request, progress, stop).await)
}
