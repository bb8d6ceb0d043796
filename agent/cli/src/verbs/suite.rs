//! `kernelwright suite run`, `suite list` and `suite show`.

use std::path::{Path, PathBuf};

use kernelwright_engine::StopToken;
use kernelwright_evaluate::{BaselineChoice, Options};
use kernelwright_protocol::Nanoseconds;
use serde_json::json;

use super::{Context, runtime};
use crate::args::{Chosen, Suite as Args, SuiteRun, SuiteVerb};
use crate::built_in::{evaluate_settings, executable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::{Printer, Tone, clean};
use crate::progress::Announcer;
use crate::settings::{Settings, parse_duration};
use crate::suite::log::Log;
use crate::suite::run::{Event, Halt, Plan, Task};
use crate::suite::seats::seats;
use crate::suite::source::{Source, SourceError};
use crate::suite::summary::{Summary, reason};
use crate::suite::{Suite, run as runner};

/// What `suite list` says without a suite.
const SUITES: [(&str, &str); 3] = [
    ("aten", "one problem per ATen operator, generated from PyTorch's OpInfo database"),
    ("kernelbench:PATH", "KernelBench's levels 1 to 3: its repository, the folder with its levels, or one of them"),
    ("PATH...", "problem files of your own, or folders of them"),
];

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    match &args.verb {
        SuiteVerb::Run(args) => evaluate(context, args),
        SuiteVerb::List { chosen, json } => list(context, chosen, *json),
        SuiteVerb::Show { problem, python } => show(context, problem, python.as_ref()),
    }
}

fn list(context: &Context, chosen: &Chosen, as_json: bool) -> Result<Exit, Failure> {
    let printer = context.printer;
    if chosen.suite.is_empty() {
        for (suite, about) in SUITES {
            if as_json {
                printer.json(&json!({"suite": suite, "about": about}))?;
            } else {
                printer.result(format!("{suite:<19}{about}"))?;
            }
        }
        return Ok(Exit::Success);
    }
    let suite = load(context, chosen, &context.settings(&chosen.flags())?)?;
    for problem in &suite.problems {
        if as_json {
            printer.json(&json!({"suite": suite.name, "name": problem.name, "path": problem.path}))?;
        } else {
            printer.result(&problem.name)?;
        }
    }
    let whole = chosen.filter.is_empty() && chosen.limit.is_none();
    if whole && !suite.excluded.is_empty() {
        printer.say(format!("{} problems; left out:", suite.problems.len()));
    }
    for (name, reason) in suite.excluded.iter().filter(|_| whole) {
        printer.say(printer.on_stderr(Tone::Faint, &format!("  {name}: {reason}")));
    }
    Ok(Exit::Success)
}

fn show(context: &Context, problem: &str, python: Option<&String>) -> Result<Exit, Failure> {
    let (suite, name) = problem.rsplit_once(':').ok_or_else(|| {
        Failure::new(Exit::Usage, format!("`{problem}` names no problem of a suite")).hint("name SUITE:PROBLEM, e.g. aten:softmax")
    })?;
    let chosen = Chosen { suite: vec![suite.to_owned()], filter: vec![format!("={name}")], limit: None, python: python.cloned() };
    let suite = load(context, &chosen, &context.settings(&chosen.flags())?)?;
    for problem in &suite.problems {
        let unreadable = |reason: &String| Failure::new(Exit::ProblemInvalid, reason).hint("name a file that holds a problem");
        context.printer.verbatim(problem.source.as_ref().map_err(unreadable)?.trim_end())?;
    }
    Ok(Exit::Success)
}

/// The chosen problems; at least one.
fn load(context: &Context, chosen: &Chosen, settings: &Settings) -> Result<Suite, Failure> {
    if chosen.suite.is_empty() {
        return Err(
            Failure::new(Exit::Usage, "no suite is named").hint("name `aten`, `kernelbench:PATH`, problem files or folders of them")
        );
    }
    let source = Source::parse(&chosen.suite, &context.environment.folder)?;
    let generating = || context.printer.say("generating the suite, which takes about a minute the first time");
    let mut suite = source.load(settings.evaluate.python.as_deref(), &settings.cache, generating)?;
    let fits = |name: &str, filter: &String| match filter.strip_prefix('=') {
        Some(whole) => name == whole,
        None => name.contains(filter.as_str()),
    };
    suite.problems.retain(|problem| chosen.filter.is_empty() || chosen.filter.iter().any(|filter| fits(&problem.name, filter)));
    suite.problems.truncate(chosen.limit.unwrap_or(usize::MAX));
    if suite.problems.is_empty() {
        let what = format!("the suite {} has no problem that fits", suite.name);
        return Err(Failure::new(Exit::Usage, what).hint("`kernelwright suite list SUITE` lists its problems"));
    }
    Ok(suite)
}

