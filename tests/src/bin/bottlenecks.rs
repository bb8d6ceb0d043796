//! Profiles the planted bottlenecks and the well-tuned kernels on one target and compares what is told first with what was planted:
//! `bottlenecks [--target cuda|cuda:N] [--profiler ncu|proton|torch|auto] [--record FOLDER] [--binary PATH] [PART OF A NAME ...]`. `--record` keeps the
//! profiler's files, so that they can be judged again; `--captures FOLDER` judges such files, or those that `capture.py` wrote, and needs no device.
//! Ends with 1 where more is wrong than may be: one of twelve planted ones, no well-tuned one.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::path::PathBuf;
use std::process::ExitCode;

use kernelwright_profile::Settings;
use kernelwright_protocol::{ProfilerKind, Target};
use kernelwright_tests::bottlenecks::{Bench, Captures, Tally, cases, folder, judge_captures};

type Failure = Box<dyn std::error::Error>;

struct Arguments {
    target: Target,
    profiler: Option<ProfilerKind>,
    record: Option<PathBuf>,
    captures: Option<PathBuf>,
    binary: Option<PathBuf>,
    names: Vec<String>,
}

impl Arguments {
    fn read() -> Result<Self, Failure> {
        let mut read =
            Self { target: "cuda".parse()?, profiler: Some(ProfilerKind::Ncu), record: None, captures: None, binary: None, names: vec![] };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--target" => read.target = value()?.parse()?,
                "--profiler" => {
                    let name = value()?;
                    read.profiler = if name == "auto" { None } else { Some(serde_json::from_value(name.into())?) };
                }
                "--record" => read.record = Some(value()?.into()),
                "--captures" => read.captures = Some(value()?.into()),
                "--binary" => read.binary = Some(value()?.into()),
                _ => read.names.push(word),
            }
        }
        Ok(read)
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Arguments { target, profiler, record, captures, binary, names } = Arguments::read()?;
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
        let (binary, python) = (binary.unwrap_or_else(kernelwright_tests::sibling), kernelwright_tests::python());
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
