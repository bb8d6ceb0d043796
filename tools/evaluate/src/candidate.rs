//! The untrusted side: one candidate in one confined worker. Every answer is a claim; outputs are read from its memory.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use kernelwright_harness::{AskError, Reply, Worker};
use kernelwright_protocol::Sandbox;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::EvaluateError;
use crate::problem::{Inputs, Outcome, Placed, Problem, Setting};
use crate::request::Limits;
use crate::verdict::{Phase, Stop, judge};
use crate::wire;

/// A candidate's worker, and what its phases may take.
#[derive(Debug)]
pub(crate) struct Candidate {
    worker: Worker,
    limits: Limits,
}

/// Outputs as a reply claims them.
#[derive(Deserialize)]
struct Claim {
    outputs: Value,
    #[serde(default)]
    tensors: Vec<Value>,
}

/// Inputs inside the candidate's process: the tree they were sent as, and where their tensors lie now.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    tree: Value,
    located: Vec<Value>,
}

/// One call outside a batch.
#[derive(Debug)]
pub(crate) struct Call {
    /// What it has left behind.
    pub(crate) outcome: Outcome,
    /// The time it took.
    pub(crate) wall: Duration,
    /// How many bytes it had to write.
    pub(crate) written: u64,
}

/// A timed batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// On the supervisor's clock.
    pub(crate) wall: Duration,
    /// What the candidate's side says; only ever compared with the wall.
    pub(crate) inner: Duration,
}

impl Candidate {
    pub(crate) fn new(worker: Worker, limits: Limits) -> Self {
        Self { worker, limits }
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        self.worker.sandbox()
    }

    /// Imports the candidate and constructs its module; the time that took.
    pub(crate) async fn build(&mut self, source: &str, setting: &Setting) -> Result<Duration, Stop> {
        let path = self.worker.scratch().join("candidate.py");
        let written = tokio::fs::write(&path, source).await;
        written.map_err(|source| kernelwright_harness::HarnessError::Write { path: path.clone(), source }).map_err(EvaluateError::from)?;
        let mut fields = setting.to_json();
        fields["path"] = path.to_string_lossy().into();
        Ok(self.ask(Phase::Import, "build", fields, &[]).await?.wall)
    }

    /// Constructs the module with the problem's arguments and state; the time that took.
    pub(crate) async fn construct(&mut self, problem: &Problem) -> Result<Duration, Stop> {
        let facts = &problem.facts;
        let fields = json!({"init": facts.init, "tensors": facts.tensors, "state": facts.state});
        let fds: Vec<_> = problem.construction().into_iter().collect();
        Ok(self.ask(Phase::Construct, "construct", fields, &fds).await?.wall)
    }

    /// Gives it the inputs of one call.
    pub(crate) async fn give(&mut self, entry: u32, inputs: &Inputs) -> Result<Given, Stop> {
        #[derive(Deserialize)]
        struct Copied {
            located: Vec<Value>,
        }
        let fields = json!({"entry": entry, "inputs": inputs.tree, "tensors": inputs.tensors});
        let fds: Vec<_> = inputs.arena.iter().map(|arena| arena.as_fd()).collect();
        let reply = self.ask(Phase::Run, "inputs", fields, &fds).await?;
        let copied: Copied = claim(reply.ok)?;
        Ok(Given { tree: inputs.tree.clone(), located: copied.located })
    }

    /// One call on freed memory filled with a pattern.
    pub(crate) async fn run(&mut self, entry: u32, given: &Given) -> Result<Call, Stop> {
        let reply = self.ask(Phase::Run, "run", json!({"entry": entry, "poison": true}), &[]).await?;
        let Claim { outputs, tensors } = claim(reply.ok)?;
        let written = wire::written_bytes(&tensors, &given.located);
        let outcome = self.collect(outputs, tensors, Some(given.clone())).await?;
        Ok(Call { outcome, wall: reply.wall, written })
    }

