//! Events and activities as lines for people.

use kernelwright_engine::Activity;
use kernelwright_protocol::{BaselineReport, Evaluation, Verdict};
use kernelwright_search::{Event, Graph, NodeId, Phase, RunOutcome, Seed};

use crate::printer::{Tone, Verbosity};

/// How much of a model's words fits on a line.
const WORDS: usize = 160;

/// A line, how it is meant, and from which verbosity on it is shown. Further lines follow after line breaks.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    pub tone: Tone,
    pub from: Verbosity,
}

fn plain(text: String) -> Line {
    Line { text, tone: Tone::Plain, from: Verbosity::Normal }
}

fn toned(tone: Tone, text: String) -> Line {
    Line { text, tone, from: Verbosity::Normal }
}

fn detail(text: String) -> Line {
    Line { text, tone: Tone::Faint, from: Verbosity::Verbose }
}

/// The line of an event; `graph` has taken it in already, and `improved` says whether it made another kernel the best one.
pub fn of_event(event: &Event, graph: &Graph, improved: bool) -> Option<Line> {
    let line = match event {
        Event::RunStarted { problem, target, settings, .. } => {
            let limits = settings.budget.left(&graph.spend);
            let limits = if limits.is_empty() { "no limit".to_owned() } else { limits.join(", ") };
            plain(format!("problem {} on {target}; budget: {limits}", problem.name))
        }
        Event::RunResumed { settings } => {
            let limits = settings.budget.left(&graph.spend);
            let limits = if limits.is_empty() { "no limit".to_owned() } else { limits.join(", ") };
            plain(format!("resumed{}; left: {limits}", model(&settings.model).map(|model| format!(" with {model}")).unwrap_or_default()))
        }
        Event::ModelProbed { cost, .. } => {
            let cost = cost.map(|cost| format!(" ({cost})")).unwrap_or_default();
            detail(format!("the model answers with tool calls{cost}"))
        }
        Event::TargetDescribed { description } => plain(format!("target: {} ({})", description.name, description.arch)),
        Event::BaselineMeasured { report } => {
            let findings = report.findings.iter().map(|finding| format!("remark: {}", finding.message));
            let lines: Vec<String> = std::iter::once(format!("to beat: {}", baselines(report))).chain(findings).collect();
            plain(lines.join("\n"))
        }
        Event::ProfileTaken { node, profile } => {
            let top = profile.kernels.iter().take(3).map(|kernel| format!("{} {:.0} %", kernel.time.name, kernel.time.share * 100.0));
            detail(format!("profile of {}: {}", subject(*node), top.collect::<Vec<_>>().join(", ")))
        }
        Event::ProfileFailed { node, reason } => detail(format!("no profile of {}: {}", subject(*node), first_line(reason))),
        Event::WarmStart { runs: 0, .. } => detail("no earlier run has a verified kernel for something similar".to_owned()),
        Event::WarmStart { runs, seeds } => {
            let from = |seed: &Seed| {
                format!("beginning with {} of {}: {}, at least {:.2}x there", seed.candidate, seed.run, seed.why, seed.speedup)
            };
            let lines: Vec<String> = seeds.iter().map(from).collect();
            if lines.is_empty() {
                detail(format!("{runs} earlier runs, none similar enough to begin with"))
            } else {
                plain(lines.join("\n"))
            }
        }
        Event::LessonsShown { lessons, .. } => detail(format!("lessons of earlier runs: {}", lessons.join(", "))),
        Event::LessonRecorded { lesson, effect, .. } => plain(format!("lesson kept: {lesson} ({})", effect.as_str())),
        Event::LessonsRated { step, helped, .. } => {
            detail(format!("the lessons shown to step {step} {}", if *helped { "helped" } else { "did not help" }))
        }
        Event::StepStarted { step, parent, phase } => {
            let from = match (parent, phase) {
                (Some(node), _) => format!("from kernel {node}{}", standing(graph, *node)),
                (None, Phase::Draft | Phase::Expand) => "a first kernel".to_owned(),
            };
            toned(Tone::Strong, format!("step {step}: {from}"))
        }
        Event::ModelAnswered { usage, cost, .. } => {
            let cost = cost.map_or_else(|| "price unknown".to_owned(), |cost| cost.to_string());
            detail(format!("the model answered: {} in, {} out, {cost}", usage.input, usage.output))
        }
        Event::ModelNudged { .. } => detail("the model called no tool and is told to go on".to_owned()),
        Event::ToolCalled { tool, .. } => detail(format!("the model calls {tool}")),
        Event::ToolReturned { text, is_error: true, .. } => detail(format!("refused: {}", first_line(text))),
        Event::ToolServerStarted { server, version } => detail(format!("tool server {server}: {version}")),
        Event::ToolServerRestarted { server, reason } => {
            toned(Tone::Careful, format!("tool server {server} was started again: {}", first_line(reason)))
        }
        Event::CandidateEvaluated { candidate, evaluation, .. } => {
            let best = if improved { " - the best so far" } else { "" };
            toned(tone(evaluation, improved), format!("candidate {candidate}: {}{best}", verdict(evaluation)))
        }
        Event::NoteTaken { text, .. } => plain(format!("note: {}", cut(text))),
        Event::NodeAdded { node, summary, .. } if summary.is_empty() => detail(format!("kernel {node} is kept")),
        Event::NodeAdded { node, summary, .. } => plain(format!("kernel {node}: {}", cut(summary))),
        Event::StepFinished { step, node: None } => toned(Tone::Careful, format!("step {step} evaluated nothing")),
        Event::RunPaused { reason } => toned(Tone::Careful, format!("paused: {}", first_line(reason))),
        Event::RunFinished { outcome, reason } => {
            let tone = if *outcome == RunOutcome::Improved { Tone::Good } else { Tone::Careful };
            toned(tone, format!("finished: {reason}"))
        }
        Event::ModelAsked { .. } | Event::ToolReturned { .. } | Event::StepFinished { .. } | Event::Unknown => return None,
    };
    Some(line)
}

