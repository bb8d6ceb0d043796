//! The supervisor: one evaluation from its request to its verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kernelwright_protocol::{
    Backend, BaselineReport, Bytes, CandidateId, Correct, DeepCheck, Evaluation, Finding, NotMeasured, ProblemId, Sandbox, Severity,
    Target, Verdict,
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::baselines::{self, Reload};
use crate::batch::Room;
use crate::builds::{Builds, Built};
use crate::candidate::{Candidate, Offer};
use crate::command;
use crate::correctness::{self, Passed};
use crate::deep_check::{self, Examination, Sanitizer};
use crate::devices::Devices;
use crate::draws::{self, Draw};
use crate::floor;
use crate::launches;
use crate::problem::{BASE, Inputs, Problem, Setting};
use crate::sets;
use crate::shelf::{IDLE, Key, Shelf};
use crate::timing::{self, Session};
use crate::verdict::{Stop, deciding_finding};
use crate::workshop::{Bench, Started, TritonMode, Workshop};
use crate::{BaselineChoice, EvaluateError, EvaluateRequest, Limits, Settings, wire};

/// How long a problem may take to answer what a cancelled evaluation has asked it. It would take longer to load it again.
const RECOVERY: Duration = Duration::from_secs(5);

/// Evaluates candidates, one at a time per target. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Evaluator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: Settings,
    workshop: OnceCell<Workshop>,
    devices: Arc<Devices>,
    /// Counts uses, to tell whether one has been the last for long.
    uses: AtomicU64,
}