fn evaluate(context: &Context, args: &SuiteRun) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    let printer = context.printer;
    let (plan, tasks) = plan(context, args, &settings, load(context, &args.chosen, &settings)?)?;
    let path = match &args.output {
        Some(path) => context.environment.folder.join(path),
        None => settings.runs.join("suites").join(format!("{}-{}.jsonl", plan.suite, plan.target.to_string().replace(':', "-"))),
    };
    let mut log = Log::open(&path)?;
    let keys: Vec<String> = tasks.iter().map(|task| task.key.clone()).collect();
    let limit = Nanoseconds::from(plan.limit);
    let is_done = |task: &Task| log.known(&task.key).is_some_and(|entry| !entry.ending.is_tried_again(limit));
    let mut left: Vec<Task> = tasks.into_iter().filter(|task| args.fresh || !is_done(task)).collect();
    if !args.fresh {
        // What failed before comes last: it may fail again, and in a row end the run before the rest is reached.
        left.sort_by_key(|task| log.known(&task.key).is_some());
    }
    let mut teller = Teller { printer, json: args.json, done: keys.len() - left.len(), all: keys.len() };
    if teller.done > 0 {
        printer.say(format!("{} of {} are in {} already", teller.done, teller.all, path.display()));
    }
    if args.json {
        for entry in keys.iter().filter(|key| left.iter().all(|task| task.key != **key)).filter_map(|key| log.known(key)) {
            printer.json(entry)?;
        }
    }
    let runtime = runtime()?;
    let stop = StopToken::new();
    let ended = if left.is_empty() {
        Ok(None)
    } else {
        runtime.block_on(async {
            interrupt::watch(stop.clone(), Announcer::of(printer))?;
            let seats = seats(&settings, plan.options.measure, args.jobs, left.len()).await?;
            let ended = runner::run(&plan, left, seats, &mut log, &stop, |event| teller.tell(event)).await;
            Ok::<_, Failure>(ended)
        })?
    };
    runtime.shutdown_background();
    let summary = Summary::of(&plan.suite, keys.len(), keys.iter().filter_map(|key| log.known(key)));
    let is_unread = matches!(ended, Err(Halt::Unread(_)));
    if is_unread {
        // Nor would the summary be read.
    } else if args.json {
        printer.json(&summary)?;
    } else {
        printer.say("");
        printer.result(clean(&summary.text()))?;
    }
    printer.say(format!("log: {}", path.display()));
    let then = if args.fresh { "what was done is kept: `--fresh` begins again" } else { "what was done is kept: the same command goes on" };
    match ended {
        Ok(Some(error)) if summary.is_all_evaluator_failed() => Err(Failure::from(error).and_then(then)),
        Ok(_) => Ok(if summary.is_all_correct() { Exit::Success } else { Exit::NotCorrect }),
        Err(Halt::Interrupted) => {
            printer.say(format!("interrupted; {then}"));
            Ok(Exit::Interrupted)
        }
        Err(Halt::Failed { name, error }) => Err(Failure::from(*error).and_then(format!("it showed at {name}; {then}"))),
        Err(Halt::Repeated { times, error }) => {
            Err(Failure::from(*error).and_then(format!("it was the same on {times} problems in a row; {then}")))
        }
        Err(Halt::Log(error)) => Err(error.into()),
        Err(Halt::Unread(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Unread),
        Err(Halt::Unread(error)) => Err(error.into()),
    }
}

fn plan(context: &Context, args: &SuiteRun, settings: &Settings, suite: Suite) -> Result<(Plan, Vec<Task>), Failure> {
    let evaluate = &settings.evaluate;
    let limit = parse_duration(&args.problem_limit).ok_or_else(|| {
        Failure::new(Exit::Usage, format!("--problem-limit {} is no time", args.problem_limit)).hint("write it as 90s, 15m or 2h")
    })?;
    let plan = Plan {
        suite: suite.name,
        candidates: args.candidates.as_ref().map(|folder| existing(&context.environment.folder.join(folder))).transpose()?,
        target: evaluate.target,
        options: Options {
            trials: evaluate.trials,
            baselines: BaselineChoice::of(&evaluate.baselines).unwrap_or(BaselineChoice::All),
            measure: !args.rules.no_timing,
            tf32: evaluate.tf32,
            pairs: evaluate.pairs,
            limits: Some(evaluate_settings(settings, executable()?).limits),
            ..Options::default()
        },
        threads: evaluate.threads,
        judge: settings.judge_name(&executable()?)?,
        limit,
    };
    let tasks = suite.problems.into_iter().map(|problem| plan.task(problem)).collect();
    Ok((plan, tasks))
}

fn existing(folder: &Path) -> Result<PathBuf, Failure> {
    if folder.is_dir() {
        return Ok(folder.to_path_buf());
    }
    let failure = Failure::new(Exit::Usage, "there is no such folder of candidates").at(folder.display().to_string());
    Err(failure.hint("name a folder that holds NAME.py for problems called NAME"))
}

/// Says what was done, line by line.
struct Teller {
    printer: Printer,
    json: bool,
    done: usize,
    all: usize,
}

impl Teller {
    fn tell(&mut self, event: Event<'_>) -> std::io::Result<()> {
        let entry = match event {
            Event::Done(entry) => entry,
            Event::Again(count) => {
                self.printer.say(format!("{count} found no memory beside others on the same device: done again, one at a time"));
                return Ok(());
            }
        };
        self.done += 1;
        let status = entry.ending.status();
        let tone = if status == "correct" { Tone::Plain } else { Tone::Bad };
        let said = self.printer.on_stderr(tone, &reason(&entry.ending));
        let width = self.all.to_string().len();
        self.printer.say(format!("{:>width$}/{}  {}: {said}  [{}]", self.done, self.all, entry.name, wall(entry.wall_ns)));
        if self.json { self.printer.try_json(entry) } else { Ok(()) }
    }
}

fn wall(wall: Nanoseconds) -> String {
    format!("{:.1} s", wall.seconds())
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let exit = match error {
            SourceError::Unknown(_) | SourceError::Together(_) | SourceError::Empty(_) => Exit::Usage,
            SourceError::Unreadable { .. } => Exit::ProblemInvalid,
            SourceError::Harness(_) | SourceError::Generated(_) => Exit::ToolServer,
        };
        Self::new(exit, error.to_string()).hint(error.hint())
    }
}

impl From<crate::suite::log::LogError> for Failure {
    fn from(error: crate::suite::log::LogError) -> Self {
        Self::new(Exit::RunFolder, error.to_string()).hint("name another file with --output, or make room on the disk")
    }
}
