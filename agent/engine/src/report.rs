//! The report of a run, for people: a fold over its events and nothing else, so that it can be made again at any time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kernelwright_protocol::{Control, Correct, Evaluation, Severity, Timing, Verdict};
use kernelwright_search::{Attempt, Graph, GraphError, Node, Phase, RunOutcome, Standing, StepId};

use crate::error::EngineError;
use crate::render;
use crate::store::Store;

/// A run as its folder tells it.
#[derive(Debug)]
pub struct Run {
    /// The folder.
    pub dir: PathBuf,
    /// What its events add up to.
    pub graph: Graph,
}

impl Run {
    /// Reads a run. It may be at work meanwhile; what is read is what has happened so far.
    pub fn load(dir: &Path) -> Result<Self, EngineError> {
        let records = Store::read(dir)?;
        let graph = Graph::fold(&records).map_err(|source: GraphError| EngineError::Log { dir: dir.to_path_buf(), source })?;
        Ok(Self { dir: dir.to_path_buf(), graph })
    }
}

/// The report as Markdown.
#[must_use]
pub fn render(run: &Run) -> String {
    render_graph(&run.dir, &run.graph)
}

pub(crate) fn render_graph(dir: &Path, graph: &Graph) -> String {
    let mut text = String::new();
    title(&mut text, graph);
    if let Some(best) = graph.best() {
        how_sure(&mut text, &best.evaluation);
        why(&mut text, graph);
    }
    numbers(&mut text, graph);
    beginning(&mut text, graph);
    lineage(&mut text, graph);
    steps(&mut text, graph);
    notes(&mut text, graph);
    spend(&mut text, graph);
    usage(&mut text, dir, graph);
    text
}

// Writing into a `String` does not fail; the results of `write!` below are dropped for that reason.

fn title(text: &mut String, graph: &Graph) {
    let Some(head) = graph.head() else { return };
    let name = &head.problem.name;
    let _ = writeln!(text, "# {name} on {}\n", head.target);
    let found = match (graph.outcome(), graph.best().map(|best| &best.evaluation)) {
        (RunOutcome::Improved, Some(best)) => format!("A verified faster kernel was found: {}.", gain(best)),
        (_, Some(best)) => format!("A correct kernel was found, but not one that is faster for sure: {}.", render::headline(best)),
        (_, None) => "No correct kernel was found.".to_owned(),
    };
    let _ = writeln!(text, "**{found}**\n");
    let state = match (&graph.finished, &graph.paused) {
        (Some((_, reason)), _) => format!("The run is finished: {reason}."),
        (None, Some(reason)) => format!("The run waits: {reason}."),
        (None, None) => "The run is at work, or was killed at work.".to_owned(),
    };
    let _ = writeln!(text, "{state} It began {}.\n", head.started);
}

/// The speedup in full words.
fn gain(evaluation: &Evaluation) -> String {
    let Some(timing) = timing(evaluation) else { return render::headline(evaluation) };
    let Timing { speedup, speedup_low, speedup_high, baseline, candidate_ns, .. } = timing;
    let interval = if timing.is_of_pairs() { format!(" (95 % interval {speedup_low:.2} to {speedup_high:.2})") } else { String::new() };
    format!("{speedup:.2} times as fast as {baseline}, {candidate_ns} per call{interval}")
}

fn how_sure(text: &mut String, evaluation: &Evaluation) {
    let Verdict::Correct(correct) = &evaluation.verdict else { return };
    let Correct { trials, timing, .. } = correct.as_ref();
    let _ = writeln!(text, "## How sure\n");
    if correct.names_trials() {
        let _ = writeln!(text, "- Correct in {}: {}.", count(trials.ran.len(), "trial"), trials.checked_on());
    }
    if trials.timed_calls_verified > 0 {
        let _ = writeln!(text, "- The outputs of {} timed calls were verified as well.", trials.timed_calls_verified);
    }
    if !trials.skipped.is_empty() {
        let _ = writeln!(text, "- Not tried: {}.", trials.skipped.join("; "));
    }
    if correct.names_trials() {
        let _ = writeln!(text, "- The largest error is {} of the allowed one.", correct.largest_error());
    }
    if let Some(Timing { speedup_low, speedup_high, pairs, calls_per_batch, candidate_spread, control, .. }) =
        timing.as_ref().filter(|timing| timing.is_of_pairs())
    {
        let _ = writeln!(
            text,
            "- The speedup is the median over {pairs} interleaved pairs of batches of {calls_per_batch} calls; its 95 % interval is {speedup_low:.2} \
             to {speedup_high:.2}, the kernel's own spread {:.1} %.",
            candidate_spread * 100.0
        );
        if let Some(control) = control {
            let Control { ratio, low, high } = control;
            let _ = writeln!(text, "- Equal kernels, measured alike: {ratio:.3} ({low:.3} to {high:.3}); a speedup within that is noise.");
        }
    }
    let _ = writeln!(text, "- Isolation of the candidate: {}.", list(&evaluation.sandbox.active, "none"));
    if !evaluation.sandbox.missing.is_empty() {
        let _ = writeln!(text, "- Isolation that could not be had: {}.", evaluation.sandbox.missing.join("; "));
    }
    for finding in &evaluation.findings {
        let severity = match finding.severity {
            Severity::Note => "Note",
            Severity::Warning | Severity::Rejection => "Warning",
        };
        let _ = writeln!(text, "- {severity} ({}): {}", finding.rule, finding.message);
    }
    text.push('\n');
}

