//! Inputs that nobody could have looked at before the clock runs.
//!
//! A process that holds the inputs of a batch before it is timed can work ahead, or know the answer from inputs like them. So they come
//! after the candidate was stopped for the last time before its clock starts, from a draw of the problem's own distribution that it has not seen.
//!
//! All inputs of a timed batch do where elements can be moved in them: the candidate only makes room, and the supervisor writes them there, or on a GPU
//! the trusted worker, which gives calls draws of their own as well: what was made of one call's inputs, index tensors and masks among them, then helps
//! no other call. Otherwise a few calls of some batches get other inputs than those that were placed, and their outputs are always verified.

use std::time::Duration;

use kernelwright_protocol::Backend;
use serde_json::Value;

use crate::EvaluateError;
use crate::candidate::Candidate;
use crate::draws::{self, DrawKind, random_below, random_u32};
use crate::locations::Locations;
use crate::problem::{BASE, Inputs, Moves, Placed, Problem, Recipe, alike};
use crate::rotation;
use crate::verdict::Stop;

/// The entry of such inputs, beside those of the trials, and that of inputs beyond the problem's range.
const LATE: u32 = BASE + 4;
const BEYOND: u32 = BASE + 6;

const AS_DRAWN: Recipe = Recipe::Rotated { by: 0, stir: 0 };

/// What draws of a batch may take where each call has its own.
const DRAWING: Duration = Duration::from_millis(16);

/// Where that does not suffice: what those may take that calls share, and how many there are at most. Writing so many of each takes longer than drawing.
const SHARED_DRAWING: Duration = Duration::from_millis(4);
const SHARED: usize = 8;

/// Inputs that the candidate has not seen.
#[derive(Debug)]
pub(crate) struct Unseen {
    pub(crate) inputs: Inputs,
    pub(crate) kind: DrawKind,
    /// What another draw of their kind takes, where calls can have draws of their own.
    redraw: Option<Duration>,
}

impl Unseen {
    /// How each of so many calls gets its inputs.
    fn recipes(&self, moves: Moves, calls: usize) -> Vec<Recipe> {
        let each = self.redraw.map(|each| each.max(Duration::from_micros(1)).as_secs_f64());
        let within = |budget: Duration| each.map_or(0, |each| (budget.as_secs_f64() / each) as usize);
        if within(DRAWING) >= calls {
            return (0..calls).map(|_| Recipe::Redrawn { draw: random_u32().max(1), by: 0, stir: 0 }).collect();
        }
        let seeds: Vec<u32> = (0..within(SHARED_DRAWING).min(SHARED)).map(|_| random_u32().max(1)).collect();
        let shared = |_| seeds.get(random_below(seeds.len())).map_or_else(|| moves.draw(), |&draw| moves.redraw(draw));
        (0..calls).map(shared).collect()
    }
}

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    /// The calls that got other inputs, by number: they must be verified.
    pub(crate) calls: Vec<usize>,
    /// The one of which nobody knows what inputs it has.
    pub(crate) unknown: Option<usize>,
}

/// A batch that is ready to be timed.
#[derive(Debug)]
pub(crate) struct Ready {
    /// With the inputs that they have now.
    pub(crate) calls: Vec<Placed>,
    pub(crate) placed: Locations,
    pub(crate) late: Late,
}

/// Draws inputs for timed batches. None where the problem's inputs change their form from draw to draw, or cannot be made to differ from call to
/// call; nor on a GPU whose memory processes cannot share here, so that inputs come through the host.
///
/// Of a reduction every draw of one distribution gives the same within tolerance, wherever its elements stand, and some inputs are the same in every
/// draw: where there are draws that are `decisive` it is one of those. Who takes a sample where inputs look as they always do is wrong, or no quicker.
pub(crate) async fn unseen(problem: &mut Problem, decisive: &[DrawKind]) -> Result<Option<Unseen>, EvaluateError> {
    unseen_of(problem, if decisive.is_empty() { DrawKind::Problem } else { decisive[random_below(decisive.len())] }).await
}

/// The same of one kind.
pub(crate) async fn unseen_of(problem: &mut Problem, kind: DrawKind) -> Result<Option<Unseen>, EvaluateError> {
    let Some(inputs) = reaching(problem, LATE, kind).await? else { return Ok(None) };
    let is_cuda = problem.setting.target.backend == Backend::Cuda;
    let redraw = if is_cuda { problem.redraw(LATE).await? } else { None };
    if redraw.is_some() || rotation::is_possible(&inputs) {
        return Ok(Some(Unseen { inputs, kind, redraw }));
    }
    problem.forget(&[LATE]).await?;
    Ok(None)
}

/// Draws inputs beyond the range of the problem's own, in one of these ways: who makes calls in a row by a shorter way that is right in that range alone
/// is wrong there. None where no way is given, or they cannot be made to differ from call to call by moving bytes.
pub(crate) async fn beyond(problem: &mut Problem, kinds: &[DrawKind]) -> Result<Option<Inputs>, EvaluateError> {
    if kinds.is_empty() {
        return Ok(None);
    }
    let Some(inputs) = reaching(problem, BEYOND, kinds[random_below(kinds.len())]).await? else { return Ok(None) };
    if rotation::is_possible(&inputs) {
        return Ok(Some(inputs));
    }
    problem.forget(&[BEYOND]).await?;
    Ok(None)
}

