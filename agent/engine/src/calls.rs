//! What the model's tool calls do.

use kernelwright_model::{Arguments, ToolCall, ToolSpec};
use kernelwright_protocol::{Evaluation, Passages, Profile, Verdict};
use kernelwright_search::{Event, StepId};
use serde_json::{Map, Value, json};

use crate::bindings::Draft;
use crate::error::EngineError;
use crate::floor;
use crate::own_tools::{self, OwnCall};
use crate::render;
use crate::session::{Flow, Session, said};
use crate::toolbox::{
    DESCRIBE_TARGET, EVALUATE_KERNEL, FIND_LESSONS, JOB_TOOLS, MEASURE_BASELINE, PROFILE_KERNEL, PROFILING_TOOLS, RATE_LESSONS,
    RECORD_LESSON, SEARCH_KNOWLEDGE,
};

/// The longest tool result the model is told, in characters.
const RESULT_CHARACTERS: usize = 12_000;

/// Why an evaluation could not be made, where no other kernel would change it: the machine is not what it was when the run began. Going on would
/// spend the model's answers on kernels without a verdict.
const OF_THE_MACHINE: [&str; 3] = ["device_unavailable", "python_unusable", "memory_unreadable"];

/// What the model is told about a call.
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) structured: Option<Value>,
}

impl Reply {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, structured: None }
    }

    /// Says that it is an error in the text too: not every provider has a field for that.
    fn error(text: impl AsRef<str>) -> Self {
        Self { text: format!("error: {}", text.as_ref()), is_error: true, structured: None }
    }

    fn about(self, draft: &Draft) -> Self {
        Self { structured: Some(json!({"candidate": draft.id})), ..self }
    }
}

