//! A tool server whose verdicts are written in the candidates themselves: `# speedup: 2.5`, `# wrong`, `# broken`, `# untimed`.
//!
//! It is a real process that speaks MCP over its standard input and output, and it misbehaves on demand:
//! `scripted_tool_server CALLS [die|hang|garble TOOL MARKER|always]`. Every call's tool and candidate are appended to the file CALLS, so that
//! a test can count them. A fault with a MARKER file happens once: the file remembers it over a restart.
//!
//! With the variable LESSONS it also keeps lessons, as lines of the file it names. With EXAMPLES it knows of a kernel, or with `garbled` in it
//! answers what is none. A problem with `# strict` takes no kernel that does not say `# strict` too.

use std::io::Write as _;
use std::path::Path;

use kernelwright_protocol::{
    Baseline, BaselineKind, BaselineReport, ContentHash, Correct, Effect, Entry, EntryKind, Evaluation, Fault, FoundLesson, KernelProfile,
    KernelTime, Lessons, Mismatch, Nanoseconds, NewLesson, NotMeasured, Passage, Passages, Profile, ProfilerKind, RatedLessons,
    RecordedLesson, Sandbox, Target, TargetDescription, TargetFact, Timing, Trials, Verdict,
};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use serde::Serialize;
use serde_json::{Map, Value, json};

struct Scripted {
    calls: String,
    fault: Option<(String, String, String)>,
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let calls = arguments.next().expect("the file to count calls in");
    let fault = arguments.next().map(|kind| (kind, arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default()));
    let running = Scripted { calls, fault }.serve(rmcp::transport::io::stdio()).await.expect("a client");
    let _ = running.waiting().await;
}

impl ServerHandler for Scripted {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str, description: &'static str, properties: Value, required: Value| {
            let schema = json!({"type": "object", "properties": properties, "required": required});
            Tool::new(name, description, schema.as_object().cloned().unwrap_or_default())
        };
        let text = json!({"type": "string"});
        let on_problem = json!({"problem": text, "problem_file": text, "target": text});
        let on_candidate = json!({"problem": text, "problem_file": text, "candidate": text, "candidate_file": text, "target": text});
        let object = json!({"type": "object"});
        let mut tools = vec![
            tool("evaluate_kernel", "Check and time a candidate.", on_candidate.clone(), json!(["target"])),
            tool("measure_baseline", "Time the problem.", on_problem.clone(), json!(["target"])),
            tool("describe_target", "Describe a target.", json!({"target": text}), json!(["target"])),
            tool("profile_kernel", "Say where the time goes.", on_candidate, json!(["target"])),
            tool("search_knowledge", "Find passages.", json!({"query": text}), json!(["query"])),
        ];
        if std::env::var_os("LESSONS").is_some() {
            tools.push(tool("record_lesson", "Keep a lesson.", json!({"change": text, "verdict": object}), json!(["change"])));
            tools.push(tool("find_lessons", "Find lessons.", json!({"subject": object}), json!(["subject"])));
            tools.push(tool("rate_lessons", "Rate lessons.", json!({"lessons": object}), json!(["lessons"])));
        }
        if std::env::var_os("EXAMPLES").is_some() {
            tools.push(tool("read_entry", "Read an entry.", json!({"entry": text}), json!(["entry"])));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.unwrap_or_default();
        let read = |name: &str| arguments.get(name).and_then(Value::as_str).map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let candidate = read("candidate_file");
        self.count(&call.name, candidate.as_deref());
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, 0.5).with_message(format!("working on {}", call.name));
            let _ = context.peer.notify_progress(progress).await;
            // Clients handle notifications beside results: one that comes with its result may be told too late to matter.
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        }
        if let Some(kind) = self.due(&call.name) {
            match kind {
                "die" => std::process::exit(3),
                "hang" => std::future::pending().await,
                "unplug" => return Ok(failure("device_unavailable", "no device cuda:1", "use another machine").into()),
                _ => return Ok(CallToolResult::structured(json!({"nonsense": true})).into()),
            }
        }
        let problem = read("problem_file").unwrap_or_default();
        if problem.contains("# invalid") && call.name == "measure_baseline" {
            return Ok(failure("problem_invalid", "there is no class Model", "define one").into());
        }
        Ok(result(&call.name, &arguments, &problem, candidate.as_deref()).into())
    }
}

