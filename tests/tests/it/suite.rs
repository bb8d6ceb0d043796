//! Suites over the real executable: identity runs, going on where one stopped, and an evaluator of the user's own.

use std::fs;

use serde_json::Value;

use crate::support::{Said, kernelwright, said};

const DOUBLE: &str = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n\
    def get_inputs():\n    return [torch.randn(64)]\n";
const SETS: &str = "import numpy as np\nSHAPES = [(4, 8), (16, 2)]\ndef reference(x):\n    return np.tanh(x)\n\
    def get_inputs(rows, columns):\n    return [np.random.randn(rows, columns).astype(np.float32)]\n";
const BROKEN: &str = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n";
const TRAINING: &str = "import torch\nbackward = True\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        \
    self.linear = torch.nn.Linear(8, 4)\n    def forward(self, x):\n        return torch.relu(self.linear(x))\n\
    def get_inputs():\n    return [torch.randn(16, 8)]\n";

fn run(home: &std::path::Path, args: &[&str]) -> Said {
    said(kernelwright(home).args(["suite", "run", "--target", "cpu"]).args(args))
}

fn lines(said: &Said) -> Vec<Value> {
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn problems_of_every_form_are_right_as_their_own_candidates_and_are_not_judged_twice() {
    let home = tempfile::tempdir().unwrap();
    for (name, text) in [("double.py", DOUBLE), ("sets.py", SETS), ("training.py", TRAINING), ("broken.py", BROKEN)] {
        fs::write(home.path().join(name), text).unwrap();
    }
    let all = ["double.py", "sets.py", "training.py", "broken.py", "--no-timing", "--trials", "2", "--json"];
    let first = run(home.path(), &all[..3].iter().chain(&all[4..]).copied().collect::<Vec<_>>());
    assert_eq!(first.code, Some(0), "{first:?}");
    let second = run(home.path(), &all);
    assert_eq!(second.code, Some(11), "{second:?}");
    let (before, after) = (lines(&first), lines(&second));
    assert_eq!(before[..3], after[..3], "what the log holds is printed, not done again");
    assert_eq!(after[1]["evaluation"]["sets"].as_array().unwrap().len(), 2);
    assert_eq!((&after[3]["no_verdict"]["status"], &after[4]["type"]), (&"problem_invalid".into(), &"summary".into()));
    assert_eq!(after[4]["statuses"], serde_json::json!({"correct": 3, "problem_invalid": 1}));
    assert!(second.stderr.contains("3 of 4 are in"), "{}", second.stderr);
}

#[test]
fn candidates_come_from_a_folder_and_a_wrong_set_is_named() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("sets.py"), SETS).unwrap();
    fs::write(home.path().join("double.py"), DOUBLE).unwrap();
    fs::create_dir(home.path().join("kernels")).unwrap();
    let wrong = "import numpy as np\ndef kernel(x):\n    return np.tanh(x) if x.shape[0] == 4 else x\n";
    fs::write(home.path().join("kernels/sets.py"), wrong).unwrap();
    let said = run(home.path(), &["sets.py", "double.py", "--candidates", "kernels", "--no-timing"]);
    assert_eq!(said.code, Some(11), "{said:?}");
    assert!(said.stdout.contains("sets  incorrect: incorrect: set (16, 2), trial 1"), "{}", said.stdout);
    assert!(said.stdout.contains("double  no_candidate: "), "{}", said.stdout);
}

