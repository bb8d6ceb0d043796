//! What the agent itself takes for a step, read off the event log of a run with recorded answers and real tool servers.
//!
//! A step lasts from its `step_started` to the next step's, or to the end of the run. The time between two records belongs to the later
//! one, and counts as the agent's own unless it was spent on measuring kernels, that is unless the later record is
//!
//! - `candidate_evaluated`, `profile_taken` or `profile_failed`, or
//! - `tool_returned` directly after the `tool_called` of `profile_kernel`.
//!
//! So everything else counts: prompts and their rendering, the knowledge server's searches, reading and writing files, waiting for the
//! disk, events, the report, the agent's own tools. The answers come from a recording and cost nothing, so even the time between a
//! question and its answer is the agent's. Only what it does for a measuring call inside that call is missing: one request over a pipe.
//!
//! A record's time is taken before it is written. What it costs to write one is therefore found with the record that follows.
//!
//! Every step here is one conversation of three questions: a kernel is written and evaluated; passages are searched, the kernel is edited
//! and evaluated again; a note is taken and the step ended. Starting the servers and the baselines come before the first step.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::kernelwright;

/// The conversations. Odd, so that one of them is the median.
const STEPS: usize = 15;

const PROBLEM: &str = "
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1
def get_inputs():
    return [torch.randn(64, 64)]
def get_init_inputs():
    return []
";

/// The agent's own time in a step.
#[derive(Default)]
pub struct Overhead {
    /// Until the first question is put.
    pub opening: Duration,
    /// Until the step is finished.
    pub conversation: Duration,
    /// Until the next step begins.
    pub closing: Duration,
}

impl Overhead {
    pub fn total(&self) -> Duration {
        self.opening + self.conversation + self.closing
    }
}

/// Runs the agent on a tiny problem.
pub fn run(home: &Path) -> Vec<Overhead> {
    let problem = home.join("problem.py");
    fs::write(&problem, PROBLEM).unwrap();
    let recording = home.join("recording.jsonl");
    let answers: Vec<String> = (0..STEPS).flat_map(conversation).map(|answer| format!("{answer}\n")).collect();
    fs::write(&recording, answers.concat()).unwrap();

    let steps = STEPS.to_string();
    let mut command = kernelwright(home);
    command.arg("optimize").arg(&problem).args(["--target", "cpu", "--drafts", "1", "--trials", "1", "--quiet"]);
    command.args(["--steps", &steps, "--stall", &steps, "--model", &format!("replay:{}", recording.display())]);
    command.env("KERNELWRIGHT_EVALUATE_BASELINES", "eager").env("KERNELWRIGHT_PATHS_RUNS", home.join("runs"));
    let output = command.output().unwrap();

    let run = fs::read_dir(home.join("runs")).unwrap().next().unwrap().unwrap().path();
    let log = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts = records.iter().filter(|record| record["type"] == "candidate_evaluated").count();
    assert_eq!(verdicts, 2 * STEPS, "the run went wrong: {}", String::from_utf8_lossy(&output.stderr));
    overheads(&records)
}

/// One step's answers, as records of a run.
fn conversation(step: usize) -> [Value; 3] {
    let source = format!(
        "import torch\n# step {step}, first form\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        \
         return torch.relu(x) + 1\n"
    );
    [
        answer(&[("write_kernel", json!({"source": source})), ("evaluate_kernel", json!({}))]),
        answer(&[
            ("search_knowledge", json!({"query": "vectorize an elementwise loop with AVX-512"})),
            ("edit_kernel", json!({"old": "first form", "new": "second form"})),
            ("evaluate_kernel", json!({})),
        ]),
        answer(&[
            ("take_note", json!({"text": format!("step {step}: both forms take the same time")})),
            ("finish_step", json!({"summary": "Two forms of the same kernel."})),
        ]),
    ]
}

fn answer(calls: &[(&str, Value)]) -> Value {
    let numbered = calls.iter().enumerate();
    let calls =
        numbered.map(|(index, (name, arguments))| json!({"id": format!("call_{index}"), "name": name, "arguments": {"object": arguments}}));
    let calls: Vec<Value> = calls.collect();
    json!({"type": "model_answered", "answer": {"calls": calls, "finish": "tool_calls"}})
}

fn overheads(records: &[Value]) -> Vec<Overhead> {
    let mut steps: Vec<Overhead> = Vec::new();
    let mut part: fn(&mut Overhead) -> &mut Duration = |step| &mut step.opening;
    for pair in records.windows(2) {
        let [before, record] = pair else { continue };
        let kind = record["type"].as_str().unwrap();
        let time = Duration::from_nanos(record["elapsed_ns"].as_u64().unwrap() - before["elapsed_ns"].as_u64().unwrap());
        let profiled = kind == "tool_returned" && before["type"] == "tool_called" && before["tool"] == "profile_kernel";
        let measured = profiled || matches!(kind, "candidate_evaluated" | "profile_taken" | "profile_failed");
        if let Some(step) = steps.last_mut().filter(|_| !measured) {
            *part(step) += time;
        }
        match kind {
            "step_started" => {
                steps.push(Overhead::default());
                part = |step| &mut step.opening;
            }
            "model_asked" => part = |step| &mut step.conversation,
            "step_finished" => part = |step| &mut step.closing,
            _ => {}
        }
    }
    steps
}
