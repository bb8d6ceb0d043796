//! How long a verdict takes, how many fit into a minute, and how well they repeat: tables of figures, goals beside them.
//!
//! `make bench-evaluator` builds it and runs it on this machine; on a machine without a toolchain it runs as it was built elsewhere.
//!
//! - latency: wall time of one verdict, request to answer, in one evaluator that has seen the problem before (baselines known, float64
//!   expectations not), median of N. Every candidate differs from the one before in its kernel's body, so that all of it is compiled. With
//!   `--kernelbench` (a checkout of ScalingIntelligence/KernelBench) its own evaluator judges the same candidates in the same run, in a
//!   process each as its scripts do, with 5 correctness and 100 timing trials.
//!   Cold is a kernel of which nothing was built before, in the same evaluator.
//! - throughput: verdicts a minute over N different candidates (64), some of them flawed: one after another, all at once, and with `--target cuda`
//!   on all GPUs at once. Ends with an error where a verdict is another among others than by itself.
//! - repeat: the same kernel in ten evaluations: the largest speedup over the smallest, and what each made of equal kernels. Where other
//!   work keeps some processors busy, `--threads` has to leave them out: whoever waits for a thread that does not run measures that.
//!
//! With `--trace` every step of every evaluation is printed with the seconds since its request, every question to a worker with what it took, and what batches came to.
//!
//! Nothing here fails for being slow: what it says when it is run alone is what counts.

#![expect(clippy::print_stdout, reason = "the tables are what this program is for")]

mod kernelbench;
mod latency;
mod plain;
mod repeat;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use kernelwright_evaluate::{BaselineChoice, EvaluateRequest, Evaluator, Options, Settings};
use kernelwright_protocol::{Backend, Evaluation, Target};
use kernelwright_tests::Executable;
use kernelwright_tests::softmax::Problem;

type Failure = Box<dyn std::error::Error>;

/// Measure the evaluator: tables of figures with goals beside them
#[derive(Parser)]
struct Arguments {
    /// cpu, cuda (throughput: all GPUs of the machine) or cuda:N
    #[arg(long, default_value = "cpu")]
    target: Target,
    #[command(flatten)]
    executable: Executable,
    /// A checkout of ScalingIntelligence/KernelBench, whose evaluator judges the same candidates in the same run
    #[arg(long, value_name = "FOLDER")]
    kernelbench: Option<PathBuf>,
    /// Verdicts that count, of each kind, for latency
    #[arg(long, default_value_t = 20, value_name = "N")]
    times: usize,
    /// Threads that kernels may have [default: all processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Candidates for throughput
    #[arg(long, default_value_t = 64, value_name = "N")]
    candidates: usize,
    /// Print every step with the seconds since its request, every question to a worker with what it took, and what batches came to
    #[arg(long)]
    trace: bool,
    /// What to measure [default: all]
    parts: Vec<Part>,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Latency,
    Throughput,
    Repeat,
}

/// One evaluator and the target it is asked about.
struct Bench {
    evaluator: Evaluator,
    target: Target,
    trace: bool,
}

impl Bench {
    fn new(arguments: &Arguments, cache: &std::path::Path) -> Self {
        let binary = arguments.executable.path();
        let settings = Settings {
            python: Some(kernelwright_tests::python()),
            cache_dir: cache.to_path_buf(),
            threads: arguments.threads,
            ..Settings::new(binary)
        };
        Self { evaluator: Evaluator::new(settings), target: arguments.target, trace: arguments.trace }
    }

    /// The backend that candidates are written for.
    fn backend(&self) -> Backend {
        self.target.backend
    }

    /// An evaluation with the default options; against eager alone, since the baseline is not the point.
    async fn judge(&self, problem: Problem, candidate: String, target: Target) -> Result<Evaluation, Failure> {
        let request = EvaluateRequest {
            problem_source: problem.source().to_owned(),
            problem_name: problem.name().to_owned(),
            candidate_source: candidate,
            target,
            options: Options { baselines: BaselineChoice::EagerOnly, ..Options::default() },
        };
        let began = Instant::now();
        let say = |message: &str| {
            if self.trace {
                println!("    {:8.3} {} {message}", began.elapsed().as_secs_f64(), problem.name());
            }
        };
        let evaluation = self.evaluator.evaluate(&request, &say).await?;
        say(evaluation.verdict.status());
        Ok(evaluation)
    }

    /// One that has to come out as correct.
    async fn verdict(&self, problem: Problem, candidate: String) -> Result<Evaluation, Failure> {
        let evaluation = self.judge(problem, candidate, self.target).await?;
        match evaluation.verdict.status() {
            "correct" => Ok(evaluation),
            _ => Err(serde_json::to_string_pretty(&evaluation)?.into()),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: Arguments) -> Result<(), Failure> {
    if arguments.trace {
        tracing_subscriber::fmt()
            .with_env_filter("kernelwright_harness=debug,kernelwright_evaluate=debug")
            .with_writer(std::io::stdout)
            .init();
    }
    if let Some(folder) = &arguments.kernelbench {
        kernelbench::look_for(folder)?;
    }
    let cache = tempfile::tempdir()?;
    let bench = Bench::new(&arguments, cache.path());
    let parts = if arguments.parts.is_empty() { Part::value_variants() } else { &arguments.parts };
    for part in parts {
        match part {
            Part::Latency => latency::measure(&bench, arguments.times, arguments.kernelbench.as_deref()).await?,
            Part::Throughput => throughput::measure(&bench, arguments.candidates).await?,
            Part::Repeat => repeat::measure(&bench, arguments.threads).await?,
        }
    }
    Ok(())
}
