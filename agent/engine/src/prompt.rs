//! Puts the operator's prompt together: what the graph knows, in the words of the templates.

use kernelwright_model::{Answer, Finish, Message, Request, ToolChoice};
use kernelwright_prompts::{
    BaselineView, DiagnosisView, FactView, FailureView, FloorView, Form, KernelTimeView, KernelView, LessonView, LineageView, NudgeContext,
    OperatorContext, PassageView, ProblemView, ProfileView, SeedView, SystemContext, TargetView,
};
use kernelwright_protocol::{
    Backend, BaselineReport, Diagnosis, Evaluation, KernelProfile, Nanoseconds, Profile, Severity, Target, TargetDescription, Verdict,
};
use kernelwright_search::{Context, ContextLimits, Graph, Node, Profiled, Seed, Standing, worth_profiling};
use serde_json::Value;

use crate::error::EngineError;
use crate::floor;
use crate::render;
use crate::session::{Flow, Session};
use crate::step::written;

/// How much of a failure's messages is told, in characters.
const DETAILS_CHARACTERS: usize = 2_000;

/// The most expensive kernels of a profile that are told.
const PROFILED_KERNELS: usize = 10;

impl Session<'_> {
    /// The first request of the open step.
    pub(crate) async fn compose(&mut self) -> Flow<Request> {
        let parent = self.open()?.parent;
        if let Some(id) = parent.filter(|id| worth_profiling(&self.graph, *id)) {
            self.profile(Some(id)).await?;
        }
        let passages = self.retrieve().await?;
        let lessons = self.recall().await?;
        let tools = self.offered();
        let system = self.system(tools.iter().map(|tool| tool.name.clone()).collect())?;
        let opening = self.operator(passages, lessons)?;
        Ok(Request {
            system,
            messages: vec![Message::User { text: opening }],
            tools,
            max_output_tokens: None,
            temperature: None,
            tool_choice: ToolChoice::Auto,
        })
    }

    fn system(&self, tools: Vec<String>) -> Result<String, EngineError> {
        let head = self.head()?;
        let context = SystemContext {
            backend: match head.target.backend {
                Backend::Cpu => Form::Cpu,
                Backend::Cuda => Form::Cuda,
            },
            tools,
            inner_turns: head.settings.inner_turns,
            tf32: head.settings.evaluation.get("tf32").and_then(Value::as_bool).unwrap_or(false),
            baselines: head.settings.baselines.iter().map(ToString::to_string).collect(),
        };
        Ok(self.prompts.render(&context)?)
    }

    fn operator(&self, passages: Vec<PassageView>, lessons: Vec<LessonView>) -> Result<String, EngineError> {
        let graph = &self.graph;
        let head = self.head()?;
        let context = Context::select(graph, self.open()?.parent, ContextLimits::default());
        let parent = match context.parent {
            Some(node) => Some(self.kernel_view(node, context.profile)?),
            None => None,
        };
        let budget = head.settings.budget.left(&graph.spend);
        let report = graph.baseline.as_ref();
        let operator = OperatorContext {
            problem: ProblemView {
                name: self.problem.name.clone(),
                source: self.problem.source.clone(),
                inputs: report.map(|report| report.inputs.clone()).unwrap_or_default(),
                outputs: report.map(|report| report.outputs.clone()).unwrap_or_default(),
                findings: report.map(|report| report.findings.iter().map(|finding| finding.message.clone()).collect()).unwrap_or_default(),
            },
            target: target_view(head.target, graph.target.as_ref()),
            baselines: report.map(baseline_views).unwrap_or_default(),
            floor: floor_view(graph),
            problem_profile: taken(graph.profile(None)),
            best: context
                .best
                .filter(|best| context.parent.is_some_and(|parent| parent.id != best.id))
                .map(|node| lineage_view(graph, node)),
            parent,
            ancestors: context.ancestors.iter().map(|node| lineage_view(graph, node)).collect(),
            others: context
                .others
                .iter()
                .filter(|node| context.best.is_none_or(|best| best.id != node.id))
                .map(|node| lineage_view(graph, node))
                .collect(),
            seeds: context.seeds.iter().filter_map(|node| self.seed_view(node).transpose()).collect::<Result<_, _>>()?,
            failures: context.failures.iter().map(|attempt| failure_view(&attempt.evaluation)).collect(),
            notes: context.notes.iter().map(|note| note.text.clone()).collect(),
            passages,
            lessons,
            budget,
            turns: head.settings.inner_turns,
        };
        Ok(self.prompts.render(&operator)?)
    }

    fn kernel_view(&self, node: &Node, profile: Option<&Profiled>) -> Result<KernelView, EngineError> {
        let verdict = self.graph.verdict(&node.candidate);
        Ok(KernelView {
            node: node.id.0,
            source: self.store.candidate(&node.candidate)?,
            correct: self.graph.standing(node) != Standing::Wrong,
            result: verdict.map(render::headline).unwrap_or_default(),
            details: verdict.map(details).unwrap_or_default(),
            findings: verdict.map(findings).unwrap_or_default(),
            summary: node.summary.clone(),
            origin: self.graph.seed(node).map(origin),
            profile: taken(profile),
        })
    }

    /// A kernel of an earlier run that a draft may use, with what is wrong with it here.
    fn seed_view(&self, node: &Node) -> Result<Option<SeedView>, EngineError> {
        let Some(seed) = self.graph.seed(node) else { return Ok(None) };
        let verdict = self.graph.verdict(&node.candidate);
        Ok(Some(SeedView {
            node: node.id.0,
            origin: origin(seed),
            source: self.store.candidate(&node.candidate)?,
            result: verdict.map(render::headline).unwrap_or_default(),
            details: verdict.map(details).unwrap_or_default(),
            summary: node.summary.clone(),
        }))
    }

    /// What to say when an answer calls no tool.
    pub(crate) fn nudge(&self, answer: &Answer) -> Result<String, EngineError> {
        let open = self.open()?;
        let context = NudgeContext {
            turns_left: self.head()?.settings.inner_turns.saturating_sub(open.turns.len() as u32),
            written: written(open).is_some(),
            cut_off: answer.finish == Finish::Length,
            best: self.graph.best_attempt(open.id).map(|attempt| render::headline(&attempt.evaluation)),
        };
        Ok(self.prompts.render(&context)?)
    }
}

