//! Run folders that cannot be used, and reading those that can.

use std::fs::File;

use crate::Desk;

/// The first event of a run, as a current version writes it.
const STARTED: &str = r#"{"v":1,"seq":1,"at":"2026-01-01T12:00:00Z","elapsed_ns":0,"type":"run_started","run":"softmax-20260101-120000-abcd","problem":{"name":"softmax","id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"target":"cpu","settings":{"budget":{"steps":2},"policy":{"kind":"greedy","drafts":1},"inner_turns":20,"baselines":["eager"]}}"#;

const RUN: &str = "softmax-20260101-120000-abcd";

/// A desk with one run that holds this log.
fn with_log(log: &str) -> Desk {
    let desk = Desk::new();
    desk.write(&format!("kernelwright-runs/{RUN}/events.jsonl"), log);
    desk
}

#[test]
fn there_is_no_run() {
    let desk = Desk::new();
    for args in [&["resume", "--last", "--model", "mailbox:box"][..], &["report"], &["runs", "show"], &["report", "no-such-run"]] {
        let said = desk.run(args);
        assert_eq!(said.code, 24, "{args:?}: {said:?}");
        assert!(said.stderr.contains("hint: `kernelwright runs list` shows the runs"), "{said:?}");
    }
    let said = desk.run(&["runs", "list"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", "no runs in DESK/kernelwright-runs\n"));
}

#[test]
fn a_newer_format() {
    let said = with_log(&STARTED.replace("\"v\":1", "\"v\":99")).run(&["resume", "--last", "--model", "mailbox:box"]);
    assert_eq!(said.code, 24);
    insta::assert_snapshot!(said.stderr, @r"
    error: DESK/kernelwright-runs/softmax-20260101-120000-abcd has format 99; this version reads up to 1
      hint: use the version of kernelwright that made the run, or a later one
    ");
}

#[test]
fn another_agent_at_work() {
    let desk = with_log(&format!("{STARTED}\n"));
    let log = File::open(desk.path().join(format!("kernelwright-runs/{RUN}/events.jsonl"))).unwrap();
    log.lock().unwrap();
    let said = desk.run(&["resume", RUN, "--model", "mailbox:box"]);
    assert_eq!(said.code, 24);
    insta::assert_snapshot!(said.stderr, @r"
    error: another kernelwright process is working on DESK/kernelwright-runs/softmax-20260101-120000-abcd
      hint: wait for it or stop it; reading the run with `runs show` or `report` works meanwhile
    ");
    assert_eq!(desk.run(&["runs", "show", RUN]).code, 0, "reading needs no lock");
}

#[test]
fn a_run_goes_on_with_its_own_model_whatever_a_file_names_by_now() {
    let desk = with_log(&format!(
        "{}\n",
        STARTED.replace("\"settings\":{", "\"settings\":{\"model\":{\"provider\":\"mailbox\",\"model\":\"mailbox\",\"path\":\"BOX\"},")
    ));
    let log = desk.path().join(format!("kernelwright-runs/{RUN}/events.jsonl"));
    let text = std::fs::read_to_string(&log).unwrap().replace("BOX", &desk.path().join("box").display().to_string());
    std::fs::write(log, text).unwrap();
    desk.write("kernelwright.toml", "[model]\nprovider = \"openai\"\nname = \"paid\"\napi_key_env = \"PATH\"\n");
    let said = desk.run(&["resume", RUN, "--evaluator", "sh judge.sh", "--config", "kernelwright.toml"]);
    assert!(said.stderr.contains(&format!("{RUN} --evaluator 'sh judge.sh' --config kernelwright.toml\n")), "{said:?}");
    assert!(said.stderr.contains("resumed with mailbox:DESK/box; left: 2 of 2 steps"), "{said:?}");
}

#[test]
fn a_run_is_listed_and_shown() {
    let desk = with_log(&format!("{STARTED}\n"));
    insta::assert_snapshot!(desk.run(&["runs", "list"]).stdout, @"softmax-20260101-120000-abcd                 unfinished           -  0 steps");
    insta::assert_snapshot!(desk.run(&["runs", "show"]).stdout, @r"
    softmax on cpu, unfinished
    folder   DESK/kernelwright-runs/softmax-20260101-120000-abcd
    began    2026-01-01T12:00:00Z
    spent    0 steps, 0 evaluations, 0 tokens, $0.00, 0 ns (0 ns of it evaluating)
    ");
    let shown: serde_json::Value = serde_json::from_str(&desk.run(&["runs", "show", "--json"]).stdout).unwrap();
    assert_eq!((&shown["run"], &shown["state"]), (&RUN.into(), &"unfinished".into()));
    assert!(desk.run(&["report", RUN]).stdout.starts_with("# softmax on cpu\n"));
}

#[test]
fn a_damaged_run_does_not_hide_the_others() {
    let desk = with_log(&format!("{STARTED}\n"));
    desk.write("kernelwright-runs/other-20260101-130000-abcd/events.jsonl", "no record\nno record\n");
    let said = desk.run(&["runs", "list"]);
    assert_eq!((said.code, said.stdout.lines().count()), (0, 2));
    assert!(said.stdout.contains("unreadable: line 1 of "), "{said:?}");
}
