//! Exit codes: what a script can tell from the way the process ended.

use std::process::ExitCode;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Success = 0,
    Unexpected = 1,
    Usage = 2,
    NoImprovement = 10,
    NotCorrect = 11,
    NotCompiled = 12,
    PackProblems = 13,
    ProblemInvalid = 20,
    ToolServer = 21,
    Model = 22,
    BudgetSpent = 23,
    RunFolder = 24,
    Pack = 25,
    Suspended = 30,
    Paused = 31,
    Interrupted = 130,
    Unread = 141,
}

impl Exit {
    pub const ALL: [Self; 17] = [
        Self::Success,
        Self::Unexpected,
        Self::Usage,
        Self::NoImprovement,
        Self::NotCorrect,
        Self::NotCompiled,
        Self::PackProblems,
        Self::ProblemInvalid,
        Self::ToolServer,
        Self::Model,
        Self::BudgetSpent,
        Self::RunFolder,
        Self::Pack,
        Self::Suspended,
        Self::Paused,
        Self::Interrupted,
        Self::Unread,
    ];

    /// The number the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What it means, in a line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "improved and verified (evaluate: correct; other commands: done)",
            Self::Unexpected => "unexpected error",
            Self::Usage => "wrong arguments or settings",
            Self::NoImprovement => "finished with a correct kernel that is not faster for sure",
            Self::NotCorrect => "evaluate, suite run: a candidate is not correct",
            Self::NotCompiled => "compile: a kernel does not compile, would not launch, or cannot be compiled here",
            Self::PackProblems => "knowledge check: a pack has something to correct",
            Self::ProblemInvalid => "the problem or candidate file cannot be used",
            Self::ToolServer => "a tool server, Python, torch, a compiler, the device or the deep check is unavailable",
            Self::Model => "the model or its key cannot be used",
            Self::BudgetSpent => "finished without a correct kernel",
            Self::RunFolder => "the run's folder cannot be used: missing, locked, of a newer format, or the disk is full",
            Self::Pack => "a knowledge pack, what it is made from, or the folder of packs cannot be used",
            Self::Suspended => "suspended: waiting for answers in the mailbox",
            Self::Paused => "paused: the model is out of reach",
            Self::Interrupted => "interrupted; what a run or a suite has done is saved",
            Self::Unread => "whoever read the output left before its end",
        }
    }

    /// The table for `--help`.
    pub fn table() -> String {
        let line = |exit: &Self| format!("  {:>3}  {}\n", exit.code(), exit.meaning());
        format!("Exit codes:\n{}", Self::ALL.iter().map(line).collect::<String>())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
