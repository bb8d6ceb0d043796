//! What stands in for the ladder of profilers and for the reading of files.

use std::path::{Path, PathBuf};

use kernelwright_protocol::{Backend, ProfilerKind, Target};

use crate::capture::{Capture, Rung};
use crate::{ProfileError, Profiler};

/// A file that is no profile.
#[derive(Debug, thiserror::Error)]
#[error("{} is no profile that can be read here", path.display())]
pub struct ImportError {
    path: PathBuf,
}

impl ImportError {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "file_unknown"
    }

    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "give a Nsight Compute report, its CSV, a Proton profile or a Torch trace"
    }
}

/// Reads a profiler's file.
pub fn import(path: &Path) -> Result<Capture, ImportError> {
    Err(ImportError { path: path.to_owned() })
}

impl Profiler {
    /// Says for each profiler whether it works on a target.
    pub async fn rungs(&self, target: Target) -> Result<Vec<Rung>, ProfileError> {
        let works = target.backend == Backend::Cpu || self.describe(target, &|_| {}).await.is_ok();
        Ok(vec![Rung {
            profiler: ProfilerKind::Torch,
            works,
            tells: "times of kernels and operators".to_owned(),
            cannot: "what holds a kernel back".to_owned(),
            reason: None,
            fix: None,
        }])
    }
}
