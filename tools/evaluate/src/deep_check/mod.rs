//! The deep check: a correct candidate makes one more call under each tool of compute-sanitizer, in a process of its own.
//!
//! Outputs cannot show what these tools see: accesses out of bounds that hit nothing, races that happen to come out right. The processes are started
//! together, since importing torch is most of what that takes, and then have the device one after the other: a tool keeps notes on every byte of
//! device memory and slows kernels down by orders of magnitude, so two at a time would fail for memory and outlast their limits.
//!
//! Nothing but the candidate runs in such a process, and torch's allocator keeps no memory in it, so that every tensor is an allocation with bounds of
//! its own. The tool is the worker's parent, outside its confinement, and writes its log where the worker cannot. It is not safe from the candidate
//! all the same: what it puts into kernels lies in the candidate's process. A clean result says that there is no mistake to be seen, and nothing about
//! a candidate that hides one; the rules that look for that are those of the evaluation before.

mod judge;
mod log;
mod sanitizer;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use kernelwright_builds::Built;
use kernelwright_harness::{LaunchError, Scratch, Worker};
use kernelwright_protocol::{
    Backend, CheckOutcome, DeepCheck, Fault, Finding, SanitizerReport, SanitizerTool, Severity, Timeout, ToolCheck, Verdict,
};
use tokio_util::task::AbortOnDropHandle;

use self::judge::{Ran, outcome};
use self::log::Log;
pub(crate) use self::sanitizer::Sanitizer;
pub use self::sanitizer::sanitizer;
use crate::candidate::{Candidate, Offer};
use crate::problem::{Inputs, Problem};
use crate::verdict::Stop;
use crate::workshop::{Bench, TritonMode, Workshop};
use crate::{EvaluateError, EvaluateRequest, Limits};

/// The phase of a verdict that this check has decided.
const PHASE: &str = "deep_check";

/// What a tool may take to write its last reports once the candidate's process has ended.
const WRITING: Duration = Duration::from_secs(60);

/// How much of a log is read; reports come first.
const LOG_BYTES: usize = 16 << 20;

const SMALLER: &str =
    "give the problem `get_check_inputs()` with smaller inputs: under such a tool kernels take tens to hundreds of times as long";

/// What is checked, and with what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Examination<'a> {
    pub(crate) sanitizer: &'a Sanitizer,
    pub(crate) workshop: &'a Workshop,
    pub(crate) request: &'a EvaluateRequest,
    pub(crate) limits: Limits,
}

/// A tool with its worker, which has yet to be told what to do.
struct Started {
    tool: SanitizerTool,
    /// The folder of the log.
    folder: Scratch,
    worker: AbortOnDropHandle<Result<Worker, LaunchError>>,
}

impl Examination<'_> {
    /// Runs every tool; `built` is what the candidate has torch build.
    pub(crate) async fn run(
        &self,
        problem: &mut Problem,
        built: &Built,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<DeepCheck, EvaluateError> {
        say("deep check: starting processes");
        let started = SanitizerTool::ALL.map(|tool| self.start(tool));
        let inputs = match problem.check_inputs().await {
            Ok(inputs) => inputs,
            // The verdict stands: this call is beside it.
            Err(error @ (EvaluateError::Problem(_) | EvaluateError::ProblemSlow { .. })) => {
                let outcome = CheckOutcome::NotMeasured { reason: error.to_string(), hint: Some(error.hint()) };
                let tools = SanitizerTool::ALL.map(|tool| ToolCheck { tool, outcome: outcome.clone(), wall_ns: Duration::ZERO.into() });
                return Ok(DeepCheck { inputs: String::new(), tools: tools.into() });
            }
            Err(error) => return Err(error),
        };
        let mut tools = Vec::new();
        for started in started {
            tools.push(match started {
                Ok(started) => {
                    say(&format!("deep check: {}", started.tool));
                    self.check(started, problem, &inputs, built).await
                }
                Err(check) => check,
            });
        }
        Ok(DeepCheck { inputs: inputs.label, tools })
    }

    fn start(&self, tool: SanitizerTool) -> Result<Started, ToolCheck> {
        let folder = self.workshop.scratch().map_err(|error| {
            let outcome = CheckOutcome::NotMeasured { reason: error.to_string(), hint: Some(error.hint().to_owned()) };
            ToolCheck { tool, outcome, wall_ns: Duration::ZERO.into() }
        })?;
        let around = self.sanitizer.around(tool, &log_file(&folder));
        let bench = Bench { backend: Backend::Cuda, triton: TritonMode::Compiled, process: self.limits.process };
        Ok(Started { tool, worker: self.workshop.check(bench, around), folder })
    }

    /// One tool's run and what it amounts to.
    async fn check(&self, started: Started, problem: &Problem, inputs: &Inputs, built: &Built) -> ToolCheck {
        let Started { tool, folder, worker } = started;
        let worker = worker.await;
        let began = Instant::now();
        let ran = match worker {
            Ok(Ok(worker)) => self.call(worker, problem, inputs, built).await,
            Ok(Err(error)) => Ran::Not { reason: error.to_string(), hint: Some(error.hint().to_owned()) },
            Err(panic) => Ran::Not { reason: panic.to_string(), hint: None },
        };
        let text = read(&log_file(&folder)).await;
        let outcome = outcome(tool, &Log::read(&text), ran);
        tracing::debug!(%tool, ?outcome, log = %text, "a tool of the deep check");
        ToolCheck { tool, outcome, wall_ns: began.elapsed().into() }
    }

    /// The candidate's part of it.
    async fn call(&self, worker: Worker, problem: &Problem, inputs: &Inputs, built: &Built) -> Ran {
        let mut candidate = Candidate::new(worker, self.limits, Backend::Cuda);
        let called = self.conversation(&mut candidate, problem, inputs, built).await;
        // Reports are written down while the process ends.
        let exit = candidate.leave(WRITING).await;
        match called {
            Ok(()) => Ran::Through { exit },
            Err(stop) => not_run(stop),
        }
    }

    async fn conversation(&self, candidate: &mut Candidate, problem: &Problem, inputs: &Inputs, built: &Built) -> Result<(), Stop> {
        let offer = Offer { problem_name: self.request.problem_name.clone(), constants: problem.facts.constants.clone() };
        candidate.build(&self.request.candidate_source, &problem.setting, &offer, built, None).await?;
        candidate.construct(problem).await?;
        candidate.check(inputs).await
    }
}

