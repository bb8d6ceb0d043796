//! The Python package that runs kernels: embedded here, unpacked once per content, run by the user's interpreter.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use include_dir::{Dir, DirEntry, include_dir};
use kernelwright_protocol::ContentHash;

use crate::HarnessError;
use crate::scratch::random_name;

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
        if is_whole(&folder, &files) {
            return Ok(Self { folder });
        }
        sweep(cache);
        let partial = cache.join(format!("{PARTIAL}{}-{:016x}", std::process::id(), random_name()));
        let unpacked = write_all(&partial, &files).and_then(|()| {
            // What a power cut or a full disk has left of it: moved away, since workers of other processes may run out of it.
            if folder.exists() {
                let damaged = partial.with_extension("damaged");
                fs::rename(&folder, &damaged).and_then(|()| fs::remove_dir_all(&damaged)).map_err(|source| failed(&folder, source))?;
            }
            fs::rename(&partial, &folder).map_err(|source| failed(&folder, source))
        });
        if let Err(error) = unpacked {
            let _ = fs::remove_dir_all(&partial);
            // Another process may have done the same at the same time.
            if !is_whole(&folder, &files) {
                return Err(error);
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

/// How the names of folders begin that are being unpacked.
const PARTIAL: &str = "worker-partial-";

/// After so long nobody unpacks any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Whether a folder holds every file as it is embedded here: a verdict by half a package would blame the candidate for it.
fn is_whole(folder: &Path, files: &[(&Path, &[u8])]) -> bool {
    files.iter().all(|(name, content)| fs::read(folder.join(name)).is_ok_and(|found| found == *content))
}

fn write_all(folder: &Path, files: &[(&Path, &[u8])]) -> Result<(), HarnessError> {
    for (name, content) in files {
        let path = folder.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
        written.map_err(|source| failed(&path, source))?;
    }
    Ok(())
}

fn failed(path: &Path, source: io::Error) -> HarnessError {
    HarnessError::Write { path: path.to_path_buf(), source }
}

/// Removes what processes have left that ended while they unpacked.
fn sweep(cache: &Path) {
    let is_abandoned = |entry: &fs::DirEntry| {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        entry.file_name().to_string_lossy().starts_with(PARTIAL) && age.is_some_and(|age| age > ABANDONED)
    };
    for entry in fs::read_dir(cache).into_iter().flatten().flatten().filter(is_abandoned) {
        let _ = fs::remove_dir_all(entry.path());
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

    #[test]
    fn a_damaged_package_is_unpacked_again() {
        let cache = tempfile::tempdir().unwrap();
        let package = Package::unpack(cache.path()).unwrap();
        let compare = package.folder().join("kernelwright_worker/compare.py");
        let whole = fs::read(&compare).unwrap();
        for damage in [Some(&whole[..100]), None] {
            match damage {
                Some(half) => fs::write(&compare, half).unwrap(),
                None => fs::remove_file(&compare).unwrap(),
            }
            Package::unpack(cache.path()).unwrap();
            assert_eq!(fs::read(&compare).unwrap(), whole);
        }
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
