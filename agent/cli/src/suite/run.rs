//! Does what a suite's log does not hold yet: evaluates, writes, tells.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernelwright_engine::StopToken;
use kernelwright_evaluate::{EvaluateError, EvaluateRequest, Options};
use kernelwright_protocol::{ContentHash, Target};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::Problem;
use super::log::{Ending, Entry, Log, LogError, NoVerdict, Unjudged};
use super::seats::{Seat, one_for_each_device, share_devices};
use crate::judge::JudgeError;

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
    /// None where the folder of candidates holds none.
    candidate: Option<String>,
    /// See [`Entry::key`].
    pub key: String,
}

/// Why a suite stops before its end.
#[derive(Debug)]
pub enum Halt {
    /// Somebody stopped it.
    Interrupted,
    /// The machine, not a problem.
    Failed(JudgeError),
    /// The log cannot be written.
    Log(LogError),
    /// Nobody reads the results any more.
    Unread,
}

impl Plan {
    /// The task of a problem. An unreadable candidate counts as none.
    pub fn task(&self, problem: Problem) -> Task {
        let candidate = match &self.candidates {
            None => Some(kernelwright_evaluate::identity(&problem.source)),
            Some(folder) => candidate_in(folder, &problem.name),
        };
        let options = format!("{:?} {:?} {}", self.options, self.threads, self.judge);
        let parts = [problem.source.as_str(), candidate.as_deref().unwrap_or_default(), &self.target.to_string(), &options];
        let parts: Vec<String> = parts.iter().map(|part| ContentHash::of(part).as_str().to_owned()).collect();
        Task { problem, candidate, key: ContentHash::of(parts.concat()).as_str().to_owned() }
    }

    fn request(&self, task: &Task, candidate: String, target: Target) -> EvaluateRequest {
        let file_name = task.problem.path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        EvaluateRequest {
            problem_source: task.problem.source.clone(),
            problem_name: file_name.unwrap_or_else(|| format!("{}.py", task.problem.name)),
            candidate_source: candidate,
            target,
            options: self.options.clone(),
        }
    }
}