fn target_view(target: Target, description: Option<&TargetDescription>) -> TargetView {
    let Some(description) = description else {
        return TargetView { name: target.to_string(), arch: String::new(), facts: vec![], software: vec![] };
    };
    let fact = |name: &str, value: String| FactView { name: name.to_owned(), value };
    let mut facts: Vec<FactView> = Vec::new();
    let said = |name: &str| description.facts.iter().any(|known| known.name == name);
    facts.extend(description.memory.filter(|_| !said("memory")).map(|memory| fact("memory", memory.to_string())));
    let copy = description.copy_bytes_per_second.map(|rate| format!("{:.1} GB/s, bytes read plus bytes written", rate / 1e9));
    facts.extend(copy.filter(|_| !said("copy bandwidth")).map(|rate| fact("copy bandwidth", rate)));
    facts.extend(description.facts.iter().map(|known| fact(&known.name, known.value.clone())));
    TargetView { name: description.name.clone(), arch: description.arch.clone(), facts, software: description.software.clone() }
}

fn baseline_views(report: &BaselineReport) -> Vec<BaselineView> {
    let fastest = report.baselines.iter().filter_map(|baseline| baseline.time_ns).min();
    let view = |baseline: &kernelwright_protocol::Baseline| BaselineView {
        name: baseline.kind.to_string(),
        time: baseline.time_ns.map(|time| time.to_string()),
        reason: baseline.not_measured.as_ref().map(|why| why.reason.clone()),
        fastest: baseline.time_ns.is_some() && baseline.time_ns == fastest,
    };
    report.baselines.iter().map(view).collect()
}

