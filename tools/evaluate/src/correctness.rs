//! Whether a candidate's outputs are right, on several draws of inputs.

use std::time::Duration;

use kernelwright_harness::Refusal;
use kernelwright_protocol::{Mismatch, Trials};
use serde_json::Value;

use crate::EvaluateError;
use crate::ahead::{Ahead, Attempt};
use crate::baselines::{self, Reload};
use crate::candidate::{Call, Candidate};
use crate::draws::{self, Draw, DrawKind};
use crate::problem::{BASE, Inputs, Problem, Row};
use crate::verdict::Stop;
use crate::wire;

/// The entry of the touched inputs, beside those of the trials.
const TOUCHED: u32 = BASE + 3;

/// How many calls there are in a row, more of a quick problem whose inputs take no more than so many bytes, and the entry of the first one's inputs.
const IN_A_ROW: u32 = 12;
const LONG_ROW: u32 = 20;
const MOST_BYTES_OF_LONG_ROW: u64 = 1 << 20;
const FIRST_OF_ROW: u32 = BASE + 100;

/// What the trials found about a candidate that passed them all.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) trials: Trials,
    pub(crate) error_over_tolerance: f64,
    /// The first call, with just-in-time compilation.
    pub(crate) first_call: Duration,
    /// The quickest call, with what surrounds a call outside a batch.
    pub(crate) quickest_call: Duration,
    /// Inputs and outputs of one call, in bytes.
    pub(crate) bytes_per_call: u64,
    /// What one call has to write, in bytes: outputs in memory of their own.
    pub(crate) written_per_call: u64,
    /// What one call returns.
    pub(crate) returned: Returned,
    /// Draws that decide what the problem's own do not, as far as the reference has answers on them.
    pub(crate) decisive: Vec<DrawKind>,
    /// Draws beyond the range of the problem's own, as far as the reference has answers on them.
    pub(crate) beyond: Vec<DrawKind>,
}

/// What a call returns, as far as it matters to saying where it lies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Returned {
    pub(crate) tensors: u32,
    /// A tensor or a list of them, with values as they are stored.
    pub(crate) is_plain: bool,
}

impl Returned {
    fn of(tree: &Value, tensors: &[Value]) -> Self {
        let is_tensor = |value: &Value| value.get("tensor").is_some();
        let listed = ["list", "tuple"].iter().find_map(|kind| tree.get(kind)?.as_array());
        let is_stored = |tensor: &Value| tensor["dtype"].as_str().is_some_and(|dtype| !dtype.starts_with("complex"));
        let is_plain = (is_tensor(tree) || listed.is_some_and(|values| values.iter().all(is_tensor))) && tensors.iter().all(is_stored);
        Self { tensors: tensors.len() as u32, is_plain }
    }
}

/// Runs every trial: the first on `base`, the inputs of the base entry, which stay in both workers, and others on what was made ahead.
pub(crate) async fn check(
    problem: &mut Problem,
    candidate: &mut Candidate,
    (base, draws, mut ahead): (Inputs, &[Draw], Ahead),
    reload: &Reload<'_>,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<Passed, Stop> {
    let mut passed = Passed {
        trials: Trials::default(),
        error_over_tolerance: 0.0,
        first_call: Duration::ZERO,
        quickest_call: Duration::MAX,
        bytes_per_call: 0,
        written_per_call: 0,
        returned: Returned::default(),
        decisive: vec![],
        beyond: vec![],
    };
    let mut base = Some(base);
    for (index, &planned) in draws.iter().enumerate() {
        say(&format!("checking trial {} of {} ({})", index + 1, draws.len(), planned.kind.as_str()));
        // Later trials share two entries in turn: some inputs come to lie where others lay before.
        let theirs = if index == 0 { BASE } else { BASE + 1 + index as u32 % 2 };
        let known = match (base.take(), ahead.trial(index)) {
            (Some(base), _) => Some((BASE, Ok(base))),
            (None, ahead) => ahead,
        };
        let Some(Drawn { ours, inputs, kind }) = drawn(problem, (theirs, planned), known, reload, &mut passed.trials).await? else {
            continue;
        };
        let label = format!("trial {} ({})", index + 1, inputs.label);
        passed.trials.ran.push(inputs.label.clone());
        let skipped = passed.trials.skipped.len();
        let call = trial(problem, candidate, Entries { ours, theirs }, &inputs, &label, &mut passed).await?;
        if let (0, Some(first)) = (index, call) {
            passed.first_call = first.wall;
            passed.bytes_per_call = wire::total_bytes(&inputs.tensors) + wire::total_bytes(&first.outcome.tensors);
            passed.written_per_call = first.written;
            passed.returned = Returned::of(&first.outcome.outputs, &first.outcome.tensors);
            left_behind(problem, candidate, &label, &passed.trials).await?;
            again(problem, candidate, &label, (reload, &mut ahead), &mut passed).await?;
            continue;
        }
        problem.forget(&[ours]).await?;
        if passed.trials.skipped.len() > skipped {
            // The reference has no answer on these.
            without_what_is_not_finite(problem, candidate, (index, theirs, kind), reload, &mut passed).await?;
            continue;
        }
        if inputs.decides && draws::DECISIVE.contains(&kind) {
            passed.decisive.push(kind);
        }
        if inputs.decides && draws::BEYOND.contains(&kind) {
            passed.beyond.push(kind);
        }
    }
    candidate.forget(&[BASE + 1, BASE + 2]).await?;
    Ok(passed)
}