impl Session<'_> {
    /// The tools the model is offered: the agent's own, then the servers', without what the engine does itself.
    pub(crate) fn offered(&self) -> Vec<ToolSpec> {
        let mut specs = own_tools::specs();
        let listed = self.tools.tools().filter(|tool| !is_the_engines(&tool.name));
        for tool in listed {
            if specs.iter().all(|spec| spec.name != tool.name) {
                // How strictly a candidate is judged is not for its author to say.
                let evaluates = tool.name == EVALUATE_KERNEL;
                let parameters =
                    if evaluates { json!({"type": "object", "properties": {}}) } else { Value::Object(self.bindings.hide(&tool.schema)) };
                specs.push(ToolSpec { name: tool.name.clone(), description: tool.description.clone(), parameters });
            }
        }
        specs
    }

    /// Answers a call. Whatever the model got wrong is answered too, in words it can act on.
    pub(crate) async fn reply(&mut self, call: &ToolCall) -> Flow<Reply> {
        let arguments = match &call.arguments {
            Arguments::Object(arguments) => arguments.clone(),
            Arguments::Malformed { reason, .. } => {
                return Ok(Reply::error(format!("{reason}. Nothing was done. Call {} again with one JSON object.", call.name)));
            }
        };
        let name = call.name.as_str();
        if own_tools::is_own(name) {
            return Ok(match own_tools::read(name, &arguments) {
                Ok(own) => self.reply_own(own)?,
                Err(reason) => Reply::error(reason),
            });
        }
        if is_the_engines(name) || self.tools.find(name).is_none() {
            let names: Vec<String> = self.offered().into_iter().map(|spec| spec.name).collect();
            return Ok(Reply::error(format!("there is no tool `{name}`. The tools are: {}.", names.join(", "))));
        }
        if name == EVALUATE_KERNEL { self.reply_evaluate().await } else { self.reply_server(name, arguments).await }
    }

    fn reply_own(&mut self, call: OwnCall) -> Result<Reply, EngineError> {
        match call {
            OwnCall::Write { source } => self.take_draft(&source),
            OwnCall::Edit { old, new } => match self.draft()? {
                None => Ok(Reply::error("there is no draft yet; write one with write_kernel")),
                Some(draft) => match own_tools::edit(&draft.source, &old, &new) {
                    Ok(source) => self.take_draft(&source),
                    Err(reason) => Ok(Reply::error(reason)),
                },
            },
            OwnCall::Read { node: None } => Ok(match self.draft()? {
                Some(draft) => Reply::text(draft.source),
                None => Reply::error("there is no draft yet; write one with write_kernel"),
            }),
            OwnCall::Read { node: Some(id) } => match self.graph.node(id) {
                Some(node) => Ok(Reply::text(self.store.candidate(&node.candidate)?)),
                None => Ok(Reply::error(format!("there is no kernel {id}; the run has {}", self.graph.nodes().len()))),
            },
            OwnCall::Note { text } => {
                let step = self.open()?.id;
                // A session that was killed between the note and this reply has taken it already.
                if !self.graph.notes().iter().any(|note| note.step == step && note.text == text) {
                    self.record(Event::NoteTaken { step, text })?;
                }
                Ok(Reply::text("noted"))
            }
            OwnCall::Finish { .. } => Ok(Reply::text("the step is over")),
        }
    }

    fn take_draft(&mut self, source: &str) -> Result<Reply, EngineError> {
        let id = self.store.keep_candidate(source)?;
        let draft = self.draft_of(&id)?;
        let lines = source.lines().count();
        let known = match self.graph.verdict(&id) {
            Some(known) => format!(" This text has a verdict already: {}", render::headline(known)),
            None => String::new(),
        };
        Ok(Reply::text(format!("the draft is candidate {id}, {lines} lines; not evaluated yet.{known}")).about(&draft))
    }

    async fn reply_evaluate(&mut self) -> Flow<Reply> {
        let Some(draft) = self.draft()? else { return Ok(Reply::error("there is no draft yet; write one with write_kernel")) };
        if let Some(known) = self.graph.verdict(&draft.id) {
            let text = self.verdict(known);
            let again = if self.was_told(&draft)? { "unchanged since its last evaluation\n" } else { "" };
            return Ok(Reply::text(format!("{again}{text}")).about(&draft));
        }
        let budget = &self.head()?.settings.budget;
        if budget.evaluations.is_some_and(|limit| self.graph.spend.evaluations >= limit) {
            return Ok(Reply::error("the budget of evaluations is spent; end the step with finish_step"));
        }
        match self.evaluate(self.open()?.id, &draft).await? {
            Ok(evaluation) => Ok(Reply::text(self.verdict(&evaluation)).about(&draft)),
            Err(reason) => Ok(Reply::error(reason.trim_start_matches("error: "))),
        }
    }

    /// A verdict in words, with how far its time is from the floor.
    fn verdict(&self, evaluation: &Evaluation) -> String {
        let text = render::evaluation(evaluation);
        let Verdict::Correct(correct) = &evaluation.verdict else { return text };
        match (&correct.timing, floor::of(&self.graph)) {
            (Some(timing), Some(floor)) => {
                let ratio = timing.candidate_ns.seconds() / floor.time.seconds();
                format!("{text}\n{ratio:.2} times the floor of {} that moving inputs and outputs once sets", floor.time)
            }
            _ => text,
        }
    }

    /// Whether the model has had this verdict: from an earlier step, or by an earlier call. Its own call, cut short by a kill, is neither.
    fn was_told(&self, draft: &Draft) -> Result<bool, EngineError> {
        let open = self.open()?;
        let here = self.graph.attempts().iter().any(|attempt| attempt.step == open.id && attempt.candidate == draft.id);
        let mut replies = open.turns.iter().flat_map(|turn| &turn.calls).filter(|call| call.tool == EVALUATE_KERNEL);
        let told = replies.any(|call| {
            let about = call.returned.as_ref().and_then(|returned| returned.structured.as_ref()?.get("candidate")?.as_str());
            about == Some(draft.id.as_str())
        });
        Ok(told || !here)
    }

    /// Gets a verdict and records it; the inner error is what the server says where it could give none.
    pub(crate) async fn evaluate(&mut self, step: StepId, draft: &Draft) -> Flow<Result<Evaluation, String>> {
        let schema = self.tools.find(EVALUATE_KERNEL).map(|tool| tool.schema.clone()).unwrap_or_default();
        let Ok(arguments) = self.bindings.bind(&schema, Map::new(), Some(draft)) else { return Ok(Err("there is no draft".to_owned())) };
        let output = self.call_tool(EVALUATE_KERNEL, arguments).await?;
        if output.is_error {
            let is_the_machines = said(&output, "code").is_some_and(|code| OF_THE_MACHINE.contains(&code));
            return if is_the_machines { Err(self.refused(EVALUATE_KERNEL, &output).into()) } else { Ok(Err(output.text)) };
        }
        let evaluation: Evaluation = self.parse(EVALUATE_KERNEL, output)?;
        if evaluation.candidate != draft.id {
            let reason = format!("its verdict is on {}, and {} was asked for", evaluation.candidate, draft.id);
            return Err(self.not_understood(EVALUATE_KERNEL, reason).into());
        }
        let boxed = Box::new(evaluation.clone());
        self.record(Event::CandidateEvaluated { step, candidate: draft.id.clone(), evaluation: boxed })?;
        if self.graph.best().is_some_and(|best| best.candidate == draft.id) {
            self.keep_results()?;
        }
        Ok(Ok(evaluation))
    }

    async fn reply_server(&mut self, name: &str, arguments: Map<String, Value>) -> Flow<Reply> {
        let schema = self.tools.find(name).map(|tool| tool.schema.clone()).unwrap_or_default();
        let draft = self.draft()?;
        let Ok(arguments) = self.bindings.bind(&schema, arguments, draft.as_ref()) else {
            return Ok(Reply::error(format!("{name} needs a draft; write one with write_kernel")));
        };
        let output = self.call_tool(name, arguments).await?;
        if output.is_error {
            return Ok(Reply::error(render::shorten(output.text.trim_start_matches("error: "), RESULT_CHARACTERS)));
        }
        let told = output.structured.as_ref().and_then(|structured| told(name, structured));
        let text = render::shorten(told.as_deref().unwrap_or(&output.text), RESULT_CHARACTERS);
        Ok(Reply { text, is_error: false, structured: output.structured })
    }
}

/// Whether a tool is for the engine to call, and not for the model.
fn is_the_engines(name: &str) -> bool {
    // What a run proved is not for its model to say.
    let lessons = [FIND_LESSONS, RECORD_LESSON, RATE_LESSONS].contains(&name);
    lessons || name == MEASURE_BASELINE || name == DESCRIBE_TARGET || JOB_TOOLS.contains(&name) || PROFILING_TOOLS.contains(&name)
}

/// Known results in fewer words than their JSON.
fn told(tool: &str, structured: &Value) -> Option<String> {
    match tool {
        PROFILE_KERNEL => serde_json::from_value::<Profile>(structured.clone()).ok().map(|profile| render::profile(&profile)),
        SEARCH_KNOWLEDGE => {
            let found: Passages = serde_json::from_value(structured.clone()).ok()?;
            let passages: Vec<String> = found.passages.iter().map(render::passage).collect();
            Some(if passages.is_empty() { "nothing was found".to_owned() } else { passages.join("\n\n") })
        }
        _ => None,
    }
}
