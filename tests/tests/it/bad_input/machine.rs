//! Machines that lack something: torch, a compiler.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{Desk, INCORRECT, error};

impl Desk {
    /// A folder for `PATH` in which there is no compiler, nor anything else.
    fn nothing(&self) -> PathBuf {
        let folder = self.path().join("nothing");
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    /// A Python of its own, without torch.
    fn bare_python(&self) -> PathBuf {
        let folder = self.path().join("bare");
        let made = Command::new(kernelwright_tests::python()).args(["-m", "venv", "--without-pip"]).arg(&folder).status().unwrap();
        assert!(made.success());
        folder.join("bin/python")
    }
}

#[test]
fn a_python_without_torch() {
    let desk = Desk::new();
    desk.write("candidate.py", INCORRECT);
    let bare = desk.bare_python();
    let said = desk.said(desk.command(&["evaluate", "problem.py", "candidate.py"]).env("KERNELWRIGHT_PYTHON", &bare));
    let evaluated = error(&said, 21);
    assert!(evaluated.starts_with("error: DESK/bare/bin/python (Python 3.") && evaluated.contains(") has no torch\n"), "{evaluated}");
    assert!(evaluated.contains("\n  hint: install torch into this interpreter, or name another"), "{evaluated}");

    let said = desk.said(desk.optimize(&desk.one_kernel()).env("KERNELWRIGHT_PYTHON", &bare));
    let ended = error(&said, 21);
    assert!(ended.starts_with("error: describe_target of the tool server `profile` failed: DESK/bare/bin/python"), "{ended}");
    assert!(ended.contains("has no torch\n  hint: install torch") && ended.contains("kernelwright resume DESK/runs/RUN"), "{ended}");
    desk.goes_on();
}

#[test]
fn no_compiler() {
    let desk = Desk::new();
    let builds = "import subprocess\nsubprocess.run(['g++', 'kernel.cpp', '-o', 'kernel.so'], check=True)\n";
    desk.write("candidate.py", &format!("{builds}{INCORRECT}"));
    let args = ["evaluate", "problem.py", "candidate.py", "--target", "cpu", "--json"];
    let said = desk.said(desk.command(&args).env("PATH", desk.nothing()));
    assert_eq!(said.code, Some(11), "{said:?}");
    let evaluation: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(evaluation["status"], "build_failed");
    assert_eq!(evaluation["summary"], "FileNotFoundError: [Errno 2] No such file or directory: 'g++'", "{evaluation}");
}

#[test]
fn no_deep_check() {
    let desk = Desk::new();
    desk.write("candidate.py", INCORRECT);
    let asked = |target| {
        let args = ["evaluate", "problem.py", "candidate.py", "--deep-check", "--target", target];
        error(&desk.said(&mut desk.command(&args)), 21).to_owned()
    };
    assert!(asked("cpu").starts_with("error: there is no deep check here: compute-sanitizer looks at CUDA kernels alone\n  hint: "));
    if kernelwright_evaluate::sanitizer().is_none() {
        assert!(asked("cuda").contains("`compute-sanitizer` is not on the PATH"));
    }
}

#[test]
fn the_doctor_says_what_is_missing() {
    let desk = Desk::new();
    let said = desk.said(desk.command(&["doctor"]).env("PATH", desk.nothing()).env("KERNELWRIGHT_PYTHON", desk.bare_python()));
    assert_eq!(said.code, Some(21), "{said:?}");
    let line = |subject: &str| said.stdout.lines().skip_while(|line| !line.contains(subject)).take(2).collect::<Vec<_>>().join("\n");
    assert!(line("  g++ ").starts_with("fail  g++              not found\n"), "{said:?}");
    assert!(line("  g++ ").contains("install g++"), "{said:?}");
    assert!(line("  python ").starts_with("fail  python ") && line("  python ").contains("has no torch\n"), "{said:?}");
    assert!(line("  model ").starts_with("warn  model            no model is configured\n"), "{said:?}");
}