impl Evaluator {
    /// An evaluator; nothing is started before the first request.
    ///
    /// This process becomes the one that orphans of workers come to, and is closed to inspection by processes of the same user.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        kernelwright_harness::supervise();
        let inner = Inner { settings, workshop: OnceCell::new(), devices: Arc::default(), uses: AtomicU64::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// Builds, checks and times one candidate. Dropping the future kills the candidate with everything it has started.
    ///
    /// A problem whose process ends is started once more, with the candidate from the beginning.
    pub async fn evaluate(&self, request: &EvaluateRequest, say: &(dyn Fn(&str) + Send + Sync)) -> Result<Evaluation, EvaluateError> {
        self.evaluate_until(request, say, &CancellationToken::new()).await
    }

    /// The same until `cancelled` fires: unlike a dropped future, this leaves the problem loaded. It returns within seconds then.
    pub async fn evaluate_until(
        &self,
        request: &EvaluateRequest,
        say: &(dyn Fn(&str) + Send + Sync),
        cancelled: &CancellationToken,
    ) -> Result<Evaluation, EvaluateError> {
        if let Some(command) = &self.inner.settings.command {
            say("asking the evaluator's command");
            return until(cancelled, command::evaluate(command, request, &self.command_log())).await?;
        }
        match Box::pin(self.attempt(request, say, cancelled)).await {
            Err(EvaluateError::ProblemCrashed { .. }) => Box::pin(self.attempt(request, say, cancelled)).await,
            outcome => outcome,
        }
    }

    /// Measures what a candidate has to beat.
    pub async fn measure_baseline(
        &self,
        source: &str,
        name: &str,
        target: Target,
        choice: BaselineChoice,
        tf32: bool,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<BaselineReport, EvaluateError> {
        if let Some(command) = &self.inner.settings.command {
            say("asking the evaluator's command");
            return command::measure_baseline(command, &command::identity(source, name, target, tf32), &self.command_log()).await;
        }
        let workshop = self.workshop().await?;
        let ticket = self.inner.devices.queue(target);
        let target = ticket.target;
        let mut loaded = ticket.shelf.lock().await;
        let key = Key { problem: ProblemId::of(source), tf32 };
        let setting = workshop.setting(target, tf32);
        let known = loaded.take(&key);
        loaded.rest().await;
        let mut problem = if let Some(problem) = known {
            problem
        } else {
            say("loading the problem");
            loaded.make_room().await;
            workshop.load(source, name, &setting).await?
        };
        let (mut inputs, mut outputs, mut measured) = (vec![], vec![], vec![]);
        for set in 0..problem.count_sets() {
            problem.select(set).await?;
            let base = draws::plan(std::num::NonZeroU32::MIN)[0];
            let drawn = problem.draw(BASE, base).await?.map_err(correctness::base_failed)?;
            // Outputs are about as large as inputs; a batch that is shorter than wanted does no harm.
            let room = room(2 * wire::total_bytes(&drawn.tensors), &self.inner.settings.limits, &problem);
            let reload = Reload { workshop, source, name, setting, base };
            baselines::ensure(&mut problem, choice.kinds(), room, &reload, say).await?;
            inputs.extend_from_slice(&problem.facts.inputs);
            outputs.extend_from_slice(&problem.facts.outputs);
            measured.push(problem.baselines.iter().filter(|baseline| choice.kinds().contains(&baseline.kind)).cloned().collect::<Vec<_>>());
        }
        let report = BaselineReport {
            problem: key.problem.clone(),
            target,
            baselines: match measured.as_slice() {
                [only] => only.clone(),
                several => sets::summed(&several.iter().map(Vec::as_slice).collect::<Vec<_>>()),
            },
            inputs,
            outputs,
            findings: problem.degenerate().into_iter().chain(problem.form_note()).collect(),
        };
        self.put_back(&mut loaded, key, problem).await;
        Ok(report)
    }

    async fn attempt(
        &self,
        request: &EvaluateRequest,
        say: &(dyn Fn(&str) + Send + Sync),
        cancelled: &CancellationToken,
    ) -> Result<Evaluation, EvaluateError> {
        let started = Instant::now();
        let sanitizer = request.options.deep_check.then(|| Sanitizer::find(request.target)).transpose()?;
        let ticket = self.inner.devices.queue(request.target);
        let request = &EvaluateRequest { target: ticket.target, ..request.clone() };
        let workshop = self.workshop().await?;
        let triton = TritonMode::of(&request.candidate_source, request.target);
        let limits = request.options.limits.unwrap_or(self.inner.settings.limits);
        let bench = Bench { backend: request.target.backend, triton, process: limits.process };
        // Compilers take nothing from what is measured on a GPU; on the processors that they would share with it, they wait their turn.
        let early = match request.target.backend {
            Backend::Cuda => Some(until(cancelled, build(workshop, request, &limits, say)).await?),
            Backend::Cpu => None,
        };
        say("waiting for the target");
        let mut loaded = until(cancelled, ticket.shelf.lock()).await?;
        let key = Key { problem: ProblemId::of(&request.problem_source), tf32: request.options.tf32 };
        let known = loaded.take(&key);
        loaded.rest().await;
        let (mut problem, Started { worker, not_forked: reason }, another) = if let Some(problem) = known {
            say("starting the candidate's process");
            let started = workshop.bench(bench, &problem.setting).await?;
            (problem, started, true)
        } else {
            say("loading the problem");
            loaded.make_room().await;
            let setting = workshop.setting(request.target, request.options.tf32);
            let load = workshop.load(&request.problem_source, &request.problem_name, &setting);
            let both = Box::pin(async { tokio::try_join!(load, async { Ok(workshop.bench(bench, &setting).await?) }) });
            let (problem, started) = until(cancelled, both).await??;
            (problem, started, false)
        };
        let mut candidate = Candidate::new(worker, limits, request.target.backend);
        let sandbox = candidate.sandbox().clone();
        // Whoever evaluates a second candidate of a problem goes on with a third.
        let next = (another && request.target.backend == Backend::Cuda).then_some(bench);
        let mut case = Case { request, workshop, triton, limits, next, early };
        let outcome = match until(cancelled, case.run(&mut problem, &mut candidate, say)).await {
            Ok(outcome) => outcome,
            Err(given_up) => {
                candidate.end().await;
                if problem.recover(RECOVERY).await {
                    self.put_back(&mut loaded, key, problem).await;
                }
                return Err(given_up);
            }
        };
        if matches!(&outcome, Ok(correct) if correct.timing.is_some()) {
            workshop.learn(triton, launches::look(&mut candidate).await);
        }
        let noticed = candidate.noticed();
        // The deep check needs the memory.
        if can_overlap(&problem) && sanitizer.is_none() {
            workshop.end(request.target, candidate).await;
        } else {
            candidate.end().await;
        }
        let mut findings: Vec<Finding> = problem.degenerate().into_iter().chain(degraded(&sandbox)).chain(not_forked(reason)).collect();
        let mut verdict = match outcome {
            Ok(correct) => Verdict::Correct(Box::new(correct)),
            Err(Stop::Decided(verdict)) => *verdict,
            Err(Stop::Failed(error)) => return Err(error),
        };
        let mut deep_check = None;
        if let (Some(sanitizer), Verdict::Correct(_)) = (&sanitizer, &verdict) {
            let examination = Examination { sanitizer, workshop, request, limits };
            let found = match until(cancelled, examine(&examination, &mut problem, say)).await {
                Ok(found) => found?,
                Err(given_up) => {
                    if problem.recover(RECOVERY).await {
                        self.put_back(&mut loaded, key, problem).await;
                    }
                    return Err(given_up);
                }
            };
            findings.extend(deep_check::findings(&found));
            verdict = deep_check::verdict(&found).unwrap_or(verdict);
            deep_check = Some(found);
        }
        self.put_back(&mut loaded, key.clone(), problem).await;
        findings.extend(noticed);
        findings.extend(deciding_finding(&verdict));
        findings.extend(trial_findings(&verdict));
        if triton == TritonMode::Interpreted {
            let message = "Triton kernels ran in Triton's interpreter: values were checked, time and races were not".to_owned();
            findings.push(Finding { rule: "triton_interpreter".to_owned(), severity: Severity::Warning, message });
        }
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Ok(Evaluation {
            problem: key.problem,
            candidate: CandidateId::of(&request.candidate_source),
            target: request.target,
            verdict,
            findings,
            deep_check,
            sandbox,
            wall_ns: started.elapsed().into(),
        })
    }

    /// Where a command that takes this evaluator's place writes its messages.
    fn command_log(&self) -> std::path::PathBuf {
        let number = self.inner.uses.fetch_add(1, Ordering::Relaxed);
        self.inner.settings.cache_dir.join("logs").join(format!("command-{}-{number:04}.log", std::process::id()))
    }

    /// Found once; a failure is looked for again, so that installing torch needs no restart.
    async fn workshop(&self) -> Result<&Workshop, EvaluateError> {
        let open = || async {
            let settings = self.inner.settings.clone();
            let opened = tokio::task::spawn_blocking(move || Workshop::open(settings)).await;
            opened.map_err(|error| EvaluateError::Protocol(error.to_string()))?.map_err(EvaluateError::from)
        };
        self.inner.workshop.get_or_try_init(open).await
    }

    /// Puts a problem back for the next evaluation, unless its worker no longer works.
    async fn put_back(&self, loaded: &mut Shelf, key: Key, mut problem: Problem) {
        if problem.forget_all().await.is_ok() {
            loaded.put(key, problem);
        }
        self.retire_when_idle();
    }

    /// Ends all workers some time after the last use.
    fn retire_when_idle(&self) {
        let use_number = self.inner.uses.fetch_add(1, Ordering::Relaxed) + 1;
        let inner = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(inner) = inner.upgrade() else { return };
            if inner.uses.load(Ordering::Relaxed) != use_number {
                return;
            }
            if let Some(workshop) = inner.workshop.get() {
                workshop.rest();
            }
            for shelf in inner.devices.shelves() {
                if let Ok(mut shelf) = shelf.try_lock() {
                    shelf.clear();
                }
            }
        });
    }
}