#[test]
fn a_command_of_the_users_own_takes_the_evaluators_place() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("double.py"), DOUBLE).unwrap();
    let answer = r#"{"speedup": 2.0, "original_time": 1.0, "optimized_time": 0.5, "error": null}"#;
    fs::write(home.path().join("evaluator.sh"), format!("grep -q evolved_code && echo '{answer}'\n")).unwrap();
    let command = ["--evaluator", "sh evaluator.sh"];
    let one = said(kernelwright(home.path()).args(["evaluate", "double.py", "double.py", "--target", "cpu"]).args(command));
    assert_eq!(one.code, Some(0), "{one:?}");
    assert!(one.stdout.starts_with("correct, 2.00x") && one.stdout.contains("nothing of it was checked"), "{}", one.stdout);
    let suite = run(home.path(), &["double.py", "--evaluator", "exit 3"]);
    assert_eq!(suite.code, Some(21), "{suite:?}");
    assert!(suite.stderr.contains("the evaluator's command `exit 3` failed"), "{}", suite.stderr);
}

#[test]
fn a_problem_that_a_server_is_too_slow_on_keeps_none_of_the_others_waiting() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("kernels")).unwrap();
    for (name, kernel) in [("a", "slow"), ("b", "quick"), ("c", "quick")] {
        fs::write(home.path().join(format!("{name}.py")), DOUBLE).unwrap();
        fs::write(home.path().join(format!("kernels/{name}.py")), format!("# {name}: {kernel}\n")).unwrap();
    }
    // What is judged next says whether the slow one is still at work; one that was killed may not have been waited for yet.
    let evaluator = "if grep -q slow; then echo $$ > slow.pid; exec sleep 300; fi\nsleep 1\n\
        case $(cut -d' ' -f3 /proc/$(cat slow.pid)/stat 2>/dev/null) in\n\
        ''|Z|X) echo '{\"error\": null}';;\n*) echo '{\"error\": \"not ended\"}';;\nesac\n";
    fs::write(home.path().join("evaluator.sh"), evaluator).unwrap();
    let program = kernelwright_tests::binary();
    let server = format!("[servers.evaluate]\ncommand = [{program:?}, \"serve\", \"evaluate\", \"--evaluator\", \"sh evaluator.sh\"]\n");
    fs::write(home.path().join("kernelwright.toml"), server).unwrap();
    let said = run(home.path(), &["a.py", "b.py", "c.py", "--candidates", "kernels", "--no-timing", "--problem-limit", "5s", "--json"]);
    let statuses = &lines(&said)[3]["statuses"];
    assert_eq!(*statuses, serde_json::json!({"correct": 2, "too_slow": 1}), "{said:?}");
}

#[test]
fn what_another_evaluator_judged_is_judged_again() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("double.py"), DOUBLE).unwrap();
    let args = ["double.py", "--no-timing", "--trials", "2", "--json"];
    let answer = r#"{"speedup": 2.0, "original_time": 1.0, "optimized_time": 0.5, "error": null}"#;
    let command = format!("TOKEN=sk-4d1f0c echo '{answer}'");
    let theirs = run(home.path(), &[&args[..], &["--evaluator", &command]].concat());
    let ours = run(home.path(), &args);
    assert_eq!((theirs.code, ours.code), (Some(0), Some(0)), "{theirs:?} {ours:?}");
    assert_eq!(lines(&theirs)[0]["judge"], format!("command {}", kernelwright_protocol::ContentHash::of(&command).short()));
    assert!(!theirs.stdout.contains("sk-4d1f0c") && !theirs.stderr.contains("sk-4d1f0c"), "{theirs:?}");
    assert_eq!(lines(&ours)[0]["judge"], format!("kernelwright {}", kernelwright_evaluate::version()));
    assert!(!ours.stderr.contains("already"), "{}", ours.stderr);
    let again = run(home.path(), &args);
    assert!(again.stderr.contains("1 of 1 are in"), "{}", again.stderr);
    assert_eq!(lines(&again), lines(&ours));
}

