//! What the engine is asked to do, and with what.

use std::path::PathBuf;
use std::time::Duration;

use kernelwright_protocol::{BaselineKind, Target};
use kernelwright_search::{Budget, Policy, StopRules};
use serde_json::{Map, Value};

/// A new run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// What is to be made faster.
    pub problem: ProblemSource,
    /// Where kernels run.
    pub target: Target,
    /// What may be spent.
    pub budget: Budget,
    /// When to stop before that.
    pub stop_rules: StopRules,
    /// How parents are picked.
    pub policy: Policy,
    /// Model answers in one step; 20 is usual.
    pub inner_turns: u32,
    /// Kernels of earlier runs in `runs_dir` to begin with, at most; none for a start from nothing.
    pub seeds: u32,
    /// The part of the run's active time that profiles may take; absent: no bound.
    pub profile_share: Option<f64>,
    /// What candidates are compared with.
    pub baselines: Vec<BaselineKind>,
    /// Options for the evaluate server: handed to every tool whose schema has a property of that name, and hidden from the model.
    pub evaluation: Map<String, Value>,
    /// The folder that gets the run's folder.
    pub runs_dir: PathBuf,
    /// Where the best kernel is also to be written, beside the run's own `best.py`.
    pub output: Option<PathBuf>,
    /// What to work with.
    pub setup: Setup,
}

/// A run that goes on.
#[derive(Clone, Debug)]
pub struct ResumeRequest {
    /// The run's folder.
    pub run_dir: PathBuf,
    /// What is to be different from here on.
    pub overrides: Overrides,
    /// What to work with; nothing of this is kept in the run's folder.
    pub setup: Setup,
}

/// What a resumed run does differently; absent means as before.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// New limits, counted from the run's start, not from the resume. Only the limits that are set replace the old ones.
    pub budget: Budget,
    /// Stop after this many steps without progress.
    pub stall_steps: Option<u32>,
    /// Stop at this speedup.
    pub target_speedup: Option<f64>,
    /// Model answers in one step.
    pub inner_turns: Option<u32>,
    /// Where the best kernel is also to be written.
    pub output: Option<PathBuf>,
}

/// What a run needs beside its own folder.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which model answers.
    pub model: kernelwright_model::ClientSettings,
    /// The tool servers. One must list `evaluate_kernel` and `measure_baseline`, one `describe_target`.
    pub servers: Vec<ServerSpec>,
    /// A folder whose templates replace the built-in ones of the same name.
    pub prompts_dir: Option<PathBuf>,
}

/// A problem, read.
#[derive(Clone, Debug)]
pub struct ProblemSource {
    /// Where it lay; for messages only.
    pub path: PathBuf,
    /// The file's name without its ending; it begins the run's name.
    pub name: String,
    /// The file's text.
    pub source: String,
}

/// One tool server.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// What messages call it, e.g. `evaluate`.
    pub name: String,
    /// How to get at it.
    pub launch: Launch,
    /// How long a call may be silent; every progress message starts this over.
    pub idle_timeout: Duration,
    /// How long a call may take in all.
    pub total_timeout: Duration,
    /// Tools of it that the run does without: neither the model nor the engine sees them.
    pub leave_out: Vec<String>,
    /// Variables that hold secrets, whatever they are called: it does not inherit them.
    pub secrets: Vec<String>,
}

/// How to get at a tool server.
#[derive(Clone, Debug)]
pub enum Launch {
    /// Start it as a child process that speaks MCP over its standard input and output.
    Spawn {
        /// The executable.
        program: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Variables to set. The rest of the environment is inherited, without [`ServerSpec::secrets`] and anything that looks like a key,
        /// token or password.
        env: Vec<(String, String)>,
    },
}
