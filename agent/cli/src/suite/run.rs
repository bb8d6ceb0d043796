//! Does what a suite's log does not hold yet: evaluates, writes, tells. What goes wrong on one problem is written down like a verdict and the rest is
//! done; what would go wrong on each of them ends the run.

use std::collections::VecDeque;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernelwright_engine::StopToken;
use kernelwright_evaluate::{EvaluateRequest, Options};
use kernelwright_protocol::{ContentHash, Nanoseconds, Target};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::Problem;
use super::log::{Ending, Entry, Log, LogError, NoVerdict, Unjudged};
use super::seats::{Seat, one_for_each_device, share_devices};
use crate::judge::JudgeError;
use crate::settings::show_duration;
use crate::source_file;

/// So many problems in a row on which the evaluator fails in the same way are no coincidence, and the next would fare no better.
const IN_A_ROW: usize = 5;

/// What is the same for every problem.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The suite's name, for the log.
    pub suite: String,
    /// Where candidates lie; the problems themselves without it.
    pub candidates: Option<std::path::PathBuf>,
    pub target: Target,
    pub options: Options,
    /// Threads that each side may use; all of the machine's without it.
    pub threads: Option<usize>,
    /// Who gives the verdicts.
    pub judge: String,
    /// What one problem may take in all.
    pub limit: Duration,
}

/// One problem with what is to be tried on it.
#[derive(Clone, Debug)]
pub struct Task {
    problem: Problem,
    /// What the evaluator is asked, or why there is nothing to ask.
    question: Result<Question, NoVerdict>,
    /// See [`Entry::key`].
    pub key: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Question {
    problem: String,
    candidate: String,
}

/// Why a suite stops before its end.
#[derive(Debug)]
pub enum Halt {
    /// Somebody stopped it.
    Interrupted,
    /// The machine, not a problem.
    Failed {
        /// The problem at which it showed.
        name: String,
        error: Box<JudgeError>,
    },
    /// The evaluator fails in the same way again and again.
    Repeated { times: usize, error: Box<JudgeError> },
    /// The log cannot be written.
    Log(LogError),
    /// The results cannot be printed; as a rule because nobody reads them any more.
    Unread(std::io::Error),
}

impl Plan {
    /// The task of a problem.
    pub fn task(&self, problem: Problem) -> Task {
        let question = self.question(&problem);
        // What cannot be read is known by the reason, which changes once it can.
        let source = problem.source.as_ref().unwrap_or_else(|reason| reason);
        let candidate = match &question {
            Ok(question) => question.candidate.as_str(),
            Err(none) if none.status == Unjudged::CandidateUnreadable => &none.reason,
            Err(_) => "",
        };
        let options = format!("{:?} {:?} {}", self.options, self.threads, self.judge);
        let parts = [&problem.name, source, candidate, &self.target.to_string(), &options];
        let parts: Vec<String> = parts.iter().map(|part| ContentHash::of(part).as_str().to_owned()).collect();
        Task { problem, question, key: ContentHash::of(parts.concat()).as_str().to_owned() }
    }

    fn question(&self, problem: &Problem) -> Result<Question, NoVerdict> {
        let source = problem.source.as_ref().map_err(|reason| NoVerdict {
            place: problem.path.as_ref().map(|path| path.display().to_string()),
            ..NoVerdict::new(Unjudged::ProblemInvalid, reason)
        })?;
        let candidate = match &self.candidates {
            None => kernelwright_evaluate::identity(source),
            Some(folder) => candidate_in(folder, problem)?,
        };
        Ok(Question { problem: source.clone(), candidate })
    }

    fn request(&self, task: &Task, question: &Question, target: Target) -> EvaluateRequest {
        let file_name = task.problem.path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        EvaluateRequest {
            problem_source: question.problem.clone(),
            problem_name: file_name.unwrap_or_else(|| format!("{}.py", task.problem.name)),
            candidate_source: question.candidate.clone(),
            target,
            options: self.options.clone(),
        }
    }
}

/// `FOLDER/level1/19_ReLU.py` or `FOLDER/19_ReLU.py` for `level1/19_ReLU`. A problem without a candidate has neither; whatever else keeps one
/// from being read is not the same as that there is none.
fn candidate_in(folder: &Path, problem: &Problem) -> Result<String, NoVerdict> {
    for name in [Some(&problem.name), problem.short.as_ref()].into_iter().flatten() {
        let file = format!("{name}.py");
        let path = folder.join(&file);
        let unreadable =
            |reason: String| NoVerdict { place: Some(path.display().to_string()), ..NoVerdict::new(Unjudged::CandidateUnreadable, reason) };
        // A problem must not be found in the place of its candidate.
        if !Path::new(&file).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(unreadable(format!("a candidate `{file}` would lie outside of the folder of candidates")));
        }
        match source_file::read(&path) {
            Ok(text) => return Ok(text),
            // Of a link that leads nowhere the same error comes, but the link is there.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {}
            Err(error) => return Err(unreadable(format!("the candidate cannot be read: {error}"))),
        }
    }
    Err(NoVerdict::new(Unjudged::NoCandidate, "the folder holds no candidate for it"))
}

