//! From what went wrong with a candidate's worker to a verdict.

use kernelwright_harness::{AskError, FreezeError, Refusal, WorkerLog};
use kernelwright_protocol::{Fault, Finding, Mismatch, Severity, Timeout, Trials, Verdict};

use crate::EvaluateError;

/// How many characters of messages a verdict carries: what a model can use.
const DIAGNOSTICS: usize = 4000;

/// The most differences a verdict lists.
const MISMATCHES: usize = 8;

/// What torch and numpy raise where a matrix cannot be factorised; the second is of those that say so by its name alone, such as `lu_factor`.
const NO_FACTORISATION: [&str; 2] = ["LinAlgError: ", "RuntimeError: torch.linalg."];

/// What a candidate is faulted for whose kernels write beyond their memory (`canaries.py`).
const OVERRUN: &str = "a kernel writes where it has no memory";

/// Whether that is so; a closer look tells where.
pub(crate) fn has_overrun(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Faulted(fault) if fault.summary.starts_with(OVERRUN))
}

/// Why an evaluation ends before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The candidate is judged.
    Decided(Box<Verdict>),
    /// Nothing can be said about the candidate.
    Failed(EvaluateError),
}

impl From<EvaluateError> for Stop {
    fn from(error: EvaluateError) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    pub(crate) fn rejected(rule: &str, explanation: impl Into<String>) -> Self {
        Self::Decided(Box::new(Verdict::Rejected { rule: rule.to_owned(), explanation: explanation.into() }))
    }

    /// An output is wrong; the worst differences first.
    pub(crate) fn incorrect(mut mismatches: Vec<Mismatch>, trials: Trials) -> Self {
        let severity = |m: &Mismatch| m.error_over_tolerance.unwrap_or(f64::INFINITY);
        mismatches.sort_by(|a, b| severity(b).total_cmp(&severity(a)));
        mismatches.truncate(MISMATCHES);
        Self::Decided(Box::new(Verdict::Incorrect { mismatches, trials }))
    }

    /// The same, with a remark to every difference.
    pub(crate) fn explained(mut self, remark: &str) -> Self {
        if let Self::Decided(verdict) = &mut self
            && let Verdict::Incorrect { mismatches, .. } = &mut **verdict
        {
            for mismatch in mismatches.iter_mut() {
                mismatch.detail = format!("{} ({remark})", mismatch.detail);
            }
        }
        self
    }

    /// Whether a factorisation has failed, as that of a matrix with a NaN does, or of one that is nearly singular.
    pub(crate) fn is_of_a_factorisation(&self) -> bool {
        let Self::Decided(verdict) = self else { return false };
        let Verdict::Faulted(fault) = &**verdict else { return false };
        let summary = fault.summary.trim_start_matches('_');
        NO_FACTORISATION.iter().any(|raised| summary.starts_with(raised))
    }

    /// The same, with the trial in which the candidate failed.
    pub(crate) fn in_trial(mut self, label: &str) -> Self {
        let Self::Decided(verdict) = &mut self else { return self };
        match &mut **verdict {
            Verdict::Faulted(fault) => fault.summary = format!("{}, in {label}", fault.summary.trim_end_matches('.')),
            Verdict::TimedOut(timeout) => timeout.trial = Some(label.to_owned()),
            _ => {}
        }
        self
    }
}

/// What the candidate was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Import,
    Construct,
    Run,
    Time,
}

impl Phase {
    fn as_str(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Construct => "construct",
            Self::Run => "run",
            Self::Time => "time",
        }
    }

    /// The phase whose limit applies: importing and constructing share one.
    fn limited(self) -> &'static str {
        match self {
            Self::Import | Self::Construct => "build",
            Self::Run => "run",
            Self::Time => "time",
        }
    }
}

