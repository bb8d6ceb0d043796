//! Bad input, every kind of it, as its user meets it: the real executable says what is wrong, where, and what to do, ends with the exit code
//! of its table, and leaves a run that can be gone on with.

mod folder;
mod machine;
mod model;
mod problem;
mod server;
mod settings;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Said, kernelwright, only_run, records, said};

/// A problem as small as they come.
const PROBLEM: &str = "\
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1
def get_inputs():
    return [torch.randn(64, 64)]
def get_init_inputs():
    return []
";

/// A candidate that gets a verdict without being timed: it forgets to add 1.
const INCORRECT: &str = "\
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
";

/// A folder to work in, with a home of its own.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    /// With a problem file `problem.py`.
    fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        desk.write("problem.py", PROBLEM);
        desk
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = kernelwright(self.path());
        command.args(args).env("KERNELWRIGHT_EVALUATE_BASELINES", "eager");
        command
    }

    /// `optimize problem.py` for one step.
    fn optimize(&self, model: &str) -> Command {
        self.command(&["optimize", "problem.py", "--target", "cpu", "--drafts", "1", "--steps", "1", "--model", model])
    }

    fn resume(&self) -> Command {
        self.command(&["resume", "--last"])
    }

    /// A recording in which the model says this, for `--model`.
    fn recording(&self, answers: &[Value]) -> String {
        let line = |answer: &Value| format!("{}\n", json!({"type": "model_answered", "answer": answer}));
        let path = self.write("recording.jsonl", &answers.iter().map(line).collect::<String>());
        format!("replay:{}", path.display())
    }

    /// A model that hands in a kernel which is evaluated and turns out incorrect; the run then ends with exit code 23.
    fn one_kernel(&self) -> String {
        self.recording(&[
            calls(&[("write_kernel", json!({"source": INCORRECT})), ("evaluate_kernel", json!({}))]),
            calls(&[("finish_step", json!({"summary": "one kernel"}))]),
        ])
    }

    /// Runs to the end. What differs from run to run has a name instead: `DESK` and, where there is one run, `RUN`.
    fn said(&self, command: &mut Command) -> Said {
        let Said { code, stdout, stderr } = said(command);
        let runs: Vec<_> = std::fs::read_dir(self.path().join("runs")).into_iter().flatten().flatten().collect();
        let plain = |text: String| {
            let text = text.replace(&self.path().display().to_string(), "DESK");
            runs.iter().fold(text, |text, run| text.replace(&*run.file_name().to_string_lossy(), "RUN"))
        };
        Said { code, stdout: plain(stdout), stderr: plain(stderr) }
    }

    /// The types of the run's events.
    fn events(&self) -> Vec<String> {
        records(&only_run(self.path())).iter().map(|record| record["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Resumes the only run until it knows its target, and no further: enough to show that it goes on.
    fn goes_on(&self) {
        let written = self.events();
        // It is resumed, and each server is noted that was not up before.
        let last = written.len() + if written.iter().any(|kind| kind == "tool_server_started") { 2 } else { 5 };
        let life = self.said(self.resume().env("KERNELWRIGHT_CRASH_AFTER_EVENT", last.to_string()));
        assert_eq!((life.code, self.events().last().map(String::as_str)), (None, Some("target_described")), "{life:?}");
    }

    /// Resumes the only run, which ends without a correct kernel.
    fn ends(&self) {
        let said = self.said(&mut self.resume());
        assert_eq!((said.code, self.events().last().map(String::as_str)), (Some(23), Some("run_finished")), "{said:?}");
        assert_eq!(self.events().iter().filter(|kind| *kind == "candidate_evaluated").count(), 1);
    }
}

/// A recorded answer that calls these tools.
fn calls(calls: &[(&str, Value)]) -> Value {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| json!({"id": format!("call-{index}"), "name": name, "arguments": {"object": arguments}});
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    json!({"calls": calls, "finish": "tool_calls", "model": "recorded"})
}

/// What is said in the end, from `error: ` on, after whatever progress there was.
#[track_caller]
fn error(said: &Said, code: i32) -> &str {
    assert_eq!(said.code, Some(code), "{said:?}");
    let start = if said.stderr.starts_with("error: ") { Some(0) } else { said.stderr.find("\nerror: ").map(|newline| newline + 1) };
    &said.stderr[start.unwrap_or_else(|| panic!("no error is said: {said:?}"))..]
}
