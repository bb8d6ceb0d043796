//! What can be asked, and the settings that stay the same between requests.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use kernelwright_harness::sandbox;
use kernelwright_protocol::{Backend, BaselineKind, Bytes, Target};

use crate::draws::USUAL;

/// What an evaluator needs to know about this machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Python to use; found as `Interpreter::find` does when absent.
    pub python: Option<PathBuf>,
    /// Where packages are unpacked, logs kept and scratch folders made.
    pub cache_dir: PathBuf,
    /// The executable that answers to `sandbox::VERB`: kernelwright itself.
    pub sandbox_helper: PathBuf,
    /// Threads (and, on `cpu`, processors) that each side may use; all that this process may use when absent.
    pub threads: Option<usize>,
    /// Limits of requests that set none.
    pub limits: Limits,
    /// A shell command that gives the verdicts in place of this evaluator.
    pub command: Option<String>,
}

impl Settings {
    /// The user's cache folder, this executable as the helper, every processor, default limits.
    #[must_use]
    pub fn new(sandbox_helper: PathBuf) -> Self {
        let cache_dir = kernelwright_harness::default_cache();
        Self { python: None, cache_dir, sandbox_helper, threads: None, limits: Limits::default(), command: None }
    }
}

/// How long the phases of a candidate may take, and how much it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Importing, with all compilation that the import does, and constructing `ModelNew`.
    pub build: Duration,
    /// One call; the first one compiles and tunes.
    pub run: Duration,
    /// One batch of timed calls.
    pub time: Duration,
    /// Memory for the inputs and outputs of one batch, and for one call's outputs.
    pub memory: Bytes,
    /// Limits of the process.
    pub process: sandbox::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            build: Duration::from_secs(300),
            run: Duration::from_secs(120),
            time: Duration::from_secs(120),
            memory: Bytes(4 << 30),
            process: sandbox::Limits::default(),
        }
    }
}

/// One candidate to evaluate.
#[derive(Clone, Debug)]
pub struct EvaluateRequest {
    /// The text of the problem file.
    pub problem_source: String,
    /// What the problem is called in messages and tracebacks, e.g. its file name.
    pub problem_name: String,
    /// The text of the candidate file.
    pub candidate_source: String,
    /// Where to run.
    pub target: Target,
    /// How.
    pub options: Options,
}

/// How to evaluate.
#[derive(Clone, Debug)]
pub struct Options {
    /// At least so many different draws of inputs are checked.
    pub trials: NonZeroU32,
    /// Which baselines to compare with.
    pub baselines: BaselineChoice,
    /// Whether to time a correct candidate.
    pub measure: bool,
    /// Whether TF32 is allowed, on both sides.
    pub tf32: bool,
    /// How many interleaved pairs to time; as many as fit into a reasonable time when absent.
    pub pairs: Option<NonZeroU32>,
    /// Whether compute-sanitizer looks at a correct candidate; for CUDA.
    pub deep_check: bool,
    /// Limits; those of the settings when absent.
    pub limits: Option<Limits>,
}

impl Default for Options {
    fn default() -> Self {
        let trials = const { NonZeroU32::new(USUAL as u32).expect("there are trials") };
        Self { trials, baselines: BaselineChoice::All, measure: true, tf32: false, pairs: None, deep_check: false, limits: None }
    }
}

/// Which baselines to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineChoice {
    /// Eager and compiled.
    All,
    /// The problem's module as written; saves the time of compiling it.
    EagerOnly,
    /// The compiled module only.
    CompileOnly,
}

impl BaselineChoice {
    /// The choice of exactly these kinds; none for no kind.
    #[must_use]
    pub fn of(kinds: &[BaselineKind]) -> Option<Self> {
        match (kinds.contains(&BaselineKind::Eager), kinds.contains(&BaselineKind::Compile)) {
            (true, true) => Some(Self::All),
            (true, false) => Some(Self::EagerOnly),
            (false, true) => Some(Self::CompileOnly),
            (false, false) => None,
        }
    }

    pub(crate) fn kinds(self) -> &'static [BaselineKind] {
        match self {
            Self::All => &[BaselineKind::Eager, BaselineKind::Compile],
            Self::EagerOnly => &[BaselineKind::Eager],
            Self::CompileOnly => &[BaselineKind::Compile],
        }
    }
}

/// Limits on the trusted side: generous, because the problem is the user's own.
pub(crate) mod trusted {
    use std::time::Duration;

    /// Starting a worker: importing torch from a cold disk.
    pub(crate) const START: Duration = Duration::from_secs(180);
    /// Loading the problem, or one reference run with its float64 twin.
    pub(crate) const STEP: Duration = Duration::from_secs(600);
    /// The same for inputs that are not drawn as the problem draws its own, beside some runs on those.
    pub(crate) const OTHER_DRAW: Duration = Duration::from_secs(30);
    /// Beyond its own limit, what preparing a baseline may take before the worker counts as hung.
    pub(crate) const BASELINE_SLACK: Duration = Duration::from_secs(20);
}

/// How long `torch.compile` may take.
pub(crate) fn compile_limit(backend: Backend) -> Duration {
    match backend {
        Backend::Cpu => Duration::from_secs(180),
        Backend::Cuda => Duration::from_secs(300),
    }
}
