//! One application of the operator: a conversation with the model, from the opening prompt to the node that comes of it.

use kernelwright_model::{Answer, Arguments, Message, Request, ToolCall};
use kernelwright_protocol::ContentHash;
use kernelwright_search::{BudgetKind, Event, NodeId, OpenStep, StepId, Turn, target_reached};
use serde_json::Value;

use crate::bindings::Draft;
use crate::error::EngineError;
use crate::own_tools;
use crate::render::shorten;
use crate::session::{Flow, Session};
use crate::store::StoreError;

/// How often in a row the model is told to go on when it calls no tool.
const NUDGES: usize = 2;

/// The longest summary that is taken from an answer when the model did not end the step itself.
const SUMMARY_CHARACTERS: usize = 600;

impl Session<'_> {
    /// Goes on with the open step until it is over.
    pub(crate) async fn work_step(&mut self) -> Flow<()> {
        if self.open()?.node.is_none() {
            // A resumed run may have been given a lower target.
            if target_reached(&self.graph).is_none() {
                self.converse().await?;
            }
            self.evaluate_leftover().await?;
        }
        Ok(self.close_step()?)
    }

    pub(crate) fn open(&self) -> Result<&OpenStep, EngineError> {
        // Only called while the graph has an open step; a log that says otherwise was folded wrongly.
        self.graph.open_step().ok_or_else(|| StoreError::NoRun { dir: self.store.dir().to_path_buf() }.into())
    }

    async fn converse(&mut self) -> Flow<()> {
        let mut request = self.opening().await?;
        // All turns but the last are settled, or the last would not have been asked.
        let turns = &self.open()?.turns;
        for turn in &turns[..turns.len().saturating_sub(1)] {
            absorb(&mut request, turn, &self.answer_of(turn)?);
        }
        loop {
            match self.open()?.turns.last() {
                None => self.announce(&request)?,
                Some(turn) if turn.answer.is_none() => {
                    let ask = turn.ask;
                    if !self.ask(ask, &request).await? {
                        return Ok(());
                    }
                }
                Some(turn) => {
                    let answer = self.answer_of(turn)?;
                    self.settle(&answer).await?;
                    if self.is_over()? {
                        return Ok(());
                    }
                    if let Some(turn) = self.open()?.turns.last() {
                        absorb(&mut request, turn, &answer);
                    }
                    self.announce(&request)?;
                }
            }
        }
    }

    /// The step's first request: as it was, or made now.
    async fn opening(&mut self) -> Flow<Request> {
        if let Some(first) = self.open()?.turns.first() {
            let text = self.store.request(&first.request_hash)?;
            let read = serde_json::from_str(&text).map_err(|source| self.damaged(&first.request_hash, source))?;
            return Ok(read);
        }
        let request = self.compose().await?;
        let text = encode(&request);
        self.store.keep_request(&ContentHash::of(&text), &text)?;
        Ok(request)
    }

    fn damaged(&self, hash: &ContentHash, source: serde_json::Error) -> StoreError {
        StoreError::Damaged { path: self.store.request_path(hash), line: source.line(), source }
    }

    fn answer_of(&self, turn: &Turn) -> Result<Answer, EngineError> {
        let answer = turn.answer.clone().unwrap_or(Value::Null);
        Ok(serde_json::from_value(answer).map_err(|source| self.damaged(&turn.request_hash, source))?)
    }

    /// Records that a question is about to be put.
    fn announce(&mut self, request: &Request) -> Result<(), EngineError> {
        let open = self.open()?;
        let (step, turn) = (open.id, open.turns.len() as u32 + 1);
        let request_hash = ContentHash::of(encode(request));
        self.record(Event::ModelAsked { step, turn, ask: self.graph.next_ask(), request_hash })
    }

    /// Answers every tool call of an answer, or tells the model to make one. What is recorded already is not done again.
    async fn settle(&mut self, answer: &Answer) -> Flow<()> {
        for (index, call) in answer.calls.iter().enumerate() {
            let index = index as u32;
            let (step, turn, known) = self.known_call(index)?;
            if !matches!(known, Known::Returned) {
                self.go_on()?;
                if matches!(known, Known::New) {
                    let (call_id, tool, arguments) = (call.id.clone(), call.name.clone(), logged(call));
                    self.record(Event::ToolCalled { step, turn, index, call_id, tool, arguments })?;
                }
                let reply = self.reply(call).await?;
                let (text, is_error, structured) = (reply.text, reply.is_error, reply.structured);
                self.record(Event::ToolReturned { step, turn, index, call_id: call.id.clone(), text, is_error, structured })?;
            }
            if summary_of(self.open()?).is_some() || target_reached(&self.graph).is_some() {
                // The step is over; what was called after that has nobody left to read the result.
                return Ok(());
            }
        }
        let open = self.open()?;
        let (step, turn) = (open.id, open.turns.len() as u32);
        let nudge = answer.calls.is_empty() && nudges(open) < NUDGES && turn < self.head()?.settings.inner_turns;
        if nudge && open.turns.last().is_some_and(|turn| turn.nudge.is_none()) {
            let text = self.nudge(answer)?;
            self.record(Event::ModelNudged { step, turn, text })?;
        }
        Ok(())
    }

    fn known_call(&self, index: u32) -> Result<(StepId, u32, Known), EngineError> {
        let open = self.open()?;
        let call = open.turns.last().and_then(|turn| turn.calls.iter().find(|call| call.index == index));
        let known = match call {
            None => Known::New,
            Some(call) if call.returned.is_none() => Known::Called,
            Some(_) => Known::Returned,
        };
        Ok((open.id, open.turns.len() as u32, known))
    }

    /// Whether the conversation has come to its end.
    fn is_over(&self) -> Result<bool, EngineError> {
        let open = self.open()?;
        let settings = &self.head()?.settings;
        let silent = open.turns.last().is_some_and(|turn| turn.calls.is_empty() && turn.nudge.is_none());
        // The step itself was paid for, and without evaluations the model can still say what it found.
        let spent = settings.budget.spent_beside(&self.graph.spend, &[BudgetKind::Steps, BudgetKind::Evaluations]).is_some();
        let settled = summary_of(open).is_some() || target_reached(&self.graph).is_some();
        Ok(silent || spent || settled || open.turns.len() as u32 >= settings.inner_turns)
    }

    /// The kernel under the model's hands: what it wrote last in this step, or what the step started from.
    pub(crate) fn draft(&self) -> Result<Option<Draft>, EngineError> {
        let open = self.open()?;
        let written = written(open).and_then(|hash| hash.parse().ok());
        let inherited = || open.parent.and_then(|parent| self.graph.node(parent)).map(|node| node.candidate.clone());
        written.or_else(inherited).map(|id| self.draft_of(&id)).transpose()
    }

    /// A kernel that was written and never evaluated would be lost with the conversation: it gets its verdict now.
    async fn evaluate_leftover(&mut self) -> Flow<()> {
        let spent = self.head()?.settings.budget.evaluations.is_some_and(|limit| self.graph.spend.evaluations >= limit);
        if let Some(draft) = self.draft()?.filter(|draft| !spent && self.graph.verdict(&draft.id).is_none()) {
            self.go_on()?;
            if let Err(reason) = self.evaluate(self.open()?.id, &draft).await? {
                self.remark(format!("the last kernel of the step could not be evaluated: {reason}"));
            }
        }
        Ok(())
    }

    /// Makes the step's best candidate a node and ends the step.
    fn close_step(&mut self) -> Result<(), EngineError> {
        let open = self.open()?;
        let (step, parent) = (open.id, open.parent);
        let mut node: Option<NodeId> = open.node;
        if let Some(best) = self.graph.best_attempt(step).filter(|_| node.is_none()) {
            let id = self.graph.next_node();
            let event = Event::NodeAdded {
                node: id,
                parent,
                step,
                candidate: best.candidate.clone(),
                fitness: best.evaluation.fitness(),
                status: best.evaluation.verdict.status().to_owned(),
                summary: summary_of(open).map_or_else(|| self.last_words(open), str::to_owned),
            };
            self.record(event)?;
            node = Some(id);
        }
        self.record(Event::StepFinished { step, node })?;
        self.keep_results()
    }

    /// What the model said last, for want of a summary.
    fn last_words(&self, open: &OpenStep) -> String {
        let said = open.turns.iter().rev().filter_map(|turn| self.answer_of(turn).ok()?.text);
        said.map(|text| text.trim().to_owned())
            .find(|text| !text.is_empty())
            .map(|text| shorten(&text, SUMMARY_CHARACTERS))
            .unwrap_or_default()
    }
}

