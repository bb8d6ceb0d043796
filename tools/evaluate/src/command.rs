//! Somebody else's evaluator: a shell command that reads a JSON object and writes one.
//!
//! It gets `{"initial_code": PROBLEM, "evolved_code": CANDIDATE, "problem_name": ..., "target": ..., "options": {...}}` on its standard input and
//! answers on its standard output with either
//!
//! - `{"speedup": 2.5, "original_time": 1.0, "optimized_time": 0.4, "error": null}`: times in milliseconds, or in `"time_unit"` (s, ms, us, ns); an
//!   `error` other than null means that the candidate is not correct, and is what the model is told, or
//! - an evaluation in our own form, recognised by its `status`; what is the same for every evaluation (`problem`, `candidate`, `target`,
//!   `sandbox`, `wall_ns`) may be left out.
//!
//! Nothing of its verdict is checked here, and every verdict says so. What it writes to its standard error goes to a log.

use std::process::Stdio;
use std::time::{Duration, Instant};

use kernelwright_harness::WorkerLog;
use kernelwright_protocol::{
    Baseline, BaselineKind, BaselineReport, CandidateId, Correct, Evaluation, Fault, Finding, Nanoseconds, NotMeasured, ProblemId, Sandbox,
    Severity, Target, Timeout, Timing, Trials, Verdict,
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdout, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::{EvaluateError, EvaluateRequest};

/// What the command may take beside the limits of an evaluation of ours.
const SLACK: Duration = Duration::from_secs(600);

/// The longest part of an answer that an error shows.
const SHOWN: usize = 300;

/// The four-field answer.
#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    speedup: Option<f64>,
    #[serde(default)]
    original_time: Option<f64>,
    #[serde(default)]
    optimized_time: Option<f64>,
    #[serde(default)]
    time_unit: TimeUnit,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
enum TimeUnit {
    #[serde(rename = "s")]
    Seconds,
    #[default]
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "us")]
    Microseconds,
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl TimeUnit {
    fn nanoseconds(self, time: f64) -> Nanoseconds {
        let seconds = match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
            Self::Nanoseconds => 1e-9,
        };
        Nanoseconds::from_seconds(time * seconds)
    }
}

/// Asks the command for a verdict. Dropping the future kills it with everything it has started.
pub(crate) async fn evaluate(command: &str, request: &EvaluateRequest, log: &WorkerLog) -> Result<Evaluation, EvaluateError> {
    let started = Instant::now();
    let options = &request.options;
    let question = json!({
        "initial_code": request.problem_source,
        "evolved_code": request.candidate_source,
        "problem_name": request.problem_name,
        "target": request.target,
        "options": {"trials": options.trials, "measure": options.measure, "tf32": options.tf32, "deep_check": options.deep_check},
    });
    let limits = options.limits.unwrap_or_default();
    let text = ask(command, &question, log, limits.build + limits.run + limits.time + SLACK).await?;
    let not_understood = |reason: String| EvaluateError::CommandAnswer { command: command.to_owned(), reason, text: beginning(&text) };
    let value: Value = serde_json::from_str(text.trim()).map_err(|error| not_understood(error.to_string()))?;
    let mut evaluation = if value.get("status").is_some() {
        complete(value, request).map_err(|error| not_understood(error.to_string()))?
    } else {
        let says_error = value.get("error").is_some();
        if !value.is_object() {
            return Err(not_understood("it is no object".to_owned()));
        }
        let answer = Answer::deserialize(value).map_err(|error| not_understood(error.to_string()))?;
        // Without times nothing else says that it is an answer at all.
        blank(request, verdict(answer, says_error && !options.measure).map_err(|reason| not_understood(reason.to_owned()))?)
    };
    // Verdicts are kept, and shown to models: what the command says may not be for either.
    evaluation.findings.push(Finding {
        rule: "foreign_evaluator".to_owned(),
        severity: Severity::Note,
        message: "the verdict is that of the evaluator's command; nothing of it was checked".to_owned(),
    });
    if options.deep_check && evaluation.deep_check.is_none() && matches!(evaluation.verdict, Verdict::Correct(_)) {
        evaluation.findings.push(Finding {
            rule: "deep_check_incomplete".to_owned(),
            severity: Severity::Warning,
            message: "the evaluator's command says nothing of a deep check".to_owned(),
        });
    }
    evaluation.wall_ns = started.elapsed().into();
    Ok(evaluation)
}

