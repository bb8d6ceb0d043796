//! How long a profile takes, and the same taken by hand: a table of figures, goals beside them.
//!
//! `make bench-profiler` builds it and runs it on this machine; on a machine
//! without a toolchain it runs as it was built elsewhere.
//!
//! A row softmax is profiled by every profiler of the target, as a server does it that has described the target before: N times, each time with
//! another kernel, so that all of it is compiled. The very first is told by itself. By hand is the same kernel under the same profiler with the
//! same options, in a process that somebody starts for it. Nothing here fails for being slow.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use kernelwright_profile::{ProfileRequest, Profiles, Settings, ncu_command};
use kernelwright_protocol::{Backend, ProfilerKind, Target};
use kernelwright_tests::Executable;
use kernelwright_tests::figures::{self, median, row};
use kernelwright_tests::softmax::{Language, Problem};

type Failure = Box<dyn std::error::Error>;

const BY_HAND: &str = include_str!("by_hand.py");

/// Measure how long profiles take, and the same taken by hand
#[derive(Parser)]
struct Arguments {
    /// cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    target: Target,
    #[command(flatten)]
    executable: Executable,
    /// Profiles that count, of each kind
    #[arg(long, default_value_t = 4, value_name = "N")]
    times: usize,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let Arguments { target, executable, times } = Arguments::parse();
    kernelwright_tests::log_to_stderr();
    let cache = tempfile::tempdir()?;
    let binary = executable.path();
    let settings = Settings { python: Some(kernelwright_tests::python()), cache_dir: cache.path().to_path_buf(), ..Settings::new(binary) };
    let profiles = Profiles::new(settings.clone());
    row(["wall time of one profile", "median", "least", "most", "goal, remarks"]);
    let began = Instant::now();
    profiles.introduce(target, &|_| {}).await?;
    figures::times("describing the target", &[began.elapsed()], "");
    let mut variants = 0..;
    let mut next = || Language::of(target.backend)[0].variant(variants.next().unwrap_or_default());
    let rungs: &[(ProfilerKind, &str)] = match target.backend {
        Backend::Cpu => &[(ProfilerKind::Cpu, ""), (ProfilerKind::Torch, "")],
        Backend::Cuda => &[(ProfilerKind::Ncu, "10 s"), (ProfilerKind::Proton, "3 s"), (ProfilerKind::Torch, "3 s")],
    };
    for &(profiler, goal) in rungs {
        let profile = async |candidate: String| -> Result<Duration, Failure> {
            let problem = Problem::of(target.backend).source().to_owned();
            let request = ProfileRequest { problem, candidate: Some(candidate), target, profiler: Some(profiler), arch: None };
            let began = Instant::now();
            profiles.profile(&request, &|_| {}).await?;
            Ok(began.elapsed())
        };
        let first = profile(next()).await?;
        let (mut ours, mut by_hand) = (Vec::new(), Vec::new());
        for _ in 0..times {
            ours.push(profile(next()).await?);
            if profiler != ProfilerKind::Cpu {
                by_hand.push(taken_by_hand(&settings, target, profiler, &next())?);
            }
        }
        figures::times(&profiler.to_string(), &ours, goal);
        figures::times("  the first one", &[first], goal);
        if let Some((ours, theirs)) = median(&ours).zip(median(&by_hand)) {
            figures::times("  by hand", &by_hand, "");
            row(["  longer than by hand", &format!("{:+.2} s", ours.as_secs_f64() - theirs.as_secs_f64()), "", "", "0.5 s"]);
        }
    }
    Ok(())
}

/// The wall time of a process that profiles a candidate, from its start to its end.
fn taken_by_hand(settings: &Settings, target: Target, profiler: ProfilerKind, candidate: &str) -> Result<Duration, Failure> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<PathBuf, Failure> {
        let path = folder.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    };
    let (script, problem) = (file("by_hand.py", BY_HAND)?, file("problem.py", Problem::of(target.backend).source())?);
    let around = match profiler {
        ProfilerKind::Ncu => ncu_command(settings, folder.path()).ok_or("Nsight Compute is not here")?,
        _ => Vec::new(),
    };
    let mut words = around.into_iter().chain([kernelwright_tests::python().to_string_lossy().into_owned()]);
    let mut command = Command::new(words.next().ok_or("no command")?);
    command.args(words).arg(script).arg(problem).arg(file("candidate.py", candidate)?).args([target.to_string(), profiler.to_string()]);
    command.arg(folder.path().join("report")).env("TRITON_CACHE_DIR", folder.path().join("triton"));
    wall(command, folder.path())
}

fn wall(mut command: Command, folder: &Path) -> Result<Duration, Failure> {
    let began = Instant::now();
    let output = command.current_dir(folder).stdin(Stdio::null()).output()?;
    let wall = began.elapsed();
    if !output.status.success() {
        return Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(wall)
}
