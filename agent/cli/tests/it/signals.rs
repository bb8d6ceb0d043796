//! Signals: whatever ends the program ends what it has started.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Desk;

/// A desk with an evaluator that says who it is and then takes long.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("p.py", "class Model: ...\n");
    desk.write("judge.sh", "echo $$ > pid.part; mv pid.part pid; exec sleep 60\n");
    desk
}

fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what} does not happen");
        sleep(Duration::from_millis(20));
    }
}

/// Starts the command, sends the signal once the evaluator is at work, and says how the command ended and what became of the evaluator.
fn signalled(desk: &Desk, command: &mut Command, signal: &str) -> (ExitStatus, bool) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = desk.path().join("pid");
    wait_for("the evaluator's start", || pid.exists());
    let kill = |signal: &str, id: &str| Command::new("kill").args([signal, id]).status().unwrap();
    assert!(kill(signal, &child.id().to_string()).success());
    let mut ended = None;
    wait_for("the end", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    let evaluator = std::fs::read_to_string(pid).unwrap();
    let is_there =
        || std::fs::read_to_string(Path::new("/proc").join(evaluator.trim()).join("cmdline")).is_ok_and(|line| line.contains("sleep"));
    // Killed, it takes a moment to be gone.
    for _ in 0..100 {
        if !is_there() {
            return (ended.unwrap(), false);
        }
        sleep(Duration::from_millis(20));
    }
    kill("-KILL", evaluator.trim());
    (ended.unwrap(), true)
}

#[test]
fn a_terminal_that_is_closed_ends_an_evaluation_and_what_it_has_started() {
    for signal in ["-TERM", "-HUP"] {
        let desk = desk();
        // Whoever runs the tests may have asked to ignore hangups, which programs inherit.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_kernelwright"), "evaluate", "p.py", "p.py", "--target", "cpu"]);
        command.args(["--evaluator", "sh judge.sh"]).current_dir(desk.path()).env_clear().env("HOME", desk.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let (ended, is_left) = signalled(&desk, &mut command, signal);
        assert_eq!((ended.code(), is_left), (Some(130), false), "{signal}");
    }
}

#[test]
fn who_asks_to_ignore_the_terminals_end_is_not_ended_by_it() {
    let desk = desk();
    desk.write("judge.sh", "touch pid; sleep 1; echo '{\"error\": \"no\"}'\n");
    let program = env!("CARGO_BIN_EXE_kernelwright");
    let script = format!("trap '' HUP; exec '{program}' evaluate p.py p.py --target cpu --evaluator 'sh judge.sh'");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(desk.path()).env_clear().env("HOME", desk.path());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the evaluator's start", || desk.path().join("pid").exists());
    assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(11), "it went on to its verdict");
}
