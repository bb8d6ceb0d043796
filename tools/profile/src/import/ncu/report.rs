//! Nsight Compute's own report (`.ncu-rep`), as a capture.

use std::collections::BTreeMap;

use kernelwright_protocol::{KernelProfile, ProfilerKind};

use super::container::Container;
use super::messages::Launched;
use super::metrics::Measured;
use super::{DURATION, NO_DURATIONS, REPLAYED, source, stalls, units};
use crate::import::error::{Fault, Format};
use crate::import::launches::{self, Launch};
use crate::import::{CALLS_UNKNOWN, NAME, limited};
use crate::{Capture, RawFigure};

/// Reads a report.
pub(in crate::import) fn read(report: &[u8]) -> Result<Capture, Fault> {
    let container = Container::of(report)?;
    let launches: Vec<Launch<Launched<'_>>> = container
        .results
        .iter()
        .map(|message| {
            let launched = Launched::of(message, &container);
            let duration_ns = launched.metric(DURATION).and_then(super::messages::MetricResult::number);
            Launch { name: launched.name(), shape: launched.shape(), duration_ns, detail: launched }
        })
        .collect();
    let first = launches.first().ok_or(Fault::Empty(Format::NcuReport))?;
    let device = first.detail.metric("device__attribute_display_name").and_then(|metric| Some(metric.text()?.into_owned()));
    let timed = launches.iter().any(|launch| launch.duration_ns.is_some());
    let mut capture = Capture {
        profiler: ProfilerKind::Ncu,
        device,
        calls: 1,
        wall_per_call_ns: None,
        kernels: Vec::new(),
        call: kernelwright_protocol::Figures::default(),
        limits: vec![if timed { REPLAYED } else { NO_DURATIONS }.to_owned(), CALLS_UNKNOWN.to_owned()],
        raw: Vec::new(),
    };
    let mut taken = 0;
    for group in launches::group(launches, 1) {
        let raw = raw(group.median);
        limited(&mut taken, &raw)?;
        let measured = Measured::of(&raw);
        capture.kernels.push(KernelProfile {
            time: group.time,
            launch: group.shape,
            figures: measured.figures(),
            stalls: stalls::of(&measured),
            hot_lines: source::hot_lines(group.median, &container),
        });
        capture.raw.push(raw);
    }
    Ok(capture)
}

/// All numbers of a launch in the order of their names, as the profiler's raw page has them.
fn raw(launched: Launched<'_>) -> Vec<RawFigure> {
    let numbers: BTreeMap<_, _> =
        launched.metrics().filter(|(name, _)| name.len() <= NAME).filter_map(|(name, metric)| Some((name, metric.number()?))).collect();
    numbers.into_iter().map(|(name, value)| RawFigure { unit: units::of_metric(&name), name: name.into_owned(), value }).collect()
}
