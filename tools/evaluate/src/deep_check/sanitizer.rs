//! compute-sanitizer itself: where it is, and how each of its tools is called.

use std::path::{Path, PathBuf};

use kernelwright_harness::find_program;
use kernelwright_harness::sandbox::Around;
use kernelwright_protocol::{Backend, SanitizerTool, Target};

use crate::EvaluateError;

/// Where installers put it, beside the `PATH`.
const FOLDERS: [&str; 2] = ["/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"];

/// What it ends with where it has found errors and the candidate's process ended with 0.
pub(super) const ERRORS_FOUND: i32 = 86;

/// Reports that it prints; it goes on counting.
const PRINTED: u32 = 300;

/// Bytes behind every allocation that belong to nobody: without them an overrun may end in the next allocation, and so unseen.
const PADDING: u32 = 256;

/// An installed compute-sanitizer.
#[derive(Clone, Debug)]
pub(crate) struct Sanitizer {
    program: PathBuf,
}

/// The program `compute-sanitizer`, where it is installed.
#[must_use]
pub fn sanitizer() -> Option<PathBuf> {
    find_program("compute-sanitizer", &FOLDERS)
}

impl Sanitizer {
    /// The one to check candidates on `target` with.
    pub(crate) fn find(target: Target) -> Result<Self, EvaluateError> {
        if target.backend != Backend::Cuda {
            return Err(EvaluateError::NoDeepCheck {
                reason: "compute-sanitizer looks at CUDA kernels alone",
                fix: "evaluate with target cuda, or without the deep check",
            });
        }
        let program = sanitizer().ok_or(EvaluateError::NoDeepCheck {
            reason: "`compute-sanitizer` is not on the PATH and not below /usr/local/cuda",
            fix: "install it (part of the CUDA toolkit; Debian: cuda-sanitizer-VERSION, conda: cuda-sanitizer-api) and put its folder on the PATH, \
                or evaluate without the deep check",
        })?;
        Ok(Self { program: program.canonicalize().unwrap_or(program) })
    }

    /// One of its tools around a worker, with its log in a file that the worker cannot write.
    pub(super) fn around(&self, tool: SanitizerTool, log: &Path) -> Around {
        let common = [
            ("--tool", tool.as_str().to_owned()),
            ("--log-file", log.to_string_lossy().replace('%', "%%")),
            ("--error-exitcode", ERRORS_FOUND.to_string()),
            ("--print-limit", PRINTED.to_string()),
            // The worker is a child that becomes Python, and waits until it is its turn.
            ("--target-processes", "all".to_owned()),
            ("--launch-timeout", "0".to_owned()),
            // Whose library has launched a kernel is told by its folder.
            ("--strip-paths", "no".to_owned()),
        ];
        let own = match tool {
            // Calls that fail are the business of whoever makes them: torch and Triton ask for things that may not be there.
            SanitizerTool::Memcheck => vec![("--report-api-errors", "no".to_owned()), ("--padding", PADDING.to_string())],
            SanitizerTool::Racecheck => vec![("--racecheck-report", "analysis".to_owned())],
            SanitizerTool::Synccheck | SanitizerTool::Initcheck => vec![],
        };
        let program = self.program.to_string_lossy().into_owned();
        let options = common.into_iter().chain(own).flat_map(|(name, value)| [name.to_owned(), value]);
        Around { command: std::iter::once(program).chain(options).collect(), readable: self.folders() }
    }

    /// Its own folder and the one beside `bin` in which it keeps what it loads into other processes.
    fn folders(&self) -> Vec<PathBuf> {
        let own = self.program.parent();
        let beside = own.and_then(Path::parent).map(|toolkit| toolkit.join("compute-sanitizer"));
        own.map(Path::to_path_buf).into_iter().chain(beside).filter(|folder| folder.is_dir()).collect()
    }
}
