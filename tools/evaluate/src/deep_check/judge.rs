//! What a tool's run amounts to: which reports decide, which do not and why, and when nothing is known.

use std::collections::BTreeMap;

use kernelwright_harness::Exit;
use kernelwright_protocol::{CheckOutcome, Reports, SanitizerReport, SanitizerTool};

use super::log::{Log, Report, Subject, file_name};
use super::sanitizer::ERRORS_FOUND;

/// The most reports that an outcome lists.
const LISTED: usize = 4;

/// The longest name, or line of details, that a report shows.
const SHOWN: usize = 200;

/// Libraries of torch and NVIDIA; their kernels are not the candidate's.
const LIBRARIES: [&str; 10] =
    ["libtorch", "libc10", "libcublas", "libcudnn", "libcufft", "libcusparse", "libcusolver", "libcurand", "libnccl", "libnvshmem"];

/// Names of their kernels, for reports that do not say who has launched one.
const LIBRARY_KERNELS: [&str; 6] = ["at::native::", "void at::", "cublas", "cudnn", "cusparse", "nvjet_"];

/// How the candidate's part of a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ran {
    /// It made its call, and its process was left to end by itself.
    Through {
        /// What the tool ended with; none where it had to be ended.
        exit: Option<Exit>,
    },
    /// It did not come that far.
    Not {
        /// Why, in a sentence.
        reason: String,
        /// What to try.
        hint: Option<String>,
    },
}

/// What is known after a run.
///
/// A run whose log does not end as it should was not measured, whatever the candidate's process has said: nothing but a whole log without a
/// report in it is clean.
pub(super) fn outcome(tool: SanitizerTool, log: &Log, ran: Ran) -> CheckOutcome {
    let (deciding, excused): (Vec<_>, Vec<_>) = grouped(tool, &log.reports).into_iter().partition(|report| report.excuse.is_none());
    let counted = log.counted.iter().copied().max();
    if !deciding.is_empty() {
        let own: u64 = deciding.iter().map(|report| report.times).sum();
        let count = if excused.is_empty() { own.max(counted.unwrap_or_default()) } else { own };
        return CheckOutcome::Errors(reports(count, deciding.into_iter().chain(excused)));
    }
    if let Some(trouble) = log.troubles.first() {
        return CheckOutcome::NotMeasured { reason: cut(trouble), hint: Some(cure(trouble).to_owned()) };
    }
    let exit = match ran {
        Ran::Through { exit } => exit,
        Ran::Not { reason, hint } => return CheckOutcome::NotMeasured { reason, hint },
    };
    let unknown =
        |reason: String| CheckOutcome::NotMeasured { reason, hint: Some("run compute-sanitizer by hand: it says more there".to_owned()) };
    let counted = match (log.counted.as_slice(), exit) {
        ([counted], Some(Exit::Code(0 | ERRORS_FOUND))) => *counted,
        ([], _) => return unknown("it left no summary".to_owned()),
        (_, Some(Exit::Code(0 | ERRORS_FOUND))) => return unknown("it left more than one summary".to_owned()),
        (_, Some(exit)) => return unknown(format!("it ended with {exit}")),
        (_, None) => return unknown("it did not end".to_owned()),
    };
    let printed: u64 = excused.iter().map(|report| report.times).sum();
    match (excused.is_empty(), tool) {
        (true, _) if counted == 0 && exit == Some(Exit::Code(0)) => CheckOutcome::Clean,
        (true, _) => unknown(format!("it counts {counted} errors and describes none of them")),
        // Every report of this tool is a warning, those that were not printed as well.
        (false, SanitizerTool::Initcheck) => CheckOutcome::Warnings(reports(counted.max(printed), excused.into_iter())),
        (false, _) if counted > printed => {
            unknown(format!("it describes {printed} of {counted} errors, none of them in kernels of the candidate"))
        }
        (false, _) => CheckOutcome::Warnings(reports(printed, excused.into_iter())),
    }
}

fn reports(count: u64, listed: impl Iterator<Item = SanitizerReport>) -> Reports {
    Reports { count, reports: listed.take(LISTED).collect() }
}

/// Reports that differ in threads and addresses alone as one, in the order of the first of each.
fn grouped(tool: SanitizerTool, reports: &[Report]) -> Vec<SanitizerReport> {
    let mut groups: Vec<SanitizerReport> = Vec::new();
    let mut known = BTreeMap::new();
    for report in reports {
        let excuse = excuse(tool, report);
        let key = (&report.kind, &report.place.kernel, &report.place.source, excuse);
        let index = *known.entry(key).or_insert_with(|| {
            groups.push(SanitizerReport {
                kind: cut(&report.kind),
                kernel: report.place.kernel.as_deref().map(cut),
                source: report.place.source.as_deref().map(cut),
                by: report.by.as_deref().map(cut),
                details: report.details.iter().take(LISTED).map(|detail| cut(detail)).collect(),
                times: 0,
                excuse: excuse.map(str::to_owned),
            });
            groups.len() - 1
        });
        groups[index].times += 1;
    }
    groups
}

/// Why a report decides nothing, where it does not.
fn excuse(tool: SanitizerTool, report: &Report) -> Option<&'static str> {
    match (tool, report.subject) {
        (_, Subject::Host) => Some("a call of the host, not a kernel"),
        _ if is_library(report) => Some("a kernel of torch's or NVIDIA's libraries"),
        (SanitizerTool::Initcheck, _) => Some("the value may not be used, or was written by means that initcheck does not follow"),
        _ if report.is_warning => Some("the tool itself calls it a warning"),
        // Lanes that have reduced the same elements in different orders write sums that differ in the last digit (triton-lang/triton#7264).
        (SanitizerTool::Racecheck, Subject::Writes) if is_triton(report) => Some("Triton's reductions store a result from several threads"),
        _ => None,
    }
}

fn is_library(report: &Report) -> bool {
    match (&report.launched_by, &report.place.kernel) {
        (Some(library), _) => LIBRARIES.iter().any(|name| file_name(library).starts_with(name)),
        (None, Some(kernel)) => LIBRARY_KERNELS.iter().any(|name| kernel.contains(name)),
        (None, None) => false,
    }
}

fn is_triton(report: &Report) -> bool {
    let is_python = |source: &String| source.contains(".py:");
    let by_launcher = |library: &String| ["triton", "cuda_utils"].iter().any(|name| file_name(library).contains(name));
    report.place.source.as_ref().is_some_and(is_python) || report.launched_by.as_ref().is_some_and(by_launcher)
}

/// What to try where the tool names its own trouble.
fn cure(trouble: &str) -> &'static str {
    const CURES: [(&str, &str); 6] = [
        (
            "Device not supported",
            "it needs the driver's debugging interface: sandboxes such as gVisor, WSL and some virtual GPUs do not have it",
        ),
        ("injection library", "install the whole of compute-sanitizer: it lacks what it loads into other processes"),
        ("terminated before", "install the whole of compute-sanitizer, in a version that the driver supports"),
        ("attachable", "install the whole of compute-sanitizer, in a version that the driver supports"),
        ("memory", "give the problem `get_check_inputs()` with smaller inputs: the tool keeps notes on every byte"),
        ("overflow of tracked", "the kernel has more barriers than the tool follows"),
    ];
    let known = CURES.iter().find(|(word, _)| trouble.contains(word));
    known.map_or("run compute-sanitizer by hand: it says more there", |(_, cure)| *cure)
}

/// The beginning of a text that is too long, on one line.
fn cut(text: &str) -> String {
    let text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