/// The verdict on a candidate whose worker did not answer a question with `ok`.
///
/// A process that ends is `faulted` in every phase, whatever its exit code: nobody asked it to end.
pub(crate) fn judge(phase: Phase, error: AskError, log: &WorkerLog) -> Stop {
    let told = || log.told().map(|path| path.display().to_string());
    let fault = |summary: String, traceback: &str| Fault {
        phase: phase.as_str().to_owned(),
        summary: one_line(&summary),
        diagnostics: diagnostics(traceback, &log.tail(2 * DIAGNOSTICS as u64)),
        log: told(),
    };
    let verdict = match error {
        AskError::Deadline { limit, .. } => {
            Verdict::TimedOut(Timeout { phase: phase.limited().to_owned(), limit_ns: limit.into(), trial: None, log: told() })
        }
        AskError::Ended(exit) => Verdict::Faulted(fault(format!("the process ended: {exit}"), "")),
        AskError::TooLong(bytes) => return Stop::Failed(EvaluateError::TooLong(bytes)),
        AskError::Violation(detail) => {
            return Stop::rejected("channel_tampering", format!("the candidate's process broke the worker protocol: {detail}"));
        }
        AskError::Freeze(FreezeError::Running) => {
            return Stop::rejected("channel_tampering", "its process went on running after its answer, although it was stopped");
        }
        AskError::Freeze(error) => return Stop::Failed(EvaluateError::Protocol(error.to_string())),
        AskError::Refused(Refusal { kind, message, traceback, .. }) => {
            let message = printable(&message);
            match kind.as_str() {
                "import" | "no_model_new" | "construct" => Verdict::BuildFailed(fault(message, &traceback)),
                // The trusted worker has the device: the confinement hides it.
                "device" if phase == Phase::Import => return Stop::Failed(EvaluateError::DeviceHidden(message)),
                "output_type" => return Stop::rejected("output_type", message),
                _ => Verdict::Faulted(fault(message, &traceback)),
            }
        }
    };
    Stop::Decided(Box::new(verdict))
}

/// What a candidate says, as it may be shown to people and models: without control characters, and no longer than anybody reads.
pub(crate) fn printable(text: &str) -> String {
    let mut kept: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).take(MESSAGE + 1).collect();
    if let Some((end, _)) = kept.char_indices().nth(MESSAGE) {
        kept.truncate(end);
        kept += "...";
    }
    kept
}

/// The longest message of a candidate, in characters.
const MESSAGE: usize = 2000;

/// The finding that decides a rejection.
pub(crate) fn deciding_finding(verdict: &Verdict) -> Option<Finding> {
    match verdict {
        Verdict::Rejected { rule, explanation } => {
            Some(Finding { rule: rule.clone(), severity: Severity::Rejection, message: explanation.clone() })
        }
        _ => None,
    }
}

/// The traceback, then what was printed, cut to what a model can use: compilers print their first error first, Python its last line
/// last.
fn diagnostics(traceback: &str, printed: &str) -> String {
    let (traceback, printed) = (traceback.trim(), printed.trim());
    match (traceback.is_empty(), printed.is_empty()) {
        (_, true) => cut(traceback, DIAGNOSTICS),
        (true, false) => cut(printed, DIAGNOSTICS),
        (false, false) => format!("{}\n\nprinted:\n{}", cut(traceback, DIAGNOSTICS * 2 / 3), cut(printed, DIAGNOSTICS / 3)),
    }
}

/// The line that says what is wrong: a compiler's first error with the exception that carries it, else the first line.
fn one_line(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let exception = first.split_once(':').map(|(name, _)| name).filter(|name| name.chars().all(char::is_alphanumeric));
    match (lines.find(|line| line.contains("error:")), exception) {
        (Some(error), Some(exception)) if !first.contains("error:") => format!("{exception}: {error}"),
        _ => first.to_owned(),
    }
}

