//! Run folders of a later version, and disks without room. Two agents on one folder are with the tool servers.

use std::process::Command;

use serde_json::json;

use super::{Desk, INCORRECT, calls, error};
use crate::support::only_run;

#[test]
fn a_run_folder_of_a_newer_format() {
    let desk = Desk::new();
    // A server that cannot be started leaves a run behind, and quickly.
    desk.write("kernelwright.toml", "[servers.profile]\ncommand = [\"./nowhere\"]\n");
    error(&desk.said(&mut desk.optimize(&desk.one_kernel())), 21);
    let log = only_run(desk.path()).join("events.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{whole}{}\n", json!({"v": 99, "what": "nobody knows yet"}))).unwrap();
    for args in [&["resume", "--last"][..], &["report"], &["runs", "show"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(error(&desk.said(&mut desk.command(args)), 24), @r"
            error: DESK/runs/RUN has format 99; this version reads up to 1
              hint: use the version of kernelwright that made the run, or a later one
            ");
        }
    }
    assert!(std::fs::read_to_string(&log).unwrap().ends_with("nobody knows yet\"}\n"), "nothing was cut off");
}

/// The limit on a file's size stands for the disk: writing beyond it fails in the same way, and needs no privilege to set up.
#[test]
fn a_full_disk() {
    let desk = Desk::new();
    let large = format!("# {}\n{INCORRECT}", "x".repeat(6 << 20));
    let model = desk.recording(&[
        calls(&[("write_kernel", json!({"source": large})), ("evaluate_kernel", json!({}))]),
        calls(&[("finish_step", json!({"summary": "one kernel"}))]),
    ]);
    let optimize = desk.optimize(&model);
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", "ulimit -f 4096; exec \"$0\" \"$@\""])
        .arg(optimize.get_program())
        .args(optimize.get_args())
        .current_dir(desk.path());
    limited.env_clear().envs(optimize.get_envs().filter_map(|(name, value)| Some((name, value?))));
    insta::assert_snapshot!(error(&desk.said(&mut limited), 24), @r"
    error: no space left to write DESK/runs/RUN/events.jsonl
      hint: free some space and resume; nothing that was recorded is lost
             the run is kept: kernelwright resume DESK/runs/RUN
    ");
    assert_eq!(desk.events().last().unwrap(), "run_paused", "the log is whole");
    desk.ends();
}