/// Inputs of a kind that have the form of the base entry's, and can be written into the candidate's memory.
async fn reaching(problem: &mut Problem, entry: u32, kind: DrawKind) -> Result<Option<Inputs>, EvaluateError> {
    let Ok(inputs) = problem.draw_only(entry, draws::of_kind(kind)).await? else { return Ok(None) };
    let reached = problem.setting.target.backend == Backend::Cpu || inputs.arena.is_none();
    if reached && problem.is_like_base(&inputs) {
        return Ok(Some(inputs));
    }
    problem.forget(&[entry]).await?;
    Ok(None)
}

/// What calls get other inputs from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    entry: u32,
    inputs: &'a Inputs,
}

impl<'a> Source<'a> {
    /// Inputs beyond the problem's range where there are such, and otherwise unseen ones.
    pub(crate) fn of(beyond: Option<&'a Inputs>, unseen: &'a Unseen) -> Self {
        beyond.map_or(Self { entry: LATE, inputs: &unseen.inputs }, |inputs| Self { entry: BEYOND, inputs })
    }
}

/// Gives the candidate the inputs of a batch: made from `unseen` where there are such inputs, otherwise its own, up to `late_calls` of them late.
pub(crate) async fn place(
    problem: &mut Problem,
    candidate: &mut Candidate,
    mut calls: Vec<Placed>,
    unseen: Option<&Unseen>,
    late_calls: usize,
) -> Result<Ready, Stop> {
    if let Some(unseen) = unseen {
        return match problem.setting.target.backend {
            Backend::Cpu => write(candidate, calls, unseen, problem.moves()).await,
            Backend::Cuda => fill(problem, candidate, calls, unseen).await,
        };
    }
    let placed = candidate.place(&calls).await?;
    let late = refill(problem, candidate, &placed, &mut calls, late_calls).await?;
    Ok(Ready { calls, placed, late })
}

/// Gives a baseline the inputs of a batch, from the same draw as the candidate's: of some operators, what a call takes depends on its values.
pub(crate) async fn place_baseline(problem: &mut Problem, calls: &[Placed], unseen: Option<&Unseen>) -> Result<(), EvaluateError> {
    match (unseen, problem.setting.target.backend) {
        (None, _) => problem.place(calls).await,
        (Some(_), Backend::Cpu) => problem.refill(calls, LATE).await,
        (Some(_), Backend::Cuda) => {
            let calls: Vec<_> = calls.iter().map(|call| Placed { base: LATE, ..*call }).collect();
            problem.place(&calls).await
        }
    }
}

/// Makes room for the calls in the candidate's process on a CPU and, now that it is stopped, writes the inputs there, moved about differently for
/// each call. The problem's process has no part in it.
async fn write(candidate: &mut Candidate, calls: Vec<Placed>, unseen: &Unseen, moves: Moves) -> Result<Ready, Stop> {
    let placed = candidate.reserve(&calls).await?;
    write_reserved(candidate, (calls, placed), unseen, moves).await
}

/// The same where there is room already.
pub(crate) async fn write_reserved(
    candidate: &Candidate,
    (mut calls, placed): (Vec<Placed>, Locations),
    unseen: &Unseen,
    moves: Moves,
) -> Result<Ready, Stop> {
    let rooms = rooms_of(&placed, &mut calls, unseen, moves)?;
    write_into(candidate, &rooms, &unseen.inputs).await?;
    Ok(Ready { calls, placed, late: Late::default() })
}

async fn write_into(candidate: &Candidate, rooms: &[(Vec<Value>, Recipe)], inputs: &Inputs) -> Result<(), Stop> {
    let mut fillings = Vec::with_capacity(rooms.len());
    for (located, recipe) in rooms {
        fillings.extend(candidate.windows(located)?.into_iter().map(|(index, window)| rotation::filling(window, inputs, index, *recipe)));
    }
    candidate.write(fillings, inputs).await
}

/// Gives some calls of a batch other inputs, made from those of `source`; the candidate is stopped.
pub(crate) async fn exchange(
    problem: &mut Problem,
    candidate: &Candidate,
    ready: &mut Ready,
    source: Source<'_>,
    numbers: &[usize],
) -> Result<(), Stop> {
    let mut rooms = Vec::with_capacity(numbers.len());
    for &number in numbers {
        let recipe = problem.moves().draw();
        let Some((_, located)) = ready.placed.call(number) else { continue };
        ready.calls[number] = ready.calls[number].instead(source.entry, recipe);
        rooms.push((located, recipe));
    }
    match problem.setting.target.backend {
        Backend::Cpu => write_into(candidate, &rooms, source.inputs).await,
        Backend::Cuda => fill_into(problem, source.entry, &rooms).await,
    }
}