/// The beginning and the end of a text that is too long.
fn cut(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit / 2).collect();
    let tail: String = text.chars().skip(count - limit / 2).collect();
    format!("{head}\n[... {} characters left out ...]\n{tail}", count - limit / 2 * 2)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kernelwright_harness::Exit;

    use super::*;

    fn status(phase: Phase, error: AskError) -> String {
        match judge(phase, error, &WorkerLog::at("/nonexistent".into())) {
            Stop::Decided(verdict) => match *verdict {
                Verdict::Rejected { rule, .. } => format!("rejected: {rule}"),
                Verdict::Faulted(fault) | Verdict::BuildFailed(fault) if fault.summary.contains("exit code") => {
                    format!("faulted: {}", fault.summary)
                }
                other => other.status().to_owned(),
            },
            Stop::Failed(error) => format!("error: {}", error.code()),
        }
    }

    fn refused(kind: &str) -> AskError {
        AskError::Refused(Refusal { kind: kind.into(), phase: String::new(), message: "m".into(), traceback: String::new() })
    }

    #[test]
    fn a_factorisation_fails_by_its_name() {
        let raised = |message: &str| {
            let refusal = Refusal { kind: "run".into(), phase: String::new(), message: message.into(), traceback: String::new() };
            judge(Phase::Run, AskError::Refused(refusal), &WorkerLog::at("/nonexistent".into()))
        };
        for (message, is_one) in [
            ("_LinAlgError: linalg.cholesky: The factorization could not be completed.", true),
            ("LinAlgError: Matrix is not positive definite", true),
            ("RuntimeError: torch.linalg.lu_factor: (Batch element 5): U[5,5] is zero and using it would be a division by zero.", true),
            ("RuntimeError: LinAlgError: no", false),
            ("CUDA error: LinAlgError: an illegal memory access was encountered", false),
        ] {
            assert_eq!(raised(message).is_of_a_factorisation(), is_one, "{message}");
        }
        let Stop::Decided(verdict) = raised("_LinAlgError: not invertible.").in_trial("trial 3 (scaled x100)") else { panic!() };
        assert!(matches!(*verdict, Verdict::Faulted(fault) if fault.summary == "_LinAlgError: not invertible, in trial 3 (scaled x100)"));
    }

    #[test]
    fn each_failure_has_one_status() {
        let late = AskError::Deadline { op: "run".into(), limit: Duration::from_secs(1) };
        assert_eq!(status(Phase::Run, late), "timed_out");
        assert_eq!(status(Phase::Run, AskError::Ended(Exit::Code(0))), "faulted: the process ended: exit code 0");
        assert_eq!(status(Phase::Import, AskError::Ended(Exit::Signal(11))), "faulted");
        assert_eq!(status(Phase::Import, refused("import")), "build_failed");
        assert_eq!(status(Phase::Construct, refused("construct")), "build_failed");
        assert_eq!(status(Phase::Import, refused("device")), "error: device_unavailable");
        assert_eq!(status(Phase::Run, refused("run")), "faulted");
        assert_eq!(status(Phase::Run, refused("output_type")), "rejected: output_type");
        assert_eq!(status(Phase::Time, AskError::Violation("x".into())), "rejected: channel_tampering");
    }

    #[test]
    fn what_comes_to_no_end_is_told_with_its_trial() {
        let late = AskError::Deadline { op: "run".into(), limit: Duration::from_secs(15) };
        let log = WorkerLog::at("/nonexistent".into());
        let Stop::Decided(verdict) = judge(Phase::Run, late, &log).in_trial("trial 3 (scaled x100)") else { panic!() };
        let Verdict::TimedOut(timeout) = *verdict else { panic!() };
        assert_eq!(timeout.to_string(), "run took more than 15.0 s, in trial 3 (scaled x100)");
    }

    #[test]
    fn a_write_beyond_memory_is_told_by_the_workers_words() {
        let worker = include_str!("../../harness/python/kernelwright_worker/canaries.py");
        assert!(worker.contains(&format!("_OVERRUN = \"{OVERRUN}\"")), "the worker words it otherwise");
    }

    #[test]
    fn the_worst_differences_come_first() {
        let mismatch = |error| Mismatch { trial: "t".into(), output: "o".into(), detail: "d".into(), error_over_tolerance: error };
        let Stop::Decided(verdict) = Stop::incorrect(vec![mismatch(Some(2.0)), mismatch(None), mismatch(Some(9.0))], Trials::default())
        else {
            panic!("no verdict")
        };
        let Verdict::Incorrect { mismatches, .. } = *verdict else { panic!("another verdict") };
        assert_eq!(mismatches.iter().map(|m| m.error_over_tolerance).collect::<Vec<_>>(), [None, Some(9.0), Some(2.0)]);
    }

    #[test]
    fn a_summary_is_the_line_that_says_what_is_wrong() {
        assert_eq!(one_line("ValueError: odd\nsecond"), "ValueError: odd");
        assert_eq!(
            one_line("RuntimeError: k.cpp: In function 'f':\nk.cpp:7:2: error: no x\n 7 | x"),
            "RuntimeError: k.cpp:7:2: error: no x"
        );
        assert_eq!(one_line("the process ended: SIGSEGV (invalid memory access)"), "the process ended: SIGSEGV (invalid memory access)");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn long_messages_keep_both_ends() {
        let long = format!("first error\n{}\nlast line", "x".repeat(10_000));
        let cut = diagnostics(&long, "");
        assert!(cut.starts_with("first error") && cut.ends_with("last line") && cut.chars().count() < 4100);
    }
}
