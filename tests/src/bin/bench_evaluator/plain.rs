//! The reference in a process of its own, without an evaluator: what its users see.

use std::process::Command;
use std::time::Duration;

use kernelwright_protocol::{Backend, Target};
use kernelwright_tests::softmax::Problem;

use crate::Failure;

/// The program that measures it.
const PROGRAM: &str = include_str!("plain.py");

/// Calls with inputs of their own: about as many as a batch of the evaluator has.
fn calls(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 300,
        Backend::Cuda => 16,
    }
}

/// What one call takes.
pub fn call(problem: Problem, target: Target, threads: Option<usize>) -> Result<Duration, Failure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(problem.name());
    std::fs::write(&file, problem.source())?;
    let threads = threads.unwrap_or(0);
    let mut command = Command::new(kernelwright_tests::python());
    command.args(["-c", PROGRAM]).arg(&file).args([target.to_string(), threads.to_string(), calls(target.backend).to_string()]);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(Duration::try_from_secs_f64(String::from_utf8(output.stdout)?.trim().parse()?)?)
}
