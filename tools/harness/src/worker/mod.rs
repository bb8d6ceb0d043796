//! One Python worker: started, asked, stopped, read and ended.
//!
//! A confined worker runs only while it has a question to answer: it is stopped as soon as its answer is in, and stays stopped until
//! the next one. What a candidate leaves running in the background after it has answered does not run. One with a program around it goes on.

mod arrival;
mod channel;
mod halt;
mod kept_nursery;
mod launch;
mod log;
mod memory;
mod nursery;
mod process;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use kernelwright_protocol::Sandbox;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::error::Elapsed;

pub use halt::{Asked, Halted, Part};
pub use kept_nursery::KeptNursery;
pub use launch::{Launch, LaunchError, Ready, Role};
pub use log::{WorkerLog, WorkerLogs};
pub use memory::{Arena, Filling, Piece, Window};
pub use nursery::Nursery;
pub use process::{Exit, FreezeError, supervise};

use crate::Scratch;
use arrival::Arrival;
use channel::{Channel, ChannelError, Message};
use launch::greet;
use process::Group;

/// An error that a worker replied.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Refusal {
    /// One of the kinds in `WORKERS.md`.
    pub kind: String,
    /// What it was doing.
    #[serde(default)]
    pub phase: String,
    /// One line.
    #[serde(default)]
    pub message: String,
    /// Python's traceback, already cut by the worker.
    #[serde(default)]
    pub traceback: String,
}

impl Refusal {
    /// Whether a GPU has reported an error that ends all use of it by that process (`failures.py` tells it in the same way).
    #[must_use]
    pub fn lost_the_device(&self) -> bool {
        self.message.contains("CUDA error")
    }

    /// What to try where the user's problem is what was refused, in a sentence.
    #[must_use]
    pub fn problem_hint(&self) -> &'static str {
        match self.kind.as_str() {
            "problem_import" => "the problem file must import without errors under the Python that `kernelwright doctor` names",
            "problem_shape" => {
                "a problem file defines a class `Model` or a function `reference`, `get_inputs()` and, if `Model` takes arguments, `get_init_inputs()`"
            }
            "memory" => {
                "the problem, what its reference computes in float64, and the candidate do not fit into the device's memory together: use smaller \
                 inputs, or free the device for them"
            }
            "unsupported" => {
                "inputs and arguments must be tensors, numbers, strings, None, or lists, tuples and dicts of these, and a call may change values of tensors only"
            }
            _ => "run the problem file by hand: `Model(*get_init_inputs())(*get_inputs())` must work",
        }
    }
}

/// A question stayed without an answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No answer in time; the worker is killed.
    #[error("no answer to `{op}` within {} s", limit.as_secs_f64())]
    Deadline {
        /// The operation.
        op: String,
        /// What it was given.
        limit: Duration,
    },
    /// The worker ended instead of answering.
    #[error("the worker ended: {0}")]
    Ended(Exit),
    /// The worker answered that it cannot.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The question is longer than a message may be, in bytes; it was not sent.
    #[error("a question of {0} bytes is too long")]
    TooLong(usize),
    /// What came back is not an answer to this question; a candidate may have written to the channel.
    #[error("{0}")]
    Violation(String),
    /// The worker did not stop after its answer.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
}

/// How the supervisor waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// As everything else does: it takes a processor some time to wake up, more the longer it has slept.
    Asleep,
    /// Without sleeping, for as long as an ordinary batch takes, and a confined worker is stopped by whoever sees it: for times in which that matters, where
    /// a processor is to spare.
    Awake,
}

/// How long an answer is waited for without sleeping.
const AWAKE: Duration = Duration::from_secs(1);

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The fields of `ok`.
    pub ok: Value,
    /// The descriptors that came with it; always empty for a worker that is not believed.
    pub fds: Vec<OwnedFd>,
    /// From sending the question to having the answer, on the supervisor's clock.
    pub wall: Duration,
    /// From having the answer to seeing the worker stopped, in which it may have gone on working: an honest one has what it takes to stop it. Zero for
    /// one that is not stopped between questions.
    pub stopping: Duration,
    /// What the thread that was awake for the answer waited for a processor itself.
    pub denied: Duration,
}

/// A running worker. Dropping it kills everything it has started and removes its scratch folder.
#[derive(Debug)]
pub struct Worker {
    // Dropped first: the group must be dead before its folder goes.
    group: Group,
    channel: Channel,
    owes: Owes,
    role: Role,
    /// Whether it is stopped between questions.
    is_stopped: bool,
    ready: Ready,
    sandbox: Sandbox,
    log: WorkerLog,
    scratch: Scratch,
}

