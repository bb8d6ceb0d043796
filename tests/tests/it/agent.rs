//! Whole runs of the agent with recorded model answers: everything but the model's words is live.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::endpoint::{Endpoint, Wire};
use crate::support::{Said, fixture, kernelwright, of_type, only_run, recorded, records, said};

/// The recording's problem, in its sizes.
fn problem(home: &Path) -> PathBuf {
    recorded::problem(home, "rotary_embedding.py", 2, 512)
}

fn optimize(home: &Path, model: &str) -> Command {
    recorded::optimize(home, &problem(home), model)
}

/// What a run decided, without the times that differ from run to run: its nodes, and every verdict's candidate and status.
fn decisions(records: &[Value]) -> (Vec<Value>, Vec<(Value, Value)>) {
    let pick =
        |record: &Value| serde_json::json!([record["node"], record["parent"], record["step"], record["candidate"], record["status"]]);
    let nodes = of_type(records, "node_added").into_iter().map(pick).collect();
    let verdict = |record: &Value| (record["candidate"].clone(), record["evaluation"]["status"].clone());
    (nodes, of_type(records, "candidate_evaluated").into_iter().map(verdict).collect())
}

fn succeeded(said: &Said) {
    assert_eq!(said.code, Some(0), "stdout:\n{}\nstderr:\n{}", said.stdout, said.stderr);
}

#[test]
fn a_replayed_run_finds_a_verified_kernel_that_can_be_used() {
    let home = TempDir::new().unwrap();
    succeeded(&said(&mut optimize(home.path(), &recorded::replay())));
    let run = only_run(home.path());
    let records = records(&run);
    assert_eq!(records.last().unwrap()["outcome"], "improved");
    // What the folder offers is what was evaluated, to the letter.
    let best = std::fs::read(run.join("best.py")).unwrap();
    let hash = kernelwright_protocol::ContentHash::of(&best);
    let evaluated = of_type(&records, "candidate_evaluated");
    let verdict = evaluated.iter().find(|record| record["candidate"] == hash.as_str()).expect("best.py was evaluated");
    assert_eq!(verdict["evaluation"]["status"], "correct");
    let report = std::fs::read_to_string(run.join("report.md")).unwrap();
    assert!(report.contains(hash.short()), "{report}");
    // A second look at the emitted file agrees.
    let mut evaluate = kernelwright(home.path());
    evaluate.arg("evaluate").arg(problem(home.path())).arg(run.join("best.py")).args(["--target", "cpu", "--baselines", "eager", "--json"]);
    let again = said(&mut evaluate);
    succeeded(&again);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&again["status"], &again["candidate"]), (&"correct".into(), &hash.as_str().into()));
}

#[test]
fn a_run_killed_after_every_event_ends_with_the_same_graph() {
    let home = TempDir::new().unwrap();
    succeeded(&said(&mut optimize(home.path(), &recorded::replay())));
    let expected = decisions(&records(&only_run(home.path())));

    let home = TempDir::new().unwrap();
    let first = said(optimize(home.path(), &recorded::replay()).env("KERNELWRIGHT_CRASH_AFTER_EVENT", "1"));
    assert_eq!(first.code, None, "killed by a signal: {first:?}");
    let run = only_run(home.path());
    let mut kills = 1;
    loop {
        // Each life adds the event that it was resumed, and one more.
        let written = records(&run).len();
        let mut resume = kernelwright(home.path());
        resume.arg("resume").arg(&run).env("KERNELWRIGHT_CRASH_AFTER_EVENT", (written + 2).to_string());
        resume.env("KERNELWRIGHT_EVALUATE_BASELINES", "eager");
        let life = said(&mut resume);
        if life.code.is_some() {
            succeeded(&life);
            break;
        }
        kills += 1;
        assert!(kills < 1000, "the run does not come to an end: {life:?}");
    }
    let records = records(&run);
    assert!(kills > 20, "only {kills} kills in {} events", records.len());
    assert_eq!(decisions(&records), expected);
    let verdicts = decisions(&records).1;
    let distinct: BTreeSet<String> = verdicts.iter().map(|(candidate, _)| candidate.to_string()).collect();
    assert_eq!(distinct.len(), verdicts.len(), "a candidate was evaluated twice");
    let asks: Vec<_> = of_type(&records, "model_answered").into_iter().map(|record| record["ask"].clone()).collect();
    let distinct: BTreeSet<String> = asks.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), asks.len(), "an answered question was asked again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_openai_compatible_endpoint_leads_to_the_same_kernel() {
    run_against(Wire::OpenAi).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anthropic_endpoint_leads_to_the_same_kernel() {
    run_against(Wire::Anthropic).await;
}

async fn run_against(wire: Wire) {
    const KEY: &str = "sk-test-3f9a1c7e5b";
    let home = TempDir::new().unwrap();
    let endpoint = Endpoint::serve(&fixture(recorded::RECORDING), wire).await;
    let model = match wire {
        Wire::OpenAi => "openai:recorded",
        Wire::Anthropic => "anthropic:recorded",
    };
    let mut command = optimize(home.path(), model);
    command.args(["--base-url", &endpoint.base_url(), "--api-key-env", "TEST_KEY"]).env("TEST_KEY", KEY);
    let said = tokio::task::spawn_blocking(move || said(&mut command)).await.unwrap();
    succeeded(&said);
    let run = only_run(home.path());
    let expected: Vec<Value> =
        std::fs::read_to_string(fixture(recorded::RECORDING)).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let candidates = |records: &[Value]| of_type(records, "node_added").iter().map(|r| r["candidate"].clone()).collect::<Vec<_>>();
    assert_eq!(candidates(&records(&run)), candidates(&expected));
    assert!(!endpoint.requests().is_empty());
    no_file_contains(&run, KEY);
    assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY));
}

fn no_file_contains(folder: &Path, secret: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_file_contains(&path, secret);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{} holds the key", path.display());
        }
    }
}
