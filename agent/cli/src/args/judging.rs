//! What judges candidates without a run: one of them, on parts that are not there, or a whole suite.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kernelwright_evaluate::{CompileTarget, UnknownArch};

use super::put;
use crate::settings::Flags;

/// How candidates are judged.
#[derive(Debug, Args)]
pub struct Rules {
    /// Where to run: cpu, cuda, cuda:N, or auto for a GPU if there is one [default: auto]
    #[arg(short, long, value_name = "TARGET", help_heading = "Evaluation")]
    pub target: Option<String>,
    /// At least so many draws of inputs are checked [default: 5]
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub trials: Option<u32>,
    /// How many interleaved pairs are timed
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub pairs: Option<u32>,
    /// Which baselines to measure: eager, compile or both with a comma [default: eager,compile]
    #[arg(long, value_name = "LIST", help_heading = "Evaluation")]
    pub baselines: Option<String>,
    /// Check correctness only
    #[arg(long, help_heading = "Evaluation")]
    pub no_timing: bool,
    /// Allow TF32 in float32 matrix products, for the baselines as well
    #[arg(long, help_heading = "Evaluation")]
    pub tf32: bool,
    /// Threads that each side may use
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub threads: Option<u32>,
    /// Let this command give verdicts instead of the built-in evaluator
    #[arg(long, value_name = "COMMAND", help_heading = "Evaluation")]
    pub evaluator: Option<String>,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    /// The problem file, with `Model`
    pub problem: PathBuf,
    /// The candidate file, with `ModelNew`
    pub candidate: PathBuf,
    #[command(flatten)]
    pub rules: Rules,
    /// Have compute-sanitizer look at a correct candidate too: memory, races, barriers (target cuda)
    #[arg(long, help_heading = "Evaluation")]
    pub deep_check: bool,
    /// The Python with torch
    #[arg(long, value_name = "PATH", help_heading = "Evaluation")]
    pub python: Option<String>,
    /// Print the evaluation as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Compile {
    /// The problem file, with `get_inputs()`: its shapes decide what is launched
    pub problem: PathBuf,
    /// The candidate file, with `ModelNew`
    pub candidate: PathBuf,
    /// Architectures or parts with commas, e.g. sm_90,gfx942,b200; cpu for the host's C++
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', required = true, value_parser = compile_target)]
    pub arch: Vec<CompileTarget>,
    /// Threads that compilers may use
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// The Python with torch
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Print the report as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Suite {
    #[command(subcommand)]
    pub verb: SuiteVerb,
}

#[derive(Debug, Subcommand)]
pub enum SuiteVerb {
    /// Evaluate the problems of a suite, each as its own candidate unless there are others
    #[command(after_long_help = super::examples::SUITE_EXAMPLES)]
    Run(Box<SuiteRun>),
    /// List the suites, or the problems of one
    List {
        #[command(flatten)]
        chosen: Chosen,
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Print a problem file, e.g. of aten:softmax
    Show {
        /// SUITE:PROBLEM
        problem: String,
        /// The Python with torch
        #[arg(long, value_name = "PATH")]
        python: Option<String>,
    },
}

/// Which problems.
#[derive(Debug, Args)]
pub struct Chosen {
    /// aten, kernelbench:PATH, or problem files and folders of them
    #[arg(value_name = "SUITE")]
    pub suite: Vec<String>,
    /// Only problems with this in their name; several with a comma. One with = in front is a whole name
    #[arg(short, long, value_name = "TEXT", value_delimiter = ',')]
    pub filter: Vec<String>,
    /// At most so many, the first ones
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// The Python with torch
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
}

#[derive(Debug, Args)]
pub struct SuiteRun {
    #[command(flatten)]
    pub chosen: Chosen,
    /// Where candidates lie: NAME.py for the problem NAME. Each problem is its own candidate without it
    #[arg(long, value_name = "FOLDER")]
    pub candidates: Option<PathBuf>,
    #[command(flatten)]
    pub rules: Rules,
    /// How many problems at a time, only with --no-timing; what finds no memory beside others is done again alone [default: one on each GPU that the target
    /// may be]
    #[arg(short, long, value_name = "N", requires = "no_timing", help_heading = "Evaluation", value_parser = clap::value_parser!(u8).range(1..))]
    pub jobs: Option<u8>,
    /// What one problem may take in all
    #[arg(long, value_name = "TIME", default_value = "30m", help_heading = "Evaluation")]
    pub problem_limit: String,
    /// The log: what it holds is not done again [default: suites/SUITE-TARGET.jsonl below the folder of runs]
    #[arg(short, long, value_name = "FILE", help_heading = "Files")]
    pub output: Option<PathBuf>,
    /// Do everything again; the log keeps the old lines, and the last about a problem counts
    #[arg(long, help_heading = "Files")]
    pub fresh: bool,
    /// Where runs are kept [default: kernelwright-runs]
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    pub runs_dir: Option<String>,
    /// Print a JSON line per problem as it is done, then a summary object
    #[arg(long)]
    pub json: bool,
}

impl Rules {
    fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "evaluate.target", "--target", self.target.as_ref());
        put(&mut flags, "evaluate.trials", "--trials", self.trials.as_ref());
        put(&mut flags, "evaluate.pairs", "--pairs", self.pairs.as_ref());
        put(&mut flags, "evaluate.baselines", "--baselines", self.baselines.as_ref());
        put(&mut flags, "evaluate.tf32", "--tf32", self.tf32.then_some(&true));
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.command", "--evaluator", self.evaluator.as_ref());
        flags
    }
}

impl Evaluate {
    pub fn flags(&self) -> Flags {
        let mut flags = self.rules.flags();
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        flags
    }
}

impl Chosen {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        flags
    }
}

/// A name of an architecture or part; what there is, where it is none.
fn compile_target(text: &str) -> Result<CompileTarget, String> {
    text.parse().map_err(|error: UnknownArch| format!("{error}; {}", error.hint()))
}

impl Compile {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        flags
    }
}

impl SuiteRun {
    pub fn flags(&self) -> Flags {
        let mut flags = self.chosen.flags();
        flags.extend(self.rules.flags());
        put(&mut flags, "paths.runs", "--runs-dir", self.runs_dir.as_ref());
        flags
    }
}
