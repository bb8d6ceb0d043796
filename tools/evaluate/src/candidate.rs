//! The untrusted side: one candidate in one confined worker. Every answer is a claim; outputs are read from its memory.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use kernelwright_builds::Built;
use kernelwright_harness::{AskError, Asked, Exit, Filling, Halted, Part, Reply, Watch, Window, Worker};
use kernelwright_protocol::{Backend, Finding, Sandbox, Severity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::EvaluateError;
use crate::batch::Footprint;
use crate::locations::Locations;
use crate::problem::{BASE, Inputs, OtherState, Outcome, Placed, Problem, Setting, TimedOutcome, TimedOutcomes};
use crate::request::Limits;
use crate::verdict::{Phase, Stop, judge, printable};
use crate::vigil::Vigil;
use crate::wire;

/// A candidate's worker, and what its phases may take.
#[derive(Debug)]
pub(crate) struct Candidate {
    worker: Worker,
    limits: Limits,
    /// How timed batches are waited for.
    vigil: Vigil,
    noticed: Vec<Finding>,
    /// Whether results of timed calls are copied.
    copies: bool,
    /// Whether another forward pass comes between the two of a call, of a problem that is trained.
    interleaves: bool,
    /// How many calls it has made by itself.
    calls: u32,
    /// Which parameters and buffers of the problem it holds none for, of their name, shape and dtype.
    uncopied: Vec<String>,
    /// What its timed batches took.
    pub(crate) timed: Duration,
}

/// What a candidate may import of its problem.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The problem's file name: its stem is the module.
    pub(crate) problem_name: String,
    /// Plain data by name, as a tree.
    pub(crate) constants: Value,
}

/// What ran during one call, as the candidate's process tells it: it informs, and decides nothing.
#[derive(Debug, Deserialize)]
pub(crate) struct Trace {
    pub(crate) kernels: Vec<Launched>,
    /// The share of the call's time that torch's own operators and kernels had.
    pub(crate) library_share: Option<f64>,
    /// Native code that came neither with Python nor with torch.
    pub(crate) foreign: Vec<String>,
    /// The types of the arguments of kernels for which Triton had to build launchers.
    #[serde(default)]
    pub(crate) launchers: Vec<Vec<String>>,
}

/// A kernel or operator of a [`Trace`].
#[derive(Debug, Deserialize)]
pub(crate) struct Launched {
    pub(crate) name: String,
    pub(crate) share: f64,
    pub(crate) library: bool,
}

/// Outputs as a reply claims them.
#[derive(Deserialize)]
struct Claim {
    outputs: Value,
    #[serde(default)]
    tensors: Vec<Value>,
    #[serde(default)]
    missed: u64,
}

/// Inputs inside the candidate's process: the tree they were sent as, and where their tensors lie now.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    tree: Value,
    pub(crate) located: Vec<Value>,
}

/// What became of a state that was to be copied into its module.
#[derive(Deserialize)]
struct Adopted {
    unmatched: Vec<String>,
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
    /// Where its outputs lay, in the candidate's own memory.
    pub(crate) located: Vec<Value>,
    /// How many elements of its outputs were written after the stream of its caller had read them, as its process tells.
    pub(crate) missed: u64,
}

/// A timed batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// On the supervisor's clock.
    pub(crate) wall: Duration,
    /// From the answer to the stop.
    pub(crate) stopping: Duration,
    /// What whoever waited for the answer waited for a processor.
    pub(crate) denied: Duration,
    /// What the candidate's side says; only ever compared with the wall.
    pub(crate) inner: Duration,
}

