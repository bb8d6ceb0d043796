//! Runs of the agent with the recorded answers of a model.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{fixture, kernelwright};

/// The run whose answers are given again.
pub const RECORDING: &str = "recordings/rotary_embedding/events.jsonl";

/// The recording's model.
pub fn replay() -> String {
    format!("replay:{}", fixture(RECORDING).display())
}

/// The recording's problem with these sizes, whose reference does everything sixteen times. The recorded kernels are at least twice as fast as
/// one that does it once; so that they win whatever else the machine does meanwhile, they have to be many times as fast.
pub fn problem(home: &Path, name: &str, batch: usize, length: usize) -> PathBuf {
    let mut source = std::fs::read_to_string(fixture("problems/rotary_embedding.py")).unwrap();
    let mut replace = |from: &str, to: &str| {
        assert!(source.contains(from), "{from}");
        source = source.replace(from, to);
    };
    replace("BATCH, HEADS, LENGTH, DIM = 2, 8, 512, 64", &format!("BATCH, HEADS, LENGTH, DIM = {batch}, 8, {length}, 64"));
    replace("        q_out = ", "        for _ in range(16):\n            q_out = ");
    replace("        k_out = ", "            k_out = ");
    let path = home.join(name);
    std::fs::write(&path, source).unwrap();
    path
}

/// `optimize` as the recording was made, with only the eager baseline so that it is quick.
pub fn optimize(home: &Path, problem: &Path, model: &str) -> Command {
    let mut command = kernelwright(home);
    command.arg("optimize").arg(problem).args(["--target", "cpu", "--drafts", "1", "--steps", "2", "--stall", "2", "--model", model]);
    command.env("KERNELWRIGHT_EVALUATE_BASELINES", "eager");
    command
}
