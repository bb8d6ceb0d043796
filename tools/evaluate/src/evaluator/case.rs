//! One candidate on one problem: built, checked and timed.

use std::time::{Duration, Instant};

use kernelwright_builds::{Built, Late};
use kernelwright_harness::{AskError, Company, Turn, gpu_turn};
use kernelwright_protocol::{Correct, NotMeasured, Target};
use tokio::time::timeout;

use crate::ahead::Ahead;
use crate::baselines::{self, Reload};
use crate::batch::Room;
use crate::calibration;
use crate::candidate::{Candidate, Offer};
use crate::correctness::{self, Passed};
use crate::draws::{self, Draw};
use crate::problem::{BASE, Inputs, Problem, Setting};
use crate::timing::{self, Session};
use crate::verdict::{Phase, Stop, judge};
use crate::workshop::{Bench, TritonMode, Workshop};
use crate::{EvaluateError, EvaluateRequest, Limits, floor, sets};

/// A turn that comes within this needs no word.
const SOON: Duration = Duration::from_millis(300);

/// Why some problems have no time.
const CARRIES_STATE: &str = "the module's outputs depend on the calls before: each call was compared from the module's first state on, and calls in a row are other ones";

/// One candidate on one problem, with both workers running.
pub(super) struct Case<'a> {
    /// When the evaluation began.
    pub(super) began: Instant,
    pub(super) request: &'a EvaluateRequest,
    pub(super) workshop: &'a Workshop,
    pub(super) triton: TritonMode,
    pub(super) limits: Limits,
    /// What the next candidate's process is started with, where one is to be prepared.
    pub(super) next: Option<Bench>,
    /// What was built before the target was taken; none where that is still to be done.
    pub(super) early: Option<Result<Built, Stop>>,
    /// The turn on a GPU that other processes of this machine may use as well.
    pub(super) turn: Option<Turn>,
    /// Whether no other process has a turn on it meanwhile.
    pub(super) is_alone: bool,
    /// Why no time is to be taken, where that is known.
    pub(super) untimed: Option<&'static str>,
}

impl<'a> Case<'a> {
    pub(super) async fn run(
        &mut self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Correct, Stop> {
        let setting = Setting { threads: self.workshop.threads(problem.setting.target, self.triton), ..problem.setting };
        problem.select(0).await?;
        let draws = draws::plan(self.request.options.trials, &problem.facts);
        say("building the candidate");
        let offer = Offer { problem_name: self.request.problem_name.clone(), constants: problem.facts.constants.clone() };
        let extensions = match self.early.take() {
            Some(extensions) => extensions,
            None => build(self.workshop, self.request, &self.limits, say).await,
        }?;
        // Meanwhile compilers work, most of them on one processor. Later it would take processors from the trials.
        if let Some(next) = self.next {
            self.workshop.prepare_next(next, setting).await;
        }
        let foreseen = problem.footprint.filter(|_| problem.count_sets() == 1);
        let import = candidate.build(&self.request.candidate_source, &setting, &offer, &extensions, foreseen);
        // What trials should give is computed while compilers work.
        let reload = self.reload(problem, draws[0]);
        let prepared = async {
            let base = problem.draw(BASE, draws[0]).await?.map_err(correctness::base_failed)?;
            Ok::<_, EvaluateError>((base, Ahead::of(problem, &draws, &reload).await?))
        };
        let (import, prepared) = tokio::join!(import, prepared);
        let (import, (base, ahead)) = (import?, prepared?);
        let build = import + candidate.construct(problem).await?;
        let count = problem.count_sets();
        if count == 1 {
            return self.judge(problem, candidate, (base, &draws, ahead), build, say).await;
        }
        let (mut results, mut first) = (vec![], Some((base, draws, ahead)));
        for set in 0..count {
            problem.select(set).await?;
            // The seeds are new for every set: whoever has seen inputs could know the seed they came from.
            let (base, draws, ahead) = if let Some(first) = first.take() {
                first
            } else {
                let draws = draws::plan(self.request.options.trials, &problem.facts);
                (problem.draw(BASE, draws[0]).await?.map_err(correctness::base_failed)?, draws, Ahead::default())
            };
            let name = problem.set_name();
            let of_set = |message: &str| say(&format!("set {} of {count} ({name}): {message}", set + 1));
            let result =
                self.judge(problem, candidate, (base, &draws, ahead), build, &of_set).await.map_err(|stop| sets::named(stop, &name))?;
            results.push((name, result));
        }
        Ok(sets::combined(results))
    }

    fn reload(&self, problem: &Problem, base: Draw) -> Reload<'a> {
        let EvaluateRequest { problem_source: source, problem_name: name, .. } = self.request;
        Reload { workshop: self.workshop, source, name, setting: problem.setting, base }
    }