fn log_file(folder: &Scratch) -> std::path::PathBuf {
    folder.path().join("sanitizer.log")
}

/// The beginning of a log; nothing where there is none.
async fn read(path: &Path) -> String {
    let mut bytes = tokio::fs::read(path).await.unwrap_or_default();
    bytes.truncate(LOG_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Why a candidate that is correct did not come through.
fn not_run(stop: Stop) -> Ran {
    let (reason, hint) = match stop {
        Stop::Failed(error) => (error.to_string(), Some(error.hint())),
        Stop::Decided(verdict) => match *verdict {
            Verdict::TimedOut(Timeout { phase, limit_ns, .. }) => {
                (format!("the phase `{phase}` takes longer than {limit_ns} under it"), Some(SMALLER.to_owned()))
            }
            Verdict::BuildFailed(fault) | Verdict::Faulted(fault) => {
                let hint = "every tensor is an allocation of its own here, and the inputs are those of the deep check: kernels have to work with both";
                (format!("the candidate does not run under it: {}", fault.summary), Some(hint.to_owned()))
            }
            Verdict::Rejected { rule, explanation } => (format!("{rule}: {explanation}"), None),
            Verdict::Incorrect { .. } | Verdict::Correct(_) => ("the candidate's process gave no answer".to_owned(), None),
        },
    };
    Ran::Not { reason, hint }
}

/// The verdict that the check has come to, where it is not for the candidate.
pub(crate) fn verdict(check: &DeepCheck) -> Option<Verdict> {
    let first = check.tools.iter().find_map(|check| match &check.outcome {
        CheckOutcome::Errors(found) => Some((check.tool, found)),
        _ => None,
    });
    let (tool, found) = first?;
    let summary = match found.reports.first() {
        // The whole of it stands in the deep check itself.
        Some(report) => format!("{tool}: {}", SanitizerReport { details: vec![], times: 1, ..report.clone() }),
        None => format!("{tool}: {} errors", found.count),
    };
    Some(Verdict::Faulted(Fault { phase: PHASE.to_owned(), summary, diagnostics: String::new(), log: None }))
}

/// What goes beside the verdict.
pub(crate) fn findings(check: &DeepCheck) -> Vec<Finding> {
    let finding = |check: &ToolCheck| {
        let (rule, severity, message) = match (&check.outcome, check.tool) {
            (CheckOutcome::Clean | CheckOutcome::Errors(_) | CheckOutcome::NotMeasured { .. }, _) => return None,
            (CheckOutcome::Warnings(found), SanitizerTool::Initcheck) => {
                let text = found.reports.first().map(ToString::to_string).unwrap_or_default();
                ("uninitialized_read", Severity::Warning, format!("memory may be read that nobody has written: {text}"))
            }
            (CheckOutcome::Warnings(found), tool) => {
                ("sanitizer_warning", Severity::Note, format!("{tool} has {} reports that decide nothing", found.count))
            }
        };
        Some(Finding { rule: rule.to_owned(), severity, message })
    };
    check.tools.iter().filter_map(finding).chain(incomplete(check)).collect()
}

/// One finding for the tools that have checked nothing: what keeps one from it mostly keeps all.
fn incomplete(check: &DeepCheck) -> Option<Finding> {
    let reason = |check: &ToolCheck| match &check.outcome {
        CheckOutcome::NotMeasured { reason, .. } => Some((check.tool, reason.clone())),
        _ => None,
    };
    let missing: Vec<_> = check.tools.iter().filter_map(reason).collect();
    let (_, first) = missing.first()?;
    let tools: Vec<_> = missing.iter().map(|(tool, _)| tool.as_str()).collect();
    let message = format!("not checked by {}: {first}", tools.join(", "));
    Some(Finding { rule: "deep_check_incomplete".to_owned(), severity: Severity::Warning, message })
}
