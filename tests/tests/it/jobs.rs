//! Evaluations as jobs, over stdio, as a host starts the server.

use std::sync::{Arc, Mutex};

use rmcp::handler::client::ClientHandler;
use rmcp::model::{CallToolRequestParams, ClientRequest, ProgressNotificationParam, Request, ServerResult};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};

use crate::support::eventually;

const PROBLEM: &str = r"
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
";

const RIGHT: &str = "
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0) + 1
";

/// Starts a process that can be told by its arguments, and never ends.
fn endless(mark: &str) -> String {
    format!("import subprocess\nsubprocess.run(['sleep', '{mark}'])\n{RIGHT}")
}

/// The same problem with a reference that takes its time, so that it is asked something whenever an evaluation is cancelled.
fn slow() -> String {
    PROBLEM.replace("        return", "        import time; time.sleep(0.3)\n        return")
}

/// A client that keeps what it is told.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl ClientHandler for Listener {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().unwrap().push(progress.message.unwrap_or_default());
    }
}

struct Server {
    client: RunningService<RoleClient, Listener>,
    told: Listener,
    problem: String,
    home: tempfile::TempDir,
}

impl Server {
    async fn start(problem: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = tokio::process::Command::new(kernelwright_tests::binary());
        command.args(["serve", "evaluate", "--stdio"]).env_clear().current_dir(home.path());
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("KERNELWRIGHT_PYTHON", kernelwright_tests::python());
        let told = Listener::default();
        let client = told.clone().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
        Self { client, told, problem: problem.to_owned(), home }
    }

    async fn call(&self, tool: &'static str, arguments: &Value) -> Value {
        let params = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
        let request = ClientRequest::CallToolRequest(Request::new(params));
        let call = self.client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
        let ServerResult::CallToolResult(result) = call.await_response().await.unwrap() else { panic!("no tool result") };
        assert_ne!(result.is_error, Some(true), "{result:?}");
        result.structured_content.unwrap()
    }

    /// Evaluates for correctness; waits for the result unless told otherwise.
    async fn evaluate(&self, candidate: &str, more: Value) -> Value {
        let mut arguments = json!({"problem": self.problem, "candidate": candidate, "measure": false, "trials": 1, "wait_s": 600});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.call("evaluate_kernel", &arguments).await
    }

    /// Starts an evaluation and waits until its candidate's process runs with this mark.
    async fn started(&self, mark: &str) -> Value {
        let running = self.evaluate(&endless(mark), json!({"wait_s": 0})).await;
        assert_eq!(running["status"], "running", "{running}");
        eventually("the candidate's process runs", || runs(mark)).await;
        running["job_id"].clone()
    }

    fn has_been_told(&self, message: &str) -> bool {
        self.told.0.lock().unwrap().iter().any(|told| told.starts_with(message))
    }
}

/// Whether there is a process with this argument.
fn runs(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands.into_iter().any(|command| command.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes()))
}

/// Whether there is a process of something below this folder: our workers are all started from there.
fn runs_below(folder: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok()).any(|command| command.contains(folder))
}

#[tokio::test]
async fn a_cancelled_evaluation_leaves_no_process_and_keeps_the_problem() {
    let mark = format!("{}.25", std::process::id());
    let server = Server::start(PROBLEM).await;
    let job_id = server.started(&mark).await;
    let waited = server.call("get_job", &json!({"job_id": job_id, "wait_s": 1})).await;
    assert_eq!((&waited["status"], &waited["tool"]), (&json!("running"), &json!("evaluate_kernel")));
    let cancelled = server.call("cancel_job", &json!({"job_id": job_id})).await;
    assert_eq!(cancelled["status"], "cancelled");
    assert!(!runs(&mark));

    server.told.0.lock().unwrap().clear();
    let evaluation = server.evaluate(RIGHT, json!({})).await;
    assert_eq!(evaluation["status"], "correct", "{evaluation}");
    assert!(!server.has_been_told("loading the problem"));
    // The same request again is the same verdict, down to the time it took; a fresh one is another.
    assert_eq!(server.evaluate(RIGHT, json!({})).await, evaluation);
    assert_ne!(server.evaluate(RIGHT, json!({"fresh": true})).await["wall_ns"], evaluation["wall_ns"]);
}

#[tokio::test]
async fn a_problem_that_was_asked_something_is_kept_as_well() {
    let mark = format!("{}.5", std::process::id());
    let server = Server::start(&slow()).await;
    let job_id = server.started(&mark).await;
    let cancelled = server.call("cancel_job", &json!({"job_id": job_id})).await;
    assert_eq!((&cancelled["status"], runs(&mark)), (&json!("cancelled"), false));
    server.told.0.lock().unwrap().clear();
    let evaluation = server.evaluate(RIGHT, json!({})).await;
    assert_eq!(evaluation["status"], "correct", "{evaluation}");
    assert!(!server.has_been_told("loading the problem"));
}

#[tokio::test]
async fn a_host_that_leaves_takes_its_jobs_with_it() {
    let mark = format!("{}.75", std::process::id());
    let server = Server::start(PROBLEM).await;
    server.started(&mark).await;
    server.client.cancel().await.unwrap();
    let folder = server.home.path().to_string_lossy().into_owned();
    eventually("no process is left", || !runs(&mark) && !runs_below(&folder)).await;
}
