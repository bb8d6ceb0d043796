//! KernelBench's own evaluator, as its scripts use it: a process for each candidate.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Failure;

/// What its utilities import to ask models is not needed here: empty modules stand for what is not installed, which costs it no time.
const IMPORTS: &str = r#"
import sys
from importlib.util import find_spec
from types import ModuleType
sys.path.insert(0, sys.argv[1] + "/src")
for name, imported in (("dotenv", "load_dotenv"), ("openai", "OpenAI"), ("litellm", "completion")):
    if find_spec(name) is None:
        sys.modules[name] = ModuleType(name)
        setattr(sys.modules[name], imported, lambda *_: None)
import torch
from kernelbench.eval import eval_kernel_against_ref
"#;

const VERDICT: &str = r#"
result = eval_kernel_against_ref(
    open(sys.argv[3]).read(), open(sys.argv[4]).read(), num_correct_trials=5, num_perf_trials=100, measure_performance=True,
    build_dir=sys.argv[5], device=torch.device("cuda:0"), backend=sys.argv[2], check_for_excessive_speedup=False,
)
assert result is not None and result.compiled and result.correctness, result
"#;

/// Whether Python finds it and all that it imports, so that what is missing is said before anything is measured.
pub fn look_for(folder: &Path) -> Result<(), Failure> {
    let python = kernelwright_tests::python();
    let output = Command::new(&python).arg("-c").arg(IMPORTS).arg(folder).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().last().unwrap_or("it ended without a word");
    let (python, folder) = (python.display(), folder.display());
    Err(format!("{python} cannot import KernelBench's evaluator from {folder}: {why}. Install what is missing, or leave --kernelbench out")
        .into())
}

/// The wall time of its verdict; an error where it is not `correct`.
pub fn verdict(folder: &Path, backend: &str, problem: &str, candidate: &str) -> Result<Duration, Failure> {
    let scratch = tempfile::tempdir()?;
    let [problem_file, candidate_file] = ["problem.py", "candidate.py"].map(|name| scratch.path().join(name));
    std::fs::write(&problem_file, problem)?;
    std::fs::write(&candidate_file, candidate)?;
    let mut command = Command::new(kernelwright_tests::python());
    command
        .arg("-c")
        .arg([IMPORTS, VERDICT].concat())
        .arg(folder)
        .arg(backend)
        .arg(problem_file)
        .arg(candidate_file)
        .arg(scratch.path().join("build"));
    // A cache of its own: it would otherwise find what an earlier candidate has built.
    command.env("TORCH_EXTENSIONS_DIR", scratch.path().join("extensions")).env("TRITON_CACHE_DIR", scratch.path().join("triton"));
    let started = Instant::now();
    let output = command.output()?;
    let wall = started.elapsed();
    if output.status.success() { Ok(wall) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned().into()) }
}
