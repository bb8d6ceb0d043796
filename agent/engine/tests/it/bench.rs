//! Where the tests set up a run: a folder, a scripted tool server, and the model's answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_engine::{
    Activity, EngineError, Launch, Observer, Outcome, Overrides, ProblemSource, ResumeRequest, Run, RunRequest, ServerSpec, Setup,
    StopToken, optimize, resume,
};
use kernelwright_model::{ClientSettings, ReplaySettings};
use kernelwright_protocol::{BaselineKind, Target};
use kernelwright_search::{Budget, Event, Policy, Record, StopRules};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with everything a run needs.
pub struct Bench {
    pub folder: TempDir,
    pub request: RunRequest,
}

impl Bench {
    /// A run of two steps, one of them a draft, in which the model gives these answers.
    pub fn new(answers: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("answers.jsonl");
        let lines: Vec<String> = answers.iter().map(|answer| json!({"type": "model_answered", "answer": answer}).to_string()).collect();
        std::fs::write(&recording, lines.join("\n") + "\n").unwrap();
        let request = RunRequest {
            problem: ProblemSource { path: "scale.py".into(), name: "scale".into(), source: "# torch.diag(A) @ B\n".into() },
            target: Target::CPU,
            budget: Budget { steps: Some(2), ..Budget::default() },
            stop_rules: StopRules::default(),
            policy: Policy::Greedy { drafts: 1 },
            inner_turns: 8,
            seeds: 0,
            profile_share: None,
            baselines: vec![BaselineKind::Eager],
            evaluation: serde_json::Map::new(),
            runs_dir: folder.path().join("runs"),
            output: None,
            setup: Setup {
                model: ClientSettings::Replay(ReplaySettings { path: recording }),
                servers: vec![server(folder.path(), &[])],
                prompts_dir: None,
            },
        };
        Self { folder, request }
    }

    /// Makes the tool server misbehave: `die`, `hang` or `garble`, during this tool, once or always.
    pub fn with_fault(mut self, kind: &str, tool: &str, how_often: HowOften) -> Self {
        let marker = match how_often {
            HowOften::Once => self.folder.path().join("marker").to_string_lossy().into_owned(),
            HowOften::Always => "always".to_owned(),
        };
        self.request.setup.servers = vec![server(self.folder.path(), &[kind, tool, &marker])];
        self
    }

    /// Lets it keep lessons, in this file.
    pub fn with_lessons(mut self, file: &Path) -> Self {
        for server in &mut self.request.setup.servers {
            let Launch::Spawn { env, .. } = &mut server.launch;
            env.push(("LESSONS".into(), file.to_string_lossy().into_owned()));
        }
        self
    }

    /// Lets it know of an example kernel, which it tells `whole` or `garbled`.
    pub fn with_examples(mut self, form: &str) -> Self {
        for server in &mut self.request.setup.servers {
            let Launch::Spawn { env, .. } = &mut server.launch;
            env.push(("EXAMPLES".into(), form.into()));
        }
        self
    }

    /// Makes it behave again.
    pub fn without_fault(mut self) -> Self {
        self.request.setup.servers = vec![server(self.folder.path(), &[])];
        self
    }

    pub async fn optimize(&self, watcher: &mut Watcher) -> Result<Outcome, EngineError> {
        let stop = watcher.stop.clone();
        optimize(self.request.clone(), watcher, stop).await
    }

    pub async fn resume(&self, run_dir: &Path, overrides: Overrides, watcher: &mut Watcher) -> Result<Outcome, EngineError> {
        let request = ResumeRequest { run_dir: run_dir.to_path_buf(), overrides, setup: self.request.setup.clone() };
        let stop = watcher.stop.clone();
        resume(request, watcher, stop).await
    }

    /// The lines `tool candidate` of every call the server got.
    pub fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// The candidates that were really evaluated.
    pub fn evaluated(&self) -> Vec<String> {
        self.calls().iter().filter_map(|line| line.strip_prefix("evaluate_kernel ")).map(str::to_owned).collect()
    }
}