/// The device has to hold the inputs of a call so often.
const OVERLAP: u64 = 64;

/// Does the work until it is cancelled.
async fn until<T>(cancelled: &CancellationToken, work: impl Future<Output = T>) -> Result<T, EvaluateError> {
    tokio::select! {
        done = work => Ok(done),
        () = cancelled.cancelled() => Err(EvaluateError::Cancelled),
    }
}

/// What one side's batches may use: a quarter of what has to do for both sides, their expected outputs and everything else.
fn room(bytes_per_call: u64, limits: &Limits, problem: &Problem) -> Room {
    let memory = problem.facts.device_memory.unwrap_or(limits.memory.0);
    Room { bytes_per_call, memory: Bytes(memory / 4) }
}

/// Whether a candidate's process may still be ending while the next one is built and tried: on processors it would take their time, and of large
/// inputs there may be no room for more.
fn can_overlap(problem: &Problem) -> bool {
    let inputs = problem.base_bytes().saturating_mul(OVERLAP);
    problem.facts.device_memory.is_some_and(|memory| inputs <= memory)
}

/// One candidate on one problem, with both workers running.
struct Case<'a> {
    request: &'a EvaluateRequest,
    workshop: &'a Workshop,
    triton: TritonMode,
    limits: Limits,
    /// What the next candidate's process is started with, where one is to be prepared.
    next: Option<Bench>,
    /// What was built before the target was taken; none where that is still to be done.
    early: Option<Result<Built, Stop>>,
}

/// Builds ahead what a candidate has torch build.
async fn build(workshop: &Workshop, request: &EvaluateRequest, limits: &Limits, say: &(dyn Fn(&str) + Send + Sync)) -> Result<Built, Stop> {
    if !Builds::concerns(&request.candidate_source) {
        return Ok(Built::default());
    }
    let EvaluateRequest { candidate_source, problem_name, target, .. } = request;
    workshop.builds().prepare(workshop, candidate_source, problem_name, *target, limits, say).await
}