/// What remains of a worker that was left to end by itself.
#[derive(Debug)]
pub struct Left {
    /// What it has left in its folder.
    pub scratch: Scratch,
    /// How it ended, or the program around it; none where it had to be ended.
    pub exit: Option<Exit>,
}

/// What is still to come from a worker. An asker that gives up leaves it behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owes {
    Nothing,
    /// An answer, to a question that it has in full.
    Answer,
    /// An answer, to a question that was cut off.
    Confusion,
}

impl Worker {
    /// Starts a worker and waits until it is ready, at most `limit`. A confined one is then stopped.
    pub async fn launch(launch: Launch<'_>, limit: Duration) -> Result<Self, LaunchError> {
        let (channel, theirs) = Channel::pair()?;
        let group = Group::start(launch.command(theirs)?).await?;
        Self::settle(group, channel, launch, limit).await
    }

    /// Waits until a process is ready, at most `limit`.
    async fn settle(group: Group, mut channel: Channel, launch: Launch<'_>, limit: Duration) -> Result<Self, LaunchError> {
        let Launch { role, log, scratch, around, .. } = launch;
        let started = tokio::time::timeout(limit, greet(&mut channel, &group, &log)).await;
        let (sandbox, ready) = started.map_err(|_| LaunchError::Slow(limit))??;
        // A profiler waits for its process, and does not expect either of them to be stopped; what it says decides nothing.
        let is_stopped = role.is_confined() && around.is_none();
        let worker = Self { group, channel, owes: Owes::Nothing, role, is_stopped, ready, sandbox, log, scratch };
        if is_stopped {
            worker.group.freeze().await.map_err(|error| LaunchError::Start(io::Error::other(error)))?;
        }
        Ok(worker)
    }