#[derive(Clone, Copy)]
pub enum HowOften {
    Once,
    Always,
}

fn server(folder: &Path, fault: &[&str]) -> ServerSpec {
    let mut args = vec![folder.join("calls").to_string_lossy().into_owned()];
    args.extend(fault.iter().map(ToString::to_string));
    ServerSpec {
        name: "scripted".into(),
        launch: Launch::Spawn { program: scripted_tool_server(), args, env: vec![] },
        idle_timeout: Duration::from_secs(60),
        total_timeout: Duration::from_secs(120),
        leave_out: vec![],
        secrets: vec![],
    }
}

/// The example that this crate builds beside its tests.
fn scripted_tool_server() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/scripted_tool_server");
    assert!(program.is_file(), "{} is missing: `cargo test` and `cargo nextest run` build it", program.display());
    program
}

/// Keeps what it is told, and stops the run when a condition on an event holds.
#[derive(Default)]
pub struct Watcher {
    pub records: Vec<Record>,
    pub activities: Vec<Activity>,
    pub stop: StopToken,
    pub stop_when: Option<fn(&Event) -> bool>,
}

impl Observer for Watcher {
    fn event(&mut self, record: &Record) {
        if self.stop_when.is_some_and(|stop| stop(&record.event)) {
            self.stop.save_and_stop();
        }
        self.records.push(record.clone());
    }

    fn activity(&mut self, activity: &Activity) {
        self.activities.push(activity.clone());
    }
}

/// An answer that calls these tools.
pub fn calls(calls: &[(&str, Value)]) -> Value {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let call = |(name, arguments): &(&str, Value)| {
        let id = format!("call_{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        // A string stands for arguments that are no JSON object.
        let arguments = match arguments {
            Value::String(text) => json!({"malformed": {"text": text, "reason": "the arguments are not valid JSON: EOF"}}),
            object => json!({"object": object}),
        };
        json!({"id": id, "name": name, "arguments": arguments})
    };
    let calls: Vec<Value> = calls.iter().map(call).collect();
    json!({"calls": calls, "finish": "tool_calls", "usage": {"input": 100, "output": 20}, "model": "test"})
}

/// An answer of words alone.
pub fn words(text: &str) -> Value {
    json!({"text": text, "finish": "stop", "usage": {"input": 100, "output": 20}, "model": "test"})
}

/// An answer that writes a kernel and evaluates it.
pub fn attempt(source: &str) -> Value {
    calls(&[("write_kernel", json!({"source": source})), ("evaluate_kernel", json!({}))])
}

/// An answer that ends the step.
pub fn finish(summary: &str) -> Value {
    calls(&[("finish_step", json!({"summary": summary}))])
}

/// What the model was told in reply to its tool calls, in order.
pub fn replies(watcher: &Watcher) -> Vec<(String, String)> {
    let mut tools: Vec<String> = Vec::new();
    let mut replies = Vec::new();
    for record in &watcher.records {
        match &record.event {
            Event::ToolCalled { tool, .. } => tools.push(tool.clone()),
            Event::ToolReturned { text, .. } => replies.push((tools.last().cloned().unwrap_or_default(), text.clone())),
            _ => {}
        }
    }
    replies
}

/// The finished graph of a run, without what differs from one session to another: what a resume must not change.
pub fn essence(dir: &Path) -> String {
    let graph = Run::load(dir).unwrap().graph;
    let attempts: Vec<_> = graph.attempts().iter().map(|a| (a.step, a.candidate.clone(), a.evaluation.verdict.status())).collect();
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{attempts:#?}\n{:?}\n{:?}\n{:?}",
        graph.nodes(),
        graph.steps(),
        graph.notes(),
        graph.finished,
        graph.best().map(|best| &best.candidate),
        (graph.spend.steps, graph.spend.answers, graph.spend.evaluations, graph.spend.usage)
    )
}
