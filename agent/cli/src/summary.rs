//! How a run ends for its reader: what was found, how sure that is, why it is faster, how to use it, how to go on.

use std::fmt::Write as _;
use std::time::Duration;

use kernelwright_engine::{Best, End, Outcome};
use kernelwright_protocol::{Nanoseconds, Severity, Timing, Verdict};
use kernelwright_search::{RunOutcome, Spend};
use serde_json::{Value, json};

use crate::continuation::shell;
use crate::exit::Exit;
use crate::printer::{Printer, Tone, clean, counted};
use crate::settings::show_duration;

/// The exit code of an outcome.
pub fn exit(outcome: &Outcome) -> Exit {
    match (&outcome.end, outcome.found) {
        (End::Interrupted, _) => Exit::Interrupted,
        (End::Suspended { .. }, _) => Exit::Suspended,
        (End::Paused { .. }, _) => Exit::Paused,
        (End::Finished(_), RunOutcome::Improved) => Exit::Success,
        (End::Finished(_), RunOutcome::NotImproved) => Exit::NoImprovement,
        (End::Finished(_), RunOutcome::NothingCorrect) => Exit::BudgetSpent,
    }
}

/// The closing summary for people; `go_on` is the command that goes on with the run.
pub fn text(outcome: &Outcome, go_on: &str, printer: Printer) -> String {
    let mut text = String::new();
    // Writing into a `String` does not fail.
    let _ = writeln!(text, "{}", printer.on_stdout(tone(outcome), &headline(outcome)));
    if let Some(best) = &outcome.best {
        let _ = writeln!(text, "\n{}", printer.on_stdout(Tone::Strong, "How sure"));
        how_sure(&mut text, best);
        if !best.summary.trim().is_empty() {
            let _ = writeln!(text, "\n{}\n  {}", printer.on_stdout(Tone::Strong, "Why (in the model's words)"), indent(&best.summary));
        }
        let _ = writeln!(text, "\n{}", printer.on_stdout(Tone::Strong, "How to use it"));
        how_to_use(&mut text, best);
    }
    let _ = writeln!(text, "\n{}", printer.on_stdout(Tone::Strong, "What it took"));
    let _ = writeln!(text, "  {}", spend(&outcome.spend));
    let _ = writeln!(text, "\n{}", printer.on_stdout(Tone::Strong, "Next"));
    next(&mut text, outcome, go_on);
    text.truncate(text.trim_end().len());
    text
}

fn tone(outcome: &Outcome) -> Tone {
    match (&outcome.end, outcome.found) {
        (_, RunOutcome::Improved) => Tone::Good,
        (End::Finished(_), RunOutcome::NothingCorrect) => Tone::Bad,
        _ => Tone::Careful,
    }
}

fn headline(outcome: &Outcome) -> String {
    let found = match (outcome.found, outcome.best.as_ref().and_then(Best::timing)) {
        (RunOutcome::Improved, Some(t)) => format!("Found a verified kernel that is {:.2}x as fast as {}", t.speedup, t.baseline),
        (RunOutcome::NothingCorrect, _) => "Found no correct kernel".to_owned(),
        (_, Some(t)) => format!("Found a correct kernel that is not faster for sure: {:.2}x", t.speedup),
        (_, None) => "Found a correct kernel that could not be timed".to_owned(),
    };
    match &outcome.end {
        End::Finished(reason) => format!("{found}; {reason}."),
        End::Paused { reason } => format!("Paused: {reason}. {found} so far."),
        End::Suspended { waiting } => {
            format!("Suspended: waiting for {} in the mailbox. {found} so far.", counted(waiting.len(), "answer"))
        }
        End::Interrupted => format!("Interrupted, everything is saved. {found} so far."),
    }
}

fn how_sure(text: &mut String, best: &Best) {
    let Verdict::Correct(correct) = &best.evaluation.verdict else { return };
    let trials = &correct.trials;
    if correct.names_trials() {
        let _ = write!(text, "  correct on {} of inputs", counted(trials.ran.len(), "draw"));
        if trials.timed_calls_verified > 0 {
            let _ = write!(text, " and in {}", counted(trials.timed_calls_verified as usize, "timed call"));
        }
        let _ = writeln!(text, "; largest error {} of what is allowed", correct.largest_error());
    }
    match (&correct.timing, &correct.not_measured) {
        (Some(t), _) => timing(text, t),
        (None, Some(why)) => {
            let _ = writeln!(text, "  not timed: {}", why.reason);
        }
        (None, None) => {}
    }
    for finding in best.evaluation.findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
        let _ = writeln!(text, "  warning: {} ({})", finding.message, finding.rule);
    }
}

