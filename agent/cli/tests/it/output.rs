//! What goes where: results to stdout, the rest to stderr, and settings with their origin.

use std::process::Stdio;

use crate::Desk;

#[test]
fn settings_are_shown_with_their_origin_and_without_secrets() {
    let desk = Desk::new();
    desk.write(
        "kernelwright.toml",
        "[model]\nprovider = \"openai\"\nname = \"house\"\napi_key_env = \"HOUSE_KEY\"\nbase_url = \"http://me:s3cret@desk:81/v1?key=s3cret\"\nheaders = { X-Token = \"s3cret\" }\n[budget]\nwall = 90\n",
    );
    let mut command = desk.command(&["config", "show"]);
    let said = desk.said(command.env("HOUSE_KEY", "s3cret").env("KERNELWRIGHT_BUDGET_STEPS", "3").env("KERNELWRIGHT_PATHS_RUNS", "/runs"));
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(!said.stdout.contains("s3cret"));
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn settings_for_programs_are_one_object() {
    let said = Desk::new().run(&["config", "show", "--json"]);
    let settings: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(settings["budget.steps"]["value"], 8);
    assert_eq!(settings["budget.steps"]["origin"], "default");
    assert_eq!(settings["evaluate.baselines"]["value"], serde_json::json!(["eager", "compile"]));
}

#[test]
fn knowledge_is_found_from_the_command_line() {
    let said = Desk::new().run(&["knowledge", "search", "softmax", "--json", "-n", "2"]);
    let found: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, found["passages"].as_array().map(Vec::len)), (0, Some(2)));
    assert!(Desk::new().run(&["knowledge", "search", "softmax"]).stdout.to_lowercase().contains("softmax"));
}

#[test]
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        let said = Desk::new().run(&["completions", shell]);
        assert!(said.code == 0 && said.stdout.contains("kernelwright"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let desk = Desk::new();
    let mut child = desk.command(&["completions", "zsh"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), &[][..]));
}

#[test]
fn a_standard_output_that_is_closed_is_no_success() {
    let desk = Desk::new();
    let program = env!("CARGO_BIN_EXE_kernelwright");
    for args in ["config show --json", "suite list", "completions zsh"] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("exec '{program}' {args} >&-")]).current_dir(desk.path()).env_clear().env("HOME", desk.path());
        let said = desk.said(&mut command);
        assert_eq!(said.code, 1, "{args}: {said:?}");
        assert!(said.stderr.starts_with("error: the result cannot be printed: standard output is closed"), "{said:?}");
    }
    let nowhere = desk.command(&["config", "show"]).stdout(Stdio::null()).status().unwrap();
    assert_eq!(nowhere.code(), Some(0), "/dev/null is not the same");
}

#[test]
fn a_candidates_control_sequences_stay_out_of_what_is_printed() {
    let desk = Desk::new();
    desk.write("p.py", "class Model: ...\n");
    desk.write("judge.sh", r#"printf '%s' '{"error": "wrong\r\u001b[2Jcorrect, 99x\nmore \u001b]0;title\u0007"}'"#);
    let args = ["evaluate", "p.py", "p.py", "--target", "cpu", "--evaluator", "sh judge.sh"];
    let said = desk.run(&args);
    assert_eq!(said.code, 11, "{said:?}");
    assert!(said.stdout.starts_with("fails in run: wrong \u{fffd}[2Jcorrect, 99x\n"), "{said:?}");
    assert!(!said.stdout.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    let json: serde_json::Value = serde_json::from_str(&desk.run(&[&args[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(json["diagnostics"], "wrong\r\u{1b}[2Jcorrect, 99x\nmore \u{1b}]0;title\u{7}", "programs get it as it is");
    let suite = desk.run(&["suite", "run", "p.py", "--target", "cpu", "--evaluator", "sh judge.sh"]);
    assert!(suite.code == 11 && !(suite.stdout + &suite.stderr).contains(|c: char| c.is_control() && c != '\n'));
}

#[test]
fn the_version_is_one_line() {
    let said = Desk::new().run(&["--version"]);
    assert_eq!(said.stdout, format!("kernelwright {}\n", env!("CARGO_PKG_VERSION")));
}
