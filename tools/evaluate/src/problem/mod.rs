//! The trusted side: the problem, its reference, its baselines and the comparison, in a worker that outlives single evaluations.

mod baselines;
mod facts;
mod state;
mod traffic;

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use kernelwright_harness::Worker;
use kernelwright_protocol::{Baseline, BaselineKind, DeviceState, Finding, NotMeasured, Severity};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use self::baselines::{BaselineBatch, Prepared};
pub(crate) use self::facts::{Facts, Places};
pub(crate) use self::state::{Change, OtherState, Policy, State};
pub(crate) use self::traffic::{BASE, Comparison, Inputs, Moves, Outcome, Placed, Recipe, Row, TimedOutcome, TimedOutcomes, alike};
use self::traffic::{Blocks, Drawn};
use crate::EvaluateError;
use crate::batch::Footprint;
use crate::draws::{self, Draw, DrawKind, random_u32};
use crate::request::trusted;
use crate::samples::Beside;
use crate::sets::Sets;
use crate::verdict::Stop;
use crate::wire;

/// How many runs of the reference it may take to say what it gives for a draw that is not the problem's own: several in float64, some on inputs nearby.
const OTHER_DRAW_RUNS: u32 = 200;

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
    /// What one call of its baselines took beside the candidate that was timed last.
    pub(crate) beside: Option<Beside>,
    /// What a batch of the candidate took that was timed last.
    pub(crate) footprint: Option<Footprint>,
    /// Seconds that one call of a baseline of the selected set takes on a draw with no candidate's process on the GPU, as far as that was measured.
    pub(crate) alone: Vec<(BaselineKind, DrawKind, f64)>,
    pub(crate) sets: Sets,
    /// The tree and the tensors of the last draw of [`BASE`].
    base: (Value, Vec<Value>),
    copy_rate: Option<f64>,
    /// Draws on which the reference has lost its device, or worse, and what it did.
    pub(crate) lost_on: Vec<(DrawKind, &'static str)>,
    /// What its reference holds.
    pub(crate) state: State,
    /// Whether its reference takes its inputs times a factor, as calls that baselines are measured by have them.
    pub(crate) takes_scaled: bool,
    /// How far inputs may be moved about.
    pub(crate) moves: Option<Moves>,
    /// What batches of its baselines took beside the candidate that is timed.
    pub(crate) timed: Duration,
    /// Whether its worker has given back what it keeps, and was asked nothing since.
    rests: bool,
}

/// What the reference gives for a draw is something to go by.
#[derive(Deserialize)]
struct Answer {
    /// Whether the draw decides what its kind is there for.
    #[serde(default)]
    decides: bool,
    /// What of the outputs it is nothing to go by for.
    #[serde(default)]
    apart_from: Option<String>,
}

impl Problem {
    /// Loads `source` into a fresh trusted worker.
    pub(crate) async fn load(mut worker: Worker, source: &str, name: &str, setting: &Setting) -> Result<Self, EvaluateError> {
        let mut fields = setting.to_json();
        fields["source"] = source.into();
        fields["name"] = name.into();
        let (facts, fds): (Facts, _) = request(&mut worker, "load", fields, &[], trusted::STEP).await?;
        Ok(Self {
            worker,
            setting: Setting { tf32: setting.tf32 || facts.turns_tf32_on, ..*setting },
            facts,
            construction: fds.into_iter().next(),
            baselines: vec![],
            beside: None,
            footprint: None,
            alone: vec![],
            sets: Sets::default(),
            base: (Value::Null, vec![]),
            copy_rate: None,
            lost_on: vec![],
            state: State::Own,
            takes_scaled: true,
            moves: None,
            timed: Duration::ZERO,
            rests: false,
        })
    }

