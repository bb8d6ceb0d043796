//! Evaluates the example kernels of the built-in packs on one target.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::process::ExitCode;

use clap::Parser;
use kernelwright_protocol::Target;
use kernelwright_tests::Executable;
use kernelwright_tests::examples::{Choice, Judge, Question, examples};

type Failure = Box<dyn std::error::Error>;

/// Evaluate the example kernels of the built-in packs on one target (exit code 1 where one is not correct)
#[derive(Parser)]
struct Arguments {
    /// cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    target: Target,
    #[command(flatten)]
    executable: Executable,
    /// Those without evidence for such a target as well
    #[arg(long)]
    all: bool,
    /// Measure what is to be written down
    #[arg(long)]
    time: bool,
    /// Only examples whose id has one of these parts
    #[arg(value_name = "PART")]
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Arguments { target, executable, all, time, names } = Arguments::parse();
    let choice = if all { Choice::All } else { Choice::Proven };
    let question = if time { Question::Time } else { Question::Correctness };
    let cache = tempfile::tempdir()?;
    let judge = Judge::new(executable.path(), kernelwright_tests::python(), cache.path(), target, question);
    let (mut judged, mut wrong) = (0, 0);
    for example in examples(target.backend, choice)? {
        if names.is_empty() || names.iter().any(|name| example.id.contains(name.as_str())) {
            let outcome = judge.judge(&example).await;
            println!("{outcome}");
            judged += 1;
            wrong += usize::from(!outcome.is_correct);
        }
    }
    println!("{judged} examples on {target}, {wrong} of them not correct");
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
