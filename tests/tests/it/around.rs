//! Workers that another program runs as its child, as a profiler does.

use std::time::Duration;

use kernelwright_harness::{
    Interpreter, Launch, Package, Role, Scratch, Worker, WorkerLog,
    sandbox::{self, Around},
    supervise,
};
use kernelwright_protocol::Backend;
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test]
async fn a_program_around_a_worker_hands_the_channel_on_and_has_its_say_after_it() {
    supervise();
    let cache = tempfile::tempdir().unwrap();
    let interpreter = Interpreter::probe(&kernelwright_tests::python(), "test").unwrap();
    let package = Package::unpack(cache.path()).unwrap();
    let scratch = Scratch::new(cache.path()).unwrap();
    let reports = tempfile::tempdir().unwrap();
    let folder = reports.path().display().to_string();
    // It ends a while after the worker, as one that still has to write a report.
    let around = ["/bin/sh", "-c", "\"$@\"; code=$?; sleep 0.3; echo \"ended with $code\" > \"$0/report\"", &folder];
    let launch = Launch {
        role: Role::ProfileCandidate,
        interpreter: &interpreter,
        package: &package,
        helper: kernelwright_tests::binary(),
        around: Some(Around {
            command: around.map(str::to_owned).to_vec(),
            readable: vec![],
            writable: vec![reports.path().to_path_buf()],
        }),
        backend: Backend::Cpu,
        threads: 1,
        readable: vec![],
        limits: sandbox::Limits::default(),
        variables: vec![],
        log: WorkerLog::at(cache.path().join("worker.log")),
        scratch,
    };
    let mut worker = Worker::launch(launch, LIMIT).await.unwrap();
    let problem =
        "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x): return x + 1\ndef get_inputs(): return [torch.ones(8)]\n";
    let forging = format!("{}try: open({folder:?} + '/forged', 'w')\nexcept OSError: pass\n", problem.replace("Model", "ModelNew"));
    let fields = json!({"problem": problem, "candidate": forging, "device": "cpu", "threads": 1});
    assert!(worker.ask("load", fields, &[], LIMIT).await.unwrap().ok["calls"].as_u64().unwrap() > 0);
    let is_confined = worker.sandbox().active.iter().any(|layer| layer == "landlock");
    let _scratch = worker.leave(LIMIT).await;
    assert_eq!(std::fs::read_to_string(reports.path().join("report")).unwrap(), "ended with 0\n");
    assert_eq!(reports.path().join("forged").exists(), !is_confined, "only the program around it may write there");
}
