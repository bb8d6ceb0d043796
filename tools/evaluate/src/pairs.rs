//! Pairs of batches: how many there are, and what belongs to one beside its times.

use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, BaselineKind, Nanoseconds};

use crate::checks::BatchNumber;
use crate::interrupted;
use crate::late::{self, Ready, Unseen};
use crate::preparation;
use crate::problem::Placed;
use crate::samples::{FEWEST_PAIRS, Samples};
use crate::timing::Session;
use crate::turns::{Course, Unverified};
use crate::verdict::Stop;

/// The most pairs where the request names no number: a device of one's own is quieter than processors that others use too.
fn most_pairs(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 17,
        Backend::Cuda => 10,
    }
}

/// How many pairs more there are, once: where a few were disturbed so much that a fast kernel would rank below a slow one, since what disturbed a few
/// of them weighs less among many; where other work disturbed too many of them; and on a GPU where the most of them do not tell which side is faster
/// and differ by more than would matter. Their number is fixed before they are taken, since going on until the interval says something would have it
/// say too much.
fn more_pairs(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 17,
        Backend::Cuda => 20,
    }
}

/// How long the pairs may go on beyond the fewest.
const BUDGET: Duration = Duration::from_secs(8);

/// Takes pairs until there are enough of them, and says what inputs the last ones had.
pub(crate) async fn take(course: &mut Course<'_>, say: &(dyn Fn(&str) + Send + Sync)) -> Result<Option<Unseen>, Stop> {
    let mut pairs = Pairs::of(course.session);
    while pairs.go_on(course) {
        let pair = course.samples.candidate.len();
        say(&format!("timing pair {} of {}", pair + 1, pairs.most));
        pairs.take_one(course, pair).await?;
    }
    course.verify(pairs.unverified).await?;
    Ok(pairs.unseen)
}

/// What there is of them beside their times.
struct Pairs {
    started: Instant,
    /// How many there are at most, and how many more there may be once.
    most: usize,
    more: usize,
    /// What the inputs of both sides are made from.
    unseen: Option<Unseen>,
    /// What the candidate's last batch has left behind.
    unverified: Option<Unverified>,
    interrupted: interrupted::Due,
    /// Whether the length of the candidate's batches has shown to be right.
    is_confirmed: bool,
}

impl Pairs {
    fn of(session: &Session) -> Self {
        Self {
            started: Instant::now(),
            most: session.pairs.unwrap_or(most_pairs(session.backend)),
            more: if session.pairs.is_none() { more_pairs(session.backend) } else { 0 },
            unseen: None,
            unverified: None,
            interrupted: interrupted::Due::among(session.backend, session.fewest_pairs()),
            is_confirmed: false,
        }
    }

    /// Whether there is another one.
    fn go_on(&mut self, course: &mut Course<'_>) -> bool {
        let pair = course.samples.candidate.len();
        if pair == self.most {
            if self.more == 0 || !is_unclear(&course.samples, course.session.backend, &course.session.contenders) {
                return false;
            }
            self.most += std::mem::take(&mut self.more);
            course.checks.go_on(pair, self.most);
        }
        let enough = || self.started.elapsed() > BUDGET || course.samples.are_enough(&course.session.contenders);
        course.session.pairs.is_some() || pair < FEWEST_PAIRS || !enough()
    }

    /// Takes one, or finds that the candidate's batches have to be of another length, with which all begin anew.
    async fn take_one(&mut self, course: &mut Course<'_>, pair: usize) -> Result<(), Stop> {
        let is_renewed = course.checks.late.contains(&pair);
        let (mut ours, theirs) = self.prepare(course, is_renewed).await?;
        // A B, B A, A B, ...: what drifts hits both sides alike.
        if pair.is_multiple_of(2) {
            course.time_baselines(pair, self.unseen.as_ref(), ours.take()).await?;
        }
        if !self.time_candidate(course, (pair, is_renewed), theirs).await? {
            return course.begin_anew().await;
        }
        if let Some(unseen) = self.unseen.as_ref().filter(|_| self.interrupted.with(pair)) {
            interrupted::check(course, (pair, unseen), &mut self.interrupted).await?;
        }
        if !pair.is_multiple_of(2) {
            course.time_baselines(pair, self.unseen.as_ref(), ours).await?;
        }
        Ok(())
    }

