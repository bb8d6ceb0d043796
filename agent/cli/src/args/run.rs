//! What starts, continues and shows runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::put;
use crate::continuation::Unrecorded;
use crate::settings::{Flags, expand_model};

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
    /// At least so many draws of inputs are checked [default: 5]
    #[arg(long, value_name = "N", help_heading = "Evaluation")]
    pub trials: Option<u32>,
    /// Allow TF32 in float32 matrix products, for the baselines as well
    #[arg(long, help_heading = "Evaluation")]
    pub tf32: bool,
    /// Independent first kernels [default: 2]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub drafts: Option<u32>,
    /// Begin from nothing, not with kernels of earlier runs on similar problems
    #[arg(long, help_heading = "Search")]
    pub no_warm_start: bool,
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

    /// What a run does not record of them and a resume needs again.
    pub fn unrecorded(&self) -> Unrecorded {
        const NAMES: [&str; 6] = ["--api-key-env", "--api-key-file", "--python", "--threads", "--evaluator", "--prompts"];
        self.flags().into_iter().filter_map(|(_, text, flag)| NAMES.contains(&flag).then_some((flag, text))).collect()
    }
}

impl Optimize {
    pub fn flags(&self) -> Flags {
        let mut flags = self.run.flags();
        put(&mut flags, "evaluate.target", "--target", self.target.as_ref());
        put(&mut flags, "evaluate.trials", "--trials", self.trials.as_ref());
        put(&mut flags, "evaluate.tf32", "--tf32", self.tf32.then_some(&true));
        put(&mut flags, "search.drafts", "--drafts", self.drafts.as_ref());
        put(&mut flags, "search.warm_start", "--no-warm-start", self.no_warm_start.then_some(&false));
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
