//! The trusted side: the problem, its reference, its baselines and the comparison, in a worker that outlives single evaluations.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use kernelwright_harness::{AskError, Worker};
use kernelwright_protocol::{Baseline, BaselineKind, DeviceState, Mismatch, Nanoseconds, NotMeasured};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::EvaluateError;
use crate::draws::Draw;
use crate::request::trusted;
use crate::sets::Sets;
use crate::verdict::Stop;

/// What `load` says about a problem.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Facts {
    /// One line per input.
    pub(crate) inputs: Vec<String>,
    /// One line per output.
    pub(crate) outputs: Vec<String>,
    /// Arguments of the constructor, with their tensors, which lie in [`Problem::construction`].
    pub(crate) init: Value,
    pub(crate) tensors: Vec<Value>,
    /// Parameters and buffers by name.
    pub(crate) state: Value,
    /// Why a verdict on this problem is worth little.
    #[serde(default)]
    pub(crate) degenerate: Option<String>,
    /// One run of the reference.
    pub(crate) reference_ns: u64,
    /// Device memory that was free; absent on `cpu`.
    #[serde(default)]
    pub(crate) device_memory: Option<u64>,
    /// The name of every set of inputs; the figures above are those of the selected one.
    #[serde(default)]
    pub(crate) sets: Vec<String>,
}

/// The inputs of one call, to be passed on.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) tree: Value,
    pub(crate) tensors: Vec<Value>,
    pub(crate) arena: Option<OwnedFd>,
    pub(crate) label: String,
}

/// What `compare` says.
#[derive(Debug, Deserialize)]
pub(crate) struct Comparison {
    mismatches: Vec<Difference>,
    /// The largest error over the allowed one; null where nothing is numeric.
    error_over_tolerance: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Difference {
    output: String,
    detail: String,
    error_over_tolerance: Option<f64>,
}

impl Comparison {
    /// The error over the allowed error, or the differences, each with the name of its trial.
    pub(crate) fn outcome(self, trial: &str) -> Result<f64, Vec<Mismatch>> {
        if self.mismatches.is_empty() {
            return Ok(self.error_over_tolerance.unwrap_or(0.0));
        }
        let name = |Difference { output, detail, error_over_tolerance }| Mismatch {
            trial: trial.to_owned(),
            output,
            detail,
            error_over_tolerance,
        };
        Err(self.mismatches.into_iter().map(name).collect())
    }
}

/// Something a candidate's call has left behind, read out of its memory.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) outputs: Value,
    pub(crate) tensors: Vec<Value>,
    /// The inputs after the call, where they are compared as well.
    pub(crate) after: Option<(Value, Vec<Value>)>,
    /// Absent where everything lies in device memory.
    pub(crate) arena: Option<OwnedFd>,
}

/// One call with inputs of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    /// A name for the inputs, unique in an evaluation.
    pub(crate) entry: u32,
    pub(crate) scale: f64,
    pub(crate) roll: u32,
}

impl Placed {
    pub(crate) fn to_json(self) -> Value {
        json!({"entry": self.entry, "base": BASE, "recipe": {"scale": self.scale, "roll": self.roll}})
    }
}

/// The entry that timing builds on: the first draw of the problem's own distribution.
pub(crate) const BASE: u32 = 0;

/// A loaded problem.
#[derive(Debug)]
pub(crate) struct Problem {
    worker: Worker,
    /// What it was loaded with; a candidate is built with the same.
    pub(crate) setting: Setting,
    pub(crate) facts: Facts,
    construction: Option<OwnedFd>,
    /// Baselines that were prepared, or could not be; kept as long as the worker lives.
    pub(crate) baselines: Vec<Baseline>,
    pub(crate) sets: Sets,
    copy_rate: Option<f64>,
}

impl Problem {
    /// Loads `source` into a fresh trusted worker.
    pub(crate) async fn load(mut worker: Worker, source: &str, name: &str, setting: &Setting) -> Result<Self, EvaluateError> {
        let mut fields = setting.to_json();
        fields["source"] = source.into();
        fields["name"] = name.into();
        let (facts, fds) = request(&mut worker, "load", fields, &[], trusted::STEP).await?;
        Ok(Self { worker, setting: *setting, facts, construction: fds.into_iter().next(), baselines: vec![], sets: Sets::default(), copy_rate: None })
    }

