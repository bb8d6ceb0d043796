//! Traces of the Torch profiler: a recorded one of a processor, and events in the form that it writes for a device.

use std::collections::BTreeMap;

use kernelwright_profile::{Capture, import};
use kernelwright_protocol::{LaunchShape, Metric, Nanoseconds, ProfilerKind};
use serde_json::{Value, json};

use crate::{fixture, import_bytes};

/// Operators of the recorded trace, against the profiler's own table of them (`fixtures/torch/record.py`).
#[test]
fn operators_have_the_own_times_that_the_profiler_says() {
    let capture = import(&fixture("torch/cpu.json.gz")).unwrap();
    let expected: BTreeMap<String, (f64, f64)> =
        serde_json::from_slice(&std::fs::read(fixture("torch/cpu.expected.json")).unwrap()).unwrap();
    assert_eq!((capture.profiler, capture.calls, capture.kernels.len()), (ProfilerKind::Torch, 2, expected.len()));
    for kernel in &capture.kernels {
        let (own_us, count) = expected[&kernel.time.name];
        assert_eq!(kernel.time.launches_per_call, count / 2.0, "{}", kernel.time.name);
        assert!((kernel.time.time_per_call_ns.0 as f64 - own_us * 500.0).abs() <= 1.0, "{}: {own_us}", kernel.time.name);
    }
    assert!((capture.kernels.iter().map(|kernel| kernel.time.share).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(capture.kernels.is_sorted_by(|left, right| left.time.share >= right.time.share));
}

fn kernel(name: &str, ts: f64, dur: f64, estimate: f64) -> Value {
    json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": {
        "External id": 3, "queued": 0, "device": 1, "context": 1, "stream": 7, "correlation": 35, "registers per thread": 40,
        "shared memory": 4096, "blocks per SM": 8.0, "warps per SM": 64.0, "grid": [1056, 1, 1], "block": [256, 1, 1],
        "est. achieved occupancy %": estimate}})
}

fn trace(events: &[Value]) -> Capture {
    let device = |id: u32, name: &str| json!({"id": id, "name": name, "numSms": 132, "maxThreadsPerMultiprocessor": 2048});
    let trace = json!({"schemaVersion": 1, "deviceProperties": [device(0, "first"), device(1, "NVIDIA H200")], "traceEvents": events, "traceName": "t.json"});
    import_bytes(trace.to_string().as_bytes()).unwrap()
}

#[test]
fn kernels_of_a_device_go_before_operators_and_have_their_shape() {
    let step = |name: &str, category: &str| json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": 0, "dur": 100});
    let capture = trace(&[
        step("ProfilerStep#3", "user_annotation"),
        step("ProfilerStep#3", "gpu_user_annotation"),
        step("ProfilerStep#4", "user_annotation"),
        json!({"ph": "X", "cat": "cpu_op", "name": "aten::softmax", "pid": 1, "tid": 1, "ts": 1, "dur": 50}),
        kernel("softmax", 1.0, 12.0, 75.0),
        kernel("softmax", 20.0, 10.0, 75.0),
        kernel("softmax", 40.0, 11.0, 75.0),
        kernel("softmax", 60.0, 9.0, 75.0),
        json!({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)", "pid": 0, "tid": 7, "ts": 80, "dur": 2.0,
               "args": {"device": 1, "stream": 7, "bytes": 256, "memory bandwidth (GB/s)": 0.128}}),
    ]);
    assert_eq!((capture.device.as_deref(), capture.calls), (Some("NVIDIA H200"), 2));
    let told: Vec<_> = capture
        .kernels
        .iter()
        .map(|kernel| (kernel.time.name.as_str(), kernel.time.launches_per_call, kernel.time.time_per_call_ns))
        .collect();
    assert_eq!(told, [("softmax", 2.0, Nanoseconds(21_000)), ("Memcpy DtoD (Device -> Device)", 0.5, Nanoseconds(1000))]);
    let softmax = &capture.kernels[0];
    assert_eq!(softmax.launch, Some(LaunchShape { grid: [1056, 1, 1], block: [256, 1, 1] }));
    let figures = [Metric::DurationNs, Metric::Blocks, Metric::RegistersPerThread, Metric::SharedBytes, Metric::TheoreticalOccupancyShare];
    assert_eq!(figures.map(|metric| softmax.figures.get(metric)), [10_000.0, 1056.0, 40.0, 4096.0, 0.75].map(Some));
    assert!(capture.raw[0].iter().any(|figure| figure.name == "est. achieved occupancy %" && figure.value == 75.0));
    assert_eq!(capture.kernels[1].launch, None);
}

#[test]
fn the_kernels_of_a_graph_are_launched_once() {
    let replayed = |correlation: u64| {
        (0..20).map(move |at| {
            let mut event = kernel("scale", 4.0 * f64::from(at), 3.0, 75.0);
            event["args"]["correlation"] = json!(correlation);
            event
        })
    };
    let capture = trace(&replayed(1).chain(replayed(2)).collect::<Vec<_>>());
    assert_eq!((capture.kernels[0].time.launches_per_call, capture.call.get(Metric::LaunchesPerCall)), (40.0, Some(2.0)));
}

#[test]
fn an_occupancy_that_the_grid_limits_says_nothing_of_the_kernel() {
    // 8 blocks of 256 threads are all that a multiprocessor has room for, and all that the grid brings to one.
    let capture = trace(&[kernel("softmax", 1.0, 12.0, 100.0)]);
    assert_eq!(capture.kernels[0].figures.get(Metric::TheoreticalOccupancyShare), None);
}

#[test]
fn a_trace_without_operators_says_so() {
    let error = import_bytes(
        br#"{"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}"#,
    )
    .unwrap_err();
    assert_eq!(error.code(), "file_empty");
}
