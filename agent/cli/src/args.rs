//! The command line, as clap reads it. What it says about settings is turned into [`Flags`] here and nowhere else.

#![expect(clippy::doc_markdown, reason = "the doc comments are the help texts, which are no Markdown")]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use kernelwright_evaluate::{CompileTarget, UnknownArch};

use crate::exit::Exit;
use crate::settings::{Flags, expand_model};

/// Turns a PyTorch module into a faster, verified kernel.
#[derive(Debug, Parser)]
#[command(name = "kernelwright", version, propagate_version = false, disable_help_subcommand = true, after_long_help = after_help())]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

/// What every verb understands.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Use this settings file instead of the nearest kernelwright.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Say nothing but the result and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; -vv for everything. RUST_LOG overrides it
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Search for a faster kernel for the Model in a problem file
    #[command(after_long_help = OPTIMIZE_EXAMPLES)]
    Optimize(Box<Optimize>),
    /// Go on with a run that was stopped, paused, suspended or killed, or give a finished one a larger budget
    #[command(after_long_help = RESUME_EXAMPLES)]
    Resume(Box<Resume>),
    /// List runs or show one
    Runs(Runs),
    /// Print the report of a run as Markdown
    Report(Report),
    /// Check and time one candidate file against a problem file
    #[command(after_long_help = EVALUATE_EXAMPLES)]
    Evaluate(Evaluate),
    /// Compile a candidate for any GPU, without having it: registers, spills, shared memory, occupancy
    #[command(after_long_help = COMPILE_EXAMPLES)]
    Compile(Compile),
    /// Evaluate many problems: every ATen operator, KernelBench, or files
    Suite(Suite),
    /// Look things up in the knowledge packs
    Knowledge(Knowledge),
    /// Run one of the tool servers, for any MCP host
    #[command(after_long_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Check what this machine has and what is missing
    Doctor(Doctor),
    /// Show the settings
    Config(Config),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// Limits and rules of a run; each replaces a setting.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// The model: openai:NAME, anthropic:NAME, replay:PATH or mailbox:FOLDER
    #[arg(short, long, value_name = "MODEL", help_heading = "Model")]
    pub model: Option<String>,
    /// The model server's address
    #[arg(long, value_name = "URL", help_heading = "Model")]
    pub base_url: Option<String>,
    /// The variable that holds the key
    #[arg(long, value_name = "VARIABLE", help_heading = "Model")]
    pub api_key_env: Option<String>,
    /// The file that holds the key
    #[arg(long, value_name = "FILE", help_heading = "Model", conflicts_with = "api_key_env")]
    pub api_key_file: Option<String>,
    /// Steps of the search; 8 for a new run
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub steps: Option<u32>,
    /// Candidates evaluated
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub evaluations: Option<u32>,
    /// Model tokens, input plus output
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub tokens: Option<u64>,
    /// Money for the model
    #[arg(long, value_name = "DOLLARS", help_heading = "Budget")]
    pub dollars: Option<f64>,
    /// Time, e.g. 30m or 2h
    #[arg(long, value_name = "TIME", help_heading = "Budget")]
    pub wall: Option<String>,
    /// Stop after N steps in a row without a better kernel; 4 for a new run
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub stall: Option<u32>,
    /// Stop once the speedup is at least X for sure
    #[arg(long, value_name = "X", help_heading = "Search")]
    pub target_speedup: Option<f64>,
    /// Model answers in one step; 20 for a new run
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub inner_turns: Option<u32>,
    /// The Python with torch
    #[arg(long, value_name = "PATH", help_heading = "Evaluation")]
    pub python: Option<String>,
    /// Threads that each side may use
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub threads: Option<u32>,
    /// Let this command give verdicts instead of the built-in evaluator
    #[arg(long, value_name = "COMMAND", help_heading = "Evaluation")]
    pub evaluator: Option<String>,
    /// Templates that replace the built-in prompts of the same name
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    pub prompts: Option<String>,
    /// Where runs are kept [default: kernelwright-runs]
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    pub runs_dir: Option<String>,
    /// Write the best kernel to this file as well
    #[arg(short, long, value_name = "FILE", help_heading = "Files")]
    pub output: Option<PathBuf>,
    /// Print the run's records as JSON lines, then a summary object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Optimize {
    /// A Python file with `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()`
    pub problem: PathBuf,
    /// Where the kernel has to be fast: cpu, cuda, cuda:N, or auto for a GPU if there is one [default: auto]
    #[arg(short, long, value_name = "TARGET", help_heading = "Evaluation")]
    pub target: Option<String>,
    /// How many draws of inputs are checked [default: 5]
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub trials: Option<u32>,
    /// Allow TF32 in float32 matrix products, for the baselines as well
    #[arg(long, help_heading = "Evaluation")]
    pub tf32: bool,
    /// Independent first kernels [default: 2]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub drafts: Option<u32>,
    #[command(flatten)]
    pub run: RunFlags,
}