    /// The memory in which constructor arguments and state lie.
    pub(crate) fn construction(&self) -> Option<BorrowedFd<'_>> {
        self.construction.as_ref().map(OwnedFd::as_fd)
    }

    /// Makes the inputs of one call and computes what the reference gives for them; the reason, where the reference cannot run on them.
    pub(crate) async fn draw(&mut self, entry: u32, draw: Draw) -> Result<Result<Inputs, String>, EvaluateError> {
        #[derive(Deserialize)]
        struct Drawn {
            #[serde(default)]
            inputs: Value,
            #[serde(default)]
            tensors: Vec<Value>,
            #[serde(default)]
            label: String,
            #[serde(default)]
            skipped: Option<String>,
        }
        let fields = json!({"entry": entry, "seed": draw.seed, "kind": draw.kind.as_str()});
        let (drawn, fds): (Drawn, _) = self.ask("draw", fields, &[]).await?;
        let label = if drawn.label.is_empty() { draw.kind.as_str().to_owned() } else { drawn.label };
        if let Some(reason) = drawn.skipped {
            return Ok(Err(format!("{label}: {reason}")));
        }
        if let Some(reason) = self.expect(entry).await? {
            return Ok(Err(format!("{label}: {reason}")));
        }
        Ok(Ok(Inputs { tree: drawn.inputs, tensors: drawn.tensors, arena: fds.into_iter().next(), label }))
    }

    /// Computes the expected outputs of an entry; the reason, where the reference cannot.
    pub(crate) async fn expect(&mut self, entry: u32) -> Result<Option<String>, EvaluateError> {
        #[derive(Deserialize)]
        struct Expected {
            #[serde(default)]
            skipped: Option<String>,
        }
        let (expected, _): (Expected, _) = self.ask("expect", json!({"entry": entry}), &[]).await?;
        Ok(expected.skipped)
    }

    /// Compares what a call has left behind with what is expected for its entry.
    /// A description that cannot describe tensors is a false claim of the candidate.
    pub(crate) async fn compare(&mut self, entry: u32, outcome: &Outcome) -> Result<Comparison, Stop> {
        let (after, after_tensors) = outcome.after.clone().unwrap_or((Value::Null, vec![]));
        let fields = json!({
            "entry": entry, "outputs": outcome.outputs, "tensors": outcome.tensors, "after": after, "after_tensors": after_tensors,
        });
        let fds: Vec<_> = outcome.arena.iter().map(OwnedFd::as_fd).collect();
        match self.ask("compare", fields, &fds).await {
            Ok((comparison, _)) => Ok(comparison),
            Err(EvaluateError::Problem(refusal)) if refusal.kind == "unsupported" => Err(Stop::rejected("output_claim", refusal.message)),
            Err(error) => Err(error.into()),
        }
    }

    /// Frees entries.
    pub(crate) async fn forget(&mut self, entries: &[u32]) -> Result<(), EvaluateError> {
        self.ask::<Value>("forget", json!({"entries": entries}), &[]).await.map(drop)
    }

    /// Frees placed inputs and what is known of them.
    pub(crate) async fn release(&mut self, calls: &[Placed]) -> Result<(), EvaluateError> {
        self.ask::<Value>("clear", json!({}), &[]).await?;
        let entries: Vec<_> = calls.iter().map(|call| call.entry).collect();
        self.forget(&entries).await
    }

    /// Frees every entry.
    pub(crate) async fn forget_all(&mut self) -> Result<(), EvaluateError> {
        self.ask::<Value>("clear", json!({}), &[]).await?;
        self.ask::<Value>("forget", json!({"all": true}), &[]).await.map(drop)
    }

    /// Puts fresh inputs at distinct addresses, for [`Problem::time`] or [`Problem::expect`].
    pub(crate) async fn place(&mut self, calls: &[Placed]) -> Result<(), EvaluateError> {
        let entries: Vec<_> = calls.iter().map(|call| call.to_json()).collect();
        self.ask::<Value>("place", json!({"entries": entries}), &[]).await.map(drop)
    }

    /// Runs placed calls of a baseline; the time on the supervisor's clock.
    pub(crate) async fn time(&mut self, kind: BaselineKind, calls: &[Placed]) -> Result<Duration, EvaluateError> {
        let entries: Vec<_> = calls.iter().map(|call| call.entry).collect();
        let fields = json!({"kind": wire_name(kind), "calls": entries, "flush": false});
        let reply = self.worker.ask("time", fields, &[], trusted::STEP).await;
        let log = self.worker.log().clone();
        Ok(reply.map_err(|error| EvaluateError::trusted(error, || log.tail(2000)))?.wall)
    }

    /// What the device says of itself; none where it says nothing.
    pub(crate) async fn device_state(&mut self) -> Result<Option<DeviceState>, EvaluateError> {
        Ok(self.ask::<Option<DeviceState>>("device_state", json!({}), &[]).await?.0)
    }

    /// How many bytes the device copies in a second, read and written bytes together; measured when it is asked for first.
    pub(crate) async fn copy_rate(&mut self) -> Result<f64, EvaluateError> {
        #[derive(Deserialize)]
        struct Rate {
            bytes_per_second: f64,
        }
        if let Some(rate) = self.copy_rate {
            return Ok(rate);
        }
        let (rate, _): (Rate, _) = self.ask("copy_rate", json!({}), &[]).await?;
        Ok(*self.copy_rate.insert(rate.bytes_per_second))
    }

    /// Prepares a baseline on the base entry: its first call, or why there is none. The worker is lost where `lost` says so.
    pub(crate) async fn prepare(&mut self, kind: BaselineKind, limit: Duration) -> Result<Prepared, EvaluateError> {
        #[derive(Deserialize)]
        struct First {
            first_call_ns: u64,
        }
        let fields = json!({"kind": wire_name(kind), "limit_s": limit.as_secs_f64()});
        let reply = self.worker.ask("baseline", fields, &[], limit + trusted::BASELINE_SLACK).await;
        match reply {
            Ok(reply) => {
                let first = First::deserialize(reply.ok).map_err(|error| EvaluateError::Protocol(error.to_string()))?;
                self.set_ready(kind);
                Ok(Prepared::Ready(Nanoseconds(first.first_call_ns)))
            }
            Err(AskError::Refused(refusal)) => Ok(Prepared::Refused(refusal.message)),
            Err(AskError::Deadline { limit, .. }) => Ok(Prepared::Lost(format!("took longer than {} s", limit.as_secs()))),
            Err(AskError::Ended(exit)) => Ok(Prepared::Lost(format!("its process ended: {exit}"))),
            Err(error) => Err(EvaluateError::trusted(error, String::new)),
        }
    }

    pub(crate) async fn ask<T: DeserializeOwned>(
        &mut self,
        op: &str,
        fields: Value,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(T, Vec<OwnedFd>), EvaluateError> {
        request(&mut self.worker, op, fields, fds, trusted::STEP).await
    }
}

