//! What several tests need: the executable with a clean environment, a finished run's records, and recorded model endpoints.

pub mod endpoint;
pub mod recorded;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use kernelwright_tests::{binary, python, repository};
use serde_json::Value;

/// The executable with nothing of the developer's own settings: an empty home, no keys, the test's own cache of unpacked workers.
pub fn kernelwright(home: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("KERNELWRIGHT_PYTHON", python())
        .env("KERNELWRIGHT_PATHS_RUNS", home.join("runs"))
        .current_dir(home);
    command
}

/// What a finished command said, readable in a failed assertion.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command to its end.
pub fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Said { code: status.code(), stdout: String::from_utf8(stdout).unwrap(), stderr: String::from_utf8(stderr).unwrap() }
}

/// A recording or problem of the repository's tests.
pub fn fixture(path: &str) -> PathBuf {
    repository().join("tests").join(path)
}

/// How long anything may take that comes about by itself, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for what comes about by itself; a test whose condition never holds fails, and says for what it has waited.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited {} s for this: {what}", PATIENCE.as_secs());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The only run folder below `home`.
pub fn only_run(home: &Path) -> PathBuf {
    let mut runs: Vec<PathBuf> = std::fs::read_dir(home.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(runs.len(), 1, "expected one run folder: {runs:?}");
    runs.remove(0)
}

/// The records of a run's event log.
pub fn records(run: &Path) -> Vec<Value> {
    let log = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of one type.
pub fn of_type<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}
