//! The tree that Proton writes for Hatchet: frames in frames, with what was measured in each, and the devices at the end.

use std::collections::BTreeMap;

use kernelwright_protocol::{Figures, HotLine, KernelProfile, KernelTime, Metric, Nanoseconds, ProfilerKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::CALLS_UNKNOWN;
use super::error::{Fault, Format};
use super::ncu::stalls;
use crate::{Capture, RawFigure};

/// The frame in which Proton asks a kernel for what it is to compute; kernels under it are Proton's own work.
const METADATA: &str = "__proton_launch_metadata";

/// Objects in a file, three for each frame: an empty one takes a hundred times as much memory as text.
const OBJECTS: usize = 3 << 20;

/// Operations by the width of their operands in bits, as kernels say them; the first where they do not say the width.
const OPERATIONS: &[&str] = &["flops", "flops8", "flops16", "flops32", "flops64"];

/// A frame, or at the end of the file the devices.
#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    frame: Frame,
    #[serde(default)]
    metrics: Map<String, Value>,
    #[serde(default)]
    children: Vec<Node>,
    #[serde(rename = "CUDA", default)]
    cuda: BTreeMap<String, Device>,
    #[serde(rename = "HIP", default)]
    hip: BTreeMap<String, Device>,
}

#[derive(Default, Deserialize)]
struct Frame {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Device {
    #[serde(default)]
    arch: String,
    num_sms: Option<f64>,
}

/// One kernel, over all frames in which it ran.
#[derive(Default)]
struct Kernel {
    /// Its numbers by Proton's names, added up.
    sums: BTreeMap<String, f64>,
    /// Samples of its source lines, all and by reason.
    lines: BTreeMap<String, BTreeMap<String, f64>>,
    device: Option<(String, String)>,
}

impl Node {
    fn number(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).and_then(Value::as_f64)
    }

    /// Whether a kernel ran in this very frame.
    fn is_kernel(&self) -> bool {
        self.number(TIME).is_some() && self.number("count").is_some_and(|count| count > 0.0)
    }
}

const TIME: &str = "time (ns)";
const SAMPLES: &str = "num_samples";

/// Whether JSON is such a tree, by the words that each of its frames has.
pub(super) fn is_tree(json: &[u8]) -> bool {
    let has = |word: &[u8]| json.windows(word.len()).any(|window| window == word);
    has(b"\"frame\"") || has(b"\"children\"")
}

/// Reads a tree.
pub(super) fn read(json: &[u8]) -> Result<Capture, Fault> {
    if json.iter().filter(|byte| **byte == b'{').nth(OBJECTS).is_some() {
        return Err(Fault::TooLarge { limit: "a million frames" });
    }
    let nodes: Vec<Node> = serde_json::from_slice(json).map_err(|error| {
        if error.to_string().contains("recursion limit") {
            let why = "frames lie more than 60 deep in each other; record with `context=\"shadow\"`, which keeps scopes only";
            return Fault::damaged(Format::Proton, format!("in line {}, column {}", error.line(), error.column()), why);
        }
        Fault::json(Format::Proton, &error)
    })?;
    let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
    for node in &nodes {
        gather(node, None, &mut kernels);
    }
    if kernels.is_empty() {
        return Err(Fault::Empty(Format::Proton));
    }
    let sampled = kernels.values().any(|kernel| kernel.sums.contains_key(SAMPLES));
    let mut capture = Capture {
        profiler: ProfilerKind::Proton,
        device: None,
        calls: 1,
        wall_per_call_ns: None,
        kernels: Vec::new(),
        call: Figures::default(),
        limits: vec![CALLS_UNKNOWN.to_owned()],
        raw: Vec::new(),
    };
    if !sampled {
        capture.limits.push("Proton took times of launches: what holds a kernel back it cannot know without sampling.".to_owned());
    }
    let device = |kernel: &Kernel| {
        let (kind, id) = kernel.device.as_ref()?;
        let device = nodes.iter().find_map(|node| if kind == "HIP" { node.hip.get(id) } else { node.cuda.get(id) })?;
        Some((if kind == "CUDA" { format!("sm_{}", device.arch) } else { device.arch.clone() }, device.num_sms))
    };
    let total: f64 = kernels.values().filter_map(|kernel| kernel.sums.get(TIME)).sum();
    let mut kernels: Vec<(String, Kernel)> = kernels.into_iter().collect();
    let time = |kernel: &Kernel| kernel.sums.get(TIME).copied().unwrap_or(0.0);
    kernels.sort_by(|(_, left), (_, right)| time(right).total_cmp(&time(left)));
    capture.device = kernels.iter().find_map(|(_, kernel)| device(kernel)).map(|(name, _)| name);
    for (name, kernel) in kernels {
        let multiprocessors = device(&kernel).and_then(|(_, count)| count);
        capture.kernels.push(profile(name, &kernel, total, multiprocessors));
        capture.raw.push(kernel.sums.into_iter().map(|(name, value)| raw(name, value)).collect());
    }
    Ok(capture)
}

