//! The tool servers.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::put;
use crate::settings::Flags;

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
    /// Where installed packs lie
    #[arg(long, value_name = "FOLDER")]
    pub home: Option<String>,
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
        put(&mut flags, "paths.packs", "--home", self.home.as_ref());
        put(&mut flags, "paths.cache", "--cache", self.cache.as_ref());
        flags
    }
}
