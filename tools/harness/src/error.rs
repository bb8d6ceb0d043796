//! What can go wrong before a worker runs: the interpreter, the embedded package, the folders.

use std::io;
use std::path::PathBuf;

/// The environment cannot run workers.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The interpreter that was asked for is not there or not executable.
    #[error("no Python interpreter at {} (from {origin})", path.display())]
    InterpreterMissing {
        /// What was looked for.
        path: PathBuf,
        /// Where that path came from, e.g. `KERNELWRIGHT_PYTHON`.
        origin: &'static str,
    },
    /// The interpreter ran, but not to the end of the probe.
    #[error("{} does not run: {detail}", path.display())]
    InterpreterBroken {
        /// The interpreter.
        path: PathBuf,
        /// Its last line on stderr, or the operating system's message.
        detail: String,
    },
    /// The interpreter has no torch.
    #[error("{} (Python {version}) has no torch", path.display())]
    NoTorch {
        /// The interpreter.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// A suite of problems could not be generated.
    #[error("the suite `{suite}` cannot be generated: {detail}")]
    Suite {
        /// Which one.
        suite: &'static str,
        /// The generator's last line on stderr, or the operating system's message.
        detail: String,
    },
    /// A folder or file of ours could not be made.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// What could not be written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl HarnessError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InterpreterMissing { .. } => {
                "pass --python or set KERNELWRIGHT_PYTHON to a Python with torch; in a checkout of kernelwright `make env` makes one in .venv"
            }
            Self::InterpreterBroken { .. } => "run the interpreter by hand to see why; CPython 3.10 or newer is needed",
            Self::NoTorch { .. } => "install torch into this interpreter, or name another with --python or KERNELWRIGHT_PYTHON",
            Self::Suite { .. } => {
                "the interpreter needs numpy beside torch; `python -c 'import torch.testing._internal.common_utils'` must work"
            }
            Self::Write { .. } => "check free space and permissions, or name another cache folder with XDG_CACHE_HOME",
        }
    }
}
