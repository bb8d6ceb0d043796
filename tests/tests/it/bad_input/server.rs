//! Tool servers that are not there, die, or fall silent in the middle of a call.

use std::path::PathBuf;

use super::{Desk, error};
use crate::support::{of_type, only_run, records};

/// Stands between the agent and a real tool server, and fails it at a call as long as a file says so: the server gets the call and is
/// killed or stopped while it works on it.
const PROXY: &str = r#"
import os, signal, subprocess, sys
fault, tool, sick, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    server.stdin.write(line)
    server.stdin.flush()
    if f'"name":"{tool}"'.encode() in line and os.path.exists(sick):
        if open(sick).read() == "once":
            os.remove(sick)
        if fault == "die":
            server.kill()
            sys.exit(1)
        server.send_signal(signal.SIGSTOP)
server.stdin.close()
sys.exit(server.wait())
"#;

impl Desk {
    /// Puts the proxy before this server; it is sick until the file that is returned is gone.
    fn sick_server(&self, server: &str, fault: &str, tool: &str, more: &str) -> PathBuf {
        let sick = self.write("sick", "always");
        let proxy = self.write("proxy.py", PROXY);
        let (python, binary) = (kernelwright_tests::python(), kernelwright_tests::binary());
        let command =
            [&*python.to_string_lossy(), &proxy.to_string_lossy(), fault, tool, &sick.to_string_lossy(), &binary.to_string_lossy()];
        let command = [&command[..], &["serve", server, "--stdio"]].concat();
        self.write("kernelwright.toml", &format!("[servers.{server}]\ncommand = {command:?}\n{more}"));
        sick
    }
}

#[test]
fn a_server_that_is_not_there() {
    let desk = Desk::new();
    desk.write("kernelwright.toml", "[servers.profile]\ncommand = [\"./nowhere\"]\n");
    let said = desk.said(&mut desk.optimize(&desk.one_kernel()));
    insta::assert_snapshot!(error(&said, 21), @r"
    error: the tool server `profile` could not be started: DESK/./nowhere: No such file or directory (os error 2)
      where: log DESK/runs/RUN/logs/profile.log
      hint: is DESK/./nowhere installed and executable?
             the run is kept: kernelwright resume DESK/runs/RUN
    ");
    std::fs::remove_file(desk.path().join("kernelwright.toml")).unwrap();
    desk.goes_on();
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_call() {
    let desk = Desk::new();
    let sick = desk.sick_server("evaluate", "die", "evaluate_kernel", "");
    let said = desk.said(&mut desk.optimize(&desk.one_kernel()));
    insta::assert_snapshot!(error(&said, 21), @r"
    error: the tool server `evaluate` died during `evaluate_kernel`, and again after a restart
      where: log DESK/runs/RUN/logs/evaluate.log
      hint: its own messages are in DESK/runs/RUN/logs/evaluate.log
             the run is kept: kernelwright resume DESK/runs/RUN
    ");
    // Once more is forgiven: the server is started anew and asked again.
    std::fs::write(&sick, "once").unwrap();
    desk.ends();
    let records = records(&only_run(desk.path()));
    let restarts = of_type(&records, "tool_server_restarted");
    assert_eq!(restarts.len(), 2, "{restarts:?}");
    assert!(restarts.iter().all(|restart| restart["reason"] == "died during `evaluate_kernel`"), "{restarts:?}");
}

#[test]
fn a_server_that_falls_silent_and_two_agents_on_one_run() {
    let desk = Desk::new();
    let sick = desk.sick_server("profile", "hang", "describe_target", "idle_timeout = \"4s\"\n");
    let mut first = desk.optimize(&desk.one_kernel());
    let first = std::thread::scope(|scope| {
        let first = scope.spawn(|| desk.said(&mut first));
        let logs =
            || std::fs::read_dir(desk.path().join("runs")).into_iter().flatten().flatten().map(|run| run.path().join("events.jsonl"));
        let under_way = |log: PathBuf| std::fs::read_to_string(log).is_ok_and(|log| log.contains("tool_server_started"));
        while !logs().any(under_way) && !first.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let second = desk.said(&mut desk.resume());
        insta::assert_snapshot!(error(&second, 24), @r"
        error: another kernelwright process is working on DESK/runs/RUN
          hint: wait for it or stop it; reading the run with `runs show` or `report` works meanwhile
        ");
        assert_eq!(desk.said(&mut desk.command(&["runs", "show"])).code, Some(0), "reading needs no lock");
        first.join().unwrap()
    });
    insta::assert_snapshot!(error(&first, 21), @r"
    error: the tool server `profile` said nothing for 4 s during `describe_target`, and again after a restart
      where: log DESK/runs/RUN/logs/profile.log
      hint: its own messages are in DESK/runs/RUN/logs/profile.log; raise its timeout if the work is really that slow
             the run is kept: kernelwright resume DESK/runs/RUN
    ");
    std::fs::remove_file(sick).unwrap();
    std::fs::remove_file(desk.path().join("kernelwright.toml")).unwrap();
    desk.goes_on();
}
