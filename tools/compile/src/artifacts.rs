//! Files that compiling gives, kept under the hash of their content and handed out as resources.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kernelwright_protocol::{Artifact, ContentHash};

/// What resources of this kind start with.
pub const SCHEME: &str = "kernelwright://artifacts/";

/// What is kept; the longest unused go first.
const KEPT_BYTES: u64 = 1 << 30;

/// Kinds of files that are kept.
const KINDS: [&str; 11] = ["ttgir", "llir", "ptx", "sass", "cubin", "amdgcn", "hsaco", "cu", "cpp", "log", "json"];

/// The folder of artefacts.
#[derive(Clone, Debug)]
pub struct Artifacts {
    folder: PathBuf,
}

/// Lines of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first line, from 0.
    pub(crate) offset: usize,
    /// How many.
    pub(crate) limit: usize,
}

impl Default for Range {
    fn default() -> Self {
        Self { offset: 0, limit: 400 }
    }
}

/// Why a resource cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It names none.
    #[error("`{0}` is no artefact of this server")]
    NoSuchUri(String),
    /// It was removed meanwhile.
    #[error("`{name}` is not here any more: compile again")]
    Gone {
        /// Its name.
        name: String,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// It is no text.
    #[error("`{name}` is a binary file; its text is in the other artefacts of the kernel")]
    Binary {
        /// Its name.
        name: String,
    },
}

impl Artifacts {
    /// The artefacts below a cache folder.
    pub(crate) fn below(cache: &Path) -> Self {
        Self { folder: cache.join("artifacts") }
    }

    /// Where the files lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether a worker's name for a file is one that we take: sixteen digits and a known kind.
    pub(crate) fn kind(name: &str) -> Option<&str> {
        let (stem, kind) = name.split_once('.')?;
        let digits = stem.len() == 16 && stem.bytes().all(|b| b.is_ascii_hexdigit());
        (digits && KINDS.contains(&kind)).then_some(kind)
    }

    /// Keeps a file.
    pub fn keep(&self, kind: &str, content: &[u8]) -> io::Result<Artifact> {
        let hash = ContentHash::of(content);
        let name = format!("{}.{kind}", hash.as_str().get(..16).unwrap_or_default());
        let path = self.folder.join(&name);
        if !path.is_file() {
            fs::create_dir_all(&self.folder)?;
            // The name appears with all of its content or not at all.
            let partial = self.folder.join(format!("{name}.{}-{:?}", std::process::id(), std::thread::current().id()));
            fs::write(&partial, content)?;
            fs::rename(&partial, &path)?;
        }
        Ok(Artifact { kind: kind.to_owned(), uri: format!("{SCHEME}{name}") })
    }

    /// Removes the oldest files beyond what is kept.
    pub(crate) fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| entry.metadata().ok().and_then(|meta| Some((meta.modified().ok()?, meta.len(), entry.path()))))
            .collect();
        files.sort_by(|a, b| b.cmp(a));
        let mut total = 0;
        for (_, bytes, path) in files {
            total += bytes;
            if total > KEPT_BYTES {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The lines that a URI names: `kernelwright://artifacts/NAME` with `?offset=N&limit=N` where others than the first are wanted.
    pub fn read(&self, uri: &str) -> Result<String, ReadError> {
        let no_such = || ReadError::NoSuchUri(uri.to_owned());
        let rest = uri.strip_prefix(SCHEME).ok_or_else(no_such)?;
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        Self::kind(name).ok_or_else(no_such)?;
        let mut range = Range::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').and_then(|(key, value)| Some((key, value.parse().ok()?))) {
                Some(("offset", lines)) => range.offset = lines,
                Some(("limit", lines)) => range.limit = lines,
                _ => return Err(no_such()),
            }
        }
        let content = fs::read(self.folder.join(name)).map_err(|source| ReadError::Gone { name: name.to_owned(), source })?;
        let text = String::from_utf8(content).map_err(|_| ReadError::Binary { name: name.to_owned() })?;
        Ok(cut(&text, name, range))
    }
}

/// The lines of a range, and where the next ones are.
fn cut(text: &str, name: &str, Range { offset, limit }: Range) -> String {
    let total = text.lines().count();
    let mut part: String = text.lines().skip(offset).take(limit).flat_map(|line| [line, "\n"]).collect();
    let end = offset.saturating_add(limit);
    if end < total {
        // Writing into a `String` does not fail.
        let _ = writeln!(part, "[lines {offset} to {} of {total}; next: {SCHEME}{name}?offset={end}&limit={limit}]", end - 1);
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_kept_once_and_read_in_parts() {
        let cache = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::below(cache.path());
        let kept = artifacts.keep("ptx", b"a\nb\nc\n").unwrap();
        assert_eq!(artifacts.keep("ptx", b"a\nb\nc\n").unwrap(), kept);
        assert_eq!(fs::read_dir(artifacts.folder()).unwrap().count(), 1);
        assert_eq!(artifacts.read(&kept.uri).unwrap(), "a\nb\nc\n");
        let part = artifacts.read(&format!("{}?offset=1&limit=1", kept.uri)).unwrap();
        assert_eq!(part, format!("b\n[lines 1 to 1 of 3; next: {}?offset=2&limit=1]\n", kept.uri));
        let binary = artifacts.keep("cubin", b"\xff\xfe").unwrap();
        assert!(matches!(artifacts.read(&binary.uri), Err(ReadError::Binary { .. })));
    }

    #[test]
    fn nothing_else_is_read() {
        let cache = tempfile::tempdir().unwrap();
        fs::write(cache.path().join("secret.log"), "x").unwrap();
        let artifacts = Artifacts::below(cache.path());
        for name in ["../secret.log", "0123456789abcdef.exe", "0123456789abcdef.ptx?offset=x", "0123456789abcdef.ptx"] {
            assert!(artifacts.read(&format!("{SCHEME}{name}")).is_err(), "{name}");
        }
    }
}