/// Inputs of a trial, under an entry of the problem's.
struct Drawn {
    ours: u32,
    inputs: Inputs,
    kind: DrawKind,
}

/// The inputs of a trial as planned, or of another kind in its stead: as many trials as were asked for, also of integers alone, which there is no scaling.
/// None where the reference has an answer on none of them.
async fn drawn(
    problem: &mut Problem,
    (entry, planned): (u32, Draw),
    known: Option<Attempt>,
    reload: &Reload<'_>,
    trials: &mut Trials,
) -> Result<Option<Drawn>, EvaluateError> {
    let (mut ours, mut attempt) = match known {
        Some(known) => known,
        None => (entry, transformed(problem, entry, planned, reload).await?),
    };
    let mut kind = planned.kind;
    let others = if kind == DrawKind::Problem { vec![] } else { draws::instead_of(kind) };
    for other in others {
        let Err(skipped) = &attempt else { break };
        trials.skipped.push(skipped.clone());
        kind = other.kind;
        (ours, attempt) = (entry, transformed(problem, entry, other, reload).await?);
    }
    match attempt {
        Ok(inputs) => Ok(Some(Drawn { ours, inputs, kind })),
        Err(skipped) => {
            trials.skipped.push(skipped);
            Ok(None)
        }
    }
}

/// The trial of a kind with what is not finite left out of it, where there is such a kind.
async fn without_what_is_not_finite(
    problem: &mut Problem,
    candidate: &mut Candidate,
    (index, entry, kind): (usize, u32, DrawKind),
    reload: &Reload<'_>,
    passed: &mut Passed,
) -> Result<(), Stop> {
    let Some(other) = draws::without_what_is_not_finite(kind) else { return Ok(()) };
    match transformed(problem, entry, other, reload).await? {
        Ok(inputs) => {
            passed.trials.ran.push(inputs.label.clone());
            let label = format!("trial {} ({})", index + 1, inputs.label);
            trial(problem, candidate, Entries::same(entry), &inputs, &label, passed).await?;
            problem.forget(&[entry]).await?;
        }
        Err(skipped) => passed.trials.skipped.push(skipped),
    }
    Ok(())
}

/// What the first call of all has left in the module where no output shows it: running statistics, above all. Later sets of inputs find what the others left.
async fn left_behind(problem: &mut Problem, candidate: &mut Candidate, label: &str, trials: &Trials) -> Result<(), Stop> {
    if problem.facts.moving.is_empty() || !candidate.has_made_one_call() {
        return Ok(());
    }
    let state = candidate.state(&problem.facts.moving).await?;
    let comparison = problem.compare_state(&state).await?;
    comparison.outcome(&format!("{label}, after the call")).map_err(|mismatches| Stop::incorrect(mismatches, trials.clone()))?;
    Ok(())
}

