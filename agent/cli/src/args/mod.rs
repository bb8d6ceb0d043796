//! The command line, as clap reads it. What it says about settings is turned into [`Flags`] here and nowhere else.

#![expect(clippy::doc_markdown, reason = "the doc comments are the help texts, which are no Markdown")]

mod examples;
mod judging;
mod knowledge;
mod profile;
mod run;
mod serve;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub use self::judging::{Chosen, Compile, Evaluate, Suite, SuiteRun, SuiteVerb};
pub use self::knowledge::{Add, Knowledge, KnowledgeVerb, Lessons, New, Search};
pub use self::profile::Profile;
pub use self::run::{Optimize, Report, Resume, RunFlags, RunPlace, Runs, RunsVerb};
pub use self::serve::{Serve, ServerName};
use crate::settings::Flags;

/// Turns a PyTorch module into a faster, verified kernel.
#[derive(Debug, Parser)]
#[command(name = "kernelwright", version, propagate_version = false, disable_help_subcommand = true, after_long_help = examples::after_help())]
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
    #[command(after_long_help = examples::OPTIMIZE_EXAMPLES)]
    Optimize(Box<Optimize>),
    /// Go on with a run that was stopped, paused, suspended or killed, or give a finished one a larger budget
    #[command(after_long_help = examples::RESUME_EXAMPLES)]
    Resume(Box<Resume>),
    /// List runs or show one
    Runs(Runs),
    /// Print the report of a run as Markdown
    Report(Report),
    /// Check and time one candidate file against a problem file
    #[command(after_long_help = examples::EVALUATE_EXAMPLES)]
    Evaluate(Evaluate),
    /// Compile a candidate for any GPU, without having it: registers, spills, shared memory, occupancy
    #[command(after_long_help = examples::COMPILE_EXAMPLES)]
    Compile(Compile),
    /// Show where a call's time goes and why: what limits it, with the figures that show it, and what helps
    #[command(after_long_help = examples::PROFILE_EXAMPLES)]
    Profile(Profile),
    /// Evaluate many problems: every ATen operator, KernelBench, or files
    Suite(Suite),
    /// Look things up in the knowledge packs, and have packs of your own
    Knowledge(Knowledge),
    /// Run one of the tool servers, for any MCP host
    #[command(after_long_help = examples::SERVE_EXAMPLES)]
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
