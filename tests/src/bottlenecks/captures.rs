//! What profilers wrote of the cases on a real device, kept in a folder: the profiler's own file, and beside it what it does not know.

use std::path::{Path, PathBuf};

use kernelwright_profile::{Capture, ImportError, Taken, Work, import};
use kernelwright_protocol::{Nanoseconds, ProfilerKind, TargetDescription};
use serde::{Deserialize, Serialize};

use super::Case;

/// The description of the device that the captures of a folder were taken on.
const TARGET: &str = "target.json";

/// A folder of captures.
#[derive(Clone, Debug)]
pub struct Captures {
    folder: PathBuf,
    target: TargetDescription,
}

/// What a profiler's file does not say of a case.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Measured {
    /// Wall time of a call without the profiler.
    wall_per_call_ns: Nanoseconds,
    /// What the problem has to move and compute.
    work: Option<Work>,
    /// How many calls Proton saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proton_calls: Option<u32>,
}

/// A capture that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What stands beside a capture is not what belongs there.
    #[error("{}: {source}", path.display())]
    Beside {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The profiler's file cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
}

impl Captures {
    /// The captures of a folder.
    pub fn open(folder: &Path) -> Result<Self, CaptureError> {
        Ok(Self { folder: folder.to_path_buf(), target: json(&folder.join(TARGET))? })
    }

    /// What a profiler said of a case, and of which device; nothing where it was not captured.
    pub fn read(&self, case: &Case, profiler: ProfilerKind) -> Result<Option<(Taken, TargetDescription)>, CaptureError> {
        let endings: &[&str] =
            if profiler == ProfilerKind::Proton { &["hatchet.gz", "hatchet"] } else { &["csv.gz", "ncu-rep.gz", "ncu-rep"] };
        let files = endings.iter().map(|ending| self.folder.join(file(case, ending)));
        let Some(file_of_profiler) = files.into_iter().find(|path| path.is_file()) else { return Ok(None) };
        let Measured { wall_per_call_ns, work, proton_calls } = json(&self.folder.join(file(case, "json")))?;
        let calls = proton_calls.filter(|_| profiler == ProfilerKind::Proton);
        let capture = import(&file_of_profiler)?.over(calls.unwrap_or(1));
        let capture = Capture { wall_per_call_ns: Some(wall_per_call_ns), ..capture };
        let taken = Taken { capture, before: vec![], work, files: vec![file_of_profiler], passed_over: vec![] };
        Ok(Some((taken, self.target.clone())))
    }
}

/// Keeps what a profiler wrote of a case, and what stands beside it.
pub fn record(folder: &Path, case: &Case, taken: &Taken, target: Option<&TargetDescription>) -> Result<(), CaptureError> {
    std::fs::create_dir_all(folder).map_err(|source| CaptureError::File { path: folder.to_path_buf(), source })?;
    for from in &taken.files {
        let ending = from.extension().unwrap_or_default().to_string_lossy();
        let path = folder.join(file(case, &ending));
        std::fs::copy(from, &path).map_err(|source| CaptureError::File { path, source })?;
    }
    let proton_calls = (taken.capture.profiler == ProfilerKind::Proton).then_some(taken.capture.calls);
    let wall_per_call_ns = taken.capture.wall_per_call_ns.unwrap_or_default();
    write(&folder.join(file(case, "json")), &Measured { wall_per_call_ns, work: taken.work.clone(), proton_calls })?;
    target.map_or(Ok(()), |target| write(&folder.join(TARGET), target))
}

/// The file of a case with this ending.
fn file(case: &Case, ending: &str) -> String {
    format!("{}.{ending}", case.name.replace('/', "."))
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, CaptureError> {
    let text = std::fs::read(path).map_err(|source| CaptureError::File { path: path.to_path_buf(), source })?;
    serde_json::from_slice(&text).map_err(|source| CaptureError::Beside { path: path.to_path_buf(), source })
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), CaptureError> {
    let text = serde_json::to_vec(value).map_err(|source| CaptureError::Beside { path: path.to_path_buf(), source })?;
    std::fs::write(path, text).map_err(|source| CaptureError::File { path: path.to_path_buf(), source })
}
