//! One count of hardware counters at a time on this machine.
//!
//! A GPU has one set of counters. Nsight Compute keeps its runs apart by a file in the folder for temporary files, but each worker has a folder
//! of its own, so that is done here, for all servers of this machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

const FILE: &str = "kernelwright-counters.lock";
const AGAIN: Duration = Duration::from_millis(50);

/// Waits until nobody counts; the counters are free again when the result is dropped, or its process is gone. Nothing where the folder for
/// temporary files keeps no locks: then everybody counts when he likes.
pub(crate) async fn alone() -> Option<File> {
    alone_in(&std::env::temp_dir()).await
}

async fn alone_in(folder: &Path) -> Option<File> {
    let path = folder.join(FILE);
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(&path);
    // That of another user can be read and locked, but not opened to be made.
    let file = made.or_else(|_| File::open(&path)).ok()?;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(AGAIN).await,
            Err(TryLockError::Error(_)) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn the_second_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = alone_in(folder.path()).await.unwrap();
        assert!(timeout(3 * AGAIN, alone_in(folder.path())).await.is_err());
        drop(first);
        assert!(alone_in(folder.path()).await.is_some());
        assert!(alone_in(&folder.path().join("missing")).await.is_none());
    }
}