/// `FOLDER/level1/19_ReLU.py` or `FOLDER/19_ReLU.py` for `level1/19_ReLU`.
fn candidate_in(folder: &Path, name: &str) -> Option<String> {
    let last = name.rsplit('/').next().unwrap_or(name);
    [name, last].iter().find_map(|name| std::fs::read_to_string(folder.join(format!("{name}.py"))).ok())
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

/// Evaluates the tasks, as many at a time as there are seats, and tells of each entry once it is in the log. What finds no memory beside others on its device
/// is done again alone: only then is it too large.
pub async fn run(
    plan: &Plan,
    tasks: Vec<Task>,
    seats: Vec<Seat>,
    log: &mut Log,
    stop: &StopToken,
    mut tell: impl FnMut(Event<'_>) -> std::io::Result<()>,
) -> Result<(), Halt> {
    let mut note = |event: Event<'_>| {
        if let Event::Done(entry) = event {
            log.append(entry.clone()).map_err(Halt::Log)?;
        }
        tell(event).map_err(|_| Halt::Unread)
    };
    let queue = Arc::new(Mutex::new(Queue { waiting: tasks.into(), put_off: vec![] }));
    let (mut ended, seats) = round(plan, &queue, seats, stop, &mut note).await;
    let (mut alone, others) = one_for_each_device(seats);
    close(others).await;
    let put_off = std::mem::take(&mut lock(&queue).put_off);
    let again = put_off.len();
    lock(&queue).waiting.extend(put_off);
    if again > 0 && ended.is_ok() && !stop.is_stopping() {
        ended = note(Event::Again(again));
        if ended.is_ok() {
            (ended, alone) = round(plan, &queue, alone, stop, &mut note).await;
        }
    }
    close(alone).await;
    ended?;
    if stop.is_abandoned() || !lock(&queue).waiting.is_empty() { Err(Halt::Interrupted) } else { Ok(()) }
}

/// Works until nothing waits any more, and returns the seats.
async fn round(
    plan: &Plan,
    queue: &Arc<Mutex<Queue>>,
    seats: Vec<Seat>,
    stop: &StopToken,
    note: &mut impl FnMut(Event<'_>) -> Result<(), Halt>,
) -> (Result<(), Halt>, Vec<Seat>) {
    let is_crowded = share_devices(&seats);
    let (send, mut receive) = unbounded_channel();
    let mut workers = JoinSet::new();
    for seat in seats {
        workers.spawn(work(plan.clone(), Arc::clone(queue), seat, is_crowded, stop.clone(), send.clone()));
    }
    drop(send);
    let mut ended = Ok(());
    while let Some(result) = receive.recv().await {
        if let Err(failed) = result.map_err(Halt::Failed).and_then(|entry| note(Event::Done(&entry))) {
            // What the others are at is still finished and written.
            stop.save_and_stop();
            ended = ended.and(Err(failed));
        }
    }
    (ended, workers.join_all().await)
}

async fn work(
    plan: Plan,
    queue: Arc<Mutex<Queue>>,
    mut seat: Seat,
    is_crowded: bool,
    stop: StopToken,
    results: UnboundedSender<Result<Entry, JudgeError>>,
) -> Seat {
    while !stop.is_stopping() {
        let Some(task) = lock(&queue).waiting.pop_front() else { break };
        let result = tokio::select! {
            result = one(&plan, &task, &mut seat) => result,
            () = stop.abandoned() => break,
        };
        if is_crowded && result.as_ref().is_ok_and(|entry| entry.ending.is_out_of_memory()) {
            lock(&queue).put_off.push(task);
        } else if results.send(result).is_err() {
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

async fn one(plan: &Plan, task: &Task, seat: &mut Seat) -> Result<Entry, JudgeError> {
    let started = Instant::now();
    let none = |status, reason: String| Ending::NoVerdict(NoVerdict { status, reason });
    let ending = match &task.candidate {
        None => none(Unjudged::NoCandidate, "the folder holds no candidate for it".to_owned()),
        Some(candidate) => {
            let request = plan.request(task, candidate.clone(), seat.target);
            match tokio::time::timeout(plan.limit, seat.judge.evaluate(&request, &|_| {})).await {
                Ok(Ok(evaluation)) => Ending::Evaluation(Box::new(evaluation)),
                Ok(Err(JudgeError::BuiltIn(error))) => of_error(error)?,
                Ok(Err(error)) => return Err(error),
                Err(_) => none(Unjudged::TooSlow, format!("it was given up after {} s", plan.limit.as_secs())),
            }
        }
    };
    let wall_ns = started.elapsed().into();
    let (suite, name, key, judge) = (plan.suite.clone(), task.problem.name.clone(), task.key.clone(), plan.judge.clone());
    Ok(Entry { suite, name, key, judge, ending, wall_ns })
}

fn of_error(error: EvaluateError) -> Result<Ending, JudgeError> {
    Ending::of_error(error).map_err(JudgeError::BuiltIn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(candidates: Option<&Path>) -> Plan {
        let candidates = candidates.map(Path::to_path_buf);
        let (suite, judge) = ("s".into(), "kernelwright 1".into());
        Plan { suite, candidates, target: Target::CPU, options: Options::default(), threads: None, judge, limit: Duration::from_secs(1) }
    }

    fn problem(name: &str, source: &str) -> Problem {
        Problem { name: name.into(), source: source.into(), path: None }
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
    }

    #[test]
    fn candidates_are_found_by_the_problems_name_with_or_without_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("level1")).unwrap();
        std::fs::write(folder.path().join("level1/1_A.py"), "one").unwrap();
        std::fs::write(folder.path().join("2_B.py"), "two").unwrap();
        let found = |name: &str| plan(Some(folder.path())).task(problem(name, "class Model: ...")).candidate;
        assert_eq!((found("level1/1_A").as_deref(), found("level1/2_B").as_deref(), found("level2/3_C")), (Some("one"), Some("two"), None));
    }
}
