//! Runs the adversarial suite on one target and prints what was wrong: `adversarial [--target cpu|cuda|cuda:N] [--binary PATH]
//! [--jobs N] [--verbose] [PART OF A NAME ...]`. Ends with 1 where a verdict was wrong. With `--jobs` so many cases are under way at once: builds,
//! which take most of the time of cases with inline CUDA, go on beside others' turns on the device.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use futures_util::{StreamExt, stream};
use kernelwright_protocol::Target;
use kernelwright_tests::adversarial::{Bench, Table, cases};

type Failure = Box<dyn std::error::Error>;

struct Arguments {
    target: Target,
    binary: Option<PathBuf>,
    jobs: usize,
    verbose: bool,
    names: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self, Failure> {
        let mut read = Self { target: Target::CPU, binary: None, jobs: 1, verbose: false, names: vec![] };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--target" => read.target = value()?.parse()?,
                "--binary" => read.binary = Some(value()?.into()),
                "--jobs" => read.jobs = value()?.parse::<NonZeroUsize>()?.get(),
                "--verbose" => read.verbose = true,
                _ => read.names.push(word),
            }
        }
        Ok(read)
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Arguments { target, binary, jobs, verbose, names } = Arguments::read()?;
    kernelwright_tests::log_to_stderr();
    let folder = kernelwright_tests::repository().join("tests/adversarial/cases");
    let cache = tempfile::tempdir()?;
    let binary = binary.unwrap_or_else(kernelwright_tests::sibling);
    let bench = Bench::new(binary, kernelwright_tests::python(), cache.path(), target);
    let mut chosen = cases(&folder, target.backend)?;
    chosen.retain(|case| names.is_empty() || names.iter().any(|name| case.name.contains(name)));
    let bench = &bench;
    let judged = stream::iter(chosen).map(|case| async move {
        let outcome = bench.judge(case).await;
        if verbose {
            let mark = if outcome.wrong.is_some() { "WRONG" } else { "ok" };
            println!("{mark:<5} {:>5.1} s  {:<40} {}", outcome.wall.as_secs_f64(), outcome.case.name, outcome.reading);
        }
        outcome
    });
    let outcomes: Vec<_> = judged.buffered(jobs).collect().await;
    println!("{}", Table(&outcomes));
    let wrong = outcomes.iter().any(|outcome| outcome.wrong.is_some());
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
