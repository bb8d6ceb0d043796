//! Suites with an evaluator of the user's own: what becomes of problems, candidates and evaluators that cannot be used.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::Value;

use crate::{Desk, Said};

const PROBLEM: &str = "class Model: ...\n";
const CORRECT: &str = r#"echo '{"speedup": 2.0, "original_time": 1.0, "optimized_time": 0.5, "error": null}'"#;

/// A desk with these problem files, no two of which are the same, and a script for an evaluator.
fn desk(problems: &[&str], script: &str) -> Desk {
    let desk = Desk::new();
    for name in problems {
        desk.write(name, &format!("{PROBLEM}# {name}\n"));
    }
    desk.write("judge.sh", script);
    desk
}

fn run(desk: &Desk, args: &[&str]) -> Said {
    desk.run(&[&["suite", "run", "--target", "cpu", "--evaluator", "sh judge.sh"], args].concat())
}

fn lines(said: &Said) -> Vec<Value> {
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Name and status of every result.
fn results(said: &Said) -> Vec<(String, String)> {
    let lines = lines(said);
    let results = lines.iter().filter(|line| line["type"] == "result").map(|line| {
        let status = line["no_verdict"]["status"].as_str().or(line["evaluation"]["status"].as_str());
        (line["name"].as_str().unwrap().to_owned(), status.unwrap().to_owned())
    });
    results.collect()
}

fn are(said: &Said, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|&(name, status)| (name.to_owned(), status.to_owned())).collect();
    assert_eq!(results(said), expected, "{said:?}");
}

#[test]
fn an_evaluator_that_fails_on_one_problem_is_asked_about_the_others_and_about_that_one_again() {
    let desk = desk(&["p/a.py", "p/b.py", "p/c.py"], &format!("if grep -q p/b; then echo broken >&2; exit 3; fi; {CORRECT}\n"));
    let first = run(&desk, &["p", "--json"]);
    assert_eq!(first.code, 11, "{first:?}");
    are(&first, &[("a", "correct"), ("b", "evaluator_failed"), ("c", "correct")]);
    let reason = &lines(&first)[1]["no_verdict"]["reason"];
    assert_eq!(reason, "the evaluator's command failed (exit status: 3): broken", "a log holds no command");
    assert_eq!(lines(&first)[3]["statuses"], serde_json::json!({"correct": 2, "evaluator_failed": 1}));
    desk.write("judge.sh", &format!("{CORRECT}\n"));
    let second = run(&desk, &["p", "--json"]);
    assert!(second.code == 0 && second.stderr.contains("2 of 3 are in"), "{second:?}");
    are(&second, &[("a", "correct"), ("c", "correct"), ("b", "correct")]);
}

#[test]
fn an_evaluator_that_fails_again_and_again_ends_the_run() {
    let names: Vec<String> = (0..20).map(|name| format!("p/{name}.py")).collect();
    let desk = desk(&names.iter().map(String::as_str).collect::<Vec<_>>(), "echo broken >&2; exit 3\n");
    let said = run(&desk, &["p", "--json"]);
    assert_eq!((said.code, results(&said).len()), (21, 5), "{said:?}");
    assert!(said.stderr.contains("error: the evaluator's command `sh judge.sh` failed"), "{said:?}");
    assert!(said.stderr.contains("it was the same on 5 problems in a row"), "{said:?}");
    // Those that failed come last when the same command goes on, or it would never get further.
    desk.write("judge.sh", &format!("if grep -qE 'p/[0-4].py'; then exit 3; fi; {CORRECT}\n"));
    let again = run(&desk, &["p", "--json"]);
    assert_eq!(lines(&again).iter().find(|line| line["type"] == "summary").unwrap()["statuses"]["correct"], 15, "{again:?}");
    desk.write("judge.sh", "echo broken >&2; exit 3\n");
    let few = run(&desk, &["p/1.py", "p/2.py", "--json", "--output", "other.jsonl"]);
    assert_eq!((few.code, results(&few).len()), (21, 2), "no problem got a verdict: {few:?}");
}

#[test]
fn what_concerns_the_machine_ends_the_run_and_names_the_problem_at_which_it_showed() {
    let desk = desk(&["p/a.py", "p/b.py"], "");
    let said = desk.run(&["suite", "run", "p", "--target", "cpu", "--python", "nowhere/python"]);
    assert_eq!(said.code, 21, "{said:?}");
    assert!(
        said.stderr.contains("error: no Python interpreter at DESK/nowhere/python") && said.stderr.contains("it showed at a; "),
        "{said:?}"
    );
}

