//! Profiles the planted bottlenecks and the well-tuned kernels on one target and compares what is told first with what was planted.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Parser;
use kernelwright_profile::Settings;
use kernelwright_protocol::{ProfilerKind, Target};
use kernelwright_tests::Executable;
use kernelwright_tests::bottlenecks::{Bench, Captures, Tally, cases, folder, judge_captures};

type Failure = Box<dyn std::error::Error>;

/// Profile kernels with a planted bottleneck and well-tuned ones, and say which diagnoses are wrong
///
/// Ends with 1 where more is wrong than may be: one of twelve planted ones, no well-tuned one.
#[derive(Parser)]
struct Arguments {
    /// cuda or cuda:N
    #[arg(long, default_value = "cuda")]
    target: Target,
    /// ncu, proton, torch or auto (the best that works here)
    #[arg(long, default_value = "ncu")]
    profiler: Profiler,
    /// Keep the profiler's files in this folder, so that they can be judged again
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    /// Judge such files, or those that `capture.py` wrote; needs no device
    #[arg(long, value_name = "FOLDER")]
    captures: Option<PathBuf>,
    #[command(flatten)]
    executable: Executable,
    /// Only kernels whose name has one of these parts
    #[arg(value_name = "PART")]
    names: Vec<String>,
}

/// None is whichever works.
#[derive(Clone, Copy)]
struct Profiler(Option<ProfilerKind>);

impl FromStr for Profiler {
    type Err = serde_json::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "auto" { Ok(Self(None)) } else { serde_json::from_value(name.into()).map(|kind| Self(Some(kind))) }
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Arguments { target, profiler: Profiler(profiler), record, captures, executable, names } = Arguments::parse();
    let mut chosen = cases(&folder())?;
    chosen.retain(|case| names.is_empty() || names.iter().any(|name| case.name.contains(name)));
    let cache = tempfile::tempdir()?;
    let mut outcomes = Vec::new();
    if let Some(captures) = captures {
        let profiler = profiler.unwrap_or(ProfilerKind::Ncu);
        let (judged, missing) = judge_captures(&Captures::open(&captures)?, profiler, chosen, cache.path()).await?;
        for outcome in &judged {
            println!("{outcome}");
        }
        for case in missing {
            println!("no {profiler} capture of {}", case.name);
        }
        outcomes = judged;
    } else {
        let (binary, python) = (executable.path(), kernelwright_tests::python());
        let settings = Settings { python: Some(python), cache_dir: cache.path().to_path_buf(), ..Settings::new(binary) };
        let bench = Bench::new(settings, target, profiler, record);
        for case in chosen {
            let outcome = bench.judge(case).await;
            println!("{outcome}");
            outcomes.push(outcome);
        }
    }
    let tally = Tally::of(&outcomes);
    println!("{tally}");
    Ok(if tally.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