    /// Checks and times the candidate on the selected set of inputs.
    async fn judge(
        &mut self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        (base, draws, ahead): (Inputs, &[Draw], Ahead),
        build: Duration,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Correct, Stop> {
        let reload = self.reload(problem, draws[0]);
        let mut passed = correctness::check(problem, candidate, (base, draws, ahead), &reload, say).await?;
        if problem.is_first_set() {
            self.follows_state(problem, candidate, &reload, &mut passed, say).await?;
        }
        if problem.facts.carries_state {
            say("checking calls in a row");
            correctness::in_a_row(problem, candidate, &reload, &mut passed).await?;
        }
        if !self.request.options.measure {
            return Ok(untimed(passed, "the request asked for correctness only"));
        }
        if problem.facts.carries_state {
            self.untimed = Some(CARRIES_STATE);
        }
        if let Some(reason) = self.untimed {
            return Ok(untimed(passed, reason));
        }
        if self.triton == TritonMode::Interpreted {
            return Ok(untimed(passed, "Triton's interpreter checks correctness only; times need a GPU"));
        }
        self.alone(say).await;
        self.time(problem, candidate, passed, build, &reload, say).await
    }

    /// Has the GPU alone from here on: what is left to do after the times takes less time than it may take to be let in again among others.
    async fn alone(&mut self, say: &(dyn Fn(&str) + Send + Sync)) {
        if !self.is_alone {
            self.turn = None;
            self.turn = alone(self.request.target, say).await;
            self.is_alone = true;
        }
    }

    async fn time(
        &self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        mut passed: Passed,
        build: Duration,
        reload: &Reload<'_>,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Correct, Stop> {
        let EvaluateRequest { target, options, .. } = self.request;
        self.workshop.quiet(*target).await;
        if calibration::stays_busy(problem, target.backend, say).await? {
            return Ok(untimed(passed, "something else uses the GPU all the time: no time of a kernel is worth anything meanwhile"));
        }
        let room = Room::of_one_side(passed.bytes_per_call, &self.limits, problem);
        let kinds = options.baselines.kinds();
        problem.learn_moves().await?;
        baselines::ensure(problem, kinds, room, reload, say).await?;
        let contenders = baselines::contenders(problem, kinds);
        if contenders.is_empty() {
            return Ok(untimed(passed, "no baseline could be measured"));
        }
        let session = Session {
            contenders,
            backend: target.backend,
            room,
            pairs: options.pairs.map(|pairs| pairs.get() as usize),
            at_most: passed.quickest_call,
            build,
            first_call: passed.first_call,
            returned: passed.returned,
            in_inputs: problem.facts.in_inputs.clone(),
            trials: passed.trials.clone(),
            decisive: std::mem::take(&mut passed.decisive),
            beyond: std::mem::take(&mut passed.beyond),
        };
        let measured = timing::measure(problem, candidate, session, say).await?;
        floor::check(problem, &measured.timing, passed.written_per_call).await?;
        passed.trials.timed_calls_verified = measured.verified;
        Ok(Correct {
            trials: passed.trials,
            error_over_tolerance: passed.error_over_tolerance.max(measured.error_over_tolerance),
            timing: Some(measured.timing),
            not_measured: None,
            sets: vec![],
        })
    }
}

/// Waits until no other process of this machine runs kernels on the GPU.
pub(super) async fn alone(target: Target, say: &(dyn Fn(&str) + Send + Sync)) -> Option<Turn> {
    let mut turn = std::pin::pin!(gpu_turn(target, Company::Nobody));
    if let Ok(turn) = timeout(SOON, &mut turn).await {
        return turn;
    }
    say("waiting to have the GPU alone: another process of this machine uses it");
    turn.await
}

/// Builds ahead what a candidate has torch build.
pub(super) async fn build(
    workshop: &Workshop,
    request: &EvaluateRequest,
    limits: &Limits,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<Built, Stop> {
    let EvaluateRequest { candidate_source, problem_name, target, .. } = request;
    let allowed = kernelwright_builds::Limits { build: limits.build, process: limits.process };
    let built = workshop.builds().prepare(workshop, candidate_source, problem_name, *target, &allowed, say).await;
    built.map_err(|Late { limit, log }| judge(Phase::Import, AskError::Deadline { op: "build".to_owned(), limit }, &log))
}

fn untimed(passed: Passed, reason: &str) -> Correct {
    Correct {
        trials: passed.trials,
        error_over_tolerance: passed.error_over_tolerance,
        timing: None,
        not_measured: Some(NotMeasured { reason: reason.to_owned() }),
        sets: vec![],
    }
}
