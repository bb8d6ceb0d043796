//! What ran on a device: kernels, and the copies and fills between them.

use std::collections::BTreeSet;

use kernelwright_protocol::{Figures, KernelProfile, LaunchShape, Metric};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Device, Event, Trace};
use crate::import::launches::{self, Launch};
use crate::{Capture, RawFigure};

/// What runs on a device, by category.
const ON_DEVICE: &[&str] = &["kernel", "gpu_memcpy", "gpu_memset"];

type Arguments = Map<String, Value>;

/// What tells launches from each other.
#[derive(Default, Deserialize)]
struct Launching {
    #[serde(default)]
    grid: Option<[u32; 3]>,
    #[serde(default)]
    block: Option<[u32; 3]>,
    /// The host's call that has launched it: one for all that a graph holds.
    #[serde(default)]
    correlation: Option<u64>,
}

/// Whether an event ran on a device.
pub(super) fn is_on_device(event: &Event<'_>) -> bool {
    ON_DEVICE.iter().any(|category| event.is(category))
}

/// The arguments of an event, as far as they have the form that is looked for.
fn arguments<T: Default + for<'a> Deserialize<'a>>(event: &Event<'_>) -> T {
    event.args.and_then(|args| serde_json::from_str(args.get()).ok()).unwrap_or_default()
}

/// Takes over what ran on the device; says whether anything did.
pub(super) fn read(trace: &Trace<'_>, capture: &mut Capture) -> bool {
    let mut calls_of_host = BTreeSet::new();
    let launches: Vec<Launch<&Event<'_>>> = trace
        .events
        .iter()
        .filter(|event| is_on_device(event))
        .map(|event| {
            let Launching { grid, block, correlation } = arguments(event);
            calls_of_host.extend(correlation);
            let shape = grid.zip(block).map(|(grid, block)| LaunchShape { grid, block });
            Launch { name: event.name.to_string(), shape, duration_ns: Some(event.dur * 1e3), detail: event }
        })
        .collect();
    if launches.is_empty() {
        return false;
    }
    if !calls_of_host.is_empty() {
        capture.call.set(Metric::LaunchesPerCall, calls_of_host.len() as f64 / f64::from(capture.calls));
    }
    for group in launches::group(launches, capture.calls) {
        let arguments: Arguments = arguments(group.median);
        let id = arguments.get("device").and_then(Value::as_u64);
        let device = trace.devices.iter().find(|device| device.id.is_some() && device.id == id).or_else(|| trace.devices.first());
        if capture.device.is_none() {
            capture.device = device.and_then(|device| device.name.clone());
        }
        let mut kernel = KernelProfile::from(group.time);
        kernel.launch = group.shape;
        kernel.figures = figures(group.median, &arguments, group.shape, device);
        capture.kernels.push(kernel);
        capture.raw.push(raw(group.median, &arguments));
    }
    true
}

fn figures(event: &Event<'_>, arguments: &Arguments, shape: Option<LaunchShape>, device: Option<&Device>) -> Figures {
    let number = |name: &str| arguments.get(name).and_then(Value::as_f64);
    let product = |sides: [u32; 3]| sides.into_iter().map(f64::from).product::<f64>();
    let mut figures = Figures::default();
    figures.set(Metric::DurationNs, event.dur * 1e3);
    figures.set_known(Metric::Blocks, shape.map(|shape| product(shape.grid)));
    let threads = shape.map(|shape| product(shape.block));
    figures.set_known(Metric::ThreadsPerBlock, threads);
    figures.set_known(Metric::RegistersPerThread, number("registers per thread"));
    figures.set_known(Metric::SharedBytes, number("shared memory"));
    if event.is("kernel") {
        figures.set_known(Metric::Multiprocessors, device.and_then(|device| device.multiprocessors));
        let room = device.and_then(|device| device.threads);
        figures.set_known(Metric::TheoreticalOccupancyShare, occupancy(number, threads, room));
    }
    figures
}

/// The profiler's estimate takes what fits on a multiprocessor or what the grid brings to one, whichever is less. Only where the grid brings
/// more is it the occupancy that the kernel's resources allow.
fn occupancy(number: impl Fn(&str) -> Option<f64>, threads: Option<f64>, room: Option<f64>) -> Option<f64> {
    let estimate = number("est. achieved occupancy %")? / 100.0;
    let brought = number("blocks per SM")? * threads? / room?;
    // The estimate is in whole percents.
    (estimate > 0.0 && estimate + 0.01 < brought).then_some(estimate)
}

/// What the trace says of a launch, under its own names.
fn raw(event: &Event<'_>, arguments: &Arguments) -> Vec<RawFigure> {
    // Numbers that name something instead of measuring it.
    const NAMES: &[&str] =
        &["External id", "correlation", "device", "context", "stream", "Ev Idx", "Record function id", "graph node id", "graph id"];
    let figure = |name: &str, value: f64| {
        let unit = match name {
            "dur" => "us",
            "shared memory" | "bytes" => "byte",
            "memory bandwidth (GB/s)" => "Gbyte/s",
            name if name.ends_with('%') => "%",
            _ => "",
        };
        RawFigure { name: name.to_owned(), value, unit: unit.to_owned() }
    };
    let numbers = arguments.iter().filter(|(name, _)| !NAMES.contains(&name.as_str()));
    let numbers = numbers.filter_map(|(name, value)| Some(figure(name, value.as_f64()?)));
    std::iter::once(figure("dur", event.dur)).chain(numbers).collect()
}