#[derive(Debug, Args)]
pub struct Resume {
    /// The run's name or folder
    #[arg(required_unless_present = "last")]
    pub run: Option<String>,
    /// The newest run
    #[arg(long, conflicts_with = "run")]
    pub last: bool,
    #[command(flatten)]
    pub flags: RunFlags,
}

#[derive(Debug, Args)]
pub struct Runs {
    #[command(subcommand)]
    pub verb: RunsVerb,
}

#[derive(Debug, Subcommand)]
pub enum RunsVerb {
    /// One line per run, the newest first
    List {
        #[command(flatten)]
        place: RunPlace,
    },
    /// One run: what it found, its kernels, what it used up
    Show {
        /// The run's name or folder; the newest run without it
        run: Option<String>,
        #[command(flatten)]
        place: RunPlace,
    },
}

/// Where runs are, and how they are printed.
#[derive(Debug, Args)]
pub struct RunPlace {
    /// Where runs are kept [default: kernelwright-runs]
    #[arg(long, value_name = "FOLDER")]
    pub runs_dir: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Report {
    /// The run's name or folder; the newest run without it
    pub run: Option<String>,
    /// Where runs are kept [default: kernelwright-runs]
    #[arg(long, value_name = "FOLDER")]
    pub runs_dir: Option<String>,
}

#[derive(Debug, Args)]
pub struct Evaluate {
    /// The problem file, with `Model`
    pub problem: PathBuf,
    /// The candidate file, with `ModelNew`
    pub candidate: PathBuf,
    /// Where to run: cpu, cuda, cuda:N, or auto for a GPU if there is one [default: auto]
    #[arg(short, long, value_name = "TARGET")]
    pub target: Option<String>,
    /// How many draws of inputs are checked [default: 5]
    #[arg(long, value_name = "N")]
    pub trials: Option<u32>,
    /// How many interleaved pairs are timed
    #[arg(long, value_name = "N")]
    pub pairs: Option<u32>,
    /// Which baselines to measure: eager, compile or both with a comma [default: eager,compile]
    #[arg(long, value_name = "LIST")]
    pub baselines: Option<String>,
    /// Check correctness only
    #[arg(long)]
    pub no_timing: bool,
    /// Allow TF32 in float32 matrix products, for the baselines as well
    #[arg(long)]
    pub tf32: bool,
    /// Threads that each side may use
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Let this command give the verdict instead of the built-in evaluator
    #[arg(long, value_name = "COMMAND")]
    pub evaluator: Option<String>,
    /// The Python with torch
    #[arg(long, value_name = "PATH")]
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
    #[command(after_long_help = SUITE_EXAMPLES)]
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
    /// aten, kernelbench:PATH, or problem files
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
    /// Where to run: cpu, cuda, cuda:N, or auto for a GPU if there is one [default: auto]
    #[arg(short, long, value_name = "TARGET", help_heading = "Evaluation")]
    pub target: Option<String>,
    /// How many draws of inputs are checked [default: 5]
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
    /// How many problems at a time; only with --no-timing
    #[arg(short, long, value_name = "N", default_value_t = 1, requires = "no_timing", help_heading = "Evaluation")]
    pub jobs: u8,
    /// What one problem may take in all
    #[arg(long, value_name = "TIME", default_value = "30m", help_heading = "Evaluation")]
    pub problem_limit: String,
    /// Allow TF32 in float32 matrix products, for the baselines as well
    #[arg(long, help_heading = "Evaluation")]
    pub tf32: bool,
    /// Threads that each side may use
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub threads: Option<u32>,
    /// Give the problems to this command instead of the built-in evaluator
    #[arg(long, value_name = "COMMAND", help_heading = "Evaluation")]
    pub evaluator: Option<String>,
    /// The log: what it holds is not done again [default: suites/SUITE-TARGET.jsonl below the folder of runs]
    #[arg(short, long, value_name = "FILE", help_heading = "Files")]
    pub output: Option<PathBuf>,
    /// Do everything again
    #[arg(long, help_heading = "Files")]
    pub fresh: bool,
    /// Where runs are kept [default: kernelwright-runs]
    #[arg(long, value_name = "FOLDER", help_heading = "Files")]
    pub runs_dir: Option<String>,
    /// Print a JSON line per problem as it is done, then a summary object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Knowledge {
    #[command(subcommand)]
    pub verb: KnowledgeVerb,
}

#[derive(Debug, Subcommand)]
pub enum KnowledgeVerb {
    /// Print the passages that fit a query best
    #[command(after_long_help = KNOWLEDGE_EXAMPLES)]
    Search {
        /// Words, identifiers or an error message
        #[arg(required = true)]
        query: Vec<String>,
        /// Only what holds for this architecture, e.g. sm_90
        #[arg(long)]
        arch: Option<String>,
        /// Only what holds for this language, e.g. triton
        #[arg(long)]
        language: Option<String>,
        /// At most so many passages
        #[arg(short = 'n', long, default_value_t = 5, value_name = "N")]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Which tool server
    pub server: ServerName,
    /// Speak MCP over standard input and output (the default)
    #[arg(long, conflicts_with = "http")]
    pub stdio: bool,
    /// Speak MCP over streamable HTTP at this address, under /mcp. Other than loopback needs KERNELWRIGHT_HTTP_TOKEN
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// The Python with torch
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Threads that kernels on the CPU may use
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// How long a candidate may take to build, e.g. 5m
    #[arg(long, value_name = "TIME")]
    pub build_limit: Option<String>,
    /// How long one call may take
    #[arg(long, value_name = "TIME")]
    pub run_limit: Option<String>,
    /// How long one batch of timed calls may take
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// Let this command give verdicts; the server evaluate hands on what it is asked
    #[arg(long, value_name = "COMMAND")]
    pub evaluator: Option<String>,
    /// A folder of knowledge packs beside the built-in ones; may be given several times
    #[arg(long, value_name = "FOLDER")]
    pub packs: Vec<String>,
    /// Where workers are unpacked and scratch folders made
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerName {
    /// Builds, checks and times candidates
    Evaluate,
    /// Describes targets and shows where time goes
    Profile,
    /// Finds passages in knowledge packs
    Knowledge,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Config {
    #[command(subcommand)]
    pub verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Print every setting, its value and where that comes from
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// One flag, if it was given.
fn put(flags: &mut Flags, key: &'static str, flag: &'static str, value: Option<&impl ToString>) {
    flags.extend(value.map(|value| (key, value.to_string(), flag)));
}

impl RunFlags {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        for (key, text) in self.model.as_deref().map(expand_model).unwrap_or_default() {
            flags.push((key, text.to_owned(), "--model"));
        }
        put(&mut flags, "model.base_url", "--base-url", self.base_url.as_ref());
        put(&mut flags, "model.api_key_env", "--api-key-env", self.api_key_env.as_ref());
        put(&mut flags, "model.api_key_file", "--api-key-file", self.api_key_file.as_ref());
        put(&mut flags, "budget.steps", "--steps", self.steps.as_ref());
        put(&mut flags, "budget.evaluations", "--evaluations", self.evaluations.as_ref());
        put(&mut flags, "budget.tokens", "--tokens", self.tokens.as_ref());
        put(&mut flags, "budget.dollars", "--dollars", self.dollars.as_ref());
        put(&mut flags, "budget.wall", "--wall", self.wall.as_ref());
        put(&mut flags, "search.stall", "--stall", self.stall.as_ref());
        put(&mut flags, "search.target_speedup", "--target-speedup", self.target_speedup.as_ref());
        put(&mut flags, "search.inner_turns", "--inner-turns", self.inner_turns.as_ref());
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.command", "--evaluator", self.evaluator.as_ref());
        put(&mut flags, "paths.prompts", "--prompts", self.prompts.as_ref());
        put(&mut flags, "paths.runs", "--runs-dir", self.runs_dir.as_ref());
        flags
    }
}

impl Optimize {
    pub fn flags(&self) -> Flags {
        let mut flags = self.run.flags();
        put(&mut flags, "evaluate.target", "--target", self.target.as_ref());
        put(&mut flags, "evaluate.trials", "--trials", self.trials.as_ref());
        put(&mut flags, "evaluate.tf32", "--tf32", self.tf32.then_some(&true));
        put(&mut flags, "search.drafts", "--drafts", self.drafts.as_ref());
        flags
    }
}

impl RunPlace {
    pub fn flags(&self) -> Flags {
        runs_dir(self.runs_dir.as_ref())
    }
}

impl Report {
    pub fn flags(&self) -> Flags {
        runs_dir(self.runs_dir.as_ref())
    }
}

fn runs_dir(folder: Option<&String>) -> Flags {
    let mut flags = Flags::new();
    put(&mut flags, "paths.runs", "--runs-dir", folder);
    flags
}

impl Evaluate {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "evaluate.target", "--target", self.target.as_ref());
        put(&mut flags, "evaluate.trials", "--trials", self.trials.as_ref());
        put(&mut flags, "evaluate.pairs", "--pairs", self.pairs.as_ref());
        put(&mut flags, "evaluate.baselines", "--baselines", self.baselines.as_ref());
        put(&mut flags, "evaluate.tf32", "--tf32", self.tf32.then_some(&true));
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        put(&mut flags, "evaluate.command", "--evaluator", self.evaluator.as_ref());
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
        put(&mut flags, "evaluate.target", "--target", self.target.as_ref());
        put(&mut flags, "evaluate.trials", "--trials", self.trials.as_ref());
        put(&mut flags, "evaluate.pairs", "--pairs", self.pairs.as_ref());
        put(&mut flags, "evaluate.baselines", "--baselines", self.baselines.as_ref());
        put(&mut flags, "evaluate.tf32", "--tf32", self.tf32.then_some(&true));
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.command", "--evaluator", self.evaluator.as_ref());
        put(&mut flags, "paths.runs", "--runs-dir", self.runs_dir.as_ref());
        flags
    }
}

impl Serve {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.build_limit", "--build-limit", self.build_limit.as_ref());
        put(&mut flags, "evaluate.run_limit", "--run-limit", self.run_limit.as_ref());
        put(&mut flags, "evaluate.time_limit", "--time-limit", self.time_limit.as_ref());
        put(&mut flags, "evaluate.command", "--evaluator", self.evaluator.as_ref());
        let packs = (!self.packs.is_empty()).then(|| self.packs.join(":"));
        put(&mut flags, "knowledge.packs", "--packs", packs.as_ref());
        put(&mut flags, "paths.cache", "--cache", self.cache.as_ref());
        flags
    }
}

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", Exit::table())
}

