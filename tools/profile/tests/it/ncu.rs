//! Nsight Compute's reports, against the figures that it shows for them itself (`fixtures/ncu/NOTICE`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use kernelwright_profile::import;
use kernelwright_protocol::{LaunchShape, Metric, Nanoseconds, ProfilerKind, StallReason};
use serde::Deserialize;

use crate::encode::{Message, metric, report, sides};
use crate::{fixture, import_bytes};

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

/// A launch of `softmax`, of which the given metrics are known.
fn launch(metrics: &[Message]) -> Message {
    let launch =
        Message::default().bytes(5, b"softmax").bytes(6, b"softmax").message(10, &sides([132, 1, 1])).message(11, &sides([128, 1, 1]));
    metrics.iter().fold(launch, |launch, metric| launch.message(13, metric))
}

#[test]
fn names_of_other_architectures_give_the_same_figures_and_unknown_fields_are_passed_over() {
    let names = [
        ("dram__bytes_op_read.sum.per_second", 2e12),
        ("dram__bytes_op_write.sum.per_second", 1e12),
        ("launch__sm_count", 132.0),
        ("sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active", 62.5),
        ("sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active", 12.5),
        ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 3200.0),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 100.0),
        ("sass__inst_executed_local_loads", 5.0),
        ("sass__inst_executed_local_stores", 6.0),
        ("smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", 1.5),
        ("smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", 1.0),
        ("smsp__pcsamp_warps_issue_stalled_selected", 7.0),
    ];
    let metrics: Vec<Message> = names.iter().zip(0..).map(|((_, value), number)| metric(number, *value, &[])).collect();
    let newer = launch(&metrics).bytes(99, b"newer").integer(98, 7).double(97, 1.0);
    let capture = import_bytes(&report(&names.map(|(name, _)| name), &[], &[newer])).unwrap();
    let kernel = &capture.kernels[0];
    let figures = [Metric::DramBytesPerS, Metric::Multiprocessors, Metric::TensorShare, Metric::SectorsPerLoad, Metric::LocalRequests];
    assert_eq!(figures.map(|metric| kernel.figures.get(metric)), [3e12, 132.0, 0.625, 32.0, 11.0].map(Some));
    let stalls: Vec<_> = kernel.stalls.iter().map(|stall| (stall.reason, stall.share)).collect();
    assert_eq!(stalls, [(StallReason::Gmma, 0.6), (StallReason::Selected, 0.4)]);
}

#[test]
fn arithmetic_counts_only_where_all_of_it_was_counted() {
    let rate = |tensor: &[(&str, f64)]| {
        let mut names = vec![
            ("gpu__time_duration.sum", 1000.0),
            ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 100.0),
            ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 400.0),
            ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 100.0),
        ];
        names.extend(tensor);
        let metrics: Vec<Message> = names.iter().zip(0..).map(|((_, value), number)| metric(number, *value, &[])).collect();
        let names: Vec<&str> = names.into_iter().map(|(name, _)| name).collect();
        import_bytes(&report(&names, &[], &[launch(&metrics)])).unwrap().kernels[0].figures.get(Metric::OperationsPerS)
    };
    let busy = ("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", 50.0);
    let counted = ("sm__ops_path_tensor_src_fp16_dst_fp32.sum.per_second", 9e9);
    assert_eq!(rate(&[]), None);
    assert_eq!(rate(&[(busy.0, 0.0)]), Some(1e9));
    assert_eq!((rate(&[busy]), rate(&[busy, counted])), (None, Some(1e10)));
    // The same operations by instruction, and by what a type's are split into.
    let again = [
        ("sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.per_second", 9e9),
        ("sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum.per_second", 9e9),
    ];
    assert_eq!((rate(&[busy, counted, again[0], again[1]]), rate(&[busy, again[0]])), (Some(1e10), Some(1e10)));
}

#[test]
fn samples_are_placed_by_lines_else_by_instructions() {
    let names =
        ["smsp__pcsamp_sample_count", "smsp__pcsamp_warps_issue_stalled_long_scoreboard", "smsp__pcsamp_warps_issue_stalled_selected"];
    let samples = [
        metric(0, 4.0, &[(0x1000, 1), (0x1010, 3), (0x1020, 0)]),
        metric(1, 2.0, &[(0x1010, 2)]),
        metric(2, 2.0, &[(0x1000, 1), (0x1010, 1)]),
    ];
    let function = Message::default().bytes(1, b"softmax").integer(2, 0x1000);
    let module = Message::default().integer(1, 9).bytes(4, b"no executable").message(9, &Message::default().message(1, &function));
    let line = Message::default().integer(2, 8).bytes(4, b"/src/softmax.py");
    let load = Message::default().integer(1, 0x1010).bytes(2, b"LDG.E R6, [R2]").message(5, &line);
    let launch = launch(&samples).message(12, &load).message(15, &Message::default().integer(1, 9));
    let capture = import_bytes(&report(&names, &[module], &[launch])).unwrap();
    let lines: Vec<_> =
        capture.kernels[0].hot_lines.iter().map(|line| (line.place.as_str(), line.instruction.as_deref(), line.share)).collect();
    assert_eq!(lines, [("/src/softmax.py:8", Some("LDG.E R6, [R2]"), 0.75), ("+0x0", None, 0.25)]);
    let waits: Vec<_> = capture.kernels[0].hot_lines.iter().map(|line| line.waits_for).collect();
    assert_eq!(waits, [Some(StallReason::LongScoreboard), None]);
}
