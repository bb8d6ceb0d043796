//! What a candidate has to beat: the problem's own module, eager and compiled, prepared once per problem.

use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Baseline, BaselineKind, Nanoseconds};

use crate::EvaluateError;
use crate::batch::{Calls, Room, wanted};
use crate::draws::Draw;
use crate::problem::{BASE, Prepared, Problem, Setting, State, unmeasured};
use crate::request::compile_limit;
use crate::statistics::{median, spread};
use crate::workshop::Workshop;

/// Batches of a first measurement, at most and where it goes on for longer than [`BUDGET`]. It only tells which baselines contend: each
/// candidate is measured beside them anew.
const BATCHES: usize = 5;
const FEWEST: usize = 2;
const BUDGET: Duration = Duration::from_secs(2);

/// Batches before those, which find out how many calls a batch should have.
const WARMUP: usize = 3;

/// What has to be known to start a problem's worker again.
pub(crate) struct Reload<'a> {
    pub(crate) workshop: &'a Workshop,
    pub(crate) source: &'a str,
    pub(crate) name: &'a str,
    pub(crate) setting: Setting,
    /// The draw of the base entry.
    pub(crate) base: Draw,
}

/// Prepares and measures the baselines of these kinds that the problem does not have yet.
pub(crate) async fn ensure(
    problem: &mut Problem,
    kinds: &[BaselineKind],
    room: Room,
    reload: &Reload<'_>,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), EvaluateError> {
    for &kind in kinds {
        let known = problem.baselines.iter().position(|known| known.kind == kind);
        if let Some(known) = known
            && (problem.baselines[known].time_ns.is_none() || problem.is_ready(kind))
        {
            continue;
        }
        say(&format!("measuring the {kind} baseline"));
        let backend = reload.setting.target.backend;
        let baseline = match problem.prepare(kind, limit(kind, backend)).await? {
            Prepared::Ready(_) if known.is_some() => continue,
            Prepared::Ready(first_call) => match measure(problem, kind, first_call, room, backend).await {
                Err(EvaluateError::Problem(refusal)) if refusal.kind == "problem_run" && problem.takes_scaled => {
                    problem.takes_scaled = false;
                    // It may have lost its device on them.
                    recover(problem, reload).await?;
                    problem.prepare(kind, limit(kind, backend)).await?;
                    measure(problem, kind, first_call, room, backend).await?
                }
                measured => measured?,
            },
            Prepared::Refused(reason) => unmeasured(kind, reason),
            Prepared::Lost(reason) => {
                recover(problem, reload).await?;
                unmeasured(kind, reason)
            }
        };
        problem.baselines.retain(|known| known.kind != kind);
        problem.baselines.push(baseline);
    }
    Ok(())
}

/// How many times slower than the fastest a baseline may have been and still be measured again: times taken apart from each other can be
/// wrong by this much, on a busy machine more than on a device of one's own.
fn contending(backend: Backend) -> f64 {
    match backend {
        Backend::Cpu => 2.5,
        Backend::Cuda => 1.25,
    }
}

/// The measured baselines of these kinds that could be the fastest, with their times so far, the fastest first.
pub(crate) fn contenders(problem: &Problem, kinds: &[BaselineKind]) -> Vec<(BaselineKind, Nanoseconds)> {
    let measured = problem.baselines.iter().filter(|baseline| kinds.contains(&baseline.kind));
    let mut contenders: Vec<_> = measured.filter_map(|baseline| Some((baseline.kind, baseline.time_ns?))).collect();
    contenders.sort_by_key(|&(_, time)| time);
    let limit = contenders.first().map_or(0.0, |(_, fastest)| fastest.seconds() * contending(problem.setting.target.backend));
    contenders.retain(|(_, time)| time.seconds() <= limit);
    contenders
}

/// Starts the problem's worker again after something has cost it its life or its device; what was prepared before is prepared again.
pub(crate) async fn recover(problem: &mut Problem, reload: &Reload<'_>) -> Result<(), EvaluateError> {
    let fresh = reload.workshop.load(reload.source, reload.name, &reload.setting).await?;
    let lost = std::mem::replace(problem, fresh);
    problem.inherit(lost).await?;
    problem.draw(BASE, reload.base).await?.map_err(EvaluateError::BaseDraw)?;
    if let State::Another(change) = problem.state.clone() {
        problem.vary(Some(change)).await?;
    }
    let measured: Vec<_> = problem.baselines.iter().filter(|b| b.time_ns.is_some()).map(|b| b.kind).collect();
    for kind in measured {
        problem.prepare(kind, limit(kind, reload.setting.target.backend)).await?;
    }
    Ok(())
}

async fn measure(
    problem: &mut Problem,
    kind: BaselineKind,
    first_call: Nanoseconds,
    room: Room,
    backend: Backend,
) -> Result<Baseline, EvaluateError> {
    let started = Instant::now();
    let mut calls = Calls::of(problem);
    let mut count = 1;
    let mut warming = WARMUP;
    let mut times = Vec::new();
    while times.len() < BATCHES && (times.len() < FEWEST || started.elapsed() < BUDGET) {
        let placed = calls.fresh(count);
        problem.place(&placed).await?;
        let wall = problem.time(kind).await?;
        let per_call = wall.as_secs_f64() / count as f64;
        if warming == 0 {
            times.push(per_call);
        } else {
            // The first call was made before: a batch that is long enough by then needs no more warming.
            let wanted = wanted(backend, per_call);
            warming = if wall >= wanted { 0 } else { warming - 1 };
            count = room.calls(wanted, per_call).clamp(count, count * 16);
        }
        problem.release(&placed).await?;
    }
    Ok(Baseline {
        kind,
        time_ns: Some(Nanoseconds::from_seconds(median(&times))),
        spread: Some(spread(&times)),
        first_call_ns: Some(first_call),
        not_measured: None,
    })
}

fn limit(kind: BaselineKind, backend: Backend) -> Duration {
    match kind {
        BaselineKind::Eager => Duration::from_secs(120),
        BaselineKind::Compile => compile_limit(backend),
    }
}
