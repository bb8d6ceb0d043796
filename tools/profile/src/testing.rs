//! For tests: a report of a few kernels of which the first has every kind of figure, and a device.

use std::collections::BTreeMap;

use kernelwright_protocol::{
    ContentHash, HotLine, KernelProfile, KernelTime, LaunchShape, Metric, Nanoseconds, ProfilerKind, Stall, StallReason, Target,
    TargetDescription,
};

use crate::capture::{Capture, RawFigure, Taken};
use crate::report::{Report, Subject};

/// Some name.
pub(crate) fn id() -> ContentHash {
    ContentHash::of("a report")
}

/// A device that copies so many bytes in a second, and makes 600 Top/s of products on float16.
pub(crate) fn target(copy_bytes_per_second: f64) -> TargetDescription {
    TargetDescription {
        copy_bytes_per_second: Some(copy_bytes_per_second),
        matrix_operations_per_second: BTreeMap::from([("float16".to_owned(), 6e14)]),
        target: Target::CPU,
        name: "part".into(),
        arch: "arch".into(),
        memory: None,
        facts: vec![],
        software: vec![],
    }
}

/// A report of so many kernels, `kernel_0` and on, of which the first reads columns.
pub(crate) fn report(kernels: usize) -> Report {
    let figures = [
        (Metric::DurationNs, 180_123.4),
        (Metric::RegistersPerThread, 32.0),
        (Metric::TheoreticalOccupancyShare, 1.0),
        (Metric::AchievedOccupancyShare, 0.912_345_678_9),
        (Metric::ComputeThroughputShare, 0.1),
        (Metric::MemoryThroughputShare, 0.8),
        (Metric::DramThroughputShare, 0.41),
        (Metric::DramBytesPerS, 1.967_123_456_789e12),
        (Metric::L2HitShare, 0.5),
        (Metric::SectorsPerLoad, 32.0),
        (Metric::ExcessSectorsShare, 0.861_234_567),
        (Metric::SharedConflictShare, 0.0),
    ];
    let kernel = |position: usize| {
        let share = if position == 0 { 0.6 } else { 0.4 / kernels as f64 };
        let time = KernelTime {
            name: format!("kernel_{position}"),
            launches_per_call: 1.0,
            time_per_call_ns: Nanoseconds((share * 300_000.0) as u64),
            share,
        };
        KernelProfile {
            launch: Some(LaunchShape { grid: [4096, 1, 1], block: [256, 1, 1] }),
            figures: figures.into_iter().collect(),
            stalls: vec![Stall { reason: StallReason::LongScoreboard, share: 0.75 }, Stall { reason: StallReason::Wait, share: 0.05 }],
            hot_lines: vec![HotLine {
                place: "columns.py:17".into(),
                source: Some("    x = tl.load(p + rows * stride)".into()),
                instruction: Some("LDG.E R2, [R2.64]".into()),
                share: 0.63,
                waits_for: Some(StallReason::LongScoreboard),
            }],
            ..KernelProfile::from(time)
        }
    };
    let raw = vec![RawFigure { name: "dram__bytes_read.sum".into(), value: 134_217_728.0, unit: "byte".into() }];
    let capture = Capture {
        device: Some("NVIDIA H200".into()),
        calls: 3,
        wall_per_call_ns: Some(Nanoseconds(300_000)),
        kernels: (0..kernels).map(kernel).collect(),
        limits: vec!["Each kernel ran alone.".into()],
        raw: vec![raw],
        ..Capture::new(ProfilerKind::Ncu)
    };
    Report::of(Subject::default(), Taken { capture, before: vec![], work: None, files: vec![], passed_over: vec![] }, None)
}