impl Candidate {
    pub(crate) fn new(worker: Worker, limits: Limits, backend: Backend) -> Self {
        Self {
            worker,
            limits,
            vigil: Vigil::on(backend),
            noticed: vec![],
            copies: false,
            interleaves: false,
            calls: 0,
            uncopied: vec![],
            timed: Duration::ZERO,
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.worker.pid()
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        self.worker.sandbox()
    }

    /// Remembers something that goes beside the verdict.
    pub(crate) fn note(&mut self, rule: &str, severity: Severity, message: &str) {
        if self.noticed.iter().all(|known| known.rule != rule) {
            self.noticed.push(Finding { rule: rule.to_owned(), severity, message: message.to_owned() });
        }
    }

    /// Imports the candidate, with what was built for it; the time that all of it took.
    pub(crate) async fn build(
        &mut self,
        source: &str,
        setting: &Setting,
        offer: &Offer,
        built: &Built,
        foreseen: Option<Footprint>,
    ) -> Result<Duration, Stop> {
        let path = self.worker.scratch().join("candidate.py");
        let written = tokio::fs::write(&path, source).await;
        written.map_err(|source| kernelwright_harness::HarnessError::Write { path: path.clone(), source }).map_err(EvaluateError::from)?;
        let mut fields = setting.to_json();
        fields["path"] = path.to_string_lossy().into();
        fields["problem_name"] = offer.problem_name.as_str().into();
        fields["constants"] = offer.constants.clone();
        fields["batch"] = json!(foreseen);
        built.hand_over(self.worker.scratch(), &mut fields).await.map_err(EvaluateError::from)?;
        Ok(built.took + self.ask(Phase::Import, "build", fields, &[]).await?.wall)
    }

    /// Constructs the module with the problem's arguments and state; the time that took.
    pub(crate) async fn construct(&mut self, problem: &Problem) -> Result<Duration, Stop> {
        self.construct_in(problem, None).await
    }

    /// The same in another state from the beginning, where there is one.
    pub(crate) async fn construct_in(&mut self, problem: &Problem, state: Option<&OtherState>) -> Result<Duration, Stop> {
        let facts = &problem.facts;
        let fields = json!({
            "init": facts.init, "tensors": facts.tensors, "state": facts.state, "form": facts.form,
            "vary": state.map(OtherState::to_json), "carries_state": facts.carries_state,
        });
        let fds: Vec<_> = problem.construction().into_iter().collect();
        let reply = self.ask(Phase::Construct, "construct", fields, &fds).await?;
        let known = |name: &String| facts.state.as_array().is_some_and(|state| state.iter().any(|entry| entry[0] == name.as_str()));
        self.uncopied = claim::<Adopted>(reply.ok)?.unmatched.into_iter().filter(known).collect();
        Ok(reply.wall)
    }

    /// Which parameters and buffers of the problem nothing of its module could take.
    pub(crate) fn uncopied(&mut self) -> Vec<String> {
        std::mem::take(&mut self.uncopied)
    }

    /// Has its module hold another state; the names that the module does not have.
    pub(crate) async fn vary(&mut self, state: &OtherState) -> Result<Vec<String>, Stop> {
        self.go_over(json!({"state": state.to_json()})).await
    }

    /// Has its module hold again what it has held before.
    pub(crate) async fn vary_back(&mut self, state: &OtherState) -> Result<(), Stop> {
        self.go_over(json!({"state": state.to_json(), "is_left": true})).await.map(drop)
    }

    async fn go_over(&mut self, fields: Value) -> Result<Vec<String>, Stop> {
        let reply = self.ask(Phase::Run, "vary", fields, &[]).await?;
        Ok(claim::<Adopted>(reply.ok)?.unmatched)
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

    /// Frees the inputs of entries that it is not asked about again.
    pub(crate) async fn forget(&mut self, entries: &[u32]) -> Result<(), Stop> {
        self.ask(Phase::Run, "forget", json!({"entries": entries}), &[]).await.map(drop)
    }

    /// One call on freed memory filled with a pattern, from the module's first state on.
    pub(crate) async fn run(&mut self, entry: u32, given: &Given) -> Result<Call, Stop> {
        self.call(entry, given, false).await
    }

    /// The same in the state that the last call has left.
    pub(crate) async fn go_on_with(&mut self, entry: u32, given: &Given) -> Result<Call, Stop> {
        self.call(entry, given, true).await
    }

    /// Whether it has made one call only: its module holds what that has left.
    pub(crate) fn has_made_one_call(&self) -> bool {
        self.calls == 1
    }

    /// From here on another forward pass comes between the two of each call, or no longer.
    pub(crate) fn interleave(&mut self, interleaves: bool) {
        self.interleaves = interleaves;
    }

    async fn call(&mut self, entry: u32, given: &Given, goes_on: bool) -> Result<Call, Stop> {
        let fields = json!({"entry": entry, "poison": true, "goes_on": goes_on, "interleaves": self.interleaves});
        let reply = self.ask(Phase::Run, "run", fields, &[]).await?;
        self.calls += 1;
        let Claim { outputs, tensors, missed } = claim(reply.ok)?;
        let written = wire::written_bytes(&tensors, &given.located);
        let mut all: Vec<Value> = tensors.iter().chain(&given.located).cloned().collect();
        let arena = self.read(&mut all, self.limits.memory.0.saturating_mul(2)).await?;
        let after = all.split_off(tensors.len());
        Ok(Call {
            outcome: Outcome { outputs, tensors: all, after: given.tree.clone(), after_tensors: after, arena },
            wall: reply.wall,
            written,
            located: tensors,
            missed,
        })
    }

    /// What its module holds in parameters and buffers of these names, as far as it has them.
    pub(crate) async fn state(&mut self, names: &[String]) -> Result<Outcome, Stop> {
        let Claim { outputs, tensors: mut all, .. } = claim(self.ask(Phase::Run, "state", json!({"names": names}), &[]).await?.ok)?;
        let arena = self.read(&mut all, self.limits.memory.0).await?;
        Ok(Outcome { outputs, tensors: all, after: Value::Null, after_tensors: vec![], arena })
    }

    /// Puts fresh inputs at distinct addresses, and says where.
    pub(crate) async fn place(&mut self, calls: &[Placed]) -> Result<Locations, Stop> {
        let entries: Vec<_> = calls.iter().map(|call| call.to_json()).collect();
        claim(self.ask(Phase::Time, "place", json!({"entries": entries}), &[]).await?.ok)
    }

    /// Makes room for the inputs of calls, at distinct addresses, and says where. They are there once [`Candidate::write`] was called.
    pub(crate) async fn reserve(&mut self, calls: &[Placed]) -> Result<Locations, Stop> {
        let entries: Vec<_> = calls.iter().map(|call| json!({"entry": call.entry, "base": BASE, "reserve": true})).collect();
        claim(self.ask(Phase::Time, "place", json!({"entries": entries}), &[]).await?.ok)
    }

    /// Where it says that tensors lie, each with its number; not all of its memory can be theirs.
    pub(crate) fn windows(&self, located: &[Value]) -> Result<Vec<(usize, Window)>, Stop> {
        wire::windows(located, self.limits.memory.0).map_err(|error| Stop::rejected("output_memory", error.to_string()))
    }

    /// Writes inputs into its memory, while the process is stopped.
    pub(crate) async fn write(&self, fillings: Vec<Filling>, inputs: &Inputs) -> Result<(), Stop> {
        let Some(arena) = &inputs.arena else { return Err(EvaluateError::Protocol("inputs that lie in no arena".to_owned()).into()) };
        self.worker.write_memory(fillings, arena.as_fd()).await.map_err(unreadable)
    }

    /// Whether results of timed calls are copied.
    pub(crate) fn copies(&self) -> bool {
        self.copies
    }

    /// Has every result of a timed call copied as soon as it is there, which counts as the candidate's time; whether that is new.
    pub(crate) fn copy_results(&mut self) -> bool {
        !std::mem::replace(&mut self.copies, true)
    }

    /// Makes the calls that were placed last. It is stopped when this returns.
    pub(crate) async fn time(&mut self) -> Result<Batch, Stop> {
        #[derive(Deserialize)]
        struct Timed {
            inner_ns: u64,
        }
        let reply = self.ask_watching(Phase::Time, "time", json!({"copies": self.copies}), &[], self.vigil.watch()).await?;
        let Reply { ok, wall, stopping, denied, .. } = reply;
        let inner = Duration::from_nanos(claim::<Timed>(ok)?.inner_ns);
        self.timed += wall;
        self.vigil.note(denied, wall);
        tracing::debug!(?wall, ?stopping, ?denied, ?inner, "a batch of the candidate");
        Ok(Batch { wall, stopping, denied, inner })
    }

    /// Makes them as [`Self::time`] does, but stops the process after part of its time: then how many have begun, and what to go on with; none
    /// where all were made before that.
    pub(crate) async fn time_in_parts(&mut self, first: Part) -> Result<Option<(u64, Asked)>, Stop> {
        let began = Instant::now();
        let halted = self.worker.ask_in_parts("time", json!({"copies": self.copies}), self.limits.time, first).await;
        self.halted(halted, began, Some(first))
    }

    /// Lets it go on with them, for another part or to their end.
    pub(crate) async fn go_on(&mut self, asked: Asked, part: Option<Part>) -> Result<Option<(u64, Asked)>, Stop> {
        let began = Instant::now();
        let halted = self.worker.go_on(asked, part).await;
        self.halted(halted, began, part)
    }

    fn halted(&mut self, halted: Result<Halted, AskError>, began: Instant, part: Option<Part>) -> Result<Option<(u64, Asked)>, Stop> {
        // The time it takes to stop the process is not the candidate's.
        self.timed += part.map_or(Duration::MAX, |part| part.lasts).min(began.elapsed());
        match halted.map_err(|error| judge(Phase::Time, error, self.worker.log()))? {
            Halted::Answered(_) => Ok(None),
            Halted::At { has_leapt: true, .. } => {
                Err(Stop::rejected("channel_tampering", "it says that more calls of a batch have begun than can have in that time"))
            }
            Halted::At { count, asked, .. } => Ok(Some((count, asked))),
        }
    }

    /// Where the outputs of all calls of the batch lie, and how long the candidate took to say so. It is stopped when this returns.
    pub(crate) async fn held(&mut self) -> Result<(Locations, Duration), Stop> {
        let reply = self.ask_watching(Phase::Time, "held", json!({}), &[], self.vigil.watch()).await?;
        Ok((claim(reply.ok)?, reply.wall + reply.stopping))
    }

    /// Frees the inputs and outputs of the last batch. It is asked once more what it has changed: nobody looks while time runs.
    pub(crate) async fn clear(&mut self) -> Result<(), Stop> {
        self.ask(Phase::Time, "clear", json!({}), &[]).await.map(drop)
    }

    /// What some calls of a batch have left behind: their outputs and their inputs. Nothing of the candidate runs for it.
    pub(crate) async fn read_calls(
        &self,
        calls: &[Placed],
        chosen: &[usize],
        outputs: &Locations,
        inputs: &Locations,
    ) -> Result<TimedOutcomes, Stop> {
        let contradiction = || Stop::rejected("channel_tampering", "what it says of the batch's tensors contradicts itself");
        let (mut all, mut read) = (Vec::new(), Vec::new());
        for &index in chosen {
            let (tree, own) = outputs.call(index).ok_or_else(contradiction)?;
            let (after, theirs) = inputs.call(index).ok_or_else(contradiction)?;
            read.push((calls[index], tree.clone(), own.len(), after.clone(), theirs.len()));
            all.extend(own);
            all.extend(theirs);
        }
        let arena = self.read(&mut all, self.limits.memory.0.saturating_mul(2)).await?;
        let mut all = all.into_iter();
        let outcome = |(placed, outputs, own, after, theirs)| TimedOutcome {
            placed,
            outputs,
            tensors: all.by_ref().take(own).collect(),
            after,
            after_tensors: all.by_ref().take(theirs).collect(),
        };
        Ok(TimedOutcomes { calls: read.into_iter().map(outcome).collect(), arena })
    }

    /// One more call, of which it is told what ran; none where the process gives no readable answer.
    pub(crate) async fn trace(&mut self, call: Placed) -> Option<Trace> {
        self.place(&[call]).await.ok()?;
        let reply = self.ask(Phase::Time, "trace", json!({"entry": call.entry}), &[]).await.ok()?;
        Trace::deserialize(reply.ok).ok()
    }

    /// One call under a program that looks on, with inputs of its own; nothing of it is read.
    pub(crate) async fn check(&mut self, inputs: &Inputs) -> Result<(), Stop> {
        let fields = json!({"inputs": inputs.tree, "tensors": inputs.tensors});
        let fds: Vec<_> = inputs.arena.iter().map(|arena| arena.as_fd()).collect();
        self.ask(Phase::Run, "check", fields, &fds).await.map(drop)
    }

    /// Lets the process, and the program around it, come to their own end; how the latter ended, where it did so in time.
    pub(crate) async fn leave(self, limit: Duration) -> Option<Exit> {
        self.worker.leave(limit).await.exit
    }

    /// Goes on with what was noticed of another process of the same candidate.
    pub(crate) fn take_notes(&mut self, other: &mut Self) {
        self.noticed.append(&mut other.noticed);
    }

    /// What was noticed beside the verdict.
    pub(crate) fn noticed(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.noticed)
    }

    /// Ends the process and waits until it is gone.
    pub(crate) async fn end(self) {
        self.worker.end().await;
    }

    /// Reads what lies in host memory, at most `limit` bytes, and rewrites `tensors` to where it lies now; the worker is stopped between
    /// questions.
    async fn read(&self, tensors: &mut [Value], limit: u64) -> Result<Option<OwnedFd>, Stop> {
        let found = wire::windows(tensors, limit).map_err(|error| Stop::rejected("output_memory", error.to_string()))?;
        if found.is_empty() {
            return Ok(None);
        }
        let windows = found.iter().map(|(_, window)| *window).collect();
        let arena = self.worker.read_memory(windows).await.map_err(unreadable)?;
        wire::relocate(tensors, &found, &arena.offsets);
        Ok(Some(arena.fd))
    }

    async fn ask(&mut self, phase: Phase, op: &str, fields: Value, fds: &[BorrowedFd<'_>]) -> Result<Reply, Stop> {
        self.ask_watching(phase, op, fields, fds, Watch::Asleep).await
    }

    async fn ask_watching(&mut self, phase: Phase, op: &str, fields: Value, fds: &[BorrowedFd<'_>], watch: Watch) -> Result<Reply, Stop> {
        #[derive(Deserialize)]
        struct Noticed {
            rule: String,
            message: String,
            #[serde(default)]
            severity: Option<String>,
        }
        let limit = match phase {
            Phase::Import | Phase::Construct => self.limits.build,
            Phase::Run => self.limits.run,
            Phase::Time => self.limits.time,
        };
        let answer: Result<Reply, AskError> = self.worker.ask_watching(op, fields, fds, limit, watch).await;
        let mut reply = answer.map_err(|error| judge(phase, error, self.worker.log()))?;
        // Nothing rests on the candidate's process telling on itself: this only makes a verdict stricter.
        let noticed = reply.ok.get_mut("findings").map(Value::take).map(Vec::<Noticed>::deserialize);
        for Noticed { rule, message, severity } in noticed.transpose().ok().flatten().unwrap_or_default() {
            if severity.as_deref() != Some("warning") {
                return Err(Stop::rejected(&rule, printable(&message)));
            }
            self.note(&rule, Severity::Warning, &printable(&message));
        }
        Ok(reply)
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
        Some(libc_errno::ESRCH) => {
            Stop::rejected("output_memory", "the thread that it was started as has ended, and its memory cannot be read")
        }
        _ => Stop::Failed(EvaluateError::Memory(error)),
    }
}

/// The error numbers that matter here, the same on every Linux.
mod libc_errno {
    pub(super) const ESRCH: i32 = 3;
    pub(super) const EIO: i32 = 5;
    pub(super) const EFAULT: i32 = 14;
}
