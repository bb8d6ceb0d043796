//! How much time and memory the product itself takes, beside the model and the kernels: a table of figures and goals.
//!
//! `make bench` builds the release executable and runs this against it. Every row is measured from outside, on the real executable:
//!
//! - `--version`: from starting the process to its end.
//! - `initialize`: from starting a tool server to the last byte of its answer, over stdio; every start is a new process.
//! - memory: `VmRSS` of a tool server that has listed its tools and then had nothing to do for two seconds. A good part of it are pages
//!   of the executable, which all servers share; what only the one process has stands beside it.
//! - a step: see [`steps`].
//!
//! Nothing here fails for being slow: other work on the machine is enough for that. What it says when it is run alone is what counts.
//! It needs the interpreter that the tests need, and takes about a minute, most of it evaluations.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]
#![expect(clippy::unwrap_used, reason = "what cannot be measured ends the program, as in a test")]

mod server;
mod steps;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kernelwright_tests::{binary, python};
use tempfile::TempDir;

use crate::server::Server;

/// Repetitions of everything that takes milliseconds.
const TIMES: usize = 20;

/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(2);

const SERVERS: [&str; 3] = ["evaluate", "profile", "knowledge"];

fn main() {
    // On the disk that the executable was built on: a run's folder in memory would make its syncs free.
    let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    row(["figure", "measured", "goal", "remarks"]);
    let times: Vec<Duration> = (0..TIMES).map(|_| version(home.path())).collect();
    row_of_times("--version", &times, 20.0);
    for name in SERVERS {
        let times: Vec<Duration> = (0..TIMES).map(|_| Server::start(name, home.path()).1).collect();
        row_of_times(&format!("serve {name}: initialize"), &times, 20.0);
    }
    for name in SERVERS {
        let memory = idle_memory(name, home.path());
        let own = format!("{:.1} MB of its own", memory.own);
        row([&format!("serve {name}: idle memory"), &format!("{:.1} MB", memory.resident), "20 MB", &own]);
    }
    let steps = steps::run(home.path());
    let times = |part: fn(&steps::Overhead) -> Duration| steps.iter().map(part).collect::<Vec<_>>();
    row_of_times("agent: a step", &times(steps::Overhead::total), 5.0);
    for (name, part) in [
        ("  first request, with a search", (|step| step.opening) as fn(&steps::Overhead) -> Duration),
        ("  conversation, with a search", |step| step.conversation),
        ("  report, next decision", |step| step.closing),
    ] {
        let times = times(part);
        row([name, &milliseconds(median(&times)), "", &range(&times)]);
    }
}

/// The executable with nothing of the developer's own settings.
fn kernelwright(home: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("KERNELWRIGHT_PYTHON", python())
        .current_dir(home);
    command
}

fn version(home: &Path) -> Duration {
    let mut command = kernelwright(home);
    command.arg("--version").stdout(Stdio::null());
    let started = Instant::now();
    assert!(command.status().unwrap().success());
    started.elapsed()
}

fn idle_memory(name: &str, home: &Path) -> server::Memory {
    let (mut server, _) = Server::start(name, home);
    server.list_tools();
    std::thread::sleep(IDLE);
    server.memory()
}

fn row_of_times(name: &str, times: &[Duration], goal: f64) {
    row([name, &milliseconds(median(times)), &format!("{goal} ms"), &range(times)]);
}

fn row([figure, measured, goal, remarks]: [&str; 4]) {
    println!("{figure:<32} {measured:>10} {goal:>8}   {remarks}");
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn range(times: &[Duration]) -> String {
    let (least, most) = (times.iter().min().copied().unwrap_or_default(), times.iter().max().copied().unwrap_or_default());
    format!("median of {}, {} to {}", times.len(), milliseconds(least), milliseconds(most))
}

/// The middle value, or the mean of the two in the middle.
fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    (low + high) / 2
}
