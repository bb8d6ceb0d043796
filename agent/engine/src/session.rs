//! One session of a run: everything from opening its folder to the outcome.
//!
//! The session holds no state that the events do not also hold, apart from connections: whatever it does next, it reads off the graph. That
//! is why a killed session and a finished one are continued by the same code.

use std::path::{Path, PathBuf};

use kernelwright_model::Client;
use kernelwright_prompts::Prompts;
use kernelwright_protocol::{BaselineReport, CandidateId, Lessons, Profile, TargetDescription};
use kernelwright_search::{Event, Graph, Move, NodeId, RunHead, StopReason, decide};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::bindings::{Bindings, Draft};
use crate::disk::write_whole;
use crate::error::{EngineError, ServerFailure, ToolServerError};
use crate::mcp::ToolOutput;
use crate::observer::{Activity, Observer};
use crate::outcome::{Best, End, Outcome};
use crate::render;
use crate::report;
use crate::retrieval::Searched;
use crate::stop::StopToken;
use crate::store::{Store, StoreError};
use crate::toolbox::{CallEnd, DESCRIBE_TARGET, MEASURE_BASELINE, NEEDED_TOOLS, PROFILE_KERNEL, Toolbox};

/// Why a run is paused that somebody stopped.
pub(crate) const STOPPED: &str = "stopped by the user";

/// How much is told of why there is no answer, in characters.
const REASON_CHARACTERS: usize = 200;

/// A run at work.
pub(crate) struct Session<'a> {
    pub(crate) store: Store,
    pub(crate) graph: Graph,
    pub(crate) model: Client,
    pub(crate) tools: Toolbox,
    pub(crate) bindings: Bindings,
    pub(crate) prompts: Prompts,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) stop: StopToken,
    pub(crate) problem: Problem,
    pub(crate) kept: Option<Kept>,
    /// The last search for an opening prompt, and what it found: most steps ask the same.
    pub(crate) searched: Option<Searched>,
    /// What earlier runs proved, once it was asked for.
    pub(crate) recalled: Option<Lessons>,
}

/// What `best.py` was last made from in this session.
pub(crate) struct Kept {
    candidate: CandidateId,
    /// Whether the user's copy of it could not be written.
    lacks_copy: bool,
}

/// The problem as the session needs it.
pub(crate) struct Problem {
    pub(crate) name: String,
    /// The user's file for messages; the run works on its own copy.
    pub(crate) path: PathBuf,
    pub(crate) source: String,
}

/// Why a session ends before its run does.
pub(crate) enum Halt {
    /// Something is wrong.
    Failed(EngineError),
    /// The model is out of reach.
    Paused(String),
    /// The answers come as files.
    Suspended(Vec<PathBuf>),
    /// Somebody stopped it.
    Interrupted,
}

impl<E: Into<EngineError>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The result of everything that a stop, an outage or an error can cut short.
pub(crate) type Flow<T> = Result<T, Halt>;