#[test]
fn what_finds_no_memory_beside_others_is_done_again_alone() {
    let home = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        fs::write(home.path().join(format!("{name}.py")), DOUBLE.replace("x * 2", &format!("x * 2  # {name}"))).unwrap();
    }
    // There is memory for one at a time.
    let script = "cat > /dev/null\nif mkdir taken 2> /dev/null; then\n  sleep 0.5; rmdir taken\n  echo '{\"speedup\": 2.0, \"original_time\": 1.0, \"optimized_time\": 0.5, \"error\": null}'\n\
        else\n  echo refused >> refused\n  echo '{\"error\": \"OutOfMemoryError: CUDA out of memory.\"}'\nfi\n";
    fs::write(home.path().join("evaluator.sh"), script).unwrap();
    let args = ["a.py", "b.py", "c.py", "d.py", "e.py", "--no-timing", "--evaluator", "sh evaluator.sh"];
    let crowded = run(home.path(), &[&args[..], &["--jobs", "3", "--json"]].concat());
    assert!(fs::read_to_string(home.path().join("refused")).is_ok_and(|refused| !refused.is_empty()), "{crowded:?}");
    assert_eq!(crowded.code, Some(0), "{crowded:?}");
    assert!(crowded.stderr.contains("found no memory beside others on the same device: done again, one at a time"), "{}", crowded.stderr);
    assert_eq!(lines(&crowded).iter().filter(|line| line["type"] == "result").count(), 5, "{}", crowded.stdout);
    // Alone, it is the problem's or the candidate's own.
    fs::create_dir(home.path().join("taken")).unwrap();
    let alone = run(home.path(), &[&args[..], &["--jobs", "1", "--fresh"]].concat());
    assert_eq!(alone.code, Some(11), "{alone:?}");
    assert!(alone.stdout.contains("a  faulted: fails in run: OutOfMemoryError"), "{}", alone.stdout);
    assert!(!alone.stderr.contains("done again"), "{}", alone.stderr);
}

#[test]
fn an_mcp_server_takes_the_evaluators_place() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("double.py"), DOUBLE).unwrap();
    // Any server that lists `evaluate_kernel`: this one is ours behind a command.
    let program = kernelwright_tests::binary();
    let settings = format!(
        "[servers.evaluate]\ncommand = [{program:?}, \"serve\", \"evaluate\", \"--evaluator\", \"echo '{{\\\"error\\\": \\\"no\\\"}}'\"]\n"
    );
    fs::write(home.path().join("kernelwright.toml"), settings).unwrap();
    let suite = run(home.path(), &["double.py", "--no-timing"]);
    assert_eq!(suite.code, Some(11), "{suite:?}");
    assert!(suite.stdout.contains("double  faulted: fails in run: no"), "{}", suite.stdout);
}

#[test]
fn lists_are_json_where_that_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let listed = said(kernelwright(home.path()).args(["suite", "list", "--json"]));
    let suites: Vec<Value> = lines(&listed).into_iter().map(|line| line["suite"].clone()).collect();
    assert_eq!((suites, listed.code), (vec!["aten".into(), "kernelbench:PATH".into(), "PATH...".into()], Some(0)));
    fs::write(home.path().join("broken.py"), "def get_inputs():\n    return nowhere\nclass Model: ...\n").unwrap();
    // What Python says of a problem comes with the line, from `compile` as well.
    let compiled = said(kernelwright(home.path()).args(["compile", "broken.py", "broken.py", "--arch", "sm_90"]));
    assert!(compiled.code == Some(20) && compiled.stderr.contains("line "), "{compiled:?}");
}

#[test]
fn a_sample_of_the_aten_operators_is_correct() {
    let home = tempfile::tempdir().unwrap();
    // One of every sort: floating, integer, indices, several outputs, complex ones. The whole suite takes the better part of an hour.
    let names = ["matmul", "bitwise_and", "argmax", "frexp", "fft.rfft"];
    let filter = names.map(|name| format!("={name}")).join(",");
    let said = run(home.path(), &["aten", "--filter", &filter, "--no-timing", "--trials", "3"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("aten: 5 of 5 problems"), "{}", said.stdout);
    let listed = crate::support::said(kernelwright(home.path()).args(["suite", "list", "aten"]));
    assert!(listed.stdout.lines().count() >= 160, "{}", listed.stdout.lines().count());
}
