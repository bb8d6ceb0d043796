//! The example kernels of packs, evaluated against the problems that they say they solve.
//!
//! A pack's example carries evidence: on which target it was found correct. What it says has to stay true, so the same code runs as a test on
//! the CPU and as a program (`make test-gpu`) wherever there is a device.

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernelwright_evaluate::{BaselineChoice, EvaluateRequest, Evaluator, Limits, Options, Settings};
use kernelwright_packs::{Entry, Evidence, EvidenceStatus, Pack, PackError, built_in};
use kernelwright_protocol::{Backend, EntryKind, Target, Timeout, Verdict};

/// Draws of inputs for each: its author has had all of them.
const TRIALS: u32 = 2;

/// An interpreted kernel on a problem of a GPU's size takes tens of seconds.
const LIMIT: Duration = Duration::from_secs(300);

/// Which examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those whose evidence says that they are correct on such a target.
    Proven,
    /// All that could run there, to find evidence for the others.
    All,
}

/// What is asked of the evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether it is correct.
    Correctness,
    /// Also how fast it is, against eager and compiled torch.
    Time,
}

/// One example with its problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// `pack/entry`.
    pub id: String,
    /// The problem's text.
    pub problem: String,
    /// The kernel's.
    pub candidate: String,
}

impl Example {
    /// An entry of a pack with the problem that it solves; nothing for one that solves none.
    #[must_use]
    pub fn of(pack: &Pack, entry: &Entry) -> Option<Self> {
        let problem = pack.problems.iter().find(|file| Some(&file.path) == entry.problem.as_ref())?;
        let id = format!("{}/{}", pack.id, entry.name);
        Some(Self { id, problem: problem.text.clone(), candidate: entry.text.clone() })
    }
}

/// What became of one.
#[derive(Debug)]
pub struct Outcome {
    /// `pack/entry`.
    pub id: String,
    /// How the verdict reads, in a line.
    pub reading: String,
    /// Whether it is `correct`.
    pub is_correct: bool,
    /// Wall time.
    pub wall: Duration,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_correct { "ok" } else { "WRONG" };
        write!(f, "{mark:<5} {:>6.1} s  {:<44} {}", self.wall.as_secs_f64(), self.id, self.reading)
    }
}

/// The built-in packs' examples for a backend, in the order of packs and files.
pub fn examples(backend: Backend, choice: Choice) -> Result<Vec<Example>, PackError> {
    let mut found = Vec::new();
    for pack in built_in()? {
        for entry in pack.entries.iter().filter(|entry| entry.kind == EntryKind::Example) {
            let is_wanted = match choice {
                Choice::Proven => {
                    let found = |evidence: &Evidence| evidence.status == EvidenceStatus::Correct && is_of(&evidence.target, backend);
                    entry.evidence.iter().any(found) && could_run(entry, backend)
                }
                Choice::All => could_run(entry, backend),
            };
            found.extend(Example::of(&pack, entry).filter(|_| is_wanted));
        }
    }
    Ok(found)
}

/// Whether an architecture is one of a backend's machines.
fn is_of(architecture: &str, backend: Backend) -> bool {
    match backend {
        Backend::Cuda => architecture.starts_with("sm_"),
        Backend::Cpu => architecture.starts_with(std::env::consts::ARCH),
    }
}

/// Whether an example can run on this machine: its language is one of the backend's, and the processor has what the example asks for.
fn could_run(entry: &Entry, backend: Backend) -> bool {
    let is_in = |languages: &[&str]| entry.languages.iter().any(|language| languages.contains(&language.as_str()));
    match backend {
        Backend::Cuda => is_in(&["cuda", "triton"]) && !entry.architectures.iter().any(|architecture| architecture.starts_with("gfx")),
        Backend::Cpu => {
            let has = |architecture: &String| is_of(architecture, backend) && has_instructions(architecture);
            // Triton's interpreter runs what is written for any GPU.
            is_in(&["triton"]) || is_in(&["cpp"]) && (entry.architectures.is_empty() || entry.architectures.iter().any(has))
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_instructions(architecture: &str) -> bool {
    !architecture.contains("avx512") || std::arch::is_x86_feature_detected!("avx512f")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_instructions(_: &str) -> bool {
    true
}

/// One evaluator for all, so that what it has started is used again.
#[derive(Debug)]
pub struct Judge {
    evaluator: Evaluator,
    target: Target,
    question: Question,
}

impl Judge {
    /// A judge for one target.
    #[must_use]
    pub fn new(binary: PathBuf, python: PathBuf, cache: &Path, target: Target, question: Question) -> Self {
        let settings = Settings { python: Some(python), cache_dir: cache.to_path_buf(), ..Settings::new(binary) };
        Self { evaluator: Evaluator::new(settings), target, question }
    }

    /// Evaluates one example.
    pub async fn judge(&self, example: &Example) -> Outcome {
        let started = Instant::now();
        let request = EvaluateRequest {
            problem_source: example.problem.clone(),
            problem_name: "problem.py".to_owned(),
            candidate_source: example.candidate.clone(),
            target: self.target,
            options: Options {
                trials: NonZeroU32::MIN.saturating_add(TRIALS - 1),
                baselines: BaselineChoice::All,
                measure: self.question == Question::Time,
                limits: Some(Limits { build: LIMIT, run: LIMIT, time: LIMIT, ..Limits::default() }),
                ..Options::default()
            },
        };
        let (reading, is_correct) = match self.evaluator.evaluate(&request, &|_| {}).await {
            Ok(evaluation) => (reading(&evaluation.verdict), matches!(evaluation.verdict, Verdict::Correct(_))),
            Err(error) => (format!("no verdict: {error}"), false),
        };
        Outcome { id: example.id.clone(), reading, is_correct, wall: started.elapsed() }
    }
}

fn reading(verdict: &Verdict) -> String {
    let status = verdict.status();
    match verdict {
        Verdict::BuildFailed(fault) | Verdict::Faulted(fault) => format!("{status} in {}: {}", fault.phase, fault.summary),
        Verdict::TimedOut(Timeout { phase, .. }) => format!("{status} in {phase}"),
        Verdict::Incorrect { mismatches, .. } => match mismatches.first() {
            Some(first) => format!("{status}: {}: {}: {}", first.trial, first.output, first.detail),
            None => status.to_owned(),
        },
        Verdict::Rejected { rule, explanation } => format!("{status}: {rule}: {explanation}"),
        Verdict::Correct(correct) => match &correct.timing {
            Some(t) => format!("{status}, {:.2}x ({:.2} to {:.2}), {}", t.speedup, t.speedup_low, t.speedup_high, t.candidate_ns),
            None => status.to_owned(),
        },
    }
}
