//! `kernelwright evaluate`: one verdict, without a model and without a run.

use std::fmt::Write as _;
use std::path::Path;

use kernelwright_evaluate::{BaselineChoice, EvaluateRequest, Options};
use kernelwright_protocol::{Correct, Evaluation, Fault, TRIAL_SKIPPED, Verdict};

use super::{Context, read_source, runtime};
use crate::args::Evaluate;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::judge::{Judge, JudgeError};
use crate::printer::{Printer, Tone, Verbosity, clean};
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
            deep_check: args.deep_check,
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
    let Some(evaluation) = ended? else { return Err(Failure::new(Exit::Interrupted, "interrupted: there is no verdict")) };
    if args.json {
        printer.json(&evaluation)?;
    } else {
        printer.result(text(&evaluation, printer))?;
    }
    Ok(exit(&evaluation, args.deep_check))
}

/// A deep check that was asked for and has measured nothing is a tool that is missing, whatever the rest came to.
fn exit(evaluation: &Evaluation, asks_deep_check: bool) -> Exit {
    match (&evaluation.verdict, &evaluation.deep_check) {
        (Verdict::Correct(_), Some(check)) if !check.is_measured() => Exit::ToolServer,
        (Verdict::Correct(_), None) if asks_deep_check => Exit::ToolServer,
        (Verdict::Correct(_), _) => Exit::Success,
        _ => Exit::NotCorrect,
    }
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
    let mut text = String::new();
    // Writing into a `String` does not fail.
    match &evaluation.verdict {
        Verdict::Correct(correct) => add_correct(&mut text, correct),
        Verdict::Incorrect { mismatches, .. } => {
            for mismatch in mismatches.iter().skip(1) {
                let _ = write!(text, "\n  {}, {}: {}", mismatch.trial, mismatch.output, mismatch.detail);
            }
        }
        Verdict::BuildFailed(Fault { diagnostics, log, .. }) | Verdict::Faulted(Fault { diagnostics, log, .. }) => {
            if !diagnostics.is_empty() {
                let _ = write!(text, "\n{}", diagnostics.trim_end());
            }
            add_log(&mut text, log.as_deref());
        }
        Verdict::TimedOut(timeout) => add_log(&mut text, timeout.log.as_deref()),
        Verdict::Rejected { .. } => {}
    }
    if let Some(check) = &evaluation.deep_check {
        let _ = write!(text, "\n  {:<14} one call on {}", "deep check", check.inputs);
        for tool in &check.tools {
            let said = tool.to_string().replace('\n', "\n    ");
            let _ = write!(text, "\n    {said} ({})", tool.wall_ns);
        }
    }
    // Said with the trials of a correct one.
    let is_told = |rule: &str| rule == TRIAL_SKIPPED && matches!(evaluation.verdict, Verdict::Correct(_));
    for finding in evaluation.findings.iter().filter(|finding| !is_told(&finding.rule)) {
        let _ = write!(text, "\n  {:<14} {}", finding.rule, finding.message);
    }
    format!("{}{}", printer.on_stdout(tone, &verdict(evaluation)), clean(&text))
}

/// Where all that the candidate has printed lies.
fn add_log(text: &mut String, log: Option<&str>) {
    if let Some(log) = log {
        let _ = write!(text, "\n  whole log: {log}");
    }
}

