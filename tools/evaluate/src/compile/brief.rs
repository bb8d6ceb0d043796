//! A report cut to what fits into an answer: the same message once, and of many kernels that are fine the first.

use std::collections::HashSet;

use kernelwright_protocol::{Compilation, CompileOutcome};

use kernelwright_compile::{Artifacts, CompileError};

/// How many kernels an answer holds, over all architectures. One is about a hundred and fifty tokens.
const KERNELS: usize = 40;

/// Code that people and models read; the intermediate forms and the binaries are named in the whole report.
const READ: [&str; 3] = ["ptx", "sass", "amdgcn"];

/// Shortens a report; the whole of it is kept as a resource where anything was left out.
pub(super) fn brief(mut report: Compilation, artifacts: &Artifacts) -> Result<Compilation, CompileError> {
    let whole = serde_json::to_vec_pretty(&report).map_err(|error| CompileError::Keep(error.into()))?;
    let mut seen = HashSet::new();
    let mut is_cut = false;
    let share = (KERNELS / report.architectures.len().max(1)).max(1);
    for arch in &mut report.architectures {
        let total = arch.kernels.len();
        // What went wrong first, each group in its order.
        arch.kernels.sort_by_key(|kernel| matches!(kernel.outcome, CompileOutcome::Ok(_)));
        arch.kernels.truncate(share);
        let left_out = total - arch.kernels.len();
        if left_out > 0 {
            arch.notes.push(format!("{left_out} more kernels are in the whole report"));
            is_cut = true;
        }
        for kernel in &mut arch.kernels {
            if let CompileOutcome::Ok(compiled) | CompileOutcome::ExceedsLimits { compiled, .. } = &mut kernel.outcome {
                let before = compiled.artifacts.len();
                compiled.artifacts.retain(|artifact| READ.contains(&artifact.kind.as_str()));
                is_cut |= compiled.artifacts.len() < before;
            }
            if let CompileOutcome::Failed(said) | CompileOutcome::CompilerCrashed(said) = &mut kernel.outcome
                && !seen.insert(said.summary.clone())
            {
                is_cut |= !said.diagnostics.is_empty();
                said.diagnostics.clear();
            }
        }
        if let Some(stopped) = &mut arch.stopped
            && !seen.insert(stopped.diagnostics.summary.clone())
        {
            is_cut |= !stopped.diagnostics.diagnostics.is_empty();
            stopped.diagnostics.diagnostics.clear();
        }
    }
    if is_cut {
        report.whole = Some(artifacts.keep("json", &whole).map_err(CompileError::Keep)?.uri);
    }
    Ok(report)
}