/// What a candidate has to beat, by the command's own figures for the problem as its own candidate.
pub(crate) async fn measure_baseline(command: &str, request: &EvaluateRequest, log: &WorkerLog) -> Result<BaselineReport, EvaluateError> {
    let evaluation = evaluate(command, request, log).await?;
    let unmeasured = |reason: String| Baseline {
        kind: BaselineKind::Eager,
        time_ns: None,
        spread: None,
        first_call_ns: None,
        not_measured: Some(NotMeasured { reason }),
    };
    let baselines = match &evaluation.verdict {
        Verdict::Correct(correct) => match &correct.timing {
            Some(timing) if !timing.baselines.is_empty() => timing.baselines.clone(),
            _ => vec![unmeasured("the evaluator's command gives no time".to_owned())],
        },
        other => vec![unmeasured(format!("the evaluator's command calls the problem itself {}", other.status()))],
    };
    let (problem, target) = (evaluation.problem, evaluation.target);
    Ok(BaselineReport { problem, target, baselines, inputs: vec![], outputs: vec![], findings: evaluation.findings })
}

fn verdict(answer: Answer, without_times: bool) -> Result<Verdict, &'static str> {
    if let Some(error) = answer.error.filter(|error| !error.trim().is_empty()) {
        let summary = error.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
        return Ok(Verdict::Faulted(Fault { phase: "run".to_owned(), summary, diagnostics: error, log: None }));
    }
    let positive = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
    if answer.speedup.is_some() && positive(answer.speedup).is_none() {
        return Err("its speedup is no positive number");
    }
    let (original, optimized) = (positive(answer.original_time), positive(answer.optimized_time));
    let speedup = positive(answer.speedup).or_else(|| Some(original? / optimized?));
    let timing = match (speedup, original, optimized) {
        (Some(speedup), Some(original), Some(optimized)) => Some(Timing {
            speedup,
            speedup_low: speedup,
            speedup_high: speedup,
            candidate_ns: answer.time_unit.nanoseconds(optimized),
            candidate_spread: 0.0,
            baseline: BaselineKind::Eager,
            baselines: vec![Baseline {
                kind: BaselineKind::Eager,
                time_ns: Some(answer.time_unit.nanoseconds(original)),
                spread: None,
                first_call_ns: None,
                not_measured: None,
            }],
            pairs: 0,
            calls_per_batch: 0,
            batches_ns: None,
            control: None,
            device_state: None,
            build_ns: Nanoseconds(0),
            first_call_ns: Nanoseconds(0),
        }),
        (None, None, None) if without_times => None,
        _ => return Err("it names neither an error nor a speedup with both times; without a time, `error` has to be there, and null"),
    };
    let not_measured = timing.is_none().then(|| NotMeasured { reason: "the evaluator's command gives no time".to_owned() });
    Ok(Verdict::Correct(Box::new(Correct { trials: Trials::default(), error_over_tolerance: 0.0, timing, not_measured, sets: vec![] })))
}

fn blank(request: &EvaluateRequest, verdict: Verdict) -> Evaluation {
    Evaluation {
        problem: ProblemId::of(&request.problem_source),
        candidate: CandidateId::of(&request.candidate_source),
        target: request.target,
        verdict,
        findings: vec![],
        deep_check: None,
        sandbox: Sandbox { active: vec![], missing: vec!["the evaluator's command decides on isolation".to_owned()] },
        wall_ns: Nanoseconds(0),
    }
}