/// Times, and what the verdict rests on.
fn add_correct(text: &mut String, correct: &Correct) {
    if let Some(timing) = &correct.timing {
        for baseline in &timing.baselines {
            let time = match (baseline.time_ns, &baseline.not_measured) {
                (Some(time), _) => time.to_string(),
                (None, Some(why)) => format!("not measured: {}", why.reason),
                (None, None) => "not measured".to_owned(),
            };
            let _ = write!(text, "\n  {:<14} {time}", baseline.kind.to_string());
        }
        let _ = write!(text, "\n  {:<14} {}", "candidate", timing.candidate_ns);
        if timing.is_of_pairs() {
            let _ = write!(text, " (first call {}, build {})", timing.first_call_ns, timing.build_ns);
        }
    }
    for set in &correct.sets {
        let said = match (&set.timing, &set.not_measured) {
            (Some(t), _) => format!("{:.2}x ({:.2} to {:.2}), {}", t.speedup, t.speedup_low, t.speedup_high, t.candidate_ns),
            (None, _) => "correct".to_owned(),
        };
        let _ = write!(text, "\n  {:<14} {}: {said}", "set", set.name);
    }
    if correct.names_trials() {
        let _ = write!(text, "\n  {:<14} {}", "checked on", correct.trials.checked_on());
    }
    for skipped in &correct.trials.skipped {
        let _ = write!(text, "\n  {:<14} {skipped}", "not tried");
    }
    if correct.names_trials() {
        let _ = write!(text, "\n  {:<14} {} of what is allowed", "largest error", correct.largest_error());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evaluation(status: &serde_json::Value, tools: &serde_json::Value) -> Evaluation {
        let id = "0".repeat(64);
        let mut value = json!({
            "problem": id, "candidate": id, "target": "cuda:0", "sandbox": {"active": []}, "wall_ns": 1,
            "deep_check": {"inputs": "get_check_inputs()", "tools": tools},
        });
        value.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_deep_check_is_told_tool_by_tool() {
        let error = json!({"kind": "Invalid __global__ write of size 4 bytes", "kernel": "affine", "source": "candidate.py:12",
            "by": "thread (96,0,0) in block (23,0,0)", "details": ["Access to 0x7f00 is out of bounds"], "times": 1});
        let tools = json!([
            {"tool": "memcheck", "result": "errors", "count": 1, "reports": [error], "wall_ns": 2_000_000_000},
            {"tool": "racecheck", "result": "clean", "wall_ns": 3_000_000_000_u64},
            {"tool": "synccheck", "result": "not_measured", "reason": "it left no summary", "wall_ns": 1_000_000_000},
        ]);
        let faulted = evaluation(&json!({"status": "faulted", "phase": "deep_check", "summary": "memcheck: Invalid write"}), &tools);
        insta::assert_snapshot!(text(&faulted, Printer::plain()), @r"
        fails in deep_check: memcheck: Invalid write
          deep check     one call on get_check_inputs()
            memcheck: 1 error
            - Invalid __global__ write of size 4 bytes in affine at candidate.py:12, thread (96,0,0) in block (23,0,0): Access to 0x7f00 is out of bounds (2.00 s)
            racecheck: clean (3.00 s)
            synccheck: not measured: it left no summary (1.00 s)
        ");
        assert_eq!(exit(&faulted, true), Exit::NotCorrect);
    }

    #[test]
    fn a_candidate_does_not_write_its_own_verdict() {
        let fault =
            json!({"status": "build_failed", "phase": "import", "summary": "no\r\x1b[Kcorrect, 99x", "diagnostics": "a\x1b[2J\r\n\tb"});
        let mut build_failed = evaluation(&fault, &json!([]));
        build_failed.deep_check = None;
        assert_eq!(text(&build_failed, Printer::plain()), "does not build: no \u{fffd}[Kcorrect, 99x\na\u{fffd}[2J\n\tb");
        assert_eq!(serde_json::to_value(&build_failed).unwrap()["summary"], fault["summary"], "programs get it as it is");
    }

    #[test]
    fn of_another_evaluators_verdict_only_what_it_names_is_told() {
        let correct = json!({"status": "correct", "trials": {"ran": [], "timed_calls_verified": 0}, "error_over_tolerance": 0.0, "speedup": 2.5,
            "speedup_low": 2.5, "speedup_high": 2.5, "candidate_ns": 400_000, "candidate_spread": 0.0, "baseline": "eager",
            "baselines": [{"kind": "eager", "time_ns": 1_000_000}], "pairs": 0, "calls_per_batch": 0, "build_ns": 0, "first_call_ns": 0});
        let mut foreign = evaluation(&correct, &json!([]));
        foreign.deep_check = None;
        insta::assert_snapshot!(text(&foreign, Printer::plain()), @r"
        correct, 2.50x, 400 us against eager 1.00 ms
          eager          1.00 ms
          candidate      400 us
        ");
    }

    #[test]
    fn a_deep_check_that_measures_nothing_is_a_missing_tool() {
        let correct = json!({"status": "correct", "trials": {"ran": [], "timed_calls_verified": 0}, "error_over_tolerance": 0.0});
        let of = |result: serde_json::Value| {
            let mut tool = json!({"tool": "memcheck", "wall_ns": 1});
            tool.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
            exit(&evaluation(&correct, &json!([tool])), true)
        };
        assert_eq!(of(json!({"result": "not_measured", "reason": "Device not supported"})), Exit::ToolServer);
        assert_eq!(of(json!({"result": "clean"})), Exit::Success);
        // An evaluator that takes the place of ours may know no such check.
        let without = Evaluation { deep_check: None, ..evaluation(&correct, &json!([])) };
        assert_eq!((exit(&without, true), exit(&without, false)), (Exit::ToolServer, Exit::Success));
    }
}
