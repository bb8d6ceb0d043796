//! Why there are no figures.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kernelwright_compile::CompileError;
use kernelwright_harness::{AskError, HarnessError, LaunchError, Refusal};
use kernelwright_protocol::{Backend, ProfilerKind, Target};

use crate::ImportError;
use crate::ladder;

/// A target could not be described or a module not be profiled.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The machine cannot run workers.
    #[error(transparent)]
    Environment(#[from] HarnessError),
    /// The worker did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A source file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The arguments contradict each other.
    #[error(transparent)]
    Arguments(#[from] Contradiction),
    /// A profiler was asked for that the target does not have.
    #[error("`{profiler}` is none of the profilers for {target}: {}", names(target.backend))]
    NotForTarget {
        /// Which.
        profiler: ProfilerKind,
        /// Where it was to be used.
        target: Target,
    },
    /// There is no such device here.
    #[error("{reason}")]
    NoDevice {
        /// What was asked for.
        target: Target,
        /// What torch says.
        reason: String,
    },
    /// The problem does not import, build or run.
    #[error("the problem fails in `{}`: {}", .0.phase, .0.message)]
    Problem(Refusal),
    /// The candidate does not import, build or run.
    #[error("the candidate fails in `{}`: {}", .0.phase, .0.message)]
    Candidate(Refusal),
    /// A profiler does not work here.
    #[error("{profiler} cannot be used here: {reason}")]
    Unavailable {
        /// Which.
        profiler: ProfilerKind,
        /// Why not.
        reason: String,
        /// The exact step that makes it work.
        fix: String,
    },
    /// No candidate could be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The worker was killed because it took too long.
    #[error("{what} took longer than {} s", limit.as_secs())]
    TimedOut {
        /// What it was doing.
        what: &'static str,
        /// What it was given.
        limit: Duration,
    },
    /// The process ended while it ran the problem's or the candidate's code.
    #[error("the process died while profiling: {exit}")]
    Died {
        /// How it ended.
        exit: String,
        /// The end of what it printed.
        tail: String,
    },
    /// The worker broke its own protocol.
    #[error("the profile worker failed: {reason}")]
    Worker {
        /// What was wrong.
        reason: String,
        /// Python's traceback, where there is one.
        traceback: String,
    },
    /// A file holds no profile that can be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// No report of this name is kept.
    #[error("no profile `{0}` is kept")]
    NoSuchProfile(String),
    /// A report has no such section.
    #[error("the profile has no section `{section}`; it has {known}")]
    NoSuchSection {
        /// What was asked for.
        section: String,
        /// Those that the report has.
        known: String,
    },
    /// A report has no such kernel.
    #[error(transparent)]
    NoSuchKernel(#[from] NoKernel),
    /// Reports cannot be kept or read.
    #[error("cannot keep profiles in {}: {source}", folder.display())]
    Archive {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The one who asked does not wait any more.
    #[error("cancelled")]
    Cancelled,
}

/// Arguments that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// The problem was given twice.
    #[error("give either `problem` or `problem_file`, not both")]
    TwoProblems,
    /// It was not given at all.
    #[error("neither `problem` nor `problem_file` is given")]
    NoProblem,
    /// The candidate was given twice.
    #[error("give either `candidate` or `candidate_file`, not both")]
    TwoCandidates,
    /// Nothing here can look at the target.
    #[error("there is no profiler for this target")]
    NoProfiler,
    /// One kernel was asked for of a section that has none of its own for each.
    #[error("`kernel` goes with the sections figures, stalls, source and raw; `{section}` is about the whole profile")]
    KernelOfWhole {
        /// The section.
        section: &'static str,
    },
}

impl Contradiction {
    fn hint(self) -> &'static str {
        match self {
            Self::TwoProblems | Self::NoProblem | Self::TwoCandidates => {
                "give `problem` or `problem_file`, and for a candidate `candidate` or `candidate_file`"
            }
            Self::NoProfiler => "name another target; list_profilers says what each has",
            Self::KernelOfWhole { .. } => "leave `kernel` out, or ask for a section of one kernel",
        }
    }
}

/// There is no kernel of a name that has a section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the profile has no kernel `{name}` with `{section}`; those with it: {known}")]
pub struct NoKernel {
    /// What was asked for.
    pub name: String,
    /// Of which section.
    pub section: &'static str,
    /// The kernels that have it.
    pub known: String,
}

impl ProfileError {
    /// Sorts a question that stayed without an answer. `what` was being done on `target`; `tail` is the end of what the worker printed.
    pub(crate) fn unanswered(error: AskError, what: &'static str, target: Target, tail: impl FnOnce() -> String) -> Self {
        match error {
            AskError::Deadline { limit, .. } => Self::TimedOut { what, limit },
            AskError::Ended(exit) => Self::Died { exit: exit.to_string(), tail: tail() },
            AskError::Refused(refusal) => match refusal.kind.as_str() {
                "device" => Self::NoDevice { target, reason: refusal.message },
                "problem_import" | "problem_shape" | "problem_run" => Self::Problem(refusal),
                "import" | "no_model_new" | "construct" | "run" => Self::Candidate(refusal),
                "profiler" => Self::Unavailable { profiler: ProfilerKind::Proton, reason: refusal.message, fix: refusal.traceback },
                _ => Self::Worker { reason: refusal.message, traceback: refusal.traceback },
            },
            error @ (AskError::TooLong(_) | AskError::Violation(_) | AskError::Freeze(_)) => {
                Self::Worker { reason: error.to_string(), traceback: String::new() }
            }
        }
    }

    /// Whether another profiler may do where this one does not.
    pub(crate) fn is_obstacle(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::NoDevice { .. })
    }

    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Environment(HarnessError::NoTorch { .. }) => "no_torch",
            Self::Environment(_) => "no_python",
            Self::Launch(_) | Self::Worker { .. } => "worker_failed",
            Self::Unreadable { .. } => "file_unreadable",
            Self::Arguments(_) | Self::NotForTarget { .. } => "invalid_arguments",
            Self::NoDevice { .. } => "no_device",
            Self::Unavailable { .. } => "profiler_unavailable",
            Self::Compile(error) => error.code(),
            Self::Problem(_) => "problem_failed",
            Self::Candidate(_) => "candidate_failed",
            Self::TimedOut { .. } => "timed_out",
            Self::Died { .. } => "process_died",
            Self::Import(error) => error.code(),
            Self::NoSuchProfile(_) => "no_such_profile",
            Self::NoSuchSection { .. } => "no_such_section",
            Self::NoSuchKernel(_) => "no_such_kernel",
            Self::Archive { .. } => "archive_failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// What Python or the process itself printed about it; empty where there is nothing.
    #[must_use]
    pub fn diagnostics(&self) -> &str {
        match self {
            Self::Problem(refusal) | Self::Candidate(refusal) => &refusal.traceback,
            Self::Died { tail: text, .. } | Self::Worker { traceback: text, .. } => text,
            _ => "",
        }
    }

    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        let text = match self {
            Self::Unavailable { fix, .. } => fix,
            Self::Compile(error) => return error.hint(),
            Self::Environment(error) => error.hint(),
            Self::Launch(_) => "run `kernelwright doctor`; it says what a worker lacks here",
            Self::Unreadable { .. } => "give a path that the server can read, or the source text itself",
            Self::Arguments(contradiction) => contradiction.hint(),
            Self::NotForTarget { .. } => "leave `profiler` out for the most telling one that works",
            Self::NoDevice { .. } => "use the target `cpu`, or run the server on a machine with that device and a torch built for it",
            Self::Problem(_) => {
                "repair the problem file: it defines Model, get_inputs and get_init_inputs, and its forward must run on this target"
            }
            Self::Candidate(_) => "evaluate the candidate first: only what evaluates as correct is worth profiling",
            Self::TimedOut { .. } => "profile smaller inputs, or a candidate without autotuning",
            Self::Died { .. } => "evaluate the candidate first; a crash is usually an access out of bounds",
            Self::Worker { .. } => "ask again; if it stays, run the server with RUST_LOG=debug and report it",
            Self::Import(error) => error.hint(),
            Self::NoSuchProfile(_) => "profile again and use the `id` of the answer; only the newest profiles are kept",
            Self::NoSuchSection { .. } => "ask for one of the `sections` that the profile names",
            Self::NoSuchKernel(_) => "read the section `kernels` for their names, or leave `kernel` out for the most expensive one",
            Self::Archive { .. } => "make room in the cache folder, or name another one",
            Self::Cancelled => "ask again",
        };
        text.to_owned()
    }
}

fn names(backend: Backend) -> String {
    ladder::order(backend).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