    /// Draws inputs that the candidate has not seen, where it is time for that, and on a CPU prepares a batch of either side with those that there are.
    async fn prepare(&mut self, course: &mut Course<'_>, is_renewed: bool) -> Result<(Option<Vec<Placed>>, Option<Ready>), Stop> {
        let backend = course.session.backend;
        let is_first = self.unseen.is_none();
        if is_renewed && (is_first || backend == Backend::Cuda) {
            // These were made from the inputs that there have been so far.
            course.verify(self.unverified.take()).await?;
            self.unseen = late::unseen(course.problem, &course.session.decisive).await?;
        }
        let Some(known) = self.unseen.take_if(|_| backend == Backend::Cpu) else { return Ok((None, None)) };
        let batches = (course.session.first_batch(&mut course.calls), course.candidate_batch());
        let known = Some(known).filter(|_| is_first || !is_renewed);
        let ready = preparation::pair(course, batches, known, self.unverified.take()).await?;
        self.unseen = ready.unseen;
        Ok(ready.batches.unzip())
    }

    /// The candidate's batches of a pair, the first of which may be ready. False where they were of a wrong length.
    async fn time_candidate(
        &mut self,
        course: &mut Course<'_>,
        (pair, is_renewed): (usize, bool),
        mut ready: Option<Ready>,
    ) -> Result<bool, Stop> {
        let purposes = if is_renewed && self.unseen.is_none() { [Use::Late, Use::Time].as_slice() } else { &[Use::Time] };
        for &purpose in purposes {
            let is_early = ready.is_some();
            let ready = if let Some(ready) = ready.take() {
                ready
            } else {
                let late_calls = if purpose == Use::Late { course.checks.late_calls } else { 0 };
                let batch = course.candidate_batch();
                late::place(course.problem, course.candidate, batch, self.unseen.as_ref(), late_calls).await?
            };
            let timed = course.time_candidate(&ready, BatchNumber { pair, left: self.most - pair }).await?;
            let is_too_short = timed.is_too_short(course.session.backend) && course.in_batch < course.session.room.most();
            self.unverified = timed.unverified;
            if !is_early {
                course.verify(self.unverified.take()).await?;
                late::forget(course.problem, &ready.late).await?;
            }
            let is_first = purpose == Use::Time && !std::mem::replace(&mut self.is_confirmed, true);
            if timed.overwritten && !course.candidate.copy_results() {
                return Err(Stop::rejected("output_memory", "its results lie in the same memory although each of them was copied"));
            }
            if timed.overwritten || is_first && is_too_short {
                return Ok(false);
            }
            if purpose == Use::Time {
                course.samples.candidate.push(timed.per_call);
                course.samples.note_wait(pair, timed.disturbed);
            }
            course.samples.clocks.push(timed.clock);
        }
        Ok(true)
    }
}

/// Whether more pairs are worth their time.
fn is_unclear(samples: &Samples, backend: Backend, contenders: &[(BaselineKind, Nanoseconds)]) -> bool {
    let is_undecided = || backend == Backend::Cuda && samples.counted(contenders).is_undecided();
    samples.wants_quiet() || samples.are_disturbed(contenders) || is_undecided()
}

/// What a batch of the candidate is for. The candidate cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Its time counts.
    Time,
    /// Some of its calls get their inputs late and are verified. Its time does not count: the memory of a few calls was written right before
    /// it, and not that of the others.
    Late,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disturbs_some_pairs_is_worth_more_of_them_on_processors_too() {
        let contenders = [(BaselineKind::Eager, Nanoseconds(10))];
        let of = |ratios: &[f64]| {
            let mut samples = Samples::none(1);
            samples.baselines = vec![ratios.to_vec()];
            samples.candidate = vec![1.0; ratios.len()];
            samples
        };
        let steady = [1.3; 17];
        let mut shaken = steady;
        shaken[3..13].copy_from_slice(&[0.7, 2.1, 0.8, 1.9, 0.6, 2.0, 0.7, 1.8, 0.9, 2.2]);
        let lost = shaken.map(|ratio| ratio / 4.0);
        let near = [0.98, 1.02, 0.98, 1.02, 0.98, 1.02, 0.98, 1.02, 0.98, 1.02];
        for (ratios, on_cpu, on_cuda) in
            [(steady.as_slice(), false, false), (&shaken, true, true), (&lost, false, false), (&near, false, true)]
        {
            let is_unclear = |backend| is_unclear(&of(ratios), backend, &contenders);
            assert_eq!((is_unclear(Backend::Cpu), is_unclear(Backend::Cuda)), (on_cpu, on_cuda), "{ratios:?}");
        }
    }
}