/// The first inputs with a few elements changed in place, then as they were: what is remembered by address, or by a look at some of the
/// elements, is wrong in the one, and a race shows in the other. The base entry's inputs are fresh afterwards.
async fn again(
    problem: &mut Problem,
    candidate: &mut Candidate,
    label: &str,
    (reload, ahead): (&Reload<'_>, &mut Ahead),
    passed: &mut Passed,
) -> Result<(), Stop> {
    for (number, draws) in draws::changed_in_place(&problem.facts, problem.is_quick()).into_iter().enumerate() {
        let mut ahead = ahead.changed(number);
        for draw in draws {
            let known = ahead.take().filter(|(kind, _)| *kind == draw.kind);
            let (ours, attempt) = match known {
                Some((_, attempt)) => attempt,
                None => (TOUCHED, transformed(problem, TOUCHED, draw, reload).await?),
            };
            let Ok(touched) = attempt else { continue };
            let what = match draw.kind {
                DrawKind::Flipped => "the signs of a few elements changed in place",
                DrawKind::Raised => "a few elements far larger, in place",
                DrawKind::Opposed => "a few single elements far larger and of the other sign, in place",
                _ => "a few elements changed in place",
            };
            trial(problem, candidate, Entries { ours, theirs: BASE }, &touched, &format!("{label}, {what}"), passed).await?;
            problem.forget(&[ours]).await?;
            break;
        }
    }
    // Touched inputs lay where these did, those on which the reference has no answer as well.
    let inputs = problem.share(BASE).await?;
    let label = format!("{label}, the same inputs again");
    trial(problem, candidate, Entries::same(BASE), &inputs, &label, passed)
        .await
        .map_err(|stop| stop.explained("the first run on the same inputs was right: a race, or a memory of the calls before"))?;
    if problem.facts.form.trains() && !problem.facts.carries_state {
        let label = format!("{label}, another forward pass before the backward pass");
        candidate.interleave(true);
        trial(problem, candidate, Entries::same(BASE), &inputs, &label, passed).await?;
        candidate.interleave(false);
    }
    candidate.give(BASE, &inputs).await?;
    Ok(())
}

/// Where the module carries state from call to call, what it gives in several calls: a count that stays at one, a ring that does not come round.
/// The reference is asked first: a cache may not have room for so many.
pub(crate) async fn in_a_row(
    problem: &mut Problem,
    candidate: &mut Candidate,
    reload: &Reload<'_>,
    passed: &mut Passed,
) -> Result<(), Stop> {
    let is_long = problem.is_quick() && problem.base_bytes() <= MOST_BYTES_OF_LONG_ROW;
    let mut row = if is_long { expected_in_a_row(problem, LONG_ROW, reload).await? } else { Row::default() };
    if row.calls == 0 {
        row = expected_in_a_row(problem, IN_A_ROW, reload).await?;
    }
    let label = |calls: usize| format!("{calls} calls in a row");
    passed.trials.skipped.extend(row.skipped);
    let entries: Vec<u32> = (FIRST_OF_ROW..).take(row.calls).collect();
    let compared = entries.as_slice();
    if !compared.is_empty() {
        passed.trials.ran.push(label(compared.len()));
    }
    for (number, &entry) in (1..).zip(compared) {
        let given = candidate.give(entry, &problem.share(entry).await?).await?;
        let call = if entry == FIRST_OF_ROW { candidate.run(entry, &given).await? } else { candidate.go_on_with(entry, &given).await? };
        let comparison = problem.compare(entry, &call.outcome).await?;
        let error = comparison
            .outcome(&format!("{}, call {number}", label(compared.len())))
            .map_err(|mismatches| Stop::incorrect(mismatches, passed.trials.clone()))?;
        passed.error_over_tolerance = passed.error_over_tolerance.max(error);
    }
    candidate.forget(compared).await?;
    problem.forget(compared).await.map_err(Stop::from)
}

/// What the reference gives in so many calls in a row, or how many of them are something to go by; of those alone the inputs stay.
async fn expected_in_a_row(problem: &mut Problem, calls: u32, reload: &Reload<'_>) -> Result<Row, Stop> {
    let entries: Vec<u32> = (FIRST_OF_ROW..FIRST_OF_ROW + calls).collect();
    let skipped = |reason: String| Row { calls: 0, skipped: Some(format!("{calls} calls in a row: {reason}")) };
    for &entry in &entries {
        if let Err(reason) = problem.draw_only(entry, draws::fresh()).await? {
            problem.forget(&entries).await?;
            return Ok(skipped(reason));
        }
    }
    let row = match problem.expect_in_a_row(&entries).await {
        Err(EvaluateError::Problem(refusal)) if refusal.lost_the_device() => {
            baselines::recover(problem, reload).await?;
            return Ok(skipped("the reference loses the device on it".to_owned()));
        }
        answer => answer?,
    };
    problem.forget(&entries[row.calls.min(entries.len())..]).await?;
    Ok(Row { skipped: row.skipped.and_then(|reason| skipped(reason).skipped), ..row })
}

/// Draws the inputs of a later trial. Where the reference loses its device on them (a value that was an index, say), its process, or comes to no end (a
/// value that was the length of a loop), that is found out once: its worker is started again, and such draws of this problem are skipped from then on.
pub(crate) async fn transformed(
    problem: &mut Problem,
    entry: u32,
    draw: Draw,
    reload: &Reload<'_>,
) -> Result<Result<Inputs, String>, EvaluateError> {
    let skipped = |how: &str| format!("{}: the reference {how} on it", draw.kind.as_str());
    if let Some((_, how)) = problem.lost_on.iter().find(|(kind, _)| *kind == draw.kind) {
        return Ok(Err(skipped(how)));
    }
    let how = match problem.draw(entry, draw).await {
        Err(EvaluateError::Problem(refusal)) if refusal.lost_the_device() => "loses the device",
        Err(EvaluateError::ProblemCrashed { .. }) if draw.kind != DrawKind::Problem => "ends its process",
        Err(EvaluateError::ProblemSlow { .. }) if draw.kind != DrawKind::Problem => "comes to no end",
        drawn => return drawn,
    };
    problem.lost_on.push((draw.kind, how));
    baselines::recover(problem, reload).await?;
    Ok(Err(skipped(how)))
}

/// One trial more, on the inputs of an entry that both sides name alike.
pub(crate) async fn one(
    problem: &mut Problem,
    candidate: &mut Candidate,
    entry: u32,
    inputs: &Inputs,
    passed: &mut Passed,
) -> Result<(), Stop> {
    trial(problem, candidate, Entries::same(entry), inputs, &inputs.label, passed).await.map(drop)
}

/// The problem's own draw has run while it was loaded; without it there is nothing to compare.
pub(crate) fn base_failed(message: String) -> EvaluateError {
    EvaluateError::Problem(Refusal { kind: "problem_run".to_owned(), phase: "expect".to_owned(), message, traceback: String::new() })
}

/// Whoever changes the result of such a call changes its inputs, and nothing was computed.
pub(crate) fn returned_inputs() -> Stop {
    Stop::rejected("output_memory", "an output lies in the memory of an input, where those of the reference have memory of their own")
}

/// Whoever goes on with the results of such a call, on the stream on which it was made, reads what was there before.
fn unjoined(label: &str, missed: u64, trials: Trials) -> Stop {
    let written = if missed == 1 { "1 element is".to_owned() } else { format!("{missed} elements are") };
    let detail = format!(
        "{written} written after the stream of the caller, where the next operator runs, has read them: it does not wait for work on another stream"
    );
    Stop::incorrect(vec![Mismatch { trial: label.to_owned(), output: "output".to_owned(), detail, error_over_tolerance: None }], trials)
}

/// Under which names the two sides have the inputs of a call.
#[derive(Clone, Copy)]
struct Entries {
    ours: u32,
    theirs: u32,
}

impl Entries {
    fn same(entry: u32) -> Self {
        Self { ours: entry, theirs: entry }
    }
}

/// One trial; no call where the candidate could not factorise a matrix, which says nothing against it on these inputs.
async fn trial(
    problem: &mut Problem,
    candidate: &mut Candidate,
    entries: Entries,
    inputs: &Inputs,
    label: &str,
    passed: &mut Passed,
) -> Result<Option<Call>, Stop> {
    let given = candidate.give(entries.theirs, inputs).await?;
    let mut undecided = |reason: &str| {
        passed.trials.ran.retain(|ran| *ran != inputs.label);
        passed.trials.skipped.push(format!("{}: {reason}", inputs.label));
    };
    let call = match candidate.run(entries.theirs, &given).await {
        Ok(call) => call,
        Err(stop) if stop.is_of_a_factorisation() => {
            let excuse = problem.excuse(entries.ours).await?;
            return excuse.map(|reason| undecided(&reason)).map(|()| None).ok_or_else(|| stop.in_trial(label));
        }
        Err(stop) => return Err(stop.in_trial(label)),
    };
    let comparison = problem.compare(entries.ours, &call.outcome).await?;
    if let Some(reason) = &comparison.undecided {
        undecided(reason);
    }
    let error = comparison.outcome(label).map_err(|mismatches| Stop::incorrect(mismatches, passed.trials.clone()))?;
    if problem.facts.in_inputs.are_others(&call.outcome.outputs, &call.located, &given.located) {
        return Err(returned_inputs());
    }
    if call.missed > 0 {
        return Err(unjoined(label, call.missed, passed.trials.clone()));
    }
    passed.error_over_tolerance = passed.error_over_tolerance.max(error);
    passed.quickest_call = passed.quickest_call.min(call.wall);
    Ok(Some(call))
}
