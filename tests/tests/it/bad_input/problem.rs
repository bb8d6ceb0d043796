//! Problem and candidate files.

use super::{Desk, INCORRECT, PROBLEM, error};

/// Evaluates some candidate on each problem and compares the message's parts, its first words first.
fn check(cases: &[(&str, &str, &[&str])]) {
    let desk = Desk::new();
    desk.write("candidate.py", INCORRECT);
    for (name, problem, parts) in cases {
        desk.write("bad.py", problem);
        let said = desk.said(&mut desk.command(&["evaluate", "bad.py", "candidate.py", "--target", "cpu", "--no-timing"]));
        let error = error(&said, 20);
        assert!(error.starts_with(parts[0]), "{name}: {error}");
        for part in parts[1..].iter().chain(&["\n  where: bad.py", "\n  hint: "]) {
            assert!(error.contains(part), "{name}: {part:?} is missing in {error}");
        }
        assert_eq!(said.stdout, "", "{name}");
    }
}

#[test]
fn files_that_are_no_problem() {
    let no_inputs = &PROBLEM[..PROBLEM.find("def get_inputs").unwrap()];
    check(&[
        (
            "a syntax error",
            "import torch\nclass Model(:\n",
            &["error: the problem is invalid (problem_import): SyntaxError: invalid syntax", "line 2", "class Model(:", "must import"],
        ),
        (
            "an exception",
            "raise RuntimeError('no weights here')",
            &["error: the problem is invalid (problem_import): RuntimeError: no weights here", "line 1, in <module>"],
        ),
        (
            "no Model",
            "import torch",
            &["error: the problem is invalid (problem_shape): the problem file defines no `Model`", "defines a class `Model`"],
        ),
        (
            "no inputs",
            no_inputs,
            &["error: the problem is invalid (problem_shape): the problem file defines no `get_inputs`", "`get_inputs()`"],
        ),
    ]);
}

#[test]
fn inputs_on_no_device() {
    let inputs = |expression: &str| PROBLEM.replace("[torch.randn(64, 64)]", expression);
    check(&[
        (
            "on meta",
            &inputs("[torch.randn(64, 64, device='meta')]"),
            &["error: the problem is invalid (unsupported): `get_inputs` returns a tensor of layout torch.strided on meta"],
        ),
        ("on a GPU that is not there", &inputs("[torch.randn(64, 64, device='cuda:99')]"), &["error: the problem is invalid (", "cuda:99"]),
        (
            "no tensors",
            &inputs("[object()]"),
            &[
                "error: the problem is invalid (unsupported): `get_inputs` returns a value of type builtins.object",
                "must be tensors, numbers",
            ],
        ),
    ]);
}

#[test]
fn files_and_devices_that_are_not_there() {
    let desk = Desk::new();
    desk.write("candidate.py", INCORRECT);
    let said = desk.said(&mut desk.command(&["optimize", "missing.py", "--model", "replay:nowhere"]));
    insta::assert_snapshot!(error(&said, 20), @r"
    error: cannot read the problem: No such file or directory (os error 2)
      where: missing.py
      hint: name a Python file that holds the problem
    ");
    let said = desk.said(&mut desk.command(&["evaluate", "problem.py", "missing.py"]));
    insta::assert_snapshot!(error(&said, 20), @r"
    error: cannot read the candidate: No such file or directory (os error 2)
      where: missing.py
      hint: name a Python file that holds the candidate
    ");
    for verb in [&["evaluate", "problem.py", "candidate.py"][..], &["profile", "problem.py"]] {
        let said = desk.said(&mut desk.command(&[verb, &["--target", "cuda:99"]].concat()));
        let error = error(&said, 21);
        assert!(error.starts_with("error: no device cuda:99: torch sees ") && error.contains("\n  hint: use the target `cpu`"), "{error}");
    }
}

#[test]
fn a_run_on_a_file_that_is_no_problem_asks_the_model_nothing() {
    let desk = Desk::new();
    desk.write("problem.py", "import torch");
    let said = desk.said(&mut desk.optimize(&desk.one_kernel()));
    insta::assert_snapshot!(error(&said, 20), @r"
    error: the problem problem.py cannot be used: the problem is invalid (problem_shape): the problem file defines no `Model`
      hint: a problem file defines a class `Model` or a function `reference`, `get_inputs()` and, if `Model` takes arguments, `get_init_inputs()`
    ");
    assert!(!desk.events().contains(&"model_asked".to_owned()));
    let listed = desk.said(&mut desk.command(&["runs", "show"]));
    assert_eq!(listed.code, Some(0), "{listed:?}");
}