impl Scripted {
    fn count(&self, tool: &str, candidate: Option<&str>) {
        let line = format!("{tool} {}\n", candidate.map(|source| ContentHash::of(source).short().to_owned()).unwrap_or_default());
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.calls);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file of calls can be written");
    }

    fn due(&self, tool: &str) -> Option<&str> {
        let (kind, of, marker) = self.fault.as_ref()?;
        let due = of == tool && (marker == "always" || !Path::new(marker).exists());
        if due && marker != "always" {
            std::fs::write(marker, "").expect("the marker can be written");
        }
        due.then_some(kind)
    }
}

fn failure(code: &str, reason: &str, fix: &str) -> CallToolResult {
    let mut error = CallToolResult::error(vec![ContentBlock::text(format!("error: {code}"))]);
    let parts = json!({"code": code, "reason": reason, "fix": fix});
    error.meta = Some(MetaObject(Map::from_iter([("kernelwright/error".to_owned(), parts)])));
    error
}

fn result(tool: &str, arguments: &Map<String, Value>, problem: &str, candidate: Option<&str>) -> CallToolResult {
    match tool {
        "evaluate_kernel" => structured(&evaluation(problem, candidate.unwrap_or_default())),
        "measure_baseline" => structured(&BaselineReport {
            problem: ContentHash::of(problem),
            target: Target::CPU,
            baselines: baselines(),
            inputs: vec!["float32[1024, 1024] contiguous".into()],
            outputs: vec!["float32[1024, 1024] contiguous".into()],
            findings: vec![],
        }),
        "describe_target" => structured(&TargetDescription {
            target: Target::CPU,
            name: "Test CPU".into(),
            arch: "x86_64-avx2".into(),
            memory: None,
            copy_bytes_per_second: Some(10e9),
            matrix_operations_per_second: [].into(),
            facts: vec![TargetFact { name: "cores".into(), value: "2".into(), source: "read".into() }],
            software: vec!["torch 2".into()],
        }),
        "profile_kernel" if candidate.is_some_and(|source| source.contains("# untimed")) => {
            CallToolResult::error(vec![ContentBlock::text("error: this candidate cannot be profiled")])
        }
        "profile_kernel" => structured(&Profile {
            candidate: candidate.map(ContentHash::of),
            target: Some(Target::CPU),
            wall_per_call_ns: Some(Nanoseconds(1_000_000)),
            kernels: vec![KernelProfile::from(KernelTime {
                name: "aten::mm".into(),
                launches_per_call: 1.0,
                time_per_call_ns: Nanoseconds(900_000),
                share: 0.9,
            })],
            ..Profile::new(ProfilerKind::Torch, 3)
        }),
        "search_knowledge" => {
            let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
            let passage = Passage {
                entry: "test/entry".into(),
                heading: "Test".into(),
                kind: EntryKind::Pattern,
                path: "entry.md".into(),
                start_line: 1,
                end_line: 2,
                score: 1.0,
                text: format!("about {query}"),
            };
            let example = |text: &str| Passage {
                entry: "test/kernel".into(),
                kind: EntryKind::Example,
                path: "kernel.py".into(),
                text: text.into(),
                ..passage.clone()
            };
            let examples = std::env::var_os("EXAMPLES").map(|_| [example("the wrapper"), example("its imports")]);
            structured(&Passages { passages: examples.into_iter().flatten().chain([passage.clone()]).collect() })
        }
        "read_entry" if std::env::var("EXAMPLES").is_ok_and(|form| form == "garbled") => structured(&json!({"page": 1})),
        "read_entry" => structured(&Entry {
            id: arguments.get("entry").and_then(Value::as_str).unwrap_or_default().into(),
            title: "A kernel".into(),
            kind: EntryKind::Example,
            sources: vec![],
            text: "the whole kernel".into(),
            next_offset: None,
        }),
        "record_lesson" => structured(&record_lesson(arguments)),
        "find_lessons" => structured(&Lessons { lessons: lessons().iter().map(|line| found(line)).collect() }),
        "rate_lessons" => structured(&RatedLessons { known: 1 }),
        other => CallToolResult::error(vec![ContentBlock::text(format!("error: no tool {other}"))]),
    }
}