/// An answer in our own form, with what it leaves out. It is always about this problem and this candidate.
fn complete(mut value: Value, request: &EvaluateRequest) -> Result<Evaluation, serde_json::Error> {
    let blank = serde_json::to_value(blank(
        request,
        Verdict::TimedOut(Timeout { phase: String::new(), limit_ns: Nanoseconds(0), trial: None, log: None }),
    ))?;
    if let (Some(fields), Value::Object(blank)) = (value.as_object_mut(), blank) {
        for (name, default) in blank {
            let ours = ["problem", "candidate", "target"].contains(&name.as_str());
            if ours || ["sandbox", "wall_ns"].contains(&name.as_str()) && !fields.contains_key(&name) {
                fields.insert(name, default);
            }
        }
    }
    serde_json::from_value(value)
}

async fn ask(command: &str, question: &Value, log: &WorkerLog, limit: Duration) -> Result<String, EvaluateError> {
    let failed = |source| EvaluateError::CommandStart { command: command.to_owned(), source };
    let messages = log.open().map_err(failed)?;
    let mut child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(messages)
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let stdin = child.stdin.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // A command that needs none of it may leave it unread.
            let _ = stdin.write_all(question.to_string().as_bytes()).await;
        }
    };
    let ended = CancellationToken::new();
    let answer = AbortOnDropHandle::new(tokio::spawn(read(child.stdout.take(), ended.clone())));
    let run = async { tokio::join!(write, child.wait()).1 };
    let slow = |_| EvaluateError::CommandSlow { command: command.to_owned(), limit };
    let status = tokio::time::timeout(limit, run).await.map_err(slow)?.map_err(failed)?;
    // What it has left in the background may keep its output open.
    drop(group);
    ended.cancel();
    let answer = answer.await.unwrap_or_default();
    if !status.success() {
        let messages = log.tail(MESSAGES);
        let last = |text: &str| text.lines().rfind(|line| !line.trim().is_empty()).map(beginning);
        let last = last(&messages).or_else(|| last(&answer)).unwrap_or_else(|| "it printed nothing".to_owned());
        let status = status.to_string();
        return Err(EvaluateError::CommandFailed { command: command.to_owned(), status, last, log: log.path().to_path_buf() });
    }
    log.shorten();
    Ok(answer)
}

/// The longest answer that is read, in bytes.
const ANSWER: u64 = 16 << 20;

/// How much of a command's messages is looked at for the last one, in bytes.
const MESSAGES: u64 = 64 << 10;

/// How long after its end the rest of an answer is waited for.
const REST: Duration = Duration::from_secs(1);