const EXAMPLES: &str = "\
Examples:
  kernelwright optimize softmax.py --model anthropic:NAME
  kernelwright evaluate softmax.py best.py --target cpu
  kernelwright resume --last --steps 16
  kernelwright doctor";

const OPTIMIZE_EXAMPLES: &str = "\
Examples:
  kernelwright optimize softmax.py --model openai:NAME --steps 4 --dollars 2
  kernelwright optimize softmax.py --target cuda:1 --tf32 --output softmax_fast.py
  kernelwright optimize softmax.py --model openai:NAME --base-url http://gpu-host:8000/v1
  kernelwright optimize softmax.py --model mailbox:questions   # answers come as files; then: resume
  kernelwright optimize softmax.py --json | jq -c 'select(.type == \"candidate_evaluated\")'

The first Ctrl-C finishes the current evaluation and saves; the second ends at once. Both can be resumed.";

const RESUME_EXAMPLES: &str = "\
Examples:
  kernelwright resume --last
  kernelwright resume softmax-20260101-120000-1a2b --steps 16

Limits count from the run's start. Limits that are not given stay as they were.";

const EVALUATE_EXAMPLES: &str = "\
Examples:
  kernelwright evaluate softmax.py best.py
  kernelwright evaluate softmax.py best.py --target cuda:0 --json | jq .speedup

