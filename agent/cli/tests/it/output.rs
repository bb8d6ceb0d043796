//! What goes where: results to stdout, the rest to stderr, and settings with their origin.

use std::process::Stdio;

use crate::Desk;

#[test]
fn settings_are_shown_with_their_origin_and_without_secrets() {
    let desk = Desk::new();
    desk.write(
        "kernelwright.toml",
        "[model]\nprovider = \"openai\"\nname = \"house\"\napi_key_env = \"HOUSE_KEY\"\nheaders = { X-Token = \"s3cret\" }\n[budget]\nwall = 90\n",
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
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &[][..]));
}

#[test]
fn the_version_is_one_line() {
    let said = Desk::new().run(&["--version"]);
    assert_eq!(said.stdout, format!("kernelwright {}\n", env!("CARGO_PKG_VERSION")));
}