/// What the command answers, up to the end of its output, or to a silence after its own end: a daemon that it has started keeps the output open.
async fn read(stdout: Option<ChildStdout>, ended: CancellationToken) -> String {
    let mut answer = Vec::new();
    if let Some(stdout) = stdout {
        let mut stdout = stdout.take(ANSWER);
        loop {
            let silence = async {
                ended.cancelled().await;
                tokio::time::sleep(REST).await;
            };
            tokio::select! {
                biased;
                // What cannot be read is no answer, which is told of where it is parsed.
                read = stdout.read_buf(&mut answer) => if read.is_err() || matches!(read, Ok(0)) { break },
                () = silence => break,
            }
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Ends whatever the command has left behind.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn beginning(text: &str) -> String {
    match text.trim().char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text.trim()[..end]),
        None => text.trim().to_owned(),
    }
}

/// The request that measures a problem by itself.
pub(crate) fn identity(problem: &str, name: &str, target: Target, tf32: bool) -> EvaluateRequest {
    EvaluateRequest {
        problem_source: problem.to_owned(),
        problem_name: name.to_owned(),
        candidate_source: crate::identity(problem),
        target,
        options: crate::Options { tf32, ..crate::Options::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn asked(command: &str) -> Result<Evaluation, EvaluateError> {
        let folder = tempfile::tempdir().unwrap();
        let request = identity("class Model: ...", "p.py", Target::CPU, false);
        evaluate(command, &request, &WorkerLog::at(folder.path().join("logs/command.log"))).await
    }

    #[tokio::test]
    async fn a_short_answer_becomes_an_evaluation() {
        let answer = r#"{"speedup": 2.5, "original_time": 1.0, "optimized_time": 0.4, "error": null}"#;
        let evaluation = asked(&format!("cat > /dev/null; echo '{answer}'")).await.unwrap();
        assert_eq!((evaluation.verdict.status(), evaluation.fitness()), ("correct", Some(2.5)));
        let Verdict::Correct(correct) = &evaluation.verdict else { panic!("not correct") };
        let timing = correct.timing.as_ref().unwrap();
        assert_eq!((timing.candidate_ns, timing.baselines[0].time_ns), (Nanoseconds(400_000), Some(Nanoseconds(1_000_000))));
        assert_eq!(evaluation.findings[0].rule, "foreign_evaluator");
        assert_eq!(evaluation.problem, ProblemId::of("class Model: ..."));
    }

    #[tokio::test]
    async fn the_command_gets_problem_and_candidate() {
        let check =
            r#"python3 -c 'import json, sys; q = json.load(sys.stdin); print(json.dumps({"error": q["evolved_code"].splitlines()[-1]}))'"#;
        let Verdict::Faulted(fault) = asked(check).await.unwrap().verdict else { panic!("another verdict") };
        assert_eq!(fault.summary, "pass");
    }

    #[tokio::test]
    async fn an_answer_in_our_form_is_taken_as_it_is() {
        let answer = r#"{"status": "rejected", "rule": "mine", "explanation": "no", "candidate": "somebody else"}"#;
        let evaluation = asked(&format!("echo '{answer}'")).await.unwrap();
        assert_eq!(evaluation.verdict.status(), "rejected");
        assert!(evaluation.candidate.as_str().len() == 64, "it is named by what was asked");
    }

    #[tokio::test]
    async fn what_a_command_leaves_in_the_background_does_not_hold_its_answer() {
        let began = Instant::now();
        let answer = r#"{"error": "no"}"#;
        for left in ["sleep 60 &", "setsid sleep 60 &"] {
            assert_eq!(asked(&format!("{left} echo '{answer}'")).await.unwrap().verdict.status(), "faulted");
        }
        assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_command_that_does_not_keep_to_the_rules_is_an_error_and_no_verdict() {
        let reason = |command: &'static str| async move { asked(command).await.unwrap_err().to_string() };
        assert_eq!(
            reason("echo no torch >&2; exit 3").await,
            "the evaluator's command `echo no torch >&2; exit 3` failed (exit status: 3): no torch"
        );
        let unsure = "echo '{\"speedup\": 2}'; exit 3";
        assert!(reason(unsure).await.ends_with("failed (exit status: 3): {\"speedup\": 2}"), "{}", reason(unsure).await);
        assert!(reason("echo fine").await.starts_with("the answer of the evaluator's command `echo fine` is not understood: expected"));
        assert!(reason("echo '{\"speedup\": 2}'").await.contains("neither an error nor a speedup with both times"));
        let slower = r#"echo '{"speedup": 0, "original_time": 1, "optimized_time": 0.4, "error": null}'"#;
        assert!(reason(slower).await.contains("no positive number"), "{}", reason(slower).await);
        assert!(reason("echo '[2.5, 1.0, 0.4]'").await.contains("it is no object"));
    }

    #[tokio::test]
    async fn without_times_an_answer_says_that_there_was_no_error() {
        let status = |answer: &'static str| async move {
            let mut request = identity("class Model: ...", "p.py", Target::CPU, false);
            (request.options.measure, request.options.deep_check) = (false, true);
            let log = tempfile::tempdir().unwrap();
            evaluate(&format!("echo '{answer}'"), &request, &WorkerLog::at(log.path().join("logs/command.log"))).await
        };
        let evaluation = status(r#"{"error": null}"#).await.unwrap();
        let rules: Vec<_> = evaluation.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!((evaluation.verdict.status(), rules), ("correct", vec!["foreign_evaluator", "deep_check_incomplete"]));
        for answer in ["{}", r#"{"correct": false, "reason": "wrong"}"#, r#"{"type": "error"}"#] {
            assert!(status(answer).await.unwrap_err().to_string().contains("`error` has to be there"), "{answer}");
        }
    }
}