/// What preparing a baseline came to.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// It is ready; what its first call took.
    Ready(Nanoseconds),
    /// It cannot be had, and the worker goes on.
    Refused(String),
    /// It cannot be had, and the worker is gone.
    Lost(String),
}

/// What is the same for both sides of an evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) target: kernelwright_protocol::Target,
    pub(crate) threads: usize,
    pub(crate) tf32: bool,
    /// For the construction of modules, which must come out alike on both sides.
    pub(crate) seed: u32,
}

impl Setting {
    pub(crate) fn to_json(self) -> Value {
        json!({
            "device": self.target.to_string(), "threads": self.threads, "seed": self.seed, "policy": {"tf32": self.tf32},
        })
    }
}

/// A baseline without a time.
pub(crate) fn unmeasured(kind: BaselineKind, reason: impl Into<String>) -> Baseline {
    Baseline { kind, time_ns: None, spread: None, first_call_ns: None, not_measured: Some(NotMeasured { reason: reason.into() }) }
}

fn wire_name(kind: BaselineKind) -> &'static str {
    match kind {
        BaselineKind::Eager => "eager",
        BaselineKind::Compile => "compile",
    }
}

async fn request<T: DeserializeOwned>(
    worker: &mut Worker,
    op: &str,
    fields: Value,
    fds: &[BorrowedFd<'_>],
    limit: Duration,
) -> Result<(T, Vec<OwnedFd>), EvaluateError> {
    let log = worker.log().clone();
    let reply = worker.ask(op, fields, fds, limit).await.map_err(|error| EvaluateError::trusted(error, || log.tail(2000)))?;
    let ok = serde_json::from_value(reply.ok).map_err(|error| EvaluateError::Protocol(format!("`{op}`: {error}")))?;
    Ok((ok, reply.fds))
}
