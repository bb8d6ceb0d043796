//! Traces of the Torch profiler, in Chrome's trace format: the kernels of a device, or else the processor's operators.

mod kernels;
mod operators;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use kernelwright_protocol::{Figures, ProfilerKind};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Capture;
use crate::import::CALLS_UNKNOWN;
use crate::import::error::{Fault, Format};

/// The part of a trace that is read.
#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(rename = "deviceProperties", default)]
    devices: Vec<Device>,
    #[serde(rename = "traceEvents", borrow, deserialize_with = "worth_keeping")]
    events: Vec<Event<'a>>,
}

/// A device, as the profiler found it.
#[derive(Deserialize)]
struct Device {
    id: Option<u64>,
    name: Option<String>,
    #[serde(rename = "numSms")]
    multiprocessors: Option<f64>,
    #[serde(rename = "maxThreadsPerMultiprocessor")]
    threads: Option<f64>,
}

/// One event. Its arguments are read only where they are needed: most events of a trace are not.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    ph: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    pid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tid: Option<&'a RawValue>,
    /// Its begin, in microseconds.
    #[serde(default)]
    ts: f64,
    /// Its length, in microseconds.
    #[serde(default)]
    dur: f64,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

impl Event<'_> {
    /// Whether it is a stretch of time of that category; older profilers wrote categories with capitals.
    fn is(&self, category: &str) -> bool {
        self.ph == "X" && self.cat.eq_ignore_ascii_case(category) && self.dur.is_finite() && self.dur >= 0.0
    }
}

/// What a step of the profiler is called, before its number.
const STEP: &str = "ProfilerStep#";

/// Takes the events that are looked at later. Most are not, and there are millions.
fn worth_keeping<'de, D: Deserializer<'de>>(events: D) -> Result<Vec<Event<'de>>, D::Error> {
    struct Kept;

    impl<'de> Visitor<'de> for Kept {
        type Value = Vec<Event<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of events")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while let Some(event) = events.next_element::<Event<'de>>()? {
                if event.is("cpu_op") || kernels::is_on_device(&event) || (event.ph == "X" && event.name.starts_with(STEP)) {
                    kept.push(event);
                }
            }
            Ok(kept)
        }
    }

    events.deserialize_seq(Kept)
}

/// Whether JSON is a trace, by the words that every trace begins with.
pub(super) fn is_trace(json: &[u8]) -> bool {
    let has = |word: &[u8]| json.windows(word.len()).any(|window| window == word);
    has(b"\"traceEvents\"") || has(b"\"schemaVersion\"")
}

/// Reads a trace.
pub(super) fn read(json: &[u8]) -> Result<Capture, Fault> {
    let trace: Trace<'_> = serde_json::from_slice(json).map_err(|error| Fault::json(Format::TorchTrace, &error))?;
    let steps = trace.events.iter().filter(|event| event.name.starts_with(STEP));
    // The same step is there more than once: as the program saw it, and as the device did.
    let steps = steps.map(|event| &event.name).collect::<BTreeSet<_>>().len();
    let mut capture = Capture {
        profiler: ProfilerKind::Torch,
        device: None,
        calls: u32::try_from(steps.max(1)).unwrap_or(u32::MAX),
        wall_per_call_ns: None,
        kernels: Vec::new(),
        call: Figures::default(),
        limits: vec!["The Torch profiler takes times and shapes of launches: what holds a kernel back it cannot know.".to_owned()],
        raw: Vec::new(),
    };
    capture.limits.push(if steps == 0 {
        CALLS_UNKNOWN.to_owned()
    } else {
        format!("One step of the profiler counts as one call of the module; the file has {steps}.")
    });
    if !kernels::read(&trace, &mut capture) {
        operators::read(&trace, &mut capture);
    }
    if capture.kernels.is_empty() { Err(Fault::Empty(Format::TorchTrace)) } else { Ok(capture) }
}