/// What is told of a run while it goes on.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// This is in the log now.
    Done(&'a Entry),
    /// So many tasks found no memory, which others on the same device had. They begin again, one at a time.
    Again(usize),
}

/// What is left to do.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Task>,
    /// Tasks for which there was no memory while others had some.
    put_off: Vec<Task>,
}

/// What became of a task.
struct Done {
    entry: Entry,
    evaluator: Evaluator,
}

/// What the evaluator had to do with that.
enum Evaluator {
    NotAsked,
    Answered,
    /// The error is its own.
    Failed(JudgeError),
}

/// Why a task comes to nothing, with the problem's name.
type Stopped = (String, JudgeError);

/// What came of a task, and whoever waits until that is noted: nobody begins another before it is known whether there is a point in it.
type Told = (Result<Done, Stopped>, oneshot::Sender<()>);

/// Writes what is done, tells of it, and sees whether the evaluator fails in the same way again and again.
struct Ledger<'a, T> {
    log: &'a mut Log,
    tell: T,
    /// The last failure of the evaluator's own, and on how many problems in a row that it was asked about it was the same until now.
    last: Option<JudgeError>,
    in_a_row: Option<(String, usize)>,
}

impl<T: FnMut(Event<'_>) -> std::io::Result<()>> Ledger<'_, T> {
    fn note(&mut self, Done { entry, evaluator }: Done) -> Result<(), Halt> {
        self.log.append(entry.clone()).map_err(Halt::Log)?;
        (self.tell)(Event::Done(&entry)).map_err(Halt::Unread)?;
        let error = match evaluator {
            Evaluator::NotAsked => return Ok(()),
            Evaluator::Answered => {
                self.in_a_row = None;
                return Ok(());
            }
            Evaluator::Failed(error) => error,
        };
        // Numbers of processes and addresses differ each time.
        let said: String = error.to_string().chars().filter(|c| !c.is_ascii_digit()).collect();
        let times = match self.in_a_row.take() {
            Some((before, times)) if before == said => times + 1,
            _ => 1,
        };
        self.in_a_row = Some((said, times));
        if times >= IN_A_ROW {
            return Err(Halt::Repeated { times, error: Box::new(error) });
        }
        self.last = Some(error);
        Ok(())
    }

    fn again(&mut self, count: usize) -> Result<(), Halt> {
        (self.tell)(Event::Again(count)).map_err(Halt::Unread)
    }
}

/// Evaluates the tasks, as many at a time as there are seats, and tells of each entry once it is in the log. What finds no memory beside others on its device
/// is done again alone: only then is it too large. Returns the last failure of the evaluator's own, if there was one.
pub async fn run(
    plan: &Plan,
    tasks: Vec<Task>,
    seats: Vec<Seat>,
    log: &mut Log,
    stop: &StopToken,
    tell: impl FnMut(Event<'_>) -> std::io::Result<()>,
) -> Result<Option<JudgeError>, Halt> {
    let mut ledger = Ledger { log, tell, last: None, in_a_row: None };
    let queue = Arc::new(Mutex::new(Queue { waiting: tasks.into(), put_off: vec![] }));
    let (mut ended, seats) = round(plan, &queue, seats, stop, &mut ledger).await;
    let (mut alone, others) = one_for_each_device(seats);
    close(others).await;
    let put_off = std::mem::take(&mut lock(&queue).put_off);
    let again = put_off.len();
    lock(&queue).waiting.extend(put_off);
    if again > 0 && ended.is_ok() && !stop.is_stopping() {
        ended = ledger.again(again);
        if ended.is_ok() {
            (ended, alone) = round(plan, &queue, alone, stop, &mut ledger).await;
        }
    }
    close(alone).await;
    ended?;
    if stop.is_abandoned() || !lock(&queue).waiting.is_empty() { Err(Halt::Interrupted) } else { Ok(ledger.last) }
}

/// Works until nothing waits any more, and returns the seats.
async fn round(
    plan: &Plan,
    queue: &Arc<Mutex<Queue>>,
    seats: Vec<Seat>,
    stop: &StopToken,
    ledger: &mut Ledger<'_, impl FnMut(Event<'_>) -> std::io::Result<()>>,
) -> (Result<(), Halt>, Vec<Seat>) {
    let is_crowded = share_devices(&seats);
    let (send, mut receive) = unbounded_channel();
    let mut workers = JoinSet::new();
    for seat in seats {
        workers.spawn(work(plan.clone(), Arc::clone(queue), seat, is_crowded, stop.clone(), send.clone()));
    }
    drop(send);
    let mut ended = Ok(());
    while let Some((result, noted)) = receive.recv().await {
        let result = result.map_err(|(name, error)| Halt::Failed { name, error: Box::new(error) });
        if let Err(failed) = result.and_then(|done| ledger.note(done)) {
            // What the others are at is still finished and written.
            stop.save_and_stop();
            ended = ended.and(Err(failed));
        }
        // A worker that is gone waits for nothing.
        let _ = noted.send(());
    }
    (ended, workers.join_all().await)
}

async fn work(
    plan: Plan,
    queue: Arc<Mutex<Queue>>,
    mut seat: Seat,
    is_crowded: bool,
    stop: StopToken,
    results: UnboundedSender<Told>,
) -> Seat {
    while !stop.is_stopping() {
        let Some(task) = lock(&queue).waiting.pop_front() else { break };
        let result = tokio::select! {
            result = one(&plan, &task, &mut seat) => result,
            () = stop.abandoned() => break,
        };
        if is_crowded && result.as_ref().is_ok_and(|done| done.entry.ending.is_out_of_memory()) {
            lock(&queue).put_off.push(task);
            continue;
        }
        let (note, noted) = oneshot::channel();
        if results.send((result, note)).is_err() || noted.await.is_err() {
            break;
        }
    }
    seat
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn close(seats: Vec<Seat>) {
    for seat in seats {
        seat.judge.close().await;
    }
}

async fn one(plan: &Plan, task: &Task, seat: &mut Seat) -> Result<Done, Stopped> {
    let started = Instant::now();
    let mut evaluator = Evaluator::Answered;
    let ending = match &task.question {
        Err(none) => {
            evaluator = Evaluator::NotAsked;
            Ending::NoVerdict(none.clone())
        }
        Ok(question) => {
            let request = plan.request(task, question, seat.target);
            match tokio::time::timeout(plan.limit, seat.judge.evaluate(&request, &|_| {})).await {
                Ok(Ok(evaluation)) => Ending::Evaluation(Box::new(evaluation)),
                Ok(Err(error)) => {
                    let Some(none) = NoVerdict::of_error(&error, task.problem.path.as_deref()) else {
                        return Err((task.problem.name.clone(), error));
                    };
                    if none.status == Unjudged::EvaluatorFailed {
                        evaluator = Evaluator::Failed(error);
                    }
                    Ending::NoVerdict(none)
                }
                Err(_) => Ending::NoVerdict(NoVerdict {
                    limit_ns: Some(Nanoseconds::from(plan.limit)),
                    ..NoVerdict::new(Unjudged::TooSlow, format!("it was given up after {}", show_duration(plan.limit)))
                }),
            }
        }
    };
    let wall_ns = started.elapsed().into();
    let (suite, name, key, judge) = (plan.suite.clone(), task.problem.name.clone(), task.key.clone(), plan.judge.clone());
    Ok(Done { entry: Entry { suite, name, key, judge, ending, wall_ns }, evaluator })
}

#[cfg(test)]
mod tests {
    use kernelwright_evaluate::Limits;

    use super::*;

    fn plan(candidates: Option<&Path>) -> Plan {
        let candidates = candidates.map(Path::to_path_buf);
        let (suite, judge) = ("s".into(), "kernelwright 1".into());
        Plan { suite, candidates, target: Target::CPU, options: Options::default(), threads: None, judge, limit: Duration::from_secs(1) }
    }

    fn problem(name: &str, source: &str) -> Problem {
        Problem { name: name.into(), short: None, source: Ok(source.into()), path: None }
    }

    #[test]
    fn a_key_changes_with_everything_a_verdict_depends_on() {
        let key = |plan: &Plan, source: &str| plan.task(problem("a", source)).key;
        let usual = plan(None);
        assert_eq!(key(&usual, "x"), key(&usual, "x"));
        assert_ne!(key(&usual, "x"), key(&usual, "y"));
        let untimed = Plan { options: Options { measure: false, ..Options::default() }, ..usual.clone() };
        assert_ne!(key(&usual, "x"), key(&untimed, "x"));
        let alone = Plan { threads: Some(1), ..usual.clone() };
        assert_ne!(key(&usual, "x"), key(&alone, "x"));
        let upgraded = Plan { judge: "kernelwright 2".into(), ..usual.clone() };
        assert_ne!(key(&usual, "x"), key(&upgraded, "x"));
        let limits = |run: u64| Some(Limits { run: Duration::from_secs(run), ..Limits::default() });
        let limited = |run: u64| Plan { options: Options { limits: limits(run), ..Options::default() }, ..usual.clone() };
        assert_ne!(key(&limited(1), "x"), key(&limited(60), "x"));
        // Each of two files with the same text is told by its own name.
        assert_ne!(usual.task(problem("a", "x")).key, usual.task(problem("b", "x")).key);
    }

    #[test]
    fn candidates_are_found_by_the_problems_name_with_or_without_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("level1")).unwrap();
        std::fs::write(folder.path().join("level1/1_A.py"), "one").unwrap();
        std::fs::write(folder.path().join("2_B.py"), "two").unwrap();
        let found = |name: &str, short: &str| {
            let problem = Problem { short: Some(short.into()), ..problem(name, "class Model: ...") };
            plan(Some(folder.path())).task(problem).question.map(|question| question.candidate).map_err(|none| none.status)
        };
        assert_eq!(found("level1/1_A", "1_A").as_deref(), Ok("one"));
        assert_eq!(found("level1/2_B", "2_B").as_deref(), Ok("two"));
        assert_eq!(found("level2/3_C", "3_C"), Err(Unjudged::NoCandidate));
    }

    #[test]
    fn a_candidate_is_never_looked_for_outside_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside.py");
        std::fs::write(&outside, "class Model: ...").unwrap();
        std::fs::create_dir(folder.path().join("kernels")).unwrap();
        let plan = plan(Some(&folder.path().join("kernels")));
        for name in [outside.with_extension("").to_str().unwrap(), "../outside", "a/../../outside", "/outside"] {
            let none = plan.task(problem(name, "class Model: ...")).question.unwrap_err();
            assert_eq!(none.status, Unjudged::CandidateUnreadable, "{name}: {none:?}");
            assert!(none.reason.contains("outside of the folder"), "{none:?}");
        }
    }

    #[test]
    fn a_candidate_that_cannot_be_read_is_not_the_same_as_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bytes.py"), [0xff, 0xfe]).unwrap();
        std::fs::create_dir(folder.path().join("folder.py")).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("link.py")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless.py")).unwrap();
        let plan = plan(Some(folder.path()));
        let none = |name: &str| plan.task(problem(name, "class Model: ...")).question.unwrap_err();
        for (name, reason) in [("bytes", "UTF-8"), ("folder", "directory"), ("link", "No such file"), ("endless", "16 MiB")] {
            let none = none(name);
            assert!(none.status == Unjudged::CandidateUnreadable && none.reason.contains(reason), "{name}: {none:?}");
            assert_eq!(none.place, Some(folder.path().join(format!("{name}.py")).display().to_string()));
        }
        assert_eq!(none("missing").status, Unjudged::NoCandidate);
    }

    #[test]
    fn a_problem_that_cannot_be_read_is_known_by_the_reason() {
        let unreadable = |reason: &str| plan(None).task(Problem { source: Err(reason.into()), ..problem("a", "") });
        assert_eq!(unreadable("r").question.unwrap_err(), NoVerdict::new(Unjudged::ProblemInvalid, "r"));
        assert_ne!(unreadable("r").key, unreadable("s").key);
    }

    #[test]
    fn the_same_failure_again_and_again_is_no_coincidence() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::open(&folder.path().join("log")).unwrap();
        let mut ledger = Ledger { log: &mut log, tell: |_: Event<'_>| Ok(()), last: None, in_a_row: None };
        let mut note = |evaluator: Evaluator| {
            let ending = Ending::NoVerdict(NoVerdict::new(Unjudged::EvaluatorFailed, "r"));
            let entry = Entry { suite: "s".into(), name: "n".into(), key: "k".into(), judge: "j".into(), ending, wall_ns: Nanoseconds(1) };
            ledger.note(Done { entry, evaluator })
        };
        let failed = |said: &str| Evaluator::Failed(kernelwright_evaluate::EvaluateError::Protocol(said.to_owned()).into());
        for said in ["a 1", "a 2", "a 3", "a 4"] {
            note(failed(said)).unwrap();
        }
        note(Evaluator::Answered).unwrap();
        for said in ["a", "a", "b", "c 1", "c 2", "c 3", "c 4"] {
            note(failed(said)).unwrap();
        }
        note(Evaluator::NotAsked).unwrap();
        assert!(matches!(note(failed("c 5")), Err(Halt::Repeated { times: 5, .. })));
    }
}