#[test]
fn problems_of_the_same_stem_have_candidates_of_their_own() {
    let desk = desk(&["a/x.py", "b/x.py"], &format!("if grep -q kernel_of_a; then {CORRECT}; else echo '{{\"error\": \"wrong\"}}'; fi\n"));
    desk.write("ck/a/x.py", "kernel_of_a = 1\n");
    let said = run(&desk, &["a/x.py", "b/x.py", "--candidates", "ck", "--json"]);
    are(&said, &[("a/x", "correct"), ("b/x", "no_candidate")]);
    // One under the bare stem would be anybody's.
    desk.write("ck/x.py", "kernel_of_a = 1\n");
    are(&run(&desk, &["b/x.py", "a/x.py", "--candidates", "ck", "--json", "--fresh"]), &[("b/x", "no_candidate"), ("a/x", "correct")]);
    are(&run(&desk, &["b/x.py", "--candidates", "ck", "--json", "--fresh"]), &[("x", "correct")]);
}

#[test]
fn a_candidate_that_cannot_be_read_is_named_with_the_reason() {
    let desk = desk(&["p/a.py", "p/b.py", "p/c.py", "p/d.py", "p/e.py"], &format!("{CORRECT}\n"));
    desk.write("ck/a.py", "x = 1\n");
    fs::write(desk.path().join("ck/b.py"), [0xff]).unwrap();
    fs::create_dir(desk.path().join("ck/c.py")).unwrap();
    symlink("nowhere", desk.path().join("ck/d.py")).unwrap();
    let said = run(&desk, &["p", "--candidates", "ck", "--json"]);
    assert_eq!(said.code, 11, "{said:?}");
    let unreadable = "candidate_unreadable";
    are(&said, &[("a", "correct"), ("b", unreadable), ("c", unreadable), ("d", unreadable), ("e", "no_candidate")]);
    assert_eq!(lines(&said)[1]["no_verdict"]["where"], "DESK/ck/b.py");
    assert!(said.stderr.contains("b: the candidate cannot be read: stream did not contain valid UTF-8"), "{said:?}");
    desk.write("ck/b.py", "x = 2\n");
    are(&run(&desk, &["p/b.py", "--candidates", "ck", "--json"]), &[("b", "correct")]);
}

#[test]
fn a_problem_that_cannot_be_read_keeps_none_of_the_others() {
    let desk = desk(&["p/a.py", "p/d.py"], &format!("{CORRECT}\n"));
    fs::write(desk.path().join("p/b.py"), [0xff]).unwrap();
    fs::create_dir(desk.path().join("p/c.py")).unwrap();
    let said = run(&desk, &["p", "--json"]);
    assert_eq!(said.code, 11, "{said:?}");
    are(&said, &[("a", "correct"), ("b", "problem_invalid"), ("c", "problem_invalid"), ("d", "correct")]);
    let none = &lines(&said)[1]["no_verdict"];
    assert_eq!(none["where"], "DESK/p/b.py");
    assert_eq!(none["reason"], "the problem file cannot be read: stream did not contain valid UTF-8");
    assert_eq!(desk.run(&["suite", "show", "p/b.py:b"]).code, 20);
}

#[test]
fn what_was_too_slow_is_tried_again_with_more_time() {
    let desk = desk(&["p/a.py"], &format!("sleep 2; {CORRECT}\n"));
    let with = |limit: &str| run(&desk, &["p", "--problem-limit", limit, "--json"]);
    are(&with("200ms"), &[("a", "too_slow")]);
    let same = with("200ms");
    assert!(same.code == 11 && same.stderr.contains("1 of 1 are in"), "{same:?}");
    let longer = with("1m");
    assert_eq!(longer.code, 0, "{longer:?}");
    are(&longer, &[("a", "correct")]);
}

#[test]
fn a_reader_who_leaves_a_suite_does_not_get_a_success() {
    let desk = desk(&["p/1.py", "p/2.py", "p/3.py"], &format!("if grep -q p/2; then sleep 2; fi; {CORRECT}\n"));
    let mut command = desk.command(&["suite", "run", "p", "--target", "cpu", "--evaluator", "sh judge.sh", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(141), "what is judged now");
    assert_eq!(run(&desk, &["p"]).code, 0, "it goes on");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(command.stdout(writer).status().unwrap().code(), Some(141), "what was judged before");
}

#[test]
fn no_jobs_and_no_command_are_mistakes() {
    let desk = desk(&["p/a.py"], "");
    assert_eq!(run(&desk, &["p", "--no-timing", "--jobs", "0"]).code, 2);
    let said = desk.run(&["evaluate", "p/a.py", "p/a.py", "--evaluator", " "]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.starts_with("error: `evaluate.command` has to be a shell command, not ``\n"), "{said:?}");
}