/// What the log knows of a tool call.
enum Known {
    New,
    Called,
    Returned,
}

/// The request's JSON text: what is hashed and what is kept.
pub(crate) fn encode(request: &Request) -> String {
    serde_json::to_string(request).unwrap_or_default()
}

/// Adds a settled turn to the conversation.
fn absorb(request: &mut Request, turn: &Turn, answer: &Answer) {
    request.messages.push(answer.to_message());
    for call in &turn.calls {
        let Some(returned) = &call.returned else { continue };
        request.messages.push(Message::ToolResult {
            call_id: call.call_id.clone(),
            text: returned.text.clone(),
            is_error: returned.is_error,
        });
    }
    if let Some(text) = &turn.nudge {
        request.messages.push(Message::User { text: text.clone() });
    }
}

/// Arguments for the log: the object itself, or the text that is none.
fn logged(call: &ToolCall) -> Value {
    match &call.arguments {
        Arguments::Object(object) => Value::Object(object.clone()),
        Arguments::Malformed { text, .. } => Value::String(text.clone()),
    }
}

/// The summary the model ended the step with.
fn summary_of(open: &OpenStep) -> Option<&str> {
    let calls = open.turns.last()?.calls.iter();
    let finish =
        calls.filter(|call| call.tool == own_tools::FINISH_STEP).find(|call| call.returned.as_ref().is_some_and(|r| !r.is_error))?;
    finish.arguments.get("summary")?.as_str()
}

/// How many of the last turns in a row ended in a nudge.
fn nudges(open: &OpenStep) -> usize {
    open.turns.iter().rev().skip_while(|turn| turn.calls.is_empty() && turn.nudge.is_none()).take_while(|turn| turn.nudge.is_some()).count()
}

/// The hash of what the model wrote last in this step, whether as a whole or as an edit; what was refused is nothing written.
pub(crate) fn written(open: &OpenStep) -> Option<&str> {
    let calls = open.turns.iter().rev().flat_map(|turn| turn.calls.iter().rev());
    let mut wrote = calls.filter(|call| call.tool == own_tools::WRITE_KERNEL || call.tool == own_tools::EDIT_KERNEL);
    wrote.find_map(|call| call.returned.as_ref()?.structured.as_ref()?.get("candidate")?.as_str())
}