/// Adds what ran in a frame and in those within it; `inside` is the kernel in which samples were taken.
fn gather(node: &Node, inside: Option<&str>, kernels: &mut BTreeMap<String, Kernel>) {
    if node.frame.name == METADATA {
        return;
    }
    let mut inside = inside;
    if node.is_kernel() {
        inside = Some(&node.frame.name);
        add(kernels.entry(node.frame.name.clone()).or_default(), node);
    } else if let Some(kernel) = inside.filter(|_| node.number(SAMPLES).is_some()) {
        let kernel = kernels.entry(kernel.to_owned()).or_default();
        // A frame of samples is `file:line@function`.
        let line = kernel.lines.entry(node.frame.name.split('@').next().unwrap_or_default().to_owned()).or_default();
        for (name, value) in &node.metrics {
            let Some(value) = value.as_f64() else { continue };
            *line.entry(name.clone()).or_default() += value;
            *kernel.sums.entry(name.clone()).or_default() += value;
        }
    } else if let [only] = node.children.as_slice()
        && only.is_kernel()
    {
        // A kernel that says what it computes gets a frame of its own around it, which has the operations.
        let operations = OPERATIONS.iter().filter(|name| only.number(name).is_none()).filter_map(|name| Some((*name, node.number(name)?)));
        let kernel = kernels.entry(only.frame.name.clone()).or_default();
        for (name, value) in operations {
            *kernel.sums.entry(name.to_owned()).or_default() += value;
        }
    }
    for child in &node.children {
        gather(child, inside, kernels);
    }
}

fn add(kernel: &mut Kernel, node: &Node) {
    for (name, value) in &node.metrics {
        if let Some(value) = value.as_f64() {
            *kernel.sums.entry(name.clone()).or_default() += value;
        }
    }
    let text = |name: &str| node.metrics.get(name).and_then(Value::as_str).map(str::to_owned);
    kernel.device = kernel.device.take().or_else(|| text("device_type").zip(text("device_id")));
}

fn profile(name: String, kernel: &Kernel, total: f64, multiprocessors: Option<f64>) -> KernelProfile {
    let sum = |name: &str| kernel.sums.get(name).copied();
    let (time, count) = (sum(TIME).unwrap_or(0.0), sum("count").unwrap_or(0.0));
    let mut profile = KernelProfile::from(KernelTime {
        name,
        launches_per_call: count,
        time_per_call_ns: Nanoseconds(time.max(0.0).round() as u64),
        share: if total > 0.0 { time / total } else { 0.0 },
    });
    // Proton adds launches up where they happen, so of one launch only the mean is known.
    profile.figures.set_known(Metric::DurationNs, (count > 0.0).then(|| time / count));
    profile.figures.set_known(Metric::Multiprocessors, multiprocessors);
    let operations: Vec<f64> = OPERATIONS.iter().filter_map(|name| sum(name)).collect();
    if time > 0.0 && !operations.is_empty() {
        profile.figures.set(Metric::OperationsPerS, operations.iter().sum::<f64>() / time * 1e9);
    }
    profile.stalls = stalls::shares(reasons(&kernel.sums));
    profile.hot_lines = lines(kernel);
    profile
}

fn reasons(samples: &BTreeMap<String, f64>) -> impl Iterator<Item = (&str, f64)> {
    samples.iter().filter_map(|(name, samples)| Some((name.strip_prefix("stalled_")?, *samples)))
}

fn lines(kernel: &Kernel) -> Vec<HotLine> {
    let all = |samples: &BTreeMap<String, f64>| samples.get(SAMPLES).copied().unwrap_or(0.0);
    let total: f64 = kernel.lines.values().map(all).sum();
    let sampled = kernel.lines.iter().filter(|(_, samples)| all(samples) > 0.0);
    let mut lines: Vec<HotLine> = sampled
        .map(|(place, samples)| {
            let waits = reasons(samples).filter(|(word, samples)| *word != "selected" && *samples > 0.0);
            let longest = waits.max_by(|(_, left), (_, right)| left.total_cmp(right));
            HotLine {
                place: place.clone(),
                source: None,
                instruction: None,
                share: all(samples) / total,
                waits_for: longest.and_then(|(word, _)| stalls::reason(word)),
            }
        })
        .collect();
    lines.sort_by(|left, right| right.share.total_cmp(&left.share));
    lines
}

fn raw(name: String, value: f64) -> RawFigure {
    let unit = match name.as_str() {
        TIME => "ns",
        "bytes" => "byte",
        name if OPERATIONS.contains(&name) => "flop",
        _ => "",
    };
    RawFigure { unit: unit.to_owned(), name, value }
}
