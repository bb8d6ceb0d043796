//! What earlier runs found: read from their folders at the start of a new one.
//!
//! There may be hundreds of runs, and most are about something else. So a run's problem is looked at first, which is a small file, and its
//! log only when the problems have operators in common; of a log, only the lines that matter are parsed. Nothing is cached, because nothing
//! that is cached can be stale.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use kernelwright_protocol::{Backend, CandidateId, Subject};
use kernelwright_search::{EarlierRun, Event, FORMAT_VERSION, Record, RunId, Seed, Standing, operators};

use crate::store::{LOG, Store, candidate_path, read_text};

/// The newest similar runs whose logs are read; older ones are not looked at.
const MOST_READ: usize = 64;

/// A record's type stands within so many bytes of its line.
const HEAD_BYTES: usize = 256;

/// The events that are read; all others are passed over unparsed.
const READ: [&str; 5] = ["run_started", "target_described", "baseline_measured", "candidate_evaluated", "node_added"];

/// The runs with a verified faster kernel for this problem, or for one that has operators in common with it, the newest first. What cannot
/// be read is passed over: another run's damage is not this one's.
pub(crate) fn earlier_runs(runs_dir: &Path, own: &RunId, problem: &str, backend: Backend) -> Vec<EarlierRun> {
    let this = operators(problem);
    let runs = Store::list(runs_dir).unwrap_or_default().into_iter().filter(|dir| run_id(dir) != *own);
    let similar = runs.filter_map(|dir| {
        let source = read_text(&dir.join("problem.py")).ok()?;
        let theirs = operators(&source);
        (source == problem || theirs.iter().any(|name| this.contains(name))).then_some((dir, theirs))
    });
    similar.take(MOST_READ).filter_map(|(dir, operators)| read(&dir, operators, backend)).collect()
}

/// The text of an earlier run's kernel; nothing when it is not what was evaluated.
pub(crate) fn kernel(runs_dir: &Path, seed: &Seed) -> Option<String> {
    let source = read_text(&candidate_path(&runs_dir.join(&seed.run.0), &seed.candidate)).ok()?;
    (CandidateId::of(&source) == seed.candidate).then_some(source)
}

fn run_id(dir: &Path) -> RunId {
    RunId(dir.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// What a run's log says of its best kernel. A last line that is torn, or still being written, is not there yet.
fn read(dir: &Path, operators: Vec<String>, backend: Backend) -> Option<EarlierRun> {
    let mut subject = Subject { operators, inputs: vec![], backend, arch: String::new() };
    let mut problem = None;
    let mut best: Option<(CandidateId, f64)> = None;
    let mut summaries: Vec<(CandidateId, String)> = vec![];
    for line in BufReader::new(File::open(dir.join(LOG)).ok()?).split(b'\n').map_while(Result::ok).filter(|line| matters(line)) {
        let Ok(Record { v: ..=FORMAT_VERSION, event, .. }) = serde_json::from_slice(&line) else { continue };
        match event {
            Event::RunStarted { target, .. } if target.backend != backend => return None,
            Event::RunStarted { problem: name, .. } => problem = Some(name),
            Event::TargetDescribed { description } => subject.arch = description.arch,
            Event::BaselineMeasured { report } => subject.inputs = report.inputs,
            Event::CandidateEvaluated { candidate, evaluation, .. } => {
                if let Standing::Timed(speedup) = Standing::of(&evaluation)
                    && speedup > best.as_ref().map_or(1.0, |(_, best)| *best)
                {
                    best = Some((candidate, speedup));
                }
            }
            Event::NodeAdded { candidate, summary, .. } => summaries.push((candidate, summary)),
            _ => {}
        }
    }
    let (candidate, speedup) = best?;
    let problem = problem?;
    let summary = summaries.into_iter().find(|(of, _)| *of == candidate).map(|(_, summary)| summary).unwrap_or_default();
    Some(EarlierRun { run: run_id(dir), problem: problem.name, problem_id: problem.id, subject, candidate, speedup, summary })
}

fn matters(line: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&line[..line.len().min(HEAD_BYTES)]);
    let kind = head.split_once("\"type\":\"").and_then(|(_, rest)| rest.split_once('"'));
    kind.is_some_and(|(kind, _)| READ.contains(&kind))
}
