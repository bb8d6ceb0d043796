//! Files of profilers, kept for their reader: Nsight Compute opens its own reports.

use std::io;
use std::path::{Path, PathBuf};

use kernelwright_harness::{Scratch, copy_beneath};
use kernelwright_protocol::Bytes;

use crate::ProfileError;

/// The largest file that is taken over.
const LARGEST: Bytes = Bytes(512 << 20);
/// How many are kept; the oldest go first.
const KEPT: usize = 32;

/// Takes over a file that a worker's process has left in its folder; none where it left none.
pub(crate) fn keep(cache: &Path, scratch: &Scratch, name: &str) -> Result<Option<PathBuf>, ProfileError> {
    let folder = cache.join("profiles");
    let path = folder.join(format!("{}-{name}", scratch.path().file_name().unwrap_or_default().to_string_lossy()));
    let copied = std::fs::create_dir_all(&folder).and_then(|()| copy_beneath(scratch.path(), name, LARGEST, &path));
    match copied {
        Ok(()) => {
            prune(&folder);
            Ok(Some(path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ProfileError::Unreadable { path, source }),
    }
}

fn prune(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries.flatten().filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    files.sort_by(|a, b| b.cmp(a));
    for (_, path) in files.into_iter().skip(KEPT) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_outlives_its_folder_and_a_missing_one_is_none() {
        let cache = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(cache.path()).unwrap();
        assert_eq!(keep(cache.path(), &scratch, "profile.ncu-rep").unwrap(), None);
        std::fs::write(scratch.path().join("profile.ncu-rep"), "NVR").unwrap();
        let kept = keep(cache.path(), &scratch, "profile.ncu-rep").unwrap().unwrap();
        drop(scratch);
        assert_eq!(std::fs::read(kept).unwrap(), b"NVR");
    }
}
