//! Judges the adversarial suite on one target and prints what was wrong.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use futures_util::{StreamExt, stream};
use kernelwright_protocol::Target;
use kernelwright_tests::Executable;
use kernelwright_tests::adversarial::{Bench, Table, cases};

type Failure = Box<dyn std::error::Error>;

/// Judge cheats, faults and honest kernels on one target, and say which verdicts are wrong (exit code 1 where one is)
#[derive(Parser)]
struct Arguments {
    /// cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    target: Target,
    #[command(flatten)]
    executable: Executable,
    /// So many cases at once: builds, which take most of the time of cases with inline CUDA, go on beside others' turns on the device
    #[arg(long, default_value = "1", value_name = "N")]
    jobs: NonZeroUsize,
    /// Print every verdict
    #[arg(long)]
    verbose: bool,
    /// Only cases whose name has one of these parts, such as caches/ or honest/flash
    #[arg(value_name = "PART")]
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Arguments { target, executable, jobs, verbose, names } = Arguments::parse();
    kernelwright_tests::log_to_stderr();
    let folder = kernelwright_tests::repository().join("tests/adversarial/cases");
    let cache = tempfile::tempdir()?;
    let binary = executable.path();
    let bench = Bench::new(binary, kernelwright_tests::python(), cache.path(), target);
    let mut chosen = cases(&folder, target.backend)?;
    chosen.retain(|case| names.is_empty() || names.iter().any(|name| case.name.contains(name)));
    let bench = &bench;
    let judged = stream::iter(chosen.into_iter().enumerate()).map(|(place, case)| async move {
        let outcome = bench.judge(case).await;
        if verbose {
            let mark = if outcome.wrong.is_some() { "WRONG" } else { "ok" };
            println!("{mark:<5} {:>5.1} s  {:<40} {}", outcome.wall.as_secs_f64(), outcome.case.name, outcome.reading);
        }
        (place, outcome)
    });
    // As they come, so that nobody waits for a slow one before them.
    let mut outcomes: Vec<_> = judged.buffer_unordered(jobs.get()).collect().await;
    outcomes.sort_by_key(|&(place, _)| place);
    let outcomes: Vec<_> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    println!("{}", Table(&outcomes));
    let wrong = outcomes.iter().any(|outcome| outcome.wrong.is_some());
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
