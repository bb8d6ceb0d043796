//! `kernelwright runs list` and `runs show`.

use kernelwright_engine::{Run, Store};
use kernelwright_search::Graph;
use serde_json::{Value, json};

use super::{Context, find_run};
use crate::args::{RunPlace, Runs, RunsVerb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::counted;
use crate::progress::verdict;
use crate::summary;

pub fn run(context: &Context, args: Runs) -> Result<Exit, Failure> {
    match args.verb {
        RunsVerb::List { place } => list(context, &place),
        RunsVerb::Show { run, place } => show(context, run.as_deref(), &place),
    }
}

fn list(context: &Context, place: &RunPlace) -> Result<Exit, Failure> {
    let settings = context.settings(&place.flags())?;
    let printer = context.printer;
    let runs = Store::list(&settings.runs)?;
    if runs.is_empty() {
        printer.say(format!("no runs in {}", settings.runs.display()));
    }
    for dir in runs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match Run::load(&dir) {
            Ok(run) if place.json => printer.json(&brief(&run))?,
            Ok(run) => {
                let best = run.graph.best().and_then(|best| best.evaluation.fitness());
                let best = best.map_or_else(|| "-".to_owned(), |speedup| format!("{speedup:.2}x"));
                let steps = counted(run.graph.spend.steps as usize, "step");
                printer.result(format!("{name:<44} {:<12} {best:>9}  {steps}", state(&run.graph)))?;
            }
            // One unreadable run must not hide the others.
            Err(error) if place.json => printer.json(&json!({"run": name, "dir": dir, "error": error.to_string()}))?,
            Err(error) => printer.result(format!("{name:<44} unreadable: {error}"))?,
        }
    }
    Ok(Exit::Success)
}

fn show(context: &Context, run: Option<&str>, place: &RunPlace) -> Result<Exit, Failure> {
    let settings = context.settings(&place.flags())?;
    let run = Run::load(&find_run(&settings, run)?)?;
    let printer = context.printer;
    if place.json {
        let mut value = brief(&run);
        value["nodes"] = run.graph.nodes().iter().map(|node| node_json(&run.graph, node)).collect();
        value["seeds"] = graph_seeds(&run.graph);
        value["notes"] = run.graph.notes().iter().map(|note| note.text.clone()).collect();
        printer.json(&value)?;
        return Ok(Exit::Success);
    }
    let graph = &run.graph;
    let Some(head) = graph.head() else { return Ok(Exit::Success) };
    printer.result(format!("{} on {}, {}", head.problem.name, head.target, state(graph)))?;
    printer.result(format!("folder   {}", run.dir.display()))?;
    printer.result(format!("began    {}", head.started))?;
    printer.result(format!("spent    {}", summary::spend(&graph.spend)))?;
    if let Some(best) = graph.best() {
        printer.result(format!("best     {}", verdict(&best.evaluation)))?;
    }
    for node in graph.nodes() {
        let parent = match (node.parent, graph.seed(node)) {
            (Some(parent), _) => format!(" from {parent}"),
            (None, Some(seed)) => format!(" of run {}", seed.run),
            (None, None) => String::new(),
        };
        let said = graph.verdict(&node.candidate).map_or_else(|| node.status.clone(), verdict);
        printer.result(format!("kernel {}{parent}: {said}", node.id))?;
        if !node.summary.is_empty() {
            printer.result(format!("    {}", node.summary.split_whitespace().collect::<Vec<_>>().join(" ")))?;
        }
    }
    Ok(Exit::Success)
}

fn brief(run: &Run) -> Value {
    let graph = &run.graph;
    let head = graph.head();
    json!({
        "run": head.map(|head| &head.run),
        "dir": run.dir,
        "problem": head.map(|head| &head.problem),
        "target": head.map(|head| head.target),
        "started": head.map(|head| &head.started),
        "state": state(graph),
        "outcome": graph.outcome(),
        "speedup": graph.best().and_then(|best| best.evaluation.fitness()),
        "spend": graph.spend,
    })
}

/// With what the run began; null before it was looked for, and in runs from before there was a warm start.
fn graph_seeds(graph: &Graph) -> Value {
    graph.warm_start.as_ref().map_or(Value::Null, |warm| json!(warm.seeds))
}

fn node_json(graph: &Graph, node: &kernelwright_search::Node) -> Value {
    json!({
        "node": node.id, "parent": node.parent, "step": node.step, "candidate": node.candidate, "status": node.status,
        "summary": node.summary, "evaluation": graph.verdict(&node.candidate),
    })
}

/// A run that is neither finished nor paused is at work, or was killed at work; its lock would tell, but reading must not take it.
fn state(graph: &Graph) -> &'static str {
    match (&graph.finished, &graph.paused) {
        (Some(_), _) => "finished",
        (None, Some(_)) => "paused",
        (None, None) => "unfinished",
    }
}