    /// Puts fresh inputs at distinct addresses.
    pub(crate) async fn place(&mut self, calls: &[Placed]) -> Result<(), Stop> {
        let entries: Vec<_> = calls.iter().map(|call| call.to_json()).collect();
        self.ask(Phase::Time, "place", json!({"entries": entries}), &[]).await.map(drop)
    }

    /// Runs placed calls. It is stopped when this returns.
    pub(crate) async fn time(&mut self, calls: &[Placed]) -> Result<Batch, Stop> {
        #[derive(Deserialize)]
        struct Timed {
            inner_ns: u64,
        }
        let entries: Vec<_> = calls.iter().map(|call| call.entry).collect();
        let reply = self.ask(Phase::Time, "time", json!({"calls": entries, "flush": false}), &[]).await?;
        let timed: Timed = claim(reply.ok)?;
        Ok(Batch { wall: reply.wall, inner: Duration::from_nanos(timed.inner_ns) })
    }

    /// What a timed call has left behind, and how long the candidate took to say where.
    pub(crate) async fn locate(&mut self, call: Placed) -> Result<(Outcome, Duration), Stop> {
        let reply = self.ask(Phase::Time, "locate", json!({"entry": call.entry}), &[]).await?;
        let Claim { outputs, tensors } = claim(reply.ok)?;
        Ok((self.collect(outputs, tensors, None).await?, reply.wall))
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn end(self) {
        self.worker.end().await;
    }

    /// Reads what lies in host memory; the worker is stopped between questions.
    async fn collect(&self, outputs: Value, mut tensors: Vec<Value>, after: Option<Given>) -> Result<Outcome, Stop> {
        let limit = self.limits.memory.0;
        let refuse = |error: wire::ClaimError| Stop::rejected("output_memory", error.to_string());
        let (after_tree, mut after_tensors) = after.map_or((None, vec![]), |given| (Some(given.tree), given.located));
        let own = wire::windows(&tensors, limit).map_err(refuse)?;
        let inputs = wire::windows(&after_tensors, limit).map_err(refuse)?;
        let arena = if own.is_empty() && inputs.is_empty() {
            None
        } else {
            let all = own.iter().chain(&inputs).map(|(_, window)| *window).collect();
            let arena = self.worker.read_memory(all).await.map_err(unreadable)?;
            let (own_offsets, input_offsets) = arena.offsets.split_at(own.len());
            wire::relocate(&mut tensors, &own, own_offsets);
            wire::relocate(&mut after_tensors, &inputs, input_offsets);
            Some(arena.fd)
        };
        Ok(Outcome { outputs, tensors, after: after_tree.map(|tree| (tree, after_tensors)), arena })
    }

    async fn ask(&mut self, phase: Phase, op: &str, fields: Value, fds: &[BorrowedFd<'_>]) -> Result<Reply, Stop> {
        let limit = match phase {
            Phase::Import | Phase::Construct => self.limits.build,
            Phase::Run => self.limits.run,
            Phase::Time => self.limits.time,
        };
        let answer: Result<Reply, AskError> = self.worker.ask(op, fields, fds, limit).await;
        answer.map_err(|error| judge(phase, error, self.worker.log()))
    }
}

fn claim<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, Stop> {
    T::deserialize(value).map_err(|error| Stop::rejected("channel_tampering", format!("an answer has the wrong form: {error}")))
}

/// Memory that cannot be read because it is not there is a false claim; because it is not allowed, a matter of this system.
fn unreadable(error: io::Error) -> Stop {
    match error.raw_os_error() {
        Some(libc_errno::EFAULT | libc_errno::EIO) => {
            Stop::rejected("output_memory", "an output is said to lie where the process has no memory")
        }
        _ => Stop::Failed(EvaluateError::Memory(error)),
    }
}

/// The two error numbers that matter here, the same on every Linux.
mod libc_errno {
    pub(super) const EIO: i32 = 5;
    pub(super) const EFAULT: i32 = 14;
}
