//! Warm start: with which kernels of earlier runs a new run begins.
//!
//! They are proposals like any other: judged anew, on this problem and this target, before anything is built on them.

use kernelwright_protocol::{CandidateId, Likeness, ProblemId, Subject};
use serde::{Deserialize, Serialize};

use crate::RunId;

/// How much of its operators a problem has to share for its kernel to be worth an evaluation.
const LEAST_OPERATORS: f64 = 0.6;

/// What an earlier run found, in brief.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierRun {
    /// The run.
    pub run: RunId,
    /// Its problem's name.
    pub problem: String,
    /// The hash of its problem's source.
    pub problem_id: ProblemId,
    /// What its problem is about, and where it was measured.
    pub subject: Subject,
    /// Its best kernel.
    pub candidate: CandidateId,
    /// How many times as fast as the baseline that was there, for sure.
    pub speedup: f64,
    /// What was done and why, in the words of the model that wrote it.
    pub summary: String,
}

/// A kernel of an earlier run that this one begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seed {
    /// The run it is from.
    pub run: RunId,
    /// That run's problem.
    pub problem: String,
    /// The kernel: its text is kept under this name in this run's folder too.
    pub candidate: CandidateId,
    /// How many times as fast as the baseline it was there, for sure.
    pub speedup: f64,
    /// How alike the problems are, between 0 and 1.
    pub likeness: f64,
    /// The same in words.
    pub why: String,
    /// What was done and why, in the words of the model that wrote it.
    pub summary: String,
}

/// The kernels of earlier runs to begin with, the most promising first: those for this very problem before others, those for this
/// architecture before those for another of its kind, and then by how alike the problems are and how fast the kernel was.
#[must_use]
pub fn choose_seeds(problem: &ProblemId, subject: &Subject, earlier: &[EarlierRun], limit: usize) -> Vec<Seed> {
    let mut ranked: Vec<(Rank, Seed)> = earlier
        .iter()
        .filter_map(|run| {
            let same_problem = run.problem_id == *problem && run.subject.backend == subject.backend;
            // The problem may call nothing that has a name, and is the same all the same.
            let same = Likeness { operators: 1.0, inputs: 1.0, same_arch: run.subject.arch == subject.arch };
            let likeness = if same_problem { Some(same) } else { subject.likeness(&run.subject) };
            let likeness = likeness.filter(|likeness| likeness.operators >= LEAST_OPERATORS)?;
            let why = match (same_problem, likeness.same_arch) {
                (true, true) => "the same problem and architecture".to_owned(),
                (true, false) => "the same problem, the same kind of device".to_owned(),
                (false, _) => likeness.to_string(),
            };
            let score = likeness.score();
            let seed = Seed {
                run: run.run.clone(),
                problem: run.problem.clone(),
                candidate: run.candidate.clone(),
                speedup: run.speedup,
                likeness: score,
                why,
                summary: run.summary.clone(),
            };
            // In tenths: sizes that differ a little must not outweigh a kernel that is twice as fast.
            Some((Rank { same_arch: likeness.same_arch, same_problem, tenths: (score * 10.0).round(), speedup: run.speedup }, seed))
        })
        .collect();
    ranked.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal));
    let mut seeds: Vec<Seed> = Vec::new();
    for (_, seed) in ranked {
        if seeds.len() < limit && seeds.iter().all(|known| known.candidate != seed.candidate) {
            seeds.push(seed);
        }
    }
    seeds
}

/// Compared field by field.
#[derive(PartialEq, PartialOrd)]
struct Rank {
    same_arch: bool,
    same_problem: bool,
    tenths: f64,
    speedup: f64,
}