/// The line of an activity that is worth one.
pub fn of_activity(activity: &Activity) -> Option<Line> {
    let line = match activity {
        Activity::RunOpened { dir } => plain(format!("run folder: {}", dir.display())),
        Activity::Remark { text } => toned(Tone::Careful, text.clone()),
        Activity::ModelRetry { reason, wait } => toned(
            Tone::Careful,
            format!("the model cannot answer, asking again in {} s: {}", wait.as_secs_f64().ceil(), first_line(reason)),
        ),
        Activity::ServerStarting { server } => detail(format!("starting the tool server {server}")),
        Activity::ToolProgress { .. } | Activity::ModelWaiting { .. } | Activity::ModelStreaming { .. } => return None,
    };
    Some(line)
}

/// A verdict in a line.
pub fn verdict(evaluation: &Evaluation) -> String {
    match &evaluation.verdict {
        Verdict::Correct(correct) => match (&correct.timing, &correct.not_measured) {
            (Some(t), _) => {
                let interval = if t.is_of_pairs() { format!(" ({:.2} to {:.2})", t.speedup_low, t.speedup_high) } else { String::new() };
                let baseline = t.baselines.iter().find(|b| b.kind == t.baseline).and_then(|b| b.time_ns);
                let baseline = baseline.map(|time| time.to_string()).unwrap_or_default();
                format!("correct, {:.2}x{interval}, {} against {} {baseline}", t.speedup, t.candidate_ns, t.baseline)
            }
            (None, Some(why)) => format!("correct, not timed: {}", why.reason),
            (None, None) => "correct, not timed".to_owned(),
        },
        Verdict::BuildFailed(fault) => format!("does not build: {}", cut(&fault.summary)),
        Verdict::Faulted(fault) => format!("fails in {}: {}", fault.phase, cut(&fault.summary)),
        Verdict::TimedOut(timeout) => format!("timed out: {timeout}"),
        Verdict::Incorrect { mismatches, .. } => match mismatches.first() {
            Some(worst) => format!("incorrect: {}, {}: {}", worst.trial, worst.output, worst.detail),
            None => "incorrect".to_owned(),
        },
        Verdict::Rejected { rule, explanation } => format!("rejected ({rule}): {explanation}"),
    }
}

/// The baselines in a line, each with its time or the reason why there is none.
pub fn baselines(report: &BaselineReport) -> String {
    let one = |baseline: &kernelwright_protocol::Baseline| match (baseline.time_ns, &baseline.not_measured) {
        (Some(time), _) => format!("{} {time}", baseline.kind),
        (None, Some(why)) => format!("{} not measured ({})", baseline.kind, first_line(&why.reason)),
        (None, None) => format!("{} not measured", baseline.kind),
    };
    report.baselines.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn tone(evaluation: &Evaluation, improved: bool) -> Tone {
    match &evaluation.verdict {
        Verdict::Correct(_) if improved => Tone::Good,
        Verdict::Correct(_) => Tone::Plain,
        _ => Tone::Careful,
    }
}

/// Who answers, from what a run recorded of it.
fn model(recorded: &serde_json::Value) -> Option<String> {
    let text = |field: &str| recorded.get(field).and_then(serde_json::Value::as_str);
    let provider = text("provider")?;
    Some(match (text("path"), text("model"), text("url")) {
        (Some(path), ..) => format!("{provider}:{path}"),
        (None, Some(name), Some(url)) => format!("{provider}:{name} at {url}"),
        (None, name, _) => format!("{provider}:{}", name.unwrap_or_default()),
    })
}

fn subject(node: Option<NodeId>) -> String {
    node.map_or_else(|| "the problem".to_owned(), |node| format!("kernel {node}"))
}

fn standing(graph: &Graph, node: NodeId) -> String {
    match graph.node(node) {
        Some(node) if node.status != "correct" => format!(" ({})", node.status),
        Some(node) => node.fitness.map(|speedup| format!(" ({speedup:.2}x)")).unwrap_or_default(),
        None => String::new(),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// White space and line breaks become single spaces, and what does not fit on a line goes.
fn cut(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
