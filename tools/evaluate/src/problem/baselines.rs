//! The baselines of a problem: prepared, placed and timed in its process.

use std::time::{Duration, Instant};

use kernelwright_harness::AskError;
use kernelwright_protocol::{BaselineKind, Nanoseconds};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Placed, Problem};
use crate::EvaluateError;
use crate::request::trusted;

/// What a batch of a baseline took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaselineBatch {
    /// The calls.
    pub(crate) time: Duration,
    /// Saying where their outputs lie.
    pub(crate) told: Duration,
    /// Asking for it, and what else was not the calls.
    pub(crate) asking: Duration,
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

impl Problem {
    /// Prepares a baseline on the base entry: its first call, or why there is none. After [`Prepared::Lost`] the worker is gone.
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

    /// Puts fresh inputs at distinct addresses, for [`Problem::time`].
    pub(crate) async fn place(&mut self, calls: &[Placed]) -> Result<(), EvaluateError> {
        let entries: Vec<_> = calls.iter().map(|call| call.to_json()).collect();
        self.ask::<Value>("place", json!({"entries": entries}), &[]).await.map(drop)
    }

    /// Puts an entry's inputs into memory that earlier batches have used, moved about for each call as the candidate's are.
    pub(crate) async fn refill(&mut self, calls: &[Placed], base: u32) -> Result<(), EvaluateError> {
        let moves = self.moves();
        let entries: Vec<_> = calls.iter().map(|call| call.entry).collect();
        let (rotate, stir): (Vec<_>, Vec<_>) = calls.iter().map(|_| moves.numbers()).unzip();
        let fields = json!({"entries": entries, "base": base, "rotate": rotate, "stir": stir});
        self.ask::<Value>("refill", fields, &[]).await.map(drop)
    }

    /// Makes the calls that were placed last, of a baseline; the time from an idle device to an idle device. This process is believed: its own clock says it
    /// without what it takes to be asked.
    pub(crate) async fn time(&mut self, kind: BaselineKind) -> Result<Duration, EvaluateError> {
        Ok(self.time_telling(kind, false).await?.time)
    }

    /// The same, and what it takes to say where the calls' outputs lie, where that is wanted.
    pub(crate) async fn time_telling(&mut self, kind: BaselineKind, tell: bool) -> Result<BaselineBatch, EvaluateError> {
        #[derive(Deserialize)]
        struct Timed {
            inner_ns: u64,
            told_ns: u64,
        }
        let fields = json!({"kind": wire_name(kind), "tell": tell});
        let asked = Instant::now();
        let (timed, _): (Timed, _) = self.ask("time", fields, &[]).await?;
        let [time, told] = [timed.inner_ns, timed.told_ns].map(Duration::from_nanos);
        self.timed += time;
        Ok(BaselineBatch { time, told, asking: asked.elapsed().saturating_sub(time + told) })
    }
}

fn wire_name(kind: BaselineKind) -> &'static str {
    match kind {
        BaselineKind::Eager => "eager",
        BaselineKind::Compile => "compile",
    }
}
