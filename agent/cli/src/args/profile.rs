//! The command line of `profile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kernelwright_protocol::ProfilerKind;

use super::put;
use crate::settings::Flags;

#[derive(Debug, Args)]
pub struct Profile {
    /// The problem file, with `Model`
    #[arg(required_unless_present_any = ["import", "compare", "read", "list"])]
    pub problem: Option<PathBuf>,
    /// The candidate file, with `ModelNew`; the problem itself is profiled without it
    pub candidate: Option<PathBuf>,
    /// Where to run: cpu, cuda, cuda:N, or auto for a GPU if there is one [default: auto]
    #[arg(short, long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Which profiler; auto takes the most telling one that works
    #[arg(short, long, value_name = "PROFILER", default_value = "auto")]
    pub profiler: ProfilerChoice,
    /// Read a profiler's file instead: a Nsight Compute report or its CSV, a Proton profile, a Torch trace
    #[arg(long, value_name = "FILE", conflicts_with = "problem", help_heading = "Instead of profiling")]
    pub import: Option<PathBuf>,
    /// Say what moved from one kept profile to another
    #[arg(long, value_names = ["ID", "ID"], num_args = 2, conflicts_with_all = ["problem", "import"], help_heading = "Instead of profiling")]
    pub compare: Option<Vec<String>>,
    /// Print a section of a kept profile: kernels, causes, before, limits, figures, stalls, source or raw
    #[arg(
        long,
        value_names = ["ID", "SECTION"],
        num_args = 2,
        conflicts_with_all = ["problem", "import", "compare"],
        help_heading = "Instead of profiling"
    )]
    pub read: Option<Vec<String>>,
    /// With --read: the kernel's name or a part of it; the most expensive one without it
    #[arg(long, value_name = "NAME", requires = "read", help_heading = "Instead of profiling")]
    pub kernel: Option<String>,
    /// List the profilers: which work here, and what makes the others work
    #[arg(long, conflicts_with_all = ["problem", "import", "compare", "read"], help_heading = "Instead of profiling")]
    pub list: bool,
    /// Threads that kernels on the CPU may use
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// The Python with torch
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A profiler, or the best there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfilerChoice {
    Auto,
    Ncu,
    Proton,
    Torch,
    Cpu,
    Static,
}

impl ProfilerChoice {
    /// The one that was named.
    pub fn kind(self) -> Option<ProfilerKind> {
        match self {
            Self::Auto => None,
            Self::Ncu => Some(ProfilerKind::Ncu),
            Self::Proton => Some(ProfilerKind::Proton),
            Self::Torch => Some(ProfilerKind::Torch),
            Self::Cpu => Some(ProfilerKind::Cpu),
            Self::Static => Some(ProfilerKind::Static),
        }
    }
}

impl Profile {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "evaluate.target", "--target", self.target.as_ref());
        put(&mut flags, "evaluate.threads", "--threads", self.threads.as_ref());
        put(&mut flags, "evaluate.python", "--python", self.python.as_ref());
        flags
    }
}
