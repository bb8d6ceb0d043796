//! What a run returns.

use std::path::PathBuf;

use kernelwright_protocol::{BaselineReport, CandidateId, Evaluation, Timing, Verdict};
use kernelwright_search::{NodeId, RunId, RunOutcome, Spend, StopReason};

/// How a run, or this session of it, came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The run's name.
    pub run: RunId,
    /// Its folder.
    pub dir: PathBuf,
    /// Why it returned.
    pub end: End,
    /// What it found so far.
    pub found: RunOutcome,
    /// The best correct kernel.
    pub best: Option<Best>,
    /// What there was to beat.
    pub baseline: Option<BaselineReport>,
    /// What was used up, over all sessions.
    pub spend: Spend,
}

/// Why a run returned.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It is done.
    Finished(StopReason),
    /// The model is out of reach; nothing was lost and a resume goes on.
    Paused {
        /// What the model client says.
        reason: String,
    },
    /// The answers have to come as files; a resume goes on once they lie there.
    Suspended {
        /// The files that are waited for.
        waiting: Vec<PathBuf>,
    },
    /// Somebody stopped it; a resume goes on.
    Interrupted,
}

/// The best correct kernel of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Its node; absent while its step is open.
    pub node: Option<NodeId>,
    /// Its text's hash.
    pub candidate: CandidateId,
    /// The verdict, with times and findings.
    pub evaluation: Evaluation,
    /// The file with its text, unchanged.
    pub path: PathBuf,
    /// What was done and why it is faster, in the model's words.
    pub summary: String,
}

impl Best {
    /// Speedup, interval and times; absent when the kernel could not be timed.
    #[must_use]
    pub fn timing(&self) -> Option<&Timing> {
        match &self.evaluation.verdict {
            Verdict::Correct(correct) => correct.timing.as_ref(),
            _ => None,
        }
    }
}