/// The same on a GPU, whose memory the problem's process writes.
async fn fill(problem: &mut Problem, candidate: &mut Candidate, mut calls: Vec<Placed>, unseen: &Unseen) -> Result<Ready, Stop> {
    let placed = candidate.reserve(&calls).await?;
    let rooms = rooms_of(&placed, &mut calls, unseen, problem.moves())?;
    fill_into(problem, LATE, &rooms).await?;
    Ok(Ready { calls, placed, late: Late::default() })
}

async fn fill_into(problem: &mut Problem, entry: u32, rooms: &[(Vec<Value>, Recipe)]) -> Result<(), Stop> {
    if problem.fill(entry, rooms).await? {
        return Ok(());
    }
    Err(Stop::rejected("output_memory", "its inputs are said to lie where no memory of the device is"))
}

/// For each call its tensors, where there is room for inputs like the unseen ones, and how those are to be moved about.
fn rooms_of(placed: &Locations, calls: &mut [Placed], unseen: &Unseen, moves: Moves) -> Result<Vec<(Vec<Value>, Recipe)>, Stop> {
    let mut rooms = Vec::with_capacity(calls.len());
    let (inputs, recipes) = (&unseen.inputs, unseen.recipes(moves, calls.len()));
    for (index, (call, recipe)) in calls.iter_mut().zip(recipes).enumerate() {
        *call = call.instead(LATE, recipe);
        let told = placed.call(index).filter(|(tree, located)| **tree == inputs.tree && alike(located, &inputs.tensors));
        let (_, located) =
            told.ok_or_else(|| Stop::rejected("channel_tampering", "it says that its inputs are of another form than they are"))?;
        rooms.push((located, recipe));
    }
    Ok(rooms)
}

/// Gives up to `most` of the placed calls other inputs, all of them the same. Leaves all as they are where new ones are not of the same form:
/// shapes may depend on chance.
async fn refill(problem: &mut Problem, candidate: &Candidate, placed: &Locations, calls: &mut [Placed], most: usize) -> Result<Late, Stop> {
    let mut late = Late::default();
    if most == 0 {
        return Ok(late);
    }
    let Ok(inputs) = problem.draw_only(LATE, draws::fresh()).await? else { return Ok(late) };
    let mut numbers: Vec<usize> = (0..calls.len()).collect();
    while late.calls.len() < most && !numbers.is_empty() {
        let index = numbers.swap_remove(random_below(numbers.len()));
        let Some((tree, located)) = placed.call(index) else { break };
        if *tree != inputs.tree || !alike(&located, &inputs.tensors) {
            break;
        }
        match problem.setting.target.backend {
            Backend::Cpu => {
                write_into(candidate, &[(located, AS_DRAWN)], &inputs).await?;
            }
            Backend::Cuda => {
                if !problem.fill(LATE, &[(located, AS_DRAWN)]).await? {
                    late.unknown = Some(index);
                    break;
                }
            }
        }
        calls[index] = calls[index].instead(LATE, AS_DRAWN);
        late.calls.push(index);
    }
    Ok(late)
}

/// Frees what timed batches were made from.
pub(crate) async fn forget_unseen(problem: &mut Problem, unseen: Option<&Unseen>) -> Result<(), EvaluateError> {
    if unseen.is_some() { problem.forget(&[LATE]).await } else { Ok(()) }
}

/// Frees what calls of an interrupted batch were made from.
pub(crate) async fn forget_beyond(problem: &mut Problem, beyond: Option<&Inputs>) -> Result<(), EvaluateError> {
    if beyond.is_some() { problem.forget(&[BEYOND]).await } else { Ok(()) }
}

/// Frees their inputs.
pub(crate) async fn forget(problem: &mut Problem, late: &Late) -> Result<(), EvaluateError> {
    if *late == Late::default() { Ok(()) } else { problem.forget(&[LATE]).await }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn draws(redraw: Option<u64>, calls: usize) -> (usize, usize) {
        let inputs = Inputs {
            tree: Value::Null,
            tensors: vec![],
            arena: None,
            label: String::new(),
            decides: false,
            structures: std::sync::Arc::default(),
        };
        let recipes = Unseen { inputs, kind: DrawKind::Problem, redraw: redraw.map(Duration::from_micros) }.recipes(Moves::Stirred, calls);
        let seeds: HashSet<_> =
            recipes.iter().filter_map(|recipe| if let Recipe::Redrawn { draw, .. } = recipe { Some(*draw) } else { None }).collect();
        let moved = recipes.iter().filter(|recipe| !matches!(recipe, Recipe::Redrawn { by: 0, stir: 0, .. })).count();
        (seeds.len(), moved)
    }

    #[test]
    fn calls_have_draws_of_their_own_where_there_is_time_for_it() {
        assert_eq!(draws(Some(300), 50), (50, 0));
        assert_eq!(draws(Some(100), 500), (SHARED, 500), "too many calls");
        assert_eq!(draws(Some(10_000), 5), (0, 5), "drawing takes too long");
        assert_eq!(draws(None, 5), (0, 5));
    }
}
