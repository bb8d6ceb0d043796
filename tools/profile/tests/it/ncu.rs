//! Nsight Compute's reports, against what NVIDIA's own reader says of them (`fixtures/ncu/oracle.py`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use kernelwright_profile::import;
use kernelwright_protocol::{LaunchShape, Nanoseconds, ProfilerKind, StallReason};
use serde::Deserialize;

use crate::fixture;

/// One launch, by NVIDIA's reader.
#[derive(Deserialize)]
struct Expected {
    name: String,
    device: String,
    grid: [u32; 3],
    block: [u32; 3],
    metrics: BTreeMap<String, (f64, String)>,
    figures: BTreeMap<String, f64>,
    stalls: BTreeMap<String, f64>,
    samples: BTreeMap<String, f64>,
}

/// Two lists are the same, to the last digit; of long lists only the differences are shown.
fn check_same<T: PartialEq + Debug>(found: &BTreeMap<String, T>, expected: &BTreeMap<String, T>) {
    let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let different: Vec<_> = names.into_iter().map(|name| (name, found.get(name), expected.get(name))).filter(|(_, a, b)| a != b).collect();
    assert!(different.is_empty(), "found and expected: {different:#?}");
}

/// Compares everything there is of the reports in which no kernel was launched twice in the same shape.
fn check(report: &str) {
    let capture = import(&fixture(&format!("ncu/{report}.ncu-rep.gz"))).unwrap();
    let expected: Vec<Expected> = serde_json::from_slice(&std::fs::read(fixture(&format!("ncu/{report}.expected.json"))).unwrap()).unwrap();
    assert_eq!((capture.profiler, capture.kernels.len(), capture.raw.len()), (ProfilerKind::Ncu, expected.len(), expected.len()));
    for (kernel, raw) in capture.kernels.iter().zip(&capture.raw) {
        let expected = expected.iter().find(|expected| expected.name == kernel.time.name).unwrap();
        assert_eq!(capture.device.as_ref(), Some(&expected.device));
        assert_eq!(kernel.launch, Some(LaunchShape { grid: expected.grid, block: expected.block }));
        assert_eq!(kernel.time.time_per_call_ns, Nanoseconds(expected.figures["duration_ns"] as u64));

        let raw: BTreeMap<String, (f64, String)> =
            raw.iter().map(|figure| (figure.name.clone(), (figure.value, figure.unit.clone()))).collect();
        check_same(&raw, &expected.metrics);
        let figures: BTreeMap<String, f64> = kernel.figures.iter().map(|(metric, value)| (metric.name(), value)).collect();
        check_same(&figures, &expected.figures);

        // The profiler's words for two of the reasons are not those of the wire.
        let word =
            |reason: StallReason| serde_json::to_value(reason).unwrap().as_str().unwrap().replace("no_instruction", "no_instructions");
        let stalls: BTreeMap<String, f64> = kernel.stalls.iter().map(|stall| (word(stall.reason), stall.share)).collect();
        check_same(&stalls, &expected.stalls);
        assert!(kernel.stalls.is_sorted_by(|left, right| left.share >= right.share));

        let all: f64 = expected.samples.values().sum();
        let lines: BTreeMap<String, f64> = kernel.hot_lines.iter().map(|line| (line.place.clone(), line.share)).collect();
        let samples: BTreeMap<String, f64> = expected.samples.iter().map(|(place, count)| (place.clone(), count / all)).collect();
        check_same(&lines, &samples);
    }
}

#[test]
fn every_figure_of_a_small_report_is_the_profilers_own() {
    check("CuVectorAddDrv");
}

#[test]
fn every_figure_stall_and_source_line_of_a_full_report_is_the_profilers_own() {
    check("manual_nvtx");
}

#[test]
fn hot_lines_say_what_warps_waited_for() {
    let capture = import(&fixture("ncu/manual_nvtx.ncu-rep.gz")).unwrap();
    let daxpy = capture.kernels.iter().find(|kernel| kernel.time.name.starts_with("daxpy")).unwrap();
    let hottest = &daxpy.hot_lines[0];
    assert!(hottest.place.ends_with("manual_nvtx.cu:69"), "{hottest:?}");
    assert_eq!(hottest.waits_for, Some(StallReason::LongScoreboard));
    assert!(daxpy.hot_lines.is_sorted_by(|left, right| left.share >= right.share));
}

#[test]
fn limits_say_that_times_are_those_of_replays() {
    let capture = import(&fixture("ncu/manual_nvtx.ncu-rep.gz")).unwrap();
    assert_eq!(capture.calls, 1);
    let limits: BTreeSet<bool> = capture.limits.iter().map(|limit| limit.contains("replays")).collect();
    assert!(limits.contains(&true), "{:?}", capture.limits);
}