    /// Asks one question and waits for its answer, at most `limit`; a worker that misses the limit or breaks the protocol is killed.
    pub async fn ask(&mut self, op: &str, fields: Value, fds: &[BorrowedFd<'_>], limit: Duration) -> Result<Reply, AskError> {
        self.ask_watching(op, fields, fds, limit, Watch::Asleep).await
    }

    /// The same, with the answer waited for as `watch` says.
    pub async fn ask_watching(
        &mut self,
        op: &str,
        fields: Value,
        fds: &[BorrowedFd<'_>],
        limit: Duration,
        watch: Watch,
    ) -> Result<Reply, AskError> {
        let answer = self.exchange(op, fields, fds, limit, watch).await;
        self.kept(answer)
    }

    /// Gives it something to do, at most `limit` for saying so; [`Worker::recover`] has to take its answer before the next question.
    pub async fn tell(&mut self, op: &str, fields: Value, limit: Duration) -> Result<(), AskError> {
        let told = async {
            let (_, question) = self.begin(op, fields, 0, limit)?;
            tokio::time::timeout(limit, self.send(&question, &[])).await.map_err(|_| AskError::Deadline { op: op.to_owned(), limit })?
        };
        let told = told.await;
        self.kept(told)
    }

    /// Asks a question and stops the worker, a confined one, when part of the time that it needs for it is over, unless the answer is there before that.
    pub async fn ask_in_parts(&mut self, op: &str, fields: Value, limit: Duration, first: Part) -> Result<Halted, AskError> {
        let halted = async {
            let (asked, question) = self.begin(op, fields, 0, limit)?;
            tokio::time::timeout(limit, self.send(&question, &[])).await.map_err(|_| AskError::Deadline { op: op.to_owned(), limit })??;
            self.run_part(asked, Some(first)).await
        };
        let halted = halted.await;
        self.kept(halted)
    }

    /// Lets a worker that was stopped go on, for another part or until it has answered.
    pub async fn go_on(&mut self, asked: Asked, part: Option<Part>) -> Result<Halted, AskError> {
        self.group.thaw();
        let halted = self.run_part(asked, part).await;
        self.kept(halted)
    }

    async fn run_part(&mut self, asked: Asked, part: Option<Part>) -> Result<Halted, AskError> {
        let answer = tokio::time::timeout(asked.left(), async {
            tokio::select! {
                biased;
                answer = next(&mut self.channel, &self.group) => answer.map(Ok),
                part = halt::over(part, asked.started, self.group.leader()) => Ok(Err(part)),
            }
        })
        .await;
        let answer = match answer {
            Ok(Ok(Err((part, has_leapt)))) => {
                self.stop().await?;
                return Ok(Halted::At { count: part.count(self.group.leader()), has_leapt, asked });
            }
            Ok(Ok(Ok(message))) => Ok(Ok(message)),
            Ok(Err(error)) => Ok(Err(error)),
            Err(elapsed) => Err(elapsed),
        };
        self.conclude(asked, None, answer).await.map(Halted::Answered)
    }

    /// Stops it, and sees it stand still.
    async fn stop(&self) -> Result<(), AskError> {
        match self.group.freeze().await {
            Err(FreezeError::Gone) => Err(AskError::Ended(self.group.exited().await)),
            frozen => Ok(frozen?),
        }
    }

    /// Kills a worker that did not answer as it should.
    fn kept<T>(&self, answer: Result<T, AskError>) -> Result<T, AskError> {
        match &answer {
            Ok(_) | Err(AskError::Refused(_)) => {}
            Err(_) => self.group.kill(),
        }
        answer
    }

    async fn exchange(
        &mut self,
        op: &str,
        fields: Value,
        fds: &[BorrowedFd<'_>],
        limit: Duration,
        watch: Watch,
    ) -> Result<Reply, AskError> {
        let (asked, question) = self.begin(op, fields, fds.len(), limit)?;
        let mut arrived = None;
        let answer = tokio::time::timeout(limit, async {
            self.send(&question, fds).await?;
            if watch == Watch::Awake {
                let worker = self.is_stopped.then(|| self.group.leader());
                let socket = self.channel.socket().map_err(|error| AskError::Violation(error.to_string()))?;
                arrived = arrival::watch_for(socket, AWAKE.min(limit), worker).await;
            }
            next(&mut self.channel, &self.group).await
        })
        .await;
        self.conclude(asked, arrived, answer).await
    }

    /// Lets the worker run, for a question that is sent next.
    fn begin(&mut self, op: &str, fields: Value, fds: usize, limit: Duration) -> Result<(Asked, Value), AskError> {
        if self.channel.has_leftovers() || self.owes != Owes::Nothing {
            return Err(AskError::Violation("a message arrived that nobody had asked for".to_owned()));
        }
        let id = question_id();
        let mut question = Map::new();
        question.insert("id".to_owned(), id.into());
        question.insert("op".to_owned(), op.into());
        if let Value::Object(fields) = fields {
            question.extend(fields);
        }
        if fds > 0 {
            question.insert("fds".to_owned(), fds.into());
        }
        // Before it runs: one that goes on by itself does so in its own time.
        let started = Instant::now();
        if self.is_stopped {
            self.group.thaw();
        }
        Ok((Asked { id, op: op.to_owned(), limit, started }, Value::Object(question)))
    }

    async fn send(&mut self, question: &Value, fds: &[BorrowedFd<'_>]) -> Result<(), AskError> {
        self.owes = Owes::Confusion;
        match self.channel.send(question, fds).await {
            Err(ChannelError::Io(_)) | Ok(()) => {}
            Err(ChannelError::TooLong(bytes)) => return Err(AskError::TooLong(bytes)),
            Err(error) => return Err(AskError::Violation(error.to_string())),
        }
        self.owes = Owes::Answer;
        Ok(())
    }

    /// Stops the worker that has answered, and reads the answer.
    async fn conclude(
        &mut self,
        Asked { id, op, limit, started }: Asked,
        arrived: Option<Arrival>,
        answer: Result<Result<Message, AskError>, Elapsed>,
    ) -> Result<Reply, AskError> {
        let at = arrived.map_or_else(Instant::now, |arrival| arrival.at);
        let wall = at.duration_since(started);
        let mut stopping = Duration::ZERO;
        self.owes = Owes::Nothing;
        tracing::debug!(role = self.role.as_str(), op, ?wall, "asked");
        if self.is_stopped && matches!(answer, Ok(Ok(_))) {
            let seen = if let Some(stopped) = arrived.and_then(|arrival| arrival.stopped) {
                stopped
            } else {
                self.stop().await?;
                Instant::now()
            };
            stopping = seen.duration_since(at);
        }
        let message = answer.map_err(|_| AskError::Deadline { op, limit })??;
        if message.value.get("id").and_then(Value::as_u64) != Some(id) {
            return Err(AskError::Violation("an answer to another question arrived".to_owned()));
        }
        let Value::Object(mut fields) = message.value else {
            return Err(AskError::Violation("an answer was no object".to_owned()));
        };
        match (fields.remove("ok"), fields.remove("error")) {
            (Some(ok), None) => {
                let denied = arrived.map_or(Duration::ZERO, |arrival| arrival.denied);
                Ok(Reply { ok, fds: if self.role.is_confined() { vec![] } else { message.fds }, wall, stopping, denied })
            }
            (None, Some(error)) => match serde_json::from_value(error) {
                Ok(refusal) => Err(AskError::Refused(refusal)),
                Err(error) => Err(AskError::Violation(format!("an error that cannot be read: {error}"))),
            },
            _ => Err(AskError::Violation("an answer was neither `ok` nor `error`".to_owned())),
        }
    }

    /// Takes the answer to a question whose asker gave up halfway, or did not wait, at most for `limit`; after that the next question may be asked. A worker
    /// that does not get there is killed.
    pub async fn recover(&mut self, limit: Duration) -> Result<(), AskError> {
        let answer = match self.owes {
            Owes::Nothing => return Ok(()),
            Owes::Answer => tokio::time::timeout(limit, next(&mut self.channel, &self.group)).await,
            Owes::Confusion => Ok(Err(AskError::Violation("its last question was cut off".to_owned()))),
        };
        let recovered = match answer {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(AskError::Deadline { op: "an abandoned question".to_owned(), limit }),
        };
        match recovered {
            Ok(()) => self.owes = Owes::Nothing,
            Err(_) => self.group.kill(),
        }
        recovered
    }

    /// Copies windows of its memory; call only for a confined worker between questions, when it is stopped.
    pub async fn read_memory(&self, windows: Vec<Window>) -> io::Result<Arena> {
        let pid = self.group.leader();
        tokio::task::spawn_blocking(move || memory::read(pid, &windows)).await.map_err(io::Error::other)?
    }

    /// Writes into its memory from an arena; call only as [`Worker::read_memory`].
    pub async fn write_memory(&self, fillings: Vec<Filling>, arena: BorrowedFd<'_>) -> io::Result<()> {
        let (pid, arena) = (self.group.leader(), arena.try_clone_to_owned()?);
        tokio::task::spawn_blocking(move || memory::write(pid, &fillings, arena)).await.map_err(io::Error::other)?
    }

    /// What it said when it was ready.
    #[must_use]
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The isolation it runs under.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// What it printed.
    #[must_use]
    pub fn log(&self) -> &WorkerLog {
        &self.log
    }

    /// The folder it can write.
    #[must_use]
    pub fn scratch(&self) -> &std::path::Path {
        self.scratch.path()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.group.leader().as_raw_nonzero().get()
    }

    /// Ends it with everything it has started, and waits until that is done.
    pub async fn end(self) {
        let scratch = self.finish().await;
        let _ = tokio::task::spawn_blocking(move || drop(scratch)).await;
    }

    /// Lets it come to its own end, at most for `limit`, since a program around it may have something to write down; then as [`Self::finish`].
    pub async fn leave(self, limit: Duration) -> Left {
        let Self { group, channel, log, scratch, .. } = self;
        drop(channel);
        group.thaw();
        let exit = tokio::time::timeout(limit, group.exited()).await.ok();
        group.end().await;
        log.shorten();
        Left { scratch, exit }
    }

    /// As [`Self::end`], with what it has left in its folder: nobody is there any more who could change it.
    pub async fn finish(self) -> Scratch {
        let Self { group, log, scratch, .. } = self;
        group.end().await;
        log.shorten();
        scratch
    }
}

/// The next message, or how the worker ended without one.
async fn next(channel: &mut Channel, group: &Group) -> Result<Message, AskError> {
    let received = tokio::select! {
        biased;
        received = channel.receive() => received,
        exit = group.exited() => {
            // What it wrote before it ended may have arrived in between; children of its own may keep the channel open.
            match tokio::time::timeout(Duration::from_millis(50), channel.receive()).await {
                Ok(Ok(message)) => return Ok(message),
                _ => return Err(AskError::Ended(exit)),
            }
        }
    };
    match received {
        Ok(message) => Ok(message),
        Err(error @ (ChannelError::Malformed(_) | ChannelError::TooLong(_))) => Err(AskError::Violation(error.to_string())),
        Err(ChannelError::Closed | ChannelError::Io(_)) => match tokio::time::timeout(Duration::from_secs(5), group.exited()).await {
            Ok(exit) => Err(AskError::Ended(exit)),
            Err(_) => Err(AskError::Violation("the channel was closed by a worker that still runs".to_owned())),
        },
    }
}

/// Unpredictable, so that an answer cannot be written before its question; below 2^53, which JSON numbers hold exactly.
fn question_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    getrandom::u64().unwrap_or_else(|_| NEXT.fetch_add(1, Ordering::Relaxed)) >> 11
}