Exits with 0 when the candidate is correct and with 11 when it is not.";

const SUITE_EXAMPLES: &str = "\
Examples:
  kernelwright suite run aten --no-timing --jobs 2
  kernelwright suite run kernelbench:KernelBench --filter level1/ --baselines eager
  kernelwright suite run problems/*.py --candidates kernels --json | jq -c .name

The first Ctrl-C finishes the problems at hand, the second ends at once; the same command goes on where it stopped. Exits with 0 when every
problem is correct and with 11 when one is not.";

const COMPILE_EXAMPLES: &str = "\
Examples:
  kernelwright compile softmax.py best.py --arch sm_90,gfx942
  kernelwright compile softmax.py best.py --arch h200,b200,mi300x --json | jq .status

Nothing runs, so this says nothing about correctness or time. Exits with 0 when everything compiles and fits, and with 12 otherwise.";

const KNOWLEDGE_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge search \"row softmax one pass\" --language triton
  kernelwright knowledge search undefined symbol _ZGVdN8v_expf";

const SERVE_EXAMPLES: &str = "\
Examples:
  kernelwright serve evaluate            # what an MCP host is told to start
  kernelwright serve evaluate --http 127.0.0.1:8077
  KERNELWRIGHT_HTTP_TOKEN=... kernelwright serve evaluate --http 0.0.0.0:8077";
