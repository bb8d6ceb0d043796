//! A second run on a similar problem, over the real executable: it begins with the first run's kernel and is told its lessons.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Said, of_type, only_run, recorded, records, said};

/// What ends a run that has gained anything.
const ENOUGH: [&str; 2] = ["--target-speedup", "1.05"];

/// The recording's problem.
fn first_problem(home: &Path) -> PathBuf {
    recorded::problem(home, "rotary_embedding.py", 2, 512)
}

/// The same operators with other sizes: other texts, other inputs.
fn second_problem(home: &Path) -> PathBuf {
    recorded::problem(home, "longer_rotary.py", 3, 640)
}

fn optimize(home: &Path, problem: &Path, more: &[&str]) -> Command {
    let mut command = recorded::optimize(home, problem, &recorded::replay());
    command.args(more);
    command
}

fn succeeded(said: &Said) {
    assert_eq!(said.code, Some(0), "stdout:\n{}\nstderr:\n{}", said.stdout, said.stderr);
}

/// The newest of two runs.
fn second_run(home: &Path, first: &Path) -> Vec<Value> {
    let runs = std::fs::read_dir(home.join("runs")).unwrap().map(|entry| entry.unwrap().path());
    records(&runs.collect::<Vec<_>>().into_iter().find(|run| run != first).unwrap())
}

#[test]
fn a_second_run_on_a_similar_problem_begins_with_the_firsts_kernel_and_needs_fewer_evaluations() {
    let home = TempDir::new().unwrap();
    // Without a target, the first run does all that it can.
    succeeded(&said(&mut optimize(home.path(), &first_problem(home.path()), &[])));
    let first = only_run(home.path());
    let before = records(&first);
    assert_eq!(of_type(&before, "warm_start")[0]["seeds"], Value::Array(vec![]), "there was nothing to begin with");
    let lessons = of_type(&before, "lesson_recorded");
    assert!(!lessons.is_empty(), "what was proven is kept");
    let kept = home.path().join(".local/share/kernelwright/packs").join("learnt/entries");
    let name = lessons[0]["lesson"].as_str().unwrap().strip_prefix("learnt/").unwrap();
    let page = std::fs::read_to_string(kept.join(format!("{name}.md"))).unwrap();
    assert!(page.contains("kind = \"lesson\"") && page.contains(&first.display().to_string()), "it names its evidence: {page}");

    let warm = said(&mut optimize(home.path(), &second_problem(home.path()), &ENOUGH));
    succeeded(&warm);
    let after = second_run(home.path(), &first);
    let seed = &of_type(&after, "warm_start")[0]["seeds"][0];
    assert_eq!(seed["run"], first.file_name().unwrap().to_str().unwrap());
    assert_eq!(seed["why"], "the same operators, inputs of other sizes, the same architecture");
    let verdicts = of_type(&after, "candidate_evaluated");
    assert_eq!((&verdicts[0]["candidate"], &verdicts[0]["evaluation"]["status"]), (&seed["candidate"], &"correct".into()));
    assert_ne!(verdicts[0]["evaluation"]["problem"], of_type(&before, "candidate_evaluated")[0]["evaluation"]["problem"], "judged anew");
    assert!(verdicts.len() < of_type(&before, "candidate_evaluated").len(), "{} evaluations", verdicts.len());
    assert_eq!(after.last().unwrap()["outcome"], "improved");
    assert!(warm.stderr.contains("beginning with"), "{}", warm.stderr);
}

#[test]
fn a_run_from_nothing_is_told_the_lessons_all_the_same() {
    let home = TempDir::new().unwrap();
    succeeded(&said(&mut optimize(home.path(), &first_problem(home.path()), &ENOUGH)));
    let first = only_run(home.path());
    let cold = [&ENOUGH[..], &["--no-warm-start"]].concat();
    succeeded(&said(&mut optimize(home.path(), &second_problem(home.path()), &cold)));
    let after = second_run(home.path(), &first);
    assert!(of_type(&after, "warm_start").is_empty());
    let before = records(&first);
    let lessons: Vec<Value> = of_type(&before, "lesson_recorded").into_iter().map(|record| record["lesson"].clone()).collect();
    assert_eq!(of_type(&after, "lessons_shown")[0]["lessons"], Value::Array(lessons));
    assert_eq!(of_type(&after, "lessons_rated")[0]["helped"], true, "the kernel written with them in view improved");
}
