//! `kernelwright evaluate`: one verdict, without a model and without a run.

use std::fmt::Write as _;
use std::path::Path;

use kernelwright_evaluate::{BaselineChoice, EvaluateRequest, Options};
use kernelwright_protocol::{Evaluation, Fault, Verdict};

use super::{Context, read_source, runtime};
use crate::args::Evaluate;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::judge::{Judge, JudgeError};
use crate::printer::{Printer, Tone, Verbosity};
use crate::progress::verdict;

pub fn run(context: &Context, args: &Evaluate) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    let evaluate = &settings.evaluate;
    let baselines = BaselineChoice::of(&evaluate.baselines).unwrap_or(BaselineChoice::All);
    let request = EvaluateRequest {
        problem_source: read_source(&args.problem, "problem")?,
        problem_name: args.problem.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        candidate_source: read_source(&args.candidate, "candidate")?,
        target: evaluate.target,
        options: Options {
            trials: evaluate.trials,
            baselines,
            measure: !args.rules.no_timing,
            tf32: evaluate.tf32,
            pairs: evaluate.pairs,
            ..Options::default()
        },
    };
    let printer = context.printer;
    let say = move |message: &str| {
        if printer.stderr_is_terminal || printer.verbosity > Verbosity::Normal {
            printer.say(printer.on_stderr(Tone::Faint, message));
        }
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let mut judge = Judge::open(&settings).await?;
        let ended = tokio::select! {
            evaluation = judge.evaluate(&request, &say) => evaluation.map(Some).map_err(|error| failed(&args.problem, error)),
            signalled = interrupt::signalled() => signalled.map(|()| None),
        };
        judge.close().await;
        ended
    });
    runtime.shutdown_background();
    let Some(evaluation) = ended? else { return Ok(Exit::Interrupted) };
    if args.json {
        printer.json(&evaluation)?;
    } else {
        printer.result(text(&evaluation, printer))?;
    }
    Ok(if matches!(evaluation.verdict, Verdict::Correct(_)) { Exit::Success } else { Exit::NotCorrect })
}

/// What is wrong with the problem is said with the problem's own path: inside the worker the file has another name.
fn failed(problem: &Path, error: JudgeError) -> Failure {
    let path = problem.display();
    let place = match &error {
        JudgeError::BuiltIn(error) if error.code() == "problem_invalid" => match error.details() {
            Some(details) => Some(format!("{path}\n{details}")),
            None => Some(path.to_string()),
        },
        JudgeError::Refused(refusal) if refusal.is_about_problem() => Some(path.to_string()),
        _ => None,
    };
    let failure = Failure::from(error);
    match place {
        Some(place) => failure.at(place),
        None => failure,
    }
}

/// The verdict and what belongs to it.
fn text(evaluation: &Evaluation, printer: Printer) -> String {
    let tone = if matches!(evaluation.verdict, Verdict::Correct(_)) { Tone::Good } else { Tone::Bad };
    let mut text = printer.on_stdout(tone, &verdict(evaluation));
    // Writing into a `String` does not fail.
    match &evaluation.verdict {
        Verdict::Correct(correct) => {
            if let Some(timing) = &correct.timing {
                for baseline in &timing.baselines {
                    let time = match (baseline.time_ns, &baseline.not_measured) {
                        (Some(time), _) => time.to_string(),
                        (None, Some(why)) => format!("not measured: {}", why.reason),
                        (None, None) => "not measured".to_owned(),
                    };
                    let _ = write!(text, "\n  {:<14} {time}", baseline.kind.to_string());
                }
                let _ = write!(
                    text,
                    "\n  {:<14} {} (first call {}, build {})",
                    "candidate", timing.candidate_ns, timing.first_call_ns, timing.build_ns
                );
            }
            for set in &correct.sets {
                let said = match (&set.timing, &set.not_measured) {
                    (Some(t), _) => format!("{:.2}x ({:.2} to {:.2}), {}", t.speedup, t.speedup_low, t.speedup_high, t.candidate_ns),
                    (None, _) => "correct".to_owned(),
                };
                let _ = write!(text, "\n  {:<14} {}: {said}", "set", set.name);
            }
            let _ = write!(text, "\n  {:<14} {}", "checked on", correct.trials.ran.join("; "));
            for skipped in &correct.trials.skipped {
                let _ = write!(text, "\n  {:<14} {skipped}", "not tried");
            }
            let _ = write!(text, "\n  {:<14} {} of what is allowed", "largest error", correct.largest_error());
        }
        Verdict::Incorrect { mismatches, .. } => {
            for mismatch in mismatches.iter().skip(1) {
                let _ = write!(text, "\n  {}, {}: {}", mismatch.trial, mismatch.output, mismatch.detail);
            }
        }
        Verdict::BuildFailed(Fault { diagnostics, log, .. }) | Verdict::Faulted(Fault { diagnostics, log, .. }) => {
            if !diagnostics.is_empty() {
                let _ = write!(text, "\n{}", diagnostics.trim_end());
            }
            if let Some(log) = log {
                let _ = write!(text, "\n  whole log: {log}");
            }
        }
        Verdict::TimedOut { .. } | Verdict::Rejected { .. } => {}
    }
    for finding in &evaluation.findings {
        let _ = write!(text, "\n  {:<14} {}", finding.rule, finding.message);
    }
    text
}
