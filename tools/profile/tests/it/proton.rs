//! Trees in the form that Proton's writer gives them. None was recorded for these tests: the numbers are invented.

use kernelwright_profile::Capture;
use kernelwright_protocol::{Metric, Nanoseconds, ProfilerKind, StallReason};
use serde_json::{Value, json};

use crate::import_bytes;

fn frame(name: &str, metrics: &Value, children: &[Value]) -> Value {
    json!({"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": children})
}

fn kernel(name: &str, ns: u64, count: u64) -> Value {
    frame(name, &json!({"time (ns)": ns, "count": count, "device_id": "0", "device_type": "CUDA"}), &[])
}

fn tree(children: &[Value]) -> Value {
    let device =
        json!({"CUDA": {"0": {"arch": "90", "bus_width": 6144, "clock_rate": 1_980_000, "memory_clock_rate": 3_201_000, "num_sms": 132}}});
    json!([frame("ROOT", &json!({"count": 0, "time (ns)": 0}), children), device])
}

fn import(tree: &Value) -> Capture {
    import_bytes(tree.to_string().as_bytes()).unwrap()
}

#[test]
fn a_kernel_is_one_wherever_in_the_tree_it_ran() {
    let own = frame("__proton_launch_metadata", &json!({}), &[kernel("count_nonzero", 500, 1)]);
    let capture = import(&tree(&[
        frame("first", &json!({}), &[kernel("softmax", 4000, 2), own]),
        frame("second", &json!({}), &[kernel("softmax", 2000, 1), kernel("copy", 2000, 4)]),
    ]));
    assert_eq!((capture.profiler, capture.device.as_deref(), capture.calls), (ProfilerKind::Proton, Some("sm_90"), 1));
    let told: Vec<_> =
        capture.kernels.iter().map(|kernel| (kernel.time.name.as_str(), kernel.time.launches_per_call, kernel.time.share)).collect();
    assert_eq!(told, [("softmax", 3.0, 0.75), ("copy", 4.0, 0.25)]);
    assert_eq!(capture.kernels[0].time.time_per_call_ns, Nanoseconds(6000));
    assert_eq!(capture.kernels[0].figures.get(Metric::DurationNs), Some(2000.0));
    assert_eq!(capture.kernels[0].figures.get(Metric::Multiprocessors), Some(132.0));
}

#[test]
fn operations_count_whether_the_kernel_or_the_frame_around_it_says_them() {
    let mut itself = kernel("gemm", 1000, 1);
    itself["metrics"]["flops16"] = json!(2e9);
    let around = frame("gemm [M=64, N=64]", &json!({"flops32": 3e6, "bytes": 4096}), &[kernel("gemm_64", 1000, 1)]);
    let capture = import(&tree(&[itself, around]));
    let rate = |name: &str| {
        let kernel = capture.kernels.iter().find(|kernel| kernel.time.name == name).unwrap();
        kernel.figures.get(Metric::OperationsPerS).unwrap()
    };
    assert_eq!((rate("gemm"), rate("gemm_64")), (2e15, 3e12));
}

#[test]
fn samples_become_stalls_and_hot_lines() {
    let samples = |line: &str, all: u64, long: u64, selected: u64| {
        let metrics = json!({"num_samples": all, "num_stalled_samples": all, "stalled_long_scoreboard": long, "stalled_selected": selected,
                             "stalled_not_Selected": all - long - selected});
        frame(&format!("/src/softmax.py:{line}@softmax"), &metrics, &[])
    };
    let mut softmax = kernel("softmax", 1000, 1);
    softmax["children"] = json!([samples("12", 60, 50, 5), samples("14", 20, 0, 15)]);
    let capture = import(&tree(&[softmax]));
    let kernel = &capture.kernels[0];
    let stalls: Vec<_> = kernel.stalls.iter().map(|stall| (stall.reason, stall.share)).collect();
    assert_eq!(stalls, [(StallReason::LongScoreboard, 0.625), (StallReason::Selected, 0.25), (StallReason::NotSelected, 0.125)]);
    let lines: Vec<_> = kernel.hot_lines.iter().map(|line| (line.place.as_str(), line.share, line.waits_for)).collect();
    assert_eq!(
        lines,
        [("/src/softmax.py:12", 0.75, Some(StallReason::LongScoreboard)), ("/src/softmax.py:14", 0.25, Some(StallReason::NotSelected))]
    );
}

#[test]
fn a_tree_without_kernels_and_one_too_deep_are_refused_with_what_to_do() {
    let error = import_bytes(tree(&[frame("scope", &json!({"flops": 1}), &[])]).to_string().as_bytes()).unwrap_err();
    assert_eq!(error.code(), "file_empty");
    let deep = (0..100).fold(kernel("softmax", 1000, 1), |inner, _| frame("call", &json!({}), &[inner]));
    let error = import_bytes(tree(&[deep]).to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("shadow"), "{error}");
    // As deep as Python's stacks below a kernel mostly are.
    let stack = (0..50).fold(kernel("softmax", 1000, 1), |inner, _| frame("call", &json!({}), &[inner]));
    assert_eq!(import(&tree(&[stack])).kernels.len(), 1);
}