fn timing(text: &mut String, t: &Timing) {
    if t.is_of_pairs() {
        let (low, high, pairs) = (t.speedup_low, t.speedup_high, counted(t.pairs as usize, "pair"));
        let _ = writeln!(text, "  {:.2}x, 95 % interval {low:.2} to {high:.2}, from {pairs} timed in turns", t.speedup);
    }
    let times: Vec<String> = t.baselines.iter().filter_map(|b| Some(format!("{} {}", b.kind, b.time_ns?))).collect();
    let _ = writeln!(text, "  {} per call against {}", t.candidate_ns, times.join(", "));
}

fn how_to_use(text: &mut String, best: &Best) {
    let folder = best.path.parent().unwrap_or(&best.path).display();
    let module = best.path.file_stem().unwrap_or_default().to_string_lossy();
    let _ = writeln!(text, "  {}", best.path.display());
    let _ = writeln!(text, "    import sys; sys.path.insert(0, {:?})", folder.to_string());
    let _ = writeln!(text, "    from {module} import ModelNew  # takes the arguments of Model; load_state_dict() takes its weights");
}

/// What was used up, in a line.
pub fn spend(spend: &Spend) -> String {
    let money = match (spend.unpriced, spend.dollars.value() > 0.0) {
        (0, _) => spend.dollars.to_string(),
        (_, true) => format!("at least {} (some prices unknown)", spend.dollars),
        (_, false) => "price unknown".to_owned(),
    };
    let (steps, evaluations) = (counted(spend.steps as usize, "step"), counted(spend.evaluations as usize, "evaluation"));
    format!("{steps}, {evaluations}, {}, {money}, {} ({} of it evaluating)", spend.usage.total(), time(spend.wall), time(spend.evaluating))
}

fn next(text: &mut String, outcome: &Outcome, go_on: &str) {
    let dir = shell(&outcome.dir.display().to_string());
    if let End::Suspended { waiting } = &outcome.end {
        for path in waiting {
            let _ = writeln!(text, "  answer as  {}", path.display());
        }
    }
    let _ = writeln!(text, "  go on:     {go_on}");
    let _ = writeln!(text, "  report:    kernelwright report {dir}");
    if let Some(best) = &outcome.best {
        let best_file = shell(&best.path.display().to_string());
        let _ = writeln!(text, "  re-verify: kernelwright evaluate {dir}/problem.py {best_file} --target {}", best.evaluation.target);
    }
}

/// The last line of `--json`.
pub fn json(outcome: &Outcome) -> Value {
    let (end, reason) = match &outcome.end {
        End::Finished(reason) => ("finished", Some(reason.to_string())),
        End::Paused { reason } => ("paused", Some(reason.clone())),
        End::Suspended { .. } => ("suspended", None),
        End::Interrupted => ("interrupted", None),
    };
    let waiting = match &outcome.end {
        End::Suspended { waiting } => waiting.as_slice(),
        _ => &[],
    };
    let best = outcome.best.as_ref().map(|best| {
        json!({
            "node": best.node, "candidate": best.candidate, "path": best.path, "summary": best.summary, "evaluation": best.evaluation,
        })
    });
    json!({
        "type": "summary",
        "run": outcome.run,
        "dir": outcome.dir,
        "exit_code": exit(outcome).code(),
        "end": end,
        "reason": reason,
        "waiting": waiting,
        "outcome": outcome.found,
        "speedup": outcome.best.as_ref().and_then(Best::timing).map(|timing| timing.speedup),
        "best": best,
        "spend": outcome.spend,
    })
}

/// A long time in whole seconds.
fn time(time: Nanoseconds) -> String {
    let seconds = Duration::from_secs(time.seconds().round() as u64);
    if seconds.is_zero() { time.to_string() } else { show_duration(seconds) }
}

fn indent(text: &str) -> String {
    clean(text.trim()).replace('\n', "\n  ")
}

#[cfg(test)]
mod tests;
