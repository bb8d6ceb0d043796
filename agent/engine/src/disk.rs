//! Writes files whole, and waits for the disk so that nobody else has to.
//!
//! What is written outlives this process at once: the system has it. Until the disk has it too, a power cut can still take it, and waiting
//! for that costs milliseconds each time. A thread of its own waits, in the order in which things were written, while the run goes on. A
//! power cut then takes what came in the last few milliseconds, as it would from somebody who was waiting.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use crate::store::StoreError;

type Job = Box<dyn FnOnce() -> Result<(), StoreError> + Send>;

/// The thread that waits for the disk. Dropping it waits too, but leaves errors unsaid.
#[derive(Debug, Default)]
pub(crate) struct Settler {
    /// Started with the first job.
    thread: Option<Thread>,
}

#[derive(Debug)]
struct Thread {
    jobs: Sender<Job>,
    handle: JoinHandle<Result<(), StoreError>>,
}

impl Settler {
    /// Leaves something to the thread, to be done after everything that was left to it before. The error is that of an earlier job: the
    /// thread ends with the first, and what was left to it meanwhile is not done.
    pub(crate) fn leave(&mut self, job: impl FnOnce() -> Result<(), StoreError> + Send + 'static) -> Result<(), StoreError> {
        let thread = self.thread.get_or_insert_with(|| {
            let (sender, jobs) = channel::<Job>();
            Thread { jobs: sender, handle: thread::spawn(move || jobs.into_iter().try_for_each(|job| job())) }
        });
        if thread.jobs.send(Box::new(job)).is_ok() { Ok(()) } else { self.finish() }
    }

    /// Waits until everything is done that was left to the thread.
    pub(crate) fn finish(&mut self) -> Result<(), StoreError> {
        let Some(Thread { jobs, handle }) = self.thread.take() else { return Ok(()) };
        drop(jobs);
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

/// Writes a file so that it is there whole or not at all, also after a power cut.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), StoreError> {
    replace(path, text, File::sync_data).map(drop)
}

/// Writes a file so that it is there whole or not at all, however this process ends. The file is for whoever waits for the disk.
pub(crate) fn write(path: &Path, text: &str) -> Result<File, StoreError> {
    replace(path, text, |_| Ok(()))
}

fn replace(path: &Path, text: &str, settle: impl FnOnce(&File) -> io::Result<()>) -> Result<File, StoreError> {
    let temporary = beside(path);
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        settle(&file)?;
        fs::rename(&temporary, path)?;
        Ok(file)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&temporary);
        StoreError::io("write", path)(error)
    })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_done_in_order_and_all_of_them() {
        let (sender, done) = channel();
        let mut settler = Settler::default();
        for number in 0..100 {
            let sender = sender.clone();
            let job = move || {
                sender.send(number).unwrap();
                Ok(())
            };
            settler.leave(job).unwrap();
        }
        settler.finish().unwrap();
        assert_eq!(done.try_iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_is_said_once_and_the_next_job_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let (missing, there) = (folder.path().join("no folder").join("x"), folder.path().join("x"));
        let mut settler = Settler::default();
        settler.leave(move || write_whole(&missing, "x")).unwrap();
        assert!(matches!(settler.finish(), Err(StoreError::Io { action: "write", .. })));
        let path = there.clone();
        settler.leave(move || write_whole(&path, "x")).unwrap();
        settler.finish().unwrap();
        assert_eq!(fs::read_to_string(there).unwrap(), "x");
    }
}
