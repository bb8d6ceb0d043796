//! What a worker prints: a file that is kept for people, cut to a size, and never decides anything.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The log file of one worker.
#[derive(Clone, Debug)]
pub struct WorkerLog {
    path: PathBuf,
}

impl WorkerLog {
    /// How much of a log is kept once its worker has ended.
    const KEPT: u64 = 4 << 20;

    /// A log at `path`; the file is made when the worker starts.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        File::options().create(true).append(true).open(&self.path)
    }

    /// The last `bytes` of it as text, without the line that the cut falls into.
    #[must_use]
    pub fn tail(&self, bytes: u64) -> String {
        let read = || -> io::Result<(Vec<u8>, bool)> {
            let mut file = File::open(&self.path)?;
            let start = file.metadata()?.len().saturating_sub(bytes);
            file.seek(SeekFrom::Start(start))?;
            let mut text = Vec::new();
            file.take(bytes).read_to_end(&mut text)?;
            Ok((text, start > 0))
        };
        let Ok((bytes, cut)) = read() else { return String::new() };
        let text = String::from_utf8_lossy(&bytes);
        match text.split_once('\n') {
            Some((_, rest)) if cut => rest.to_owned(),
            _ => text.into_owned(),
        }
    }

    /// Cuts it to the size that is kept.
    pub fn shorten(&self) {
        if let Ok(file) = File::options().write(true).open(&self.path)
            && file.metadata().is_ok_and(|meta| meta.len() > Self::KEPT)
        {
            let _ = file.set_len(Self::KEPT);
        }
    }
}