/// Has a correct candidate looked at by compute-sanitizer. What it has torch build is there already.
async fn examine(
    examination: &Examination<'_>,
    problem: &mut Problem,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<DeepCheck, EvaluateError> {
    let Examination { workshop, request, limits, .. } = examination;
    let built = match build(workshop, request, limits, say).await {
        Ok(built) => built,
        Err(Stop::Failed(error)) => return Err(error),
        // It was built a moment ago; whatever keeps it from that now shows when it is imported.
        Err(Stop::Decided(_)) => Built::default(),
    };
    examination.run(problem, &built, say).await
}

impl Case<'_> {
    async fn run(&mut self, problem: &mut Problem, candidate: &mut Candidate, say: &(dyn Fn(&str) + Send + Sync)) -> Result<Correct, Stop> {
        let setting = Setting { threads: self.workshop.threads(self.triton), ..problem.setting };
        let draws = draws::plan(self.request.options.trials);
        problem.select(0).await?;
        say("building the candidate");
        // What the first trial should give is computed while compilers work.
        let offer = Offer { problem_name: self.request.problem_name.clone(), constants: problem.facts.constants.clone() };
        let ahead = match self.early.take() {
            Some(ahead) => ahead,
            None => build(self.workshop, self.request, &self.limits, say).await,
        }?;
        let import = candidate.build(&self.request.candidate_source, &setting, &offer, &ahead);
        let (import, base) = tokio::join!(import, problem.draw(BASE, draws[0]));
        let (import, base) = (import?, base?.map_err(correctness::base_failed)?);
        let build = import + candidate.construct(problem).await?;
        if let Some(next) = self.next {
            self.workshop.prepare_next(next, setting).await;
        }
        let count = problem.count_sets();
        if count == 1 {
            return self.judge(problem, candidate, base, &draws, build, say).await;
        }
        let (mut results, mut first) = (vec![], Some((base, draws)));
        for set in 0..count {
            problem.select(set).await?;
            // The seeds are new for every set: whoever has seen inputs could know the seed they came from.
            let (base, draws) = if let Some(first) = first.take() {
                first
            } else {
                let draws = draws::plan(self.request.options.trials);
                (problem.draw(BASE, draws[0]).await?.map_err(correctness::base_failed)?, draws)
            };
            let name = problem.set_name();
            let of_set = |message: &str| say(&format!("set {} of {count} ({name}): {message}", set + 1));
            let result = self.judge(problem, candidate, base, &draws, build, &of_set).await.map_err(|stop| sets::named(stop, &name))?;
            results.push((name, result));
        }
        Ok(sets::combined(results))
    }

    /// Checks and times the candidate on the selected set of inputs.
    async fn judge(
        &self,
        problem: &mut Problem,
        candidate: &mut Candidate,
        base: Inputs,
        draws: &[Draw],
        build: Duration,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Correct, Stop> {
        let EvaluateRequest { problem_source: source, problem_name: name, .. } = self.request;
        let reload = Reload { workshop: self.workshop, source, name, setting: problem.setting, base: draws[0] };
        let passed = correctness::check(problem, candidate, base, draws, &reload, say).await?;
        if !self.request.options.measure {
            return Ok(untimed(passed, "the request asked for correctness only"));
        }
        if self.triton == TritonMode::Interpreted {
            return Ok(untimed(passed, "Triton's interpreter checks correctness only; times need a GPU"));
        }
        self.time(problem, candidate, passed, build, &reload, say).await
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
        let room = room(passed.bytes_per_call, &self.limits, problem);
        let kinds = options.baselines.kinds();
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
            trials: passed.trials.clone(),
        };
        self.workshop.quiet(*target).await;
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

fn untimed(passed: Passed, reason: &str) -> Correct {
    Correct {
        trials: passed.trials,
        error_over_tolerance: passed.error_over_tolerance,
        timing: None,
        not_measured: Some(NotMeasured { reason: reason.to_owned() }),
        sets: vec![],
    }
}

fn degraded(sandbox: &Sandbox) -> Option<Finding> {
    let missing = sandbox.missing.join("; ");
    let message = format!("the candidate ran without some layers of isolation: {missing}");
    (!missing.is_empty()).then(|| Finding { rule: "sandbox_degraded".to_owned(), severity: Severity::Note, message })
}

fn not_forked(reason: Option<String>) -> Option<Finding> {
    let message = format!("the candidate's process was started from nothing, which takes seconds: {}", reason?);
    Some(Finding { rule: "worker_not_forked".to_owned(), severity: Severity::Note, message })
}

fn trial_findings(verdict: &Verdict) -> Vec<Finding> {
    let trials = match verdict {
        Verdict::Correct(correct) => &correct.trials,
        Verdict::Incorrect { trials, .. } => trials,
        _ => return vec![],
    };
    let skipped = |label: &String| Finding { rule: "trial_skipped".to_owned(), severity: Severity::Note, message: label.clone() };
    trials.skipped.iter().map(skipped).collect()
}
