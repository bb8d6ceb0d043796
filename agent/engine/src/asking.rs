//! Putting a question to the model, while somebody watches and may lose patience.

use std::sync::atomic::{AtomicUsize, Ordering};

use kernelwright_model::{Client, ModelError, Piece, Place, Request, TextSink};
use kernelwright_protocol::{Dollars, Tokens};
use kernelwright_search::{AskId, Event, Usage};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::EngineError;
use crate::observer::{Activity, Observer};
use crate::session::{Flow, Halt, Session};
use crate::stop::StopToken;

impl Session<'_> {
    /// Puts the question that was announced last. `false` when the conversation has outgrown the model: the step ends with what it has.
    pub(crate) async fn ask(&mut self, ask: AskId, request: &Request) -> Flow<bool> {
        let open = self.open()?;
        let (step, turn) = (open.id, open.turns.len() as u32);
        self.observer.activity(&Activity::ModelWaiting { ask, step: Some(step) });
        let place = Place { ask: ask.0, step: step.0, turn };
        let (sink, activities) = Sink::new();
        let asking = self.model.ask(request, place, &sink);
        match watched(asking, activities, self.observer, &self.stop).await.ok_or(Halt::Interrupted)? {
            Ok(answer) => {
                let usage = usage(&answer.usage);
                let cost = self.model.cost(&answer.usage, &answer.model).map(Dollars::new);
                let answer = serde_json::to_value(&answer).map_err(|error| EngineError::Store(self.store.unwritable(error)))?;
                self.record(Event::ModelAnswered { ask, answer, usage, cost })?;
                if cost.is_none() && self.graph.spend.unpriced == 1 && self.head()?.settings.budget.dollars.is_some() {
                    self.remark("the price of this answer is not known; the budget in dollars does not count it");
                }
                Ok(true)
            }
            // The opening alone does not fit: no later step would fare better.
            Err(error @ ModelError::ContextTooLong { .. }) if turn <= 1 => Err(error.into()),
            Err(error @ ModelError::ContextTooLong { .. }) => {
                self.remark(format!("{error}; the step ends here"));
                Ok(false)
            }
            Err(error) => Err(halt(error)),
        }
    }
}

fn halt(error: ModelError) -> Halt {
    match error {
        ModelError::Suspended { waiting } => Halt::Suspended(waiting),
        error @ (ModelError::Outage { .. } | ModelError::NoCredit { .. }) => Halt::Paused(format!("{error}; {}", error.hint())),
        other => other.into(),
    }
}

/// Asks for one tool call, before anything else is done: what it finds, it finds before any spend.
pub(crate) async fn probe(model: &Client, observer: &mut dyn Observer, stop: &StopToken) -> Result<Event, EngineError> {
    observer.activity(&Activity::ModelWaiting { ask: AskId(0), step: None });
    let (sink, activities) = Sink::new();
    let used = watched(model.probe(&sink), activities, observer, stop).await.ok_or(EngineError::StoppedEarly)??;
    let cost = if used.input + used.output == 0 { Some(Dollars::default()) } else { None };
    let name = model.describe().get("model").and_then(|name| name.as_str().map(str::to_owned));
    let cost = cost.or_else(|| model.cost(&used, &name?).map(Dollars::new));
    Ok(Event::ModelProbed { usage: usage(&used), cost })
}

/// Waits for an answer while the observer is told how it comes along; `None` when that is to stop.
async fn watched<T>(
    asking: impl Future<Output = Result<T, ModelError>>,
    mut activities: UnboundedReceiver<Activity>,
    observer: &mut dyn Observer,
    stop: &StopToken,
) -> Option<Result<T, ModelError>> {
    tokio::pin!(asking);
    loop {
        tokio::select! {
            biased;
            () = stop.stopping() => return None,
            Some(activity) = activities.recv() => observer.activity(&activity),
            result = &mut asking => return Some(result),
        }
    }
}

fn usage(usage: &kernelwright_model::Usage) -> Usage {
    Usage { input: Tokens(usage.input), cached: Tokens(usage.cached_input.unwrap_or(0)), output: Tokens(usage.output) }
}

/// Turns pieces of an answer into activities.
struct Sink {
    activities: UnboundedSender<Activity>,
    characters: AtomicUsize,
}

impl Sink {
    fn new() -> (Self, UnboundedReceiver<Activity>) {
        let (activities, receiver) = unbounded_channel();
        (Self { activities, characters: AtomicUsize::new(0) }, receiver)
    }
}

impl TextSink for Sink {
    fn take(&self, piece: Piece<'_>) {
        let activity = match piece {
            Piece::Text(text) | Piece::Thinking(text) | Piece::Call(text) => {
                let more = text.chars().count();
                Activity::ModelStreaming { characters: self.characters.fetch_add(more, Ordering::Relaxed) + more }
            }
            Piece::Retry { delay, reason, .. } => {
                self.characters.store(0, Ordering::Relaxed);
                Activity::ModelRetry { reason: reason.to_owned(), wait: delay }
            }
        };
        // The receiver lives as long as the question.
        let _ = self.activities.send(activity);
    }
}