/// The lines of the file of lessons.
fn lessons() -> Vec<String> {
    let path = std::env::var("LESSONS").expect("tools for lessons are listed only with a file");
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// As the real server: what is told twice is kept once.
fn record_lesson(arguments: &Map<String, Value>) -> RecordedLesson {
    let new: NewLesson = serde_json::from_value(Value::Object(arguments.clone())).expect("the engine sends what the protocol says");
    let lesson = format!("learnt/{}", new.verdict.candidate);
    let line = format!("{lesson} {}", new.change);
    let mut known = lessons();
    if !known.contains(&line) {
        known.push(line);
        std::fs::write(std::env::var("LESSONS").unwrap_or_default(), known.join("\n") + "\n").expect("the file of lessons can be written");
    }
    RecordedLesson { lesson, effect: Effect::Faster, measurements: 1 }
}

fn found(line: &str) -> FoundLesson {
    let (lesson, text) = line.split_once(' ').unwrap_or((line, ""));
    let (lesson, text, why) = (lesson.to_owned(), text.to_owned(), "the same operators".to_owned());
    FoundLesson { lesson, effect: Effect::Faster, likeness: 0.9, why, shown: 3, helped: 1, text }
}

fn structured(value: &impl Serialize) -> CallToolResult {
    CallToolResult::structured(serde_json::to_value(value).expect("results are JSON"))
}

fn evaluation(problem: &str, candidate: &str) -> Evaluation {
    let trials = || Trials { ran: vec!["problem's distribution".into()], skipped: vec![], timed_calls_verified: 4 };
    let correct = |timing: Option<Timing>, not_measured| {
        Verdict::Correct(Box::new(Correct { trials: trials(), error_over_tolerance: 0.25, timing, not_measured, sets: vec![] }))
    };
    let speedup = candidate.lines().find_map(|line| line.strip_prefix("# speedup: ")).and_then(|number| number.trim().parse::<f64>().ok());
    let fits = !problem.contains("# strict") || candidate.contains("# strict");
    let verdict = if let Some(speedup) = speedup.filter(|_| fits) {
        correct(Some(timing(speedup)), None)
    } else if candidate.contains("# untimed") {
        correct(None, Some(NotMeasured { reason: "correctness only".into() }))
    } else if candidate.contains("# broken") {
        let diagnostics = "line 3: expected ';'".into();
        Verdict::BuildFailed(Fault { phase: "import".into(), summary: "RuntimeError: compiler error".into(), diagnostics, log: None })
    } else {
        let (trial, output, detail) = ("trial 1".into(), "output".into(), "element (0, 0) is 1.0, expected 2.0".into());
        Verdict::Incorrect { mismatches: vec![Mismatch { trial, output, detail, error_over_tolerance: Some(500.0) }], trials: trials() }
    };
    Evaluation {
        problem: ContentHash::of(problem),
        candidate: ContentHash::of(candidate),
        target: Target::CPU,
        verdict,
        findings: vec![],
        deep_check: None,
        sandbox: Sandbox { active: vec!["none: this is a test".into()], missing: vec![] },
        wall_ns: Nanoseconds(1_000_000),
    }
}

fn baselines() -> Vec<Baseline> {
    let time_ns = Some(Nanoseconds(2_000_000));
    vec![Baseline { kind: BaselineKind::Eager, time_ns, spread: Some(0.01), first_call_ns: None, not_measured: None }]
}

fn timing(speedup: f64) -> Timing {
    Timing {
        speedup,
        speedup_low: speedup * 0.95,
        speedup_high: speedup * 1.05,
        candidate_ns: Nanoseconds::from_seconds(2e-3 / speedup),
        candidate_spread: 0.02,
        baseline: BaselineKind::Eager,
        baselines: baselines(),
        pairs: 9,
        calls_per_batch: 4,
        batches_ns: None,
        control: None,
        device_state: None,
        build_ns: Nanoseconds(5_000_000),
        first_call_ns: Nanoseconds(7_000_000),
    }
}
