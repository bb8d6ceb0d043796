//! The server under test: a child process that is spoken to in lines of JSON-RPC, as any host would.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use kernelwright_protocol::{Backend, Evaluation, Target};
use kernelwright_tests::adversarial::{PAIRS, TRIALS};
use serde_json::{Value, json};

use crate::Failure;
use crate::plan::Task;

/// How long the server may take over one call: far longer than its own limits.
const PATIENCE: Duration = Duration::from_secs(300);

/// How long it may take to leave once its input is closed.
const FAREWELL: Duration = Duration::from_secs(30);

pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    log: PathBuf,
    asked: u64,
}

impl Server {
    /// Starts it with everything it writes below `home`, and greets it.
    pub fn start(binary: &Path, home: &Path, target: Target) -> Result<Self, Failure> {
        let log = home.join("server.log");
        // Where a machine has not read the files of torch's compiler yet, that is most of a first call. Triton compiles within it as well,
        // and a GPU's context is made there.
        let run_limit = if target.backend == Backend::Cpu { "10s" } else { "15s" };
        let mut command = Command::new(binary);
        command.args(["serve", "evaluate", "--stdio", "--build-limit", "60s", "--run-limit", run_limit, "--time-limit", run_limit]);
        command.arg("--cache").arg(home.join("cache")).env_clear().env("HOME", home).env("TMPDIR", home).current_dir(home);
        command.env("KERNELWRIGHT_PYTHON", kernelwright_tests::python());
        for name in ["PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("the server has no output")?;
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for message in lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut server = Self { child, input, answers, log, asked: 0 };
        let client = json!({"name": "kernelwright-soak", "version": env!("CARGO_PKG_VERSION")});
        server.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}))?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One evaluation; no other has the same text, so that no kept result is the answer.
    pub fn evaluate(&mut self, task: &Task<'_>, number: usize) -> Result<Evaluation, Failure> {
        let arguments = json!({
            "problem_file": task.problem_file,
            "candidate": format!("{}\n# evaluation {number}, question {}\n", task.case.source, self.asked),
            "target": task.target,
            "measure": task.case.timed,
            "trials": TRIALS,
            "baselines": ["eager"],
            "pairs": PAIRS,
            "tf32": task.case.tf32,
            "wait_s": 600,
        });
        let answer = self.ask("tools/call", &json!({"name": "evaluate_kernel", "arguments": arguments}))?;
        if answer["isError"] == true {
            return Err(format!("{}: no verdict: {}", task.case.name, answer["content"]).into());
        }
        Ok(serde_json::from_value(answer["structuredContent"].clone()).map_err(|error| format!("{}: {error}: {answer}", task.case.name))?)
    }

    /// Closes its input, waits until it has left, and says how.
    pub fn end(mut self) -> Result<ExitStatus, Failure> {
        drop(self.input.take());
        let started = Instant::now();
        while started.elapsed() < FAREWELL {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(self.trouble("the server does not end when its input is closed"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let message = match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Err(self.trouble("the server does not answer")),
                Err(RecvTimeoutError::Disconnected) => return Err(self.trouble("the server has left")),
            };
            if message["id"] != self.asked {
                continue;
            }
            return match message.get("result") {
                Some(result) => Ok(result.clone()),
                None => Err(self.trouble(&format!("the server refuses {method}: {}", message["error"]))),
            };
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or("the server's input is closed")?;
        writeln!(input, "{message}")?;
        Ok(input.flush()?)
    }

    fn trouble(&self, what: &str) -> Failure {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<_> = log.lines().rev().take(20).collect();
        format!("{what}; it said:\n{}", last.into_iter().rev().collect::<Vec<_>>().join("\n")).into()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
