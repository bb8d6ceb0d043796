//! Bad input: what is said, and the exit code. `EXIT` codes are those of the table in `--help`.

use crate::Desk;

const PROBLEM: &str = "class Model: ...\n";

#[test]
fn arguments_that_make_no_command() {
    let desk = Desk::new();
    for args in [&["optimise", "x.py"][..], &["optimize"], &["resume"], &["evaluate", "x.py"], &["optimize", "x.py", "--steps", "many"]] {
        let said = desk.run(args);
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.stderr.starts_with("error: ") && said.stdout.is_empty(), "{said:?}");
    }
}

#[test]
fn a_settings_file_with_a_typing_error() {
    let desk = Desk::new();
    desk.write("kernelwright.toml", "[budget]\nstep = 3\n");
    let said = desk.run(&["config", "show"]);
    assert_eq!(said.code, 2);
    insta::assert_snapshot!(said.stderr, @r"
    error: there is no setting `budget.step`
      where: DESK/kernelwright.toml:2
      hint: did you mean `budget.steps`?
    ");
}

#[test]
fn a_problem_that_is_not_there() {
    let said = Desk::new().run(&["optimize", "missing.py", "--model", "openai:m"]);
    assert_eq!((said.code, said.stdout.as_str()), (20, ""));
    insta::assert_snapshot!(said.stderr, @r"
    error: cannot read the problem: No such file or directory (os error 2)
      where: missing.py
      hint: name a Python file that holds the problem
    ");
}

#[test]
fn an_output_that_cannot_be_written() {
    let desk = Desk::new();
    desk.write("p.py", PROBLEM);
    desk.write("folder/file", "");
    let optimize = |output: &str| desk.run(&["optimize", "p.py", "--model", "mailbox:box", "--output", output]);
    let said = optimize("missing/best.py");
    assert_eq!(said.code, 2);
    insta::assert_snapshot!(said.stderr, @r"
    error: --output cannot be written: its folder is not there
      where: DESK/missing/best.py
      hint: make the folder, or name a file in another one
    ");
    let said = optimize("folder");
    assert_eq!(said.code, 2);
    assert!(said.stderr.starts_with("error: --output cannot be written: it is a folder\n"), "{said:?}");
    assert!(!desk.path().join("kernelwright-runs").exists(), "nothing is left behind");
    let said = optimize("kernelwright-runs/best.py");
    assert!(!said.stderr.contains("--output"), "the run makes the folder of runs: {said:?}");
}

#[test]
fn no_model() {
    let desk = Desk::new();
    desk.write("p.py", PROBLEM);
    let said = desk.run(&["optimize", "p.py"]);
    assert_eq!(said.code, 22);
    insta::assert_snapshot!(said.stderr, @r"
    error: no model is configured
      hint: pass --model openai:NAME or anthropic:NAME, or set [model] provider and name; `--model mailbox:FOLDER` works without network
    ");
}

#[test]
fn no_key() {
    let desk = Desk::new();
    desk.write("p.py", PROBLEM);
    let said = desk.run(&["optimize", "p.py", "--model", "anthropic:m", "--api-key-env", "NO_SUCH_KEY"]);
    assert_eq!(said.code, 22);
    assert!(said.stderr.contains("NO_SUCH_KEY is not set") && said.stderr.contains("hint: "), "{said:?}");
    assert!(!desk.path().join("kernelwright-runs").exists(), "nothing is left behind");
}

#[test]
fn a_model_server_that_is_not_there() {
    let desk = Desk::new();
    desk.write("p.py", PROBLEM);
    // A port that was free a moment ago, on this machine.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let mut command = desk.command(&["optimize", "p.py", "--model", "openai:m", "--base-url", &url]);
    // Longer than the first wait, so that it is asked twice at least.
    let said = desk.said(command.env("KERNELWRIGHT_MODEL_OUTAGE", "1100ms"));
    assert_eq!(said.code, 31, "{said:?}");
    assert!(said.stderr.contains("the model cannot answer, asking again in 1 s: "), "whoever waits is told why: {said:?}");
    assert!(said.stderr.contains("hint: "), "{said:?}");
}

#[test]
fn a_broken_prompt_template() {
    let desk = Desk::new();
    desk.write("p.py", PROBLEM);
    desk.write("prompts/system.md", "{% if %}");
    let said = desk.run(&["optimize", "p.py", "--model", "mailbox:box", "--prompts", "prompts"]);
    assert_eq!(said.code, 2);
    insta::assert_snapshot!(said.stderr, @r"
    error: DESK/prompts/system.md:1: unexpected end of block
      hint: correct the template, or remove it to use the built-in one of the same name
    ");
}

#[test]
fn a_python_that_is_not_there() {
    let desk = Desk::new();
    desk.write("p.py", PROBLEM);
    let said = desk.run(&["evaluate", "p.py", "p.py", "--python", "nowhere/python"]);
    assert_eq!(said.code, 21);
    insta::assert_snapshot!(said.stderr, @r"
    error: no Python interpreter at DESK/nowhere/python (from --python)
      hint: pass --python or set KERNELWRIGHT_PYTHON to a Python with torch; in a checkout of kernelwright `make env` makes one in .venv
    ");
}

#[test]
fn programs_are_told_on_stdout_as_well() {
    let said = Desk::new().run(&["evaluate", "missing.py", "c.py", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, &object["type"], &object["exit_code"]), (20, &"error".into(), &20.into()));
    assert_eq!(object["where"], "missing.py");
}

#[test]
fn programs_are_told_of_arguments_that_make_no_command() {
    let desk = Desk::new();
    for args in [
        &["evaluate", "x.py", "--json"][..],
        &["optimize", "x.py", "--steps", "many", "--json"],
        &["suite", "run", "--json", "--jobs", "0"],
    ] {
        let said = desk.run(args);
        let object: serde_json::Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        assert_eq!((said.code, &object["type"], &object["exit_code"]), (2, &"error".into(), &2.into()));
        assert!(said.stderr.starts_with(&format!("error: {}", object["what"].as_str().unwrap())), "{said:?}");
    }
    assert_eq!(desk.run(&["evaluate", "x.py", "--", "--json"]).stdout, "", "a file may be called so");
    assert_eq!(desk.run(&["evaluate", "--json", "--help"]).code, 0);
}

#[test]
fn an_open_server_without_a_token() {
    let said = Desk::new().run(&["serve", "knowledge", "--http", "0.0.0.0:0"]);
    assert_eq!(said.code, 21);
    assert!(said.stderr.contains("refusing to listen on 0.0.0.0:0 without a token"), "{said:?}");
}
