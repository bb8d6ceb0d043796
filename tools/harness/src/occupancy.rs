//! Turns that processes of this machine take, each for all others that ask here too: on a GPU, and with what there is once.
//!
//! Servers of several agents may share a GPU. Times are only true while nobody else's kernels run there; so whoever measures has it alone, and
//! whoever only computes is there among others. Before either, a gate is passed, which stays shut while somebody waits to be alone: those who
//! come and go would otherwise never leave the GPU to him.
//!
//! A turn is a lock on a file in the folder for temporary files, and ends with its process. Where that folder keeps no locks nobody waits, and
//! nobody waits for ever: anybody on the machine can hold such a lock. Who measures looks whether the GPU is idle in any case.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use kernelwright_protocol::{Backend, Target};
use tokio::time::timeout;

use crate::surroundings::visible_devices;

const AGAIN: Duration = Duration::from_millis(10);

/// Longer than any turn that measures something takes.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A turn; dropping it ends it.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

/// Who else may be on a GPU meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Others that measure nothing.
    Others,
    /// Nobody.
    Nobody,
}

/// Waits for a turn with something that this machine has once; none where nobody keeps turns, or somebody keeps his for too long.
pub async fn turn(name: &str) -> Option<Turn> {
    let file = open(&std::env::temp_dir(), name)?;
    timeout(PATIENCE, taken(&file, File::try_lock)).await.ok()??;
    Some(Turn { _lock: file })
}

/// Waits for a turn on a GPU; none for other targets, where nobody keeps turns, and where somebody keeps his for too long.
pub async fn gpu_turn(target: Target, company: Company) -> Option<Turn> {
    match target.backend {
        Backend::Cpu => None,
        Backend::Cuda => timeout(PATIENCE, turn_in(&std::env::temp_dir(), &gpu_name(target), company)).await.ok()?,
    }
}

async fn turn_in(folder: &Path, name: &str, company: Company) -> Option<Turn> {
    let gate = open(folder, &format!("{name}-gate"))?;
    let room = open(folder, name)?;
    taken(&gate, File::try_lock).await?;
    match company {
        Company::Others => taken(&room, File::try_lock_shared).await?,
        Company::Nobody => taken(&room, File::try_lock).await?,
    }
    Some(Turn { _lock: room })
}

/// The same for all processes that see the GPU under the same name, whatever number it has for them.
fn gpu_name(target: Target) -> String {
    let index = usize::from(target.device.unwrap_or(0));
    let visible = visible_devices().and_then(|list| Some(list.to_string_lossy().split(',').nth(index)?.trim().to_owned()));
    let name = visible.filter(|name| !name.is_empty()).unwrap_or_else(|| index.to_string());
    format!("gpu-{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
}

/// Its file. That of another user can be read and locked, but not opened to be made.
fn open(folder: &Path, name: &str) -> Option<File> {
    let path = folder.join(format!("kernelwright-{name}.lock"));
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(&path);
    made.or_else(|_| File::open(&path)).ok()
}

async fn taken(file: &File, attempt: impl Fn(&File) -> Result<(), TryLockError>) -> Option<()> {
    loop {
        match attempt(file) {
            Ok(()) => return Some(()),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(AGAIN).await,
            Err(TryLockError::Error(_)) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_measures_is_alone_and_is_not_passed_by_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let soon = |company| timeout(5 * AGAIN, turn_in(folder.path(), "gpu-0", company));
        let (first, second) = (soon(Company::Others).await.unwrap(), soon(Company::Others).await.unwrap());
        assert!(first.is_some() && second.is_some());
        assert!(soon(Company::Nobody).await.is_err(), "others are there");
        let path = folder.path().to_owned();
        let waits = tokio::spawn(async move { turn_in(&path, "gpu-0", Company::Nobody).await });
        tokio::time::sleep(3 * AGAIN).await;
        assert!(soon(Company::Others).await.is_err(), "somebody waits to be alone");
        drop((first, second));
        let alone = waits.await.unwrap();
        assert!(alone.is_some() && soon(Company::Others).await.is_err());
        drop(alone);
        assert!(soon(Company::Nobody).await.unwrap().is_some());
        assert!(turn_in(&folder.path().join("missing"), "gpu-0", Company::Nobody).await.is_none());
    }

    #[tokio::test]
    async fn processors_are_nobody_s_alone() {
        assert!(gpu_turn(Target::CPU, Company::Nobody).await.is_none());
    }

    #[test]
    fn a_gpu_without_a_number_is_the_first() {
        assert_eq!(gpu_name(Target { backend: Backend::Cuda, device: None }), gpu_name(Target::cuda(0)));
        assert_ne!(gpu_name(Target::cuda(1)), gpu_name(Target::cuda(0)));
    }
}
