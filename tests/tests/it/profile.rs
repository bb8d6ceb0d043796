//! The profile server over stdio, as the agent starts it.

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};

const PROBLEM: &str = r"
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)

def get_inputs():
    return [torch.randn(256, 1024)]

def get_init_inputs():
    return []
";

const CANDIDATE: &str = r#"
import ctypes, subprocess, tempfile
import torch

folder = tempfile.mkdtemp()
with open(f"{folder}/rows.c", "w") as file:
    file.write("""
        #include <math.h>
        void softmax_rows(float *out, const float *in, long rows, long columns) {
            for (long r = 0; r < rows; r++, in += columns, out += columns) {
                float highest = in[0], sum = 0;
                for (long c = 1; c < columns; c++) highest = fmaxf(highest, in[c]);
                for (long c = 0; c < columns; c++) sum += out[c] = expf(in[c] - highest);
                for (long c = 0; c < columns; c++) out[c] /= sum;
            }
        }""")
subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", f"{folder}/rows.so", f"{folder}/rows.c", "-lm"], check=True)
library = ctypes.CDLL(f"{folder}/rows.so")
library.softmax_rows.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
library.softmax_rows.restype = None

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        library.softmax_rows(out.data_ptr(), x.data_ptr(), *x.shape)
        return out
"#;

struct Server {
    client: RunningService<RoleClient, ()>,
    _home: tempfile::TempDir,
}

impl Server {
    async fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = tokio::process::Command::new(kernelwright_tests::binary());
        command.args(["serve", "profile", "--stdio"]).env_clear().current_dir(home.path());
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("KERNELWRIGHT_PYTHON", kernelwright_tests::python());
        let client = ().serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
        Self { client, _home: home }
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let arguments = arguments.as_object().unwrap().clone();
        self.client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
    }

    async fn answer(&self, tool: &'static str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{result:?}");
        result.structured_content.unwrap()
    }

    async fn failure(&self, tool: &'static str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{result:?}");
        result.content[0].as_text().unwrap().text.clone()
    }
}

#[tokio::test]
async fn the_processor_is_described_with_figures_and_their_source() {
    let server = Server::start().await;
    let described = server.answer("describe_target", json!({"target": "cpu"})).await;
    assert_eq!(described["target"], "cpu");
    assert!(described["copy_bytes_per_second"].as_f64().unwrap() > 1e8);
    let facts = described["facts"].as_array().unwrap();
    for (name, source) in [("logical processors", "read"), ("copy bandwidth", "measured"), ("float32 matrix product", "measured")] {
        assert!(facts.iter().any(|fact| fact["name"] == name && fact["source"] == source), "{name} in {facts:?}");
    }
    // Measured once: the very same figures come back, not new ones.
    assert_eq!(server.answer("describe_target", json!({"target": "cpu"})).await, described);
}

#[tokio::test]
async fn a_problem_and_a_candidate_show_where_their_time_goes() {
    let server = Server::start().await;
    let problem = server.answer("profile_kernel", json!({"problem": PROBLEM, "target": "cpu"})).await;
    assert_eq!(problem["kernels"][0]["name"], "aten::_softmax");
    assert!(problem.get("candidate").is_none());

    let profile = server.answer("profile_kernel", json!({"problem": PROBLEM, "candidate": CANDIDATE, "target": "cpu"})).await;
    assert_eq!(profile["kernels"][0]["name"], "ctypes: softmax_rows");
    assert!(profile["candidate"].is_string());
    assert!(profile["limits"][0].as_str().unwrap().starts_with("Taken inside the candidate's own process"), "{profile}");
}

#[tokio::test]
async fn a_profile_is_kept_read_and_compared() {
    let server = Server::start().await;
    let before = server.answer("profile_kernel", json!({"problem": PROBLEM, "target": "cpu"})).await;
    let after = server.answer("profile_kernel", json!({"problem": PROBLEM, "candidate": CANDIDATE, "target": "cpu"})).await;
    assert!(serde_json::to_string(&after).unwrap().len() <= 5_250, "{after}");

    let page = server.answer("read_profile", json!({"id": before["id"], "section": "kernels"})).await;
    assert!(page["lines"][0].as_str().unwrap().ends_with("aten::_softmax"), "{page}");
    let short = &before["id"].as_str().unwrap()[..10];
    assert_eq!(server.answer("read_profile", json!({"id": short, "section": "kernels"})).await, page);
    let failure = server.failure("read_profile", json!({"id": short, "section": "registers"})).await;
    assert!(failure.starts_with("error: no_such_section\n") && failure.contains("kernels"), "{failure}");

    let moved = server.answer("compare_profiles", json!({"before": before["id"], "after": after["id"]})).await;
    let names = |list: &Value| list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let all = [names(&moved["kernels_moved"]), moved.get("kernels_new").map(names).unwrap_or_default()].concat();
    assert!(all.iter().any(|name| name == "ctypes: softmax_rows"), "{moved}");

    let uri = before["resource"].as_str().unwrap();
    let read = server.client.read_resource(rmcp::model::ReadResourceRequestParams::new(uri)).await.unwrap();
    assert!(format!("{read:?}").contains("aten::_softmax"));
}

#[tokio::test]
async fn the_profilers_of_a_target_are_listed_and_other_files_refused() {
    let server = Server::start().await;
    let ladder = server.answer("list_profilers", json!({"target": "cpu"})).await;
    assert!(ladder["profilers"].as_array().unwrap().iter().any(|rung| rung["works"] == true), "{ladder}");
    let failure = server.failure("import_profile", json!({"path": "/nowhere/report.ncu-rep"})).await;
    assert!(failure.contains("fix: "), "{failure}");
}

#[tokio::test]
async fn failures_say_what_and_how_to_go_on() {
    let server = Server::start().await;
    let crash = "import os, torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): os._exit(0)";
    let wrong = "import torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): return x @ x";
    for (arguments, parts) in [
        (json!({"problem": PROBLEM, "target": "cuda:99"}), ["error: no_device", "cuda:99", "fix: "]),
        (json!({"problem": "import torch", "target": "cpu"}), ["error: problem_failed", "Model", "fix: "]),
        (json!({"problem": PROBLEM, "candidate": wrong, "target": "cpu"}), ["error: candidate_failed", "return x @ x", "fix: evaluate"]),
        (json!({"problem": PROBLEM, "candidate": crash, "target": "cpu"}), ["error: process_died", "exit", "fix: "]),
        (json!({"problem_file": "nowhere.py", "target": "cpu"}), ["error: file_unreadable", "nowhere.py", "fix: "]),
        (json!({"target": "cpu"}), ["error: invalid_arguments", "problem_file", "fix: "]),
        (
            json!({"problem": PROBLEM, "target": "cpu", "profiler": "ncu"}),
            ["error: invalid_arguments", "cpu, torch", "fix: leave `profiler` out"],
        ),
    ] {
        let text = server.failure("profile_kernel", arguments).await;
        for part in parts {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }
}