    /// The memory in which constructor arguments and state lie.
    pub(crate) fn construction(&self) -> Option<BorrowedFd<'_>> {
        self.construction.as_ref().map(OwnedFd::as_fd)
    }

    /// What the writer of a candidate has to know beside the problem's text.
    pub(crate) fn form_note(&self) -> Option<Finding> {
        let several = self.count_sets();
        let sets = (several > 1).then(|| {
            format!("the problem has {several} sets of inputs: the candidate has to be right on every one, and the speedup is their geometric mean")
        });
        let message = match (self.facts.form.told(), sets) {
            (Some(form), Some(sets)) => format!("{form}. {sets}"),
            (form, sets) => form.or(sets)?,
        };
        Some(Finding { rule: "problem_form".to_owned(), severity: Severity::Note, message })
    }

    /// That the problem itself allows what nobody asked for.
    pub(crate) fn tf32_note(&self) -> Option<Finding> {
        let message = "the problem's own code turns TF32 on: reference and candidate may both compute products of float32 with it";
        let note = Finding { rule: "tf32_by_the_problem".to_owned(), severity: Severity::Note, message: message.to_owned() };
        self.facts.turns_tf32_on.then_some(note)
    }

    /// That nobody looks at gradients, though the inputs ask for them.
    pub(crate) fn gradients_note(&self) -> Option<Finding> {
        let message = "`get_inputs` gives tensors that require gradients, but only the forward pass is checked and timed: `backward = True` in the \
            problem file has gradients compared and timed too, `backward = False` says that none are wanted";
        let note = Finding { rule: "gradients_not_checked".to_owned(), severity: Severity::Warning, message: message.to_owned() };
        self.facts.leaves_gradients_open.then_some(note)
    }

    /// Makes the inputs of one call and computes what the reference gives for them; the reason, where the reference cannot run on them.
    pub(crate) async fn draw(&mut self, entry: u32, draw: Draw) -> Result<Result<Inputs, String>, EvaluateError> {
        let inputs = match self.drawn(entry, draw, false).await? {
            Ok(inputs) => inputs,
            skipped => return Ok(skipped),
        };
        Ok(match self.expect(entry, self.drawing_limit(draw.kind)).await? {
            Err(reason) => Err(format!("{}: {reason}", inputs.label)),
            Ok(Answer { decides, apart_from }) => {
                let label = apart_from.map_or(inputs.label.clone(), |what| format!("{}, apart from {what}", inputs.label));
                Ok(Inputs { label, decides, ..inputs })
            }
        })
    }

    /// Makes inputs from which those of calls are made; the reason, where there are none of this kind. On a GPU they stay in the problem's process.
    pub(crate) async fn draw_only(&mut self, entry: u32, draw: Draw) -> Result<Result<Inputs, String>, EvaluateError> {
        self.drawn(entry, draw, true).await
    }

    async fn drawn(&mut self, entry: u32, draw: Draw, stays: bool) -> Result<Result<Inputs, String>, EvaluateError> {
        let mut fields = json!({"entry": entry, "seed": draw.seed, "kind": draw.kind.as_str(), "stays": stays});
        if draw.kind.is_of_base() {
            fields["base"] = BASE.into();
        }
        let (drawn, fds): (Drawn, _) = self.ask_within(self.drawing_limit(draw.kind), "draw", fields, &[]).await?;
        if let Some(reason) = drawn.skipped {
            let label = if drawn.label.is_empty() { draw.kind.as_str() } else { drawn.label.as_str() };
            return Ok(Err(format!("{label}: {reason}")));
        }
        let inputs = drawn.inputs(fds, &self.facts.structures);
        if entry == BASE {
            self.base = (inputs.tree.clone(), inputs.tensors.clone());
        }
        Ok(Ok(inputs))
    }

    /// What making inputs of a kind may take, and what the reference gives for them: much more than for the problem's own is no end.
    fn drawing_limit(&self, kind: DrawKind) -> Duration {
        match kind {
            DrawKind::Problem => trusted::STEP,
            _ => (trusted::OTHER_DRAW + OTHER_DRAW_RUNS * Duration::from_nanos(self.facts.reference_ns)).min(trusted::STEP),
        }
    }

    /// Whether these inputs differ from those of [`BASE`] in their values alone.
    pub(crate) fn is_like_base(&self, inputs: &Inputs) -> bool {
        self.base.0 == inputs.tree && alike(&self.base.1, &inputs.tensors)
    }

    /// Whether a trial takes little beside the rest of an evaluation: the reference is run several times for each, in more digits as well.
    pub(crate) fn is_quick(&self) -> bool {
        const REFERENCE: Duration = Duration::from_millis(20);
        const MOST_BYTES: u64 = 16 << 20;
        Duration::from_nanos(self.facts.reference_ns) <= REFERENCE && self.base_bytes() <= MOST_BYTES
    }

    /// The size of the inputs of [`BASE`].
    pub(crate) fn base_bytes(&self) -> u64 {
        wire::total_bytes(&self.base.1)
    }

    /// The same, and in how many tensors.
    pub(crate) fn base_size(&self) -> (u64, usize) {
        (self.base_bytes(), self.base.1.len())
    }

    /// The inputs of an entry once more: on a GPU, what was made later lies where they were passed on before.
    pub(crate) async fn share(&mut self, entry: u32) -> Result<Inputs, EvaluateError> {
        let (drawn, fds): (Drawn, _) = self.ask("share", json!({"entry": entry}), &[]).await?;
        Ok(drawn.inputs(fds, &self.facts.structures))
    }

    /// The inputs of a deep check, in memory of the host: those that the problem offers for it, else those of its smallest set.
    pub(crate) async fn check_inputs(&mut self) -> Result<Inputs, EvaluateError> {
        let (drawn, fds): (Drawn, _) = self.ask("check_inputs", json!({"seed": draws::random_u32()}), &[]).await?;
        Ok(drawn.inputs(fds, &self.facts.structures))
    }

    /// Computes the expected outputs of an entry; the reason, where the reference cannot.
    async fn expect(&mut self, entry: u32, limit: Duration) -> Result<Result<Answer, String>, EvaluateError> {
        #[derive(Deserialize)]
        struct Expected {
            #[serde(default)]
            skipped: Option<String>,
            #[serde(default)]
            rounding_decides: bool,
            #[serde(flatten)]
            answer: Answer,
        }
        let (expected, _): (Expected, _) = self.ask_within(limit, "expect", json!({"entry": entry}), &[]).await?;
        if expected.rounding_decides && self.facts.degenerate.is_none() {
            self.facts.degenerate = Some("inputs that differ in their last digits change its outputs as much as they are large".to_owned());
            self.note_degenerate();
        }
        Ok(expected.skipped.map_or(Ok(expected.answer), Err))
    }

    /// Computes what entries should give where a call is made on each of them in a row.
    pub(crate) async fn expect_in_a_row(&mut self, entries: &[u32]) -> Result<Row, EvaluateError> {
        let (row, _) = self.ask("expect_in_a_row", json!({"entries": entries}), &[]).await?;
        Ok(row)
    }

    /// Compares what a call has left behind with what is expected for its entry.
    pub(crate) async fn compare(&mut self, entry: u32, outcome: &Outcome) -> Result<Comparison, Stop> {
        let fields = json!({
            "entry": entry, "outputs": outcome.outputs, "tensors": outcome.tensors,
            "after": outcome.after, "after_tensors": outcome.after_tensors,
        });
        self.judge("compare", fields, outcome.arena.as_ref()).await
    }

    /// Compares what a first call has left in a module's buffers.
    pub(crate) async fn compare_state(&mut self, state: &Outcome) -> Result<Comparison, Stop> {
        self.judge("compare_state", json!({"outputs": state.outputs, "tensors": state.tensors}), state.arena.as_ref()).await
    }

    /// Why it says nothing against a candidate that a matrix could not be factorised on an entry, if so.
    pub(crate) async fn excuse(&mut self, entry: u32) -> Result<Option<String>, EvaluateError> {
        #[derive(Deserialize)]
        struct Excuse {
            undecided: Option<String>,
        }
        let (excuse, _): (Excuse, _) = self.ask("excuse", json!({"entry": entry}), &[]).await?;
        Ok(excuse.undecided)
    }

    /// Compares what timed calls have left behind with what the reference gives for their inputs; none for a call on whose inputs it
    /// gives nothing.
    pub(crate) async fn verify(&mut self, outcomes: &TimedOutcomes) -> Result<Vec<Option<Comparison>>, Stop> {
        #[derive(Deserialize)]
        struct Verified {
            comparisons: Vec<Option<Comparison>>,
        }
        let call = |timed: &TimedOutcome| {
            let mut call = timed.placed.to_json();
            call["outputs"] = timed.outputs.clone();
            call["tensors"] = timed.tensors.clone().into();
            call["after"] = timed.after.clone();
            call["after_tensors"] = timed.after_tensors.clone().into();
            call
        };
        let calls: Vec<_> = outcomes.calls.iter().map(call).collect();
        let verified: Verified = self.judge("verify", json!({"calls": calls}), outcomes.arena.as_ref()).await?;
        Ok(verified.comparisons)
    }

    /// Asks about a candidate's outputs: a description that the worker cannot read is the candidate's.
    async fn judge<T: DeserializeOwned>(&mut self, op: &str, fields: Value, arena: Option<&OwnedFd>) -> Result<T, Stop> {
        let fds: Vec<_> = arena.map(OwnedFd::as_fd).into_iter().collect();
        match self.ask(op, fields, &fds).await {
            Ok((answer, _)) => Ok(answer),
            Err(EvaluateError::Problem(refusal)) if refusal.kind == "unsupported" => Err(Stop::rejected("output_claim", refusal.message)),
            Err(EvaluateError::TooLong(_)) => {
                Err(Stop::rejected("output_claim", "what it says of its outputs is longer than any answer may be"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Frees entries.
    pub(crate) async fn forget(&mut self, entries: &[u32]) -> Result<(), EvaluateError> {
        self.ask::<Value>("forget", json!({"entries": entries}), &[]).await.map(drop)
    }

    /// Writes the inputs of an entry into device memory of the candidate, which is stopped: for each call where its tensors lie and how
    /// they are moved about. Whether that was possible.
    pub(crate) async fn fill(&mut self, entry: u32, calls: &[(Vec<Value>, Recipe)]) -> Result<bool, EvaluateError> {
        let mut blocks = Blocks::default();
        let call = |(located, recipe): &(Vec<Value>, Recipe)| {
            let places: Vec<_> = located.iter().map(|tensor| blocks.place(&tensor["memory"]["cuda_ipc"])).collect();
            json!({"places": places, "recipe": recipe.to_json()})
        };
        let calls: Vec<_> = calls.iter().map(call).collect();
        let fields = json!({"entry": entry, "blocks": blocks.described, "calls": calls});
        match self.ask::<Value>("fill", fields, &[]).await {
            Ok(_) => Ok(true),
            Err(EvaluateError::Problem(refusal)) if refusal.kind == "unsupported" => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What another draw of an entry's kind takes; none where calls cannot have draws of their own.
    pub(crate) async fn redraw(&mut self, entry: u32) -> Result<Option<Duration>, EvaluateError> {
        #[derive(Deserialize)]
        struct Answer {
            ns: Option<u64>,
        }
        let (Answer { ns }, _) = self.ask("redraw", json!({"entry": entry, "seed": random_u32().max(1)}), &[]).await?;
        Ok(ns.map(Duration::from_nanos))
    }

    /// Frees placed inputs and what is known of them.
    pub(crate) async fn release(&mut self, calls: &[Placed]) -> Result<(), EvaluateError> {
        self.ask::<Value>("clear", json!({}), &[]).await?;
        let entries: Vec<_> = calls.iter().map(|call| call.entry).collect();
        self.forget(&entries).await
    }

    /// Gives back memory that torch keeps for later, where this was not done since its last evaluation. A worker that is lost shows when it is
    /// asked next.
    pub(crate) async fn rest(&mut self) {
        if !std::mem::replace(&mut self.rests, true) {
            let _ = self.ask::<Value>("rest", json!({}), &[]).await;
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.worker.pid()
    }

    /// Ends its process and waits until that is gone, with the memory it has used.
    pub(crate) async fn end(self) {
        self.worker.end().await;
    }

    /// Has every entry freed, which takes a while where memory of the candidate was mapped, and does not wait for it: the next question does.
    pub(crate) async fn forget_all(&mut self) -> Result<(), EvaluateError> {
        self.rests = false;
        if matches!(self.state, State::Another(_)) {
            self.vary(None).await?;
        }
        self.ask::<Value>("clear", json!({}), &[]).await?;
        let told = self.worker.tell("forget", json!({"all": true}), trusted::STEP).await;
        told.map_err(|error| EvaluateError::trusted(error, String::new))
    }

    /// Makes it ready for another candidate after an evaluation that was given up halfway; whether that was possible. Where there are
    /// several sets, the two sides may no longer agree on which is selected.
    pub(crate) async fn recover(&mut self, limit: Duration) -> bool {
        self.count_sets() == 1 && self.worker.recover(limit).await.is_ok()
    }

    /// How far the reference lets inputs be moved about. Asked once.
    pub(crate) async fn learn_moves(&mut self) -> Result<(), EvaluateError> {
        #[derive(Deserialize)]
        struct Answer {
            takes: bool,
        }
        if self.moves.is_some() {
            return Ok(());
        }
        let mut found = Moves::None;
        for (moves, stir) in [(Moves::Stirred, random_u32().max(1)), (Moves::Rotated, 0)] {
            if found != Moves::None {
                break;
            }
            let recipe = Recipe::Rotated { by: 1 + random_u32() % 4095, stir };
            let fields = Placed { entry: BASE, base: BASE, recipe }.to_json();
            let (Answer { takes }, _) = self.ask("takes", fields, &[]).await?;
            found = if takes { moves } else { found };
        }
        self.moves = Some(found);
        Ok(())
    }

    /// Whether inputs are something in every draw that rows in other places would not leave them.
    pub(crate) fn has_structure(&self) -> bool {
        !self.facts.structure.is_empty()
    }

    /// Whether all floating inputs may be multiplied by a number.
    pub(crate) fn may_scale(&self) -> bool {
        self.takes_scaled && self.facts.structures.iter().flatten().all(|places| places.scales)
    }

    /// What the writer of a candidate may rely on beside shapes.
    pub(crate) fn structure_note(&self) -> Option<Finding> {
        let told = (!self.facts.structure.is_empty()).then(|| self.facts.structure.join("; "))?;
        let message = format!("in every draw, and so in every trial and timed call, {told}");
        Some(Finding { rule: "input_structure".to_owned(), severity: Severity::Note, message })
    }

    /// How far inputs may be moved about, as far as that is known.
    pub(crate) fn moves(&self) -> Moves {
        self.moves.unwrap_or(Moves::Rotated)
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

    pub(crate) async fn ask<T: DeserializeOwned>(
        &mut self,
        op: &str,
        fields: Value,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(T, Vec<OwnedFd>), EvaluateError> {
        self.ask_within(trusted::STEP, op, fields, fds).await
    }

    async fn ask_within<T: DeserializeOwned>(
        &mut self,
        limit: Duration,
        op: &str,
        fields: Value,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(T, Vec<OwnedFd>), EvaluateError> {
        // What it was told to do after the last evaluation may still go on.
        let recovered = self.worker.recover(trusted::STEP).await;
        recovered.map_err(|error| EvaluateError::trusted(error, || self.worker.log().tail(2000)))?;
        request(&mut self.worker, op, fields, fds, limit).await
    }
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