fn floor_view(graph: &Graph) -> Option<FloorView> {
    let report = graph.baseline.as_ref()?;
    let bandwidth = graph.target.as_ref()?.copy_bytes_per_second?;
    let floor = floor::of(graph)?;
    let candidate = graph.best().and_then(|best| match &best.evaluation.verdict {
        Verdict::Correct(correct) => correct.timing.as_ref().map(|timing| timing.candidate_ns),
        _ => None,
    });
    let best: Option<Nanoseconds> = candidate.or_else(|| report.baselines.iter().filter_map(|baseline| baseline.time_ns).min());
    Some(FloorView {
        bytes: floor.bytes.to_string(),
        bandwidth: format!("{:.1} GB/s", bandwidth / 1e9),
        time: floor.time.to_string(),
        ratio: best.map(|best| format!("{:.1}", best.seconds() / floor.time.seconds())),
        is_baselines: candidate.is_none(),
    })
}

fn taken(profile: Option<&Profiled>) -> Option<ProfileView> {
    match profile? {
        Profiled::Taken(profile) => Some(profile_view(profile)),
        Profiled::Failed(_) => None,
    }
}

fn profile_view(profile: &Profile) -> ProfileView {
    let kernel = |kernel: &KernelProfile| KernelTimeView {
        name: render::elide(&kernel.time.name, 120),
        launches: render::plain(kernel.time.launches_per_call),
        time: kernel.time.time_per_call_ns.to_string(),
        share: format!("{:.1} %", kernel.time.share * 100.0),
    };
    let diagnosis = |diagnosis: &Diagnosis| DiagnosisView {
        cause: diagnosis.cause.to_string(),
        kernel: diagnosis.kernel.as_ref().map(|name| render::elide(name, 120)),
        at_stake: format!("{:.0} %", diagnosis.at_stake * 100.0),
        summary: diagnosis.summary.clone(),
        remedies: diagnosis.remedies.iter().map(render::remedy).collect(),
    };
    ProfileView {
        wall: profile.wall_per_call_ns.map(|wall| wall.to_string()),
        id: profile.id.as_ref().map(ToString::to_string),
        profiler: profile.profiler.to_string(),
        headroom: profile.headroom.as_ref().map(render::headroom),
        diagnoses: profile.diagnoses.iter().map(diagnosis).collect(),
        ruled_out: profile.ruled_out.iter().map(render::ruled_out).collect(),
        before: render::before(profile),
        kernels: profile.kernels.iter().take(PROFILED_KERNELS).map(kernel).collect(),
        limits: profile.limits.clone(),
    }
}

/// Where a kernel of an earlier run comes from, and why it is here.
fn origin(seed: &Seed) -> String {
    format!("run {} on {} ({}), where it was at least {:.2}x", seed.run, seed.problem, seed.why, seed.speedup)
}

fn lineage_view(graph: &Graph, node: &Node) -> LineageView {
    let result = graph.verdict(&node.candidate).map(render::headline).unwrap_or_default();
    LineageView { node: node.id.0, result, summary: node.summary.clone() }
}

fn failure_view(evaluation: &Evaluation) -> FailureView {
    FailureView { result: render::headline(evaluation), details: details(evaluation) }
}

/// What a wrong kernel's verdict says beyond its headline.
fn details(evaluation: &Evaluation) -> String {
    let text = match &evaluation.verdict {
        Verdict::BuildFailed(fault) | Verdict::Faulted(fault) => fault.diagnostics.trim().to_owned(),
        Verdict::Incorrect { mismatches, .. } => {
            let lines: Vec<String> = mismatches.iter().map(|m| format!("{}, {}: {}", m.trial, m.output, m.detail)).collect();
            lines.join("\n")
        }
        Verdict::TimedOut(_) | Verdict::Rejected { .. } | Verdict::Correct(_) => String::new(),
    };
    render::shorten(&text, DETAILS_CHARACTERS)
}

/// Rejections are the verdict itself.
fn findings(evaluation: &Evaluation) -> Vec<String> {
    evaluation.findings.iter().filter(|finding| finding.severity != Severity::Rejection).map(|finding| finding.message.clone()).collect()
}
