//! The Python package that runs kernels: embedded here, unpacked once per content, run by the user's interpreter.

use std::fs;
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};
use kernelwright_protocol::ContentHash;

use crate::HarnessError;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/python");

/// The unpacked package.
#[derive(Clone, Debug)]
pub struct Package {
    folder: PathBuf,
}

impl Package {
    /// Unpacks the embedded package below `cache`, into a folder named by its content; does nothing where that is already there.
    ///
    /// The folder appears by a rename, so a second process sees all of it or none of it.
    pub fn unpack(cache: &Path) -> Result<Self, HarnessError> {
        let files = sources(&EMBEDDED);
        let folder = cache.join(format!("worker-{}", digest(&files)));
        if folder.is_dir() {
            return Ok(Self { folder });
        }
        let partial = cache.join(format!("worker-partial-{}-{:?}", std::process::id(), std::thread::current().id()));
        for (name, content) in &files {
            let path = partial.join(name);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
            written.map_err(|source| HarnessError::Write { path, source })?;
        }
        if let Err(source) = fs::rename(&partial, &folder) {
            let _ = fs::remove_dir_all(&partial);
            if !folder.is_dir() {
                return Err(HarnessError::Write { path: folder, source });
            }
        }
        Ok(Self { folder })
    }

    /// A short hash of the embedded package: two executables with the same one run the same Python.
    #[must_use]
    pub fn digest() -> String {
        digest(&sources(&EMBEDDED))
    }

    /// Where the package lies; what a sandboxed worker must be allowed to read.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The script that starts a worker.
    #[must_use]
    pub fn entry(&self) -> PathBuf {
        self.folder.join("worker.py")
    }
}

/// Every Python file with its path inside the package, in a fixed order; caches beside them are not part of the package.
fn sources(dir: &'static Dir<'static>) -> Vec<(&'static Path, &'static [u8])> {
    let mut files = Vec::new();
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(inner) if inner.path().ends_with("__pycache__") || inner.path().ends_with("tests") => {}
            DirEntry::Dir(inner) => files.extend(sources(inner)),
            DirEntry::File(file) if file.path().extension().is_some_and(|e| e == "py") => files.push((file.path(), file.contents())),
            DirEntry::File(_) => {}
        }
    }
    files.sort();
    files
}

fn digest(files: &[(&Path, &[u8])]) -> String {
    let mut all = Vec::new();
    for (name, content) in files {
        all.extend(name.as_os_str().as_encoded_bytes());
        all.extend((content.len() as u64).to_le_bytes());
        all.extend(*content);
    }
    ContentHash::of(all).short().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_twice_gives_one_complete_folder() {
        let cache = tempfile::tempdir().unwrap();
        let first = Package::unpack(cache.path()).unwrap();
        assert!(first.entry().is_file());
        assert_eq!(first.folder(), Package::unpack(cache.path()).unwrap().folder());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