impl Session<'_> {
    /// Writes an event, takes it into the graph and shows it, in this order.
    pub(crate) fn record(&mut self, event: Event) -> Result<(), EngineError> {
        let record = self.store.append(event)?;
        self.graph.apply(&record).map_err(|source| EngineError::Log { dir: self.store.dir().to_path_buf(), source })?;
        self.observer.event(&record);
        Ok(())
    }

    /// What the run was told to do.
    pub(crate) fn head(&self) -> Result<&RunHead, EngineError> {
        // The store opens no run without events, and the graph accepts none that does not start with this one.
        self.graph.head().ok_or_else(|| StoreError::NoRun { dir: self.store.dir().to_path_buf() }.into())
    }

    /// Works until the run, or this session of it, is over; then ends the servers and writes the report.
    pub(crate) async fn work(mut self) -> Result<Outcome, EngineError> {
        let result = self.drive().await;
        let end = match result {
            Ok(reason) => Ok(End::Finished(reason)),
            Err(Halt::Interrupted) => Ok(End::Interrupted),
            Err(Halt::Paused(reason)) => Ok(End::Paused { reason }),
            Err(Halt::Suspended(waiting)) => Ok(End::Suspended { waiting }),
            Err(Halt::Failed(error)) => Err(error),
        };
        let pause = match &end {
            Ok(End::Finished(_)) => None,
            Ok(End::Interrupted) => Some(STOPPED.to_owned()),
            Ok(End::Paused { reason }) => Some(reason.clone()),
            Ok(End::Suspended { .. }) => Some("waiting for answers in the mailbox".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        let saved = pause.map_or(Ok(()), |reason| self.record(Event::RunPaused { reason })).and_then(|()| self.keep_results());
        let saved = saved.and_then(|()| Ok(self.store.settle()?));
        self.tools.close().await;
        let end = end?;
        saved?;
        Ok(outcome(&self.store, &self.graph, end))
    }

    async fn drive(&mut self) -> Flow<StopReason> {
        self.keep_results()?;
        self.prepare().await?;
        self.warm_start().await?;
        loop {
            self.go_on()?;
            if self.graph.open_step().is_some() {
                self.work_step().await?;
                continue;
            }
            match decide(&self.graph) {
                Move::Step { step, parent, phase } => self.record(Event::StepStarted { step, parent, phase })?,
                Move::Stop(reason) => {
                    self.teach().await?;
                    self.record(Event::RunFinished { outcome: self.graph.outcome(), reason: reason.clone() })?;
                    return Ok(reason);
                }
            }
        }
    }

    /// Asked before anything that takes long: whether somebody stopped the run meanwhile.
    pub(crate) fn go_on(&self) -> Flow<()> {
        if self.stop.is_stopping() { Err(Halt::Interrupted) } else { Ok(()) }
    }

    /// Finds out what the first step has to know.
    async fn prepare(&mut self) -> Flow<()> {
        if self.graph.target.is_none() {
            let description: TargetDescription = self.call_for(DESCRIBE_TARGET).await?;
            self.record(Event::TargetDescribed { description: Box::new(description) })?;
        }
        if self.graph.baseline.is_none() {
            let report: BaselineReport = self.call_for(MEASURE_BASELINE).await?;
            self.record(Event::BaselineMeasured { report: Box::new(report) })?;
        }
        self.profile(None).await
    }

    /// Profiles a node, or the problem, once. That it cannot be had is recorded and no error.
    pub(crate) async fn profile(&mut self, node: Option<NodeId>) -> Flow<()> {
        let Some(tool) = self.tools.find(PROFILE_KERNEL).filter(|_| self.graph.profile(node).is_none()) else { return Ok(()) };
        let draft = match node.and_then(|node| self.graph.node(node)) {
            Some(node) => Some(self.draft_of(&node.candidate.clone())?),
            None => None,
        };
        let Ok(arguments) = self.bindings.bind(&tool.schema, Map::new(), draft.as_ref()) else {
            return Ok(self.record(Event::ProfileFailed { node, reason: "the tool profiles candidates only".to_owned() })?);
        };
        self.go_on()?;
        let output = self.call_tool(PROFILE_KERNEL, arguments).await?;
        let event = match profile_of(output) {
            Ok(profile) => Event::ProfileTaken { node, profile },
            Err(reason) => Event::ProfileFailed { node, reason },
        };
        Ok(self.record(event)?)
    }

    /// A recorded candidate as something to hand to tools.
    pub(crate) fn draft_of(&self, id: &CandidateId) -> Result<Draft, EngineError> {
        Ok(Draft { id: id.clone(), path: self.store.candidate_path(id), source: self.store.candidate(id)? })
    }

    /// Calls a tool that the run cannot do without and reads its result.
    async fn call_for<T: DeserializeOwned>(&mut self, tool: &'static str) -> Flow<T> {
        let schema = self.tools.find(tool).map(|tool| tool.schema.clone()).unwrap_or_default();
        let Ok(arguments) = self.bindings.bind(&schema, Map::new(), None) else {
            let (server, reason) = (self.tools.server_of(tool), "it asks for a candidate".to_owned());
            return Err(EngineError::ToolRefused { server, tool: tool.to_owned(), reason, fix: None }.into());
        };
        self.go_on()?;
        let output = self.call_tool(tool, arguments).await?;
        if output.is_error {
            return Err(self.refused(tool, &output).into());
        }
        Ok(self.parse(tool, output)?)
    }

    /// What to tell of a tool that the run cannot do without and that refused.
    pub(crate) fn refused(&self, tool: &str, output: &ToolOutput) -> EngineError {
        let (reason, fix) = (said(output, "reason").unwrap_or(&output.text).to_owned(), said(output, "fix").map(str::to_owned));
        if said(output, "code").is_some_and(|code| code.starts_with("problem")) {
            return EngineError::Problem { path: self.problem.path.clone(), reason, fix };
        }
        EngineError::ToolRefused { server: self.tools.server_of(tool), tool: tool.to_owned(), reason, fix }
    }

    /// Reads a tool's structured result.
    pub(crate) fn parse<T: DeserializeOwned>(&self, tool: &str, output: ToolOutput) -> Result<T, EngineError> {
        parse_output(output).map_err(|reason| self.not_understood(tool, reason))
    }

    /// A tool's result has not the agreed form.
    pub(crate) fn not_understood(&self, tool: &str, reason: String) -> EngineError {
        let server = self.tools.server_of(tool);
        let log = self.store.server_log(&server);
        ToolServerError { server, what: ServerFailure::NotUnderstood { tool: tool.to_owned(), reason }, log }.into()
    }

    /// Calls a tool. What the server refuses comes back as an error output, and so does the failure of a server that the run can do without.
    pub(crate) async fn call_tool(&mut self, tool: &str, arguments: Map<String, Value>) -> Flow<ToolOutput> {
        match self.try_tool(tool, arguments).await? {
            Ok(output) => Ok(output),
            Err(error) if NEEDED_TOOLS.contains(&tool) => Err(error.into()),
            Err(error) => {
                self.remark(format!("{error}; the run goes on without it. {}", error.hint()));
                Ok(ToolOutput { text: error.to_string(), structured: None, is_error: true })
            }
        }
    }

    /// Asks a tool that the run can do without and reads its answer; the inner error says in a line why there is none.
    pub(crate) async fn consult<T: DeserializeOwned>(&mut self, tool: &str, arguments: Map<String, Value>) -> Flow<Result<T, String>> {
        self.go_on()?;
        let answer = match self.try_tool(tool, arguments).await? {
            Ok(output) if output.is_error => Err(render::shorten(&output.text, REASON_CHARACTERS)),
            Ok(output) => self.parse(tool, output).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        Ok(answer.map_err(|reason| reason.split_whitespace().collect::<Vec<_>>().join(" ")))
    }

    /// Calls a tool and records a restart of its server; the inner error is a server that failed for good.
    async fn try_tool(&mut self, tool: &str, arguments: Map<String, Value>) -> Flow<Result<ToolOutput, ToolServerError>> {
        let mut restarts = Vec::new();
        let result = self.tools.call(tool, arguments, self.observer, &self.stop, &mut restarts).await;
        for restart in restarts {
            self.record(Event::ToolServerRestarted { server: restart.server, reason: restart.reason })?;
        }
        match result {
            Ok(output) => Ok(Ok(output)),
            Err(CallEnd::Refused(reason)) => Ok(Ok(ToolOutput { text: reason, structured: None, is_error: true })),
            Err(CallEnd::Unknown) => Ok(Ok(ToolOutput { text: format!("there is no tool `{tool}`"), structured: None, is_error: true })),
            Err(CallEnd::Failed(error)) => Ok(Err(error)),
            Err(CallEnd::Abandoned) => Err(Halt::Interrupted),
        }
    }

    /// Something worth a line.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.observer.activity(&Activity::Remark { text: text.into() });
    }

    /// Brings `best.py`, the user's copy of it and the report up to what the events say.
    ///
    /// A copy that cannot be written is remarked on once and tried again each time: what was paid for is in the run's folder all the same.
    pub(crate) fn keep_results(&mut self) -> Result<(), EngineError> {
        let output = self.head()?.settings.output.clone();
        let was_told = self.kept.as_ref().is_some_and(|kept| kept.lacks_copy);
        let copied = keep(&mut self.store, &self.graph, output.as_deref(), &mut self.kept)?;
        if let Err(error) = copied
            && !was_told
        {
            self.remark(format!("{error}; the run goes on, and its best kernel is in {}", self.store.best_path().display()));
        }
        Ok(())
    }
}

/// [`Session::keep_results`] for a finished run that needs no session: all that is left to do is the copy, so its failure is an error.
pub(crate) fn keep_results(store: &mut Store, graph: &Graph, output: Option<&Path>, kept: &mut Option<Kept>) -> Result<(), EngineError> {
    Ok(keep(store, graph, output, kept)??)
}

/// The inner error is that of the user's copy.
fn keep(store: &mut Store, graph: &Graph, output: Option<&Path>, kept: &mut Option<Kept>) -> Result<Result<(), StoreError>, StoreError> {
    let mut copied = Ok(());
    if let Some(best) = graph.best() {
        let known = kept.as_ref().filter(|kept| kept.candidate == best.candidate);
        if known.is_none_or(|known| known.lacks_copy) {
            let source = store.candidate(&best.candidate)?;
            if known.is_none() {
                store.keep_best(&source)?;
            }
            copied = output.map_or(Ok(()), |path| write_whole(path, &source));
            *kept = Some(Kept { candidate: best.candidate.clone(), lacks_copy: copied.is_err() });
        }
    }
    store.keep_report(report::render_graph(store.dir(), graph))?;
    Ok(copied)
}

/// What a session returns.
pub(crate) fn outcome(store: &Store, graph: &Graph, end: End) -> Outcome {
    let best = graph.best().map(|attempt| {
        let node = graph.best_node();
        Best {
            node: node.map(|node| node.id),
            candidate: attempt.candidate.clone(),
            evaluation: attempt.evaluation.clone(),
            path: store.best_path(),
            summary: node.map(|node| node.summary.clone()).unwrap_or_default(),
        }
    });
    Outcome {
        run: store.run_id(),
        dir: store.dir().to_path_buf(),
        end,
        found: graph.outcome(),
        best,
        baseline: graph.baseline.clone(),
        spend: graph.spend.clone(),
    }
}

fn profile_of(output: ToolOutput) -> Result<Box<Profile>, String> {
    if output.is_error { Err(output.text) } else { parse_output(output) }
}

fn parse_output<T: DeserializeOwned>(output: ToolOutput) -> Result<T, String> {
    match output.structured {
        Some(value) => serde_json::from_value(value).map_err(|error| error.to_string()),
        None => serde_json::from_str(&output.text).map_err(|error| format!("no structured content, and its text is not it: {error}")),
    }
}

/// A part of a tool's failure, where its server gives it in parts.
pub(crate) fn said<'a>(output: &'a ToolOutput, part: &str) -> Option<&'a str> {
    output.structured.as_ref()?.get("error")?.get(part)?.as_str()
}