fn why(text: &mut String, graph: &Graph) {
    let Some(node) = graph.best_node().filter(|node| !node.summary.is_empty()) else { return };
    let _ = writeln!(text, "## How it works\n\nIn the words of the model, which are not verified:\n");
    for line in node.summary.lines() {
        let _ = writeln!(text, "> {line}");
    }
    text.push('\n');
}

fn numbers(text: &mut String, graph: &Graph) {
    let Some(report) = &graph.baseline else { return };
    let _ = writeln!(text, "## Numbers\n\n| | time per call | against it |\n|---|---:|---:|");
    let timing = graph.best().and_then(|best| timing(&best.evaluation));
    // Measured beside the candidate is fairer than measured at the start of the run.
    let baselines = timing.map_or(&report.baselines, |timing| &timing.baselines);
    for baseline in baselines {
        let time = baseline.time_ns.map_or_else(|| "not measured".to_owned(), |time| time.to_string());
        let against = match (timing, baseline.time_ns) {
            (Some(timing), Some(_)) if baseline.kind == timing.baseline => format!("{:.2}x", timing.speedup),
            (Some(timing), Some(time)) if timing.candidate_ns.0 > 0 => format!("{:.2}x", time.seconds() / timing.candidate_ns.seconds()),
            _ => String::new(),
        };
        let _ = writeln!(text, "| {} | {time} | {against} |", baseline.kind);
    }
    if let Some(timing) = timing {
        let _ = writeln!(text, "| best kernel | {} | |", timing.candidate_ns);
    }
    text.push('\n');
    if let Some(timing) = timing.filter(|timing| timing.is_of_pairs()) {
        let _ =
            writeln!(text, "Set-up of the kernel, not in these times: build {}, first call {}.\n", timing.build_ns, timing.first_call_ns);
    }
    for baseline in baselines {
        if let Some(why) = &baseline.not_measured {
            let _ = writeln!(text, "{} was not measured: {}.\n", baseline.kind, why.reason);
        }
    }
    let _ = writeln!(text, "Inputs: {}. Outputs: {}.\n", list(&report.inputs, "none"), list(&report.outputs, "none"));
    for finding in &report.findings {
        let _ = writeln!(text, "About the problem ({}): {}\n", finding.rule, finding.message);
    }
}

/// With which kernels of earlier runs the run began, and what they were worth here.
fn beginning(text: &mut String, graph: &Graph) {
    let Some(warm) = graph.warm_start.as_ref().filter(|warm| !warm.seeds.is_empty()) else { return };
    let _ = writeln!(text, "## With what it began\n\nKernels of earlier runs, evaluated anew for this problem:\n");
    for seed in &warm.seeds {
        let here = graph.verdict(&seed.candidate).map_or_else(|| "not evaluated".to_owned(), render::headline);
        let here = render::elide(&one_line(&here), 160);
        let node = graph.seed_nodes().find(|node| node.candidate == seed.candidate);
        let node = node.map(|node| format!("kernel {}, ", node.id)).unwrap_or_default();
        let there = format!("at least {:.2}x on {}", seed.speedup, seed.problem);
        let _ = writeln!(text, "- {node}candidate {} of run `{}` ({}; {there}): {here}", seed.candidate, seed.run, seed.why);
    }
    text.push('\n');
}

fn lineage(text: &mut String, graph: &Graph) {
    let Some(best) = graph.best_node() else { return };
    let line = graph.lineage(best.id);
    if line.len() > 1 {
        let _ = writeln!(text, "## How it came about\n");
        for node in line {
            let _ = writeln!(text, "{}. kernel {} ({}): {}", node.id, node.id, result(graph, node), one_line(&node.summary));
        }
        text.push('\n');
    }
}

