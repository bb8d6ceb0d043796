//! How fast a correct candidate is, in batches taken in turns with the baselines.
//!
//! The baselines' process is believed, and tells the time of its batches. The candidate's is not: its time is the supervisor's, from the
//! question to the answer, less what asking for a batch takes. Waking a process takes a little longer one time than another, so what the
//! candidate's clock says is taken instead where it is less by next to nothing: a clock that lies gains no more than that.

use std::time::Duration;

use kernelwright_protocol::{Backend, Baseline, BaselineKind, Nanoseconds, Timing, Trials};

use crate::batch::{Calls, Footprint, Room, wanted};
use crate::candidate::Candidate;
use crate::clocks;
use crate::cores::SameCore;
use crate::correctness::Returned;
use crate::draws::DrawKind;
use crate::late;
use crate::pairs;
use crate::problem::{Placed, Problem};
use crate::remarks;
use crate::samples::{FEWEST_PAIRS, Samples};
use crate::singles;
use crate::statistics::{median, spread};
use crate::turns::Course;
use crate::verdict::Stop;
use crate::wire::Aliases;

/// What is needed beside the two workers.
pub(crate) struct Session {
    /// The baselines that could be the fastest, with what is known of their time of one call; at least one.
    pub(crate) contenders: Vec<(BaselineKind, Nanoseconds)>,
    pub(crate) backend: Backend,
    pub(crate) room: Room,
    pub(crate) pairs: Option<usize>,
    /// What one call of the candidate takes at most.
    pub(crate) at_most: Duration,
    pub(crate) build: Duration,
    pub(crate) first_call: Duration,
    pub(crate) returned: Returned,
    /// Which outputs may lie in the memory of inputs.
    pub(crate) in_inputs: Aliases,
    pub(crate) trials: Trials,
    /// What inputs of timed calls may be drawn as beside the problem's own way.
    pub(crate) decisive: Vec<DrawKind>,
    /// What inputs beyond the problem's range may be drawn as.
    pub(crate) beyond: Vec<DrawKind>,
}

impl Session {
    /// How many pairs there are in any case.
    pub(crate) fn fewest_pairs(&self) -> usize {
        self.pairs.unwrap_or(FEWEST_PAIRS).max(2)
    }

    /// The calls of a batch of a baseline of which one call is expected to take so long.
    pub(crate) fn batch(&self, calls: &mut Calls, expected: Nanoseconds) -> Vec<Placed> {
        calls.fresh(self.room.calls(wanted(self.backend, expected.seconds()), expected.seconds()))
    }

    /// Those of the first contender's next batch.
    pub(crate) fn first_batch(&self, calls: &mut Calls) -> Vec<Placed> {
        self.contenders.first().map(|&(_, expected)| self.batch(calls, expected)).unwrap_or_default()
    }
}

/// A time, and what was verified while it was taken.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) timing: Timing,
    pub(crate) verified: u32,
    pub(crate) error_over_tolerance: f64,
}

/// Times the candidate against the session's baselines.
pub(crate) async fn measure(
    problem: &mut Problem,
    candidate: &mut Candidate,
    session: Session,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<Measured, Stop> {
    // On a CPU both sides have the same processors from the start.
    let _together = (session.backend == Backend::Cuda).then(|| SameCore::of(problem.pid(), candidate.pid()));
    let mut course = Course::begin(problem, candidate, &session).await?;
    let unseen = pairs::take(&mut course, say).await?;
    clocks::settle(&mut course).await?;
    late::forget_unseen(course.problem, unseen.as_ref()).await?;
    singles::charge(&mut course).await?;
    let Course { problem, candidate, checks, samples, in_batch, .. } = course;
    candidate.clear().await?;
    problem.footprint = Footprint::like(in_batch, problem.base_size(), session.room.bytes_per_call);
    problem.beside = samples.beside(&session.contenders);
    remarks::note(candidate, &samples, &session, problem.beside.as_ref());
    let batches_ns = Some((problem.timed + candidate.timed).into());
    let timing = Timing { batches_ns, device_state: problem.device_state().await?, ..summarize(&samples, &session, problem, in_batch) };
    Ok(Measured { timing, verified: checks.done, error_over_tolerance: checks.error_over_tolerance })
}

fn summarize(samples: &Samples, session: &Session, problem: &Problem, calls_per_batch: usize) -> Timing {
    let counted = samples.counted(&session.contenders);
    let control = samples.control(counted.baseline, &session.contenders);
    let (speedup, (speedup_low, speedup_high)) = counted.speedup_beside(control.as_ref());
    let live = |known: &Baseline| {
        let Some(at) = session.contenders.iter().position(|(kind, _)| *kind == known.kind) else { return known.clone() };
        let times = samples.of_contender(at);
        Baseline { time_ns: Some(Nanoseconds::from_seconds(median(&times))), spread: Some(spread(&times)), ..known.clone() }
    };
    Timing {
        speedup,
        speedup_low,
        speedup_high,
        candidate_ns: Nanoseconds::from_seconds(median(&counted.candidate)),
        candidate_spread: spread(&counted.candidate),
        baseline: counted.baseline,
        baselines: problem.baselines.iter().map(live).collect(),
        pairs: counted.ratios.len() as u32,
        calls_per_batch: calls_per_batch as u32,
        batches_ns: None,
        control,
        device_state: None,
        build_ns: session.build.into(),
        first_call_ns: session.first_call.into(),
    }
}