fn steps(text: &mut String, graph: &Graph) {
    if graph.steps().is_empty() {
        return;
    }
    let _ = writeln!(text, "## Steps\n\n| step | from | answers | evaluated | kernel | result |\n|---:|---|---:|---:|---:|---|");
    for step in graph.steps() {
        let from = match (step.phase, step.parent) {
            (Phase::Expand, Some(parent)) => format!("kernel {parent}"),
            (Phase::Draft | Phase::Expand, _) => "the problem".to_owned(),
        };
        let evaluated = graph.attempts().iter().filter(|attempt| attempt.step == step.id).count();
        let node = step.node.and_then(|id| graph.node(id));
        let (kernel, result) = match node {
            Some(node) => (node.id.to_string(), result(graph, node)),
            None if graph.open_step().is_some_and(|open| open.id == step.id) => (String::new(), "not over".to_owned()),
            None => (String::new(), "nothing was evaluated".to_owned()),
        };
        let _ = writeln!(text, "| {} | {from} | {} | {evaluated} | {kernel} | {result} |", step.id, step.turns);
    }
    text.push('\n');
    let wrong: Vec<&Attempt> = graph.attempts().iter().filter(|a| Standing::of(&a.evaluation) == Standing::Wrong).collect();
    if !wrong.is_empty() {
        let _ = writeln!(text, "Not correct, of {} evaluated:\n", count(graph.attempts().len(), "kernel"));
        for attempt in wrong {
            let headline = render::elide(&one_line(&render::headline(&attempt.evaluation)), 200);
            let place = if attempt.step == StepId::WARM_START { "an earlier run's".to_owned() } else { format!("step {},", attempt.step) };
            let _ = writeln!(text, "- {place} candidate {}: {headline}", attempt.candidate);
        }
        text.push('\n');
    }
}

fn notes(text: &mut String, graph: &Graph) {
    if graph.notes().is_empty() {
        return;
    }
    let _ = writeln!(text, "## What the model noted\n");
    for note in graph.notes() {
        let _ = writeln!(text, "- step {}: {}", note.step, one_line(&note.text));
    }
    text.push('\n');
}

fn spend(text: &mut String, graph: &Graph) {
    let spend = &graph.spend;
    let money = match spend.unpriced {
        0 => spend.dollars.to_string(),
        unpriced if unpriced >= spend.answers => "unknown, because the model's price is not known".to_owned(),
        unpriced => format!("at least {}; the price of {unpriced} answers is not known", spend.dollars),
    };
    let _ = writeln!(text, "## Spent\n");
    let _ = writeln!(text, "- steps: {}, evaluations: {}, model answers: {}", spend.steps, spend.evaluations, spend.answers);
    let _ = writeln!(text, "- tokens: {} in ({} of them cached), {} out", spend.usage.input.0, spend.usage.cached.0, spend.usage.output.0);
    let _ = writeln!(text, "- money: {money}");
    let _ = writeln!(text, "- time: {} active, {} of it evaluating\n", spend.wall, spend.evaluating);
}

fn usage(text: &mut String, dir: &Path, graph: &Graph) {
    let Some(head) = graph.head() else { return };
    let _ = writeln!(text, "## What to do with it\n");
    if let Some(best) = graph.best() {
        let _ = writeln!(
            text,
            "`best.py` in this folder is candidate {}, unchanged since it was evaluated. It defines `ModelNew`; use it in place of the problem's \
             `Model`. To verify it again:\n",
            best.candidate
        );
        let _ = writeln!(text, "```\nkernelwright evaluate problem.py best.py --target {}\n```\n", head.target);
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let _ = writeln!(text, "To go on with the run, with a larger budget if it is finished:\n\n```\nkernelwright resume {name}\n```");
    if !head.versions.is_empty() || graph.target.is_some() {
        let mut made: Vec<String> = head.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        made.extend(graph.target.iter().flat_map(|target| target.software.iter().cloned()));
        let on = graph.target.as_ref().map(|target| format!(" on {} ({})", target.name, target.arch)).unwrap_or_default();
        let _ = writeln!(text, "\nMade with {}{on}. Problem {}.", made.join(", "), head.problem.id.as_str());
    }
}

fn result(graph: &Graph, node: &Node) -> String {
    let headline = graph.verdict(&node.candidate).map(render::headline).unwrap_or_default();
    render::elide(&one_line(&headline), 160)
}

fn timing(evaluation: &Evaluation) -> Option<&Timing> {
    match &evaluation.verdict {
        Verdict::Correct(correct) => correct.timing.as_ref(),
        _ => None,
    }
}

/// One line, and no bar that would end a table's cell.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn list(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}
