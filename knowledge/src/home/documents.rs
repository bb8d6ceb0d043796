//! Putting a pack together from what was fetched.
//!
//! A folder with a `pack.toml` is taken as it was written; any other folder becomes a pack whose documents are its readable files. Documents are
//! read once here, so that what cannot be read is known now, with its reason, and not at some search.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Progress;
use super::error::HomeError;
use super::origin::Origin;
use super::source::Fetched;
use crate::document::{Document, FOLDER, Format, PdfReader, extracted};
use crate::files::{FOLDERS, is_hidden, is_passed_over};
use crate::read::is_name;

/// More documents than any manual has; each is a file in the home.
const MAX_DOCUMENTS: usize = 100_000;

/// Of all documents together.
const MAX_BYTES: u64 = 2 << 30;

/// How deep folders may lie in each other.
const MAX_DEPTH: usize = 64;

/// A file of the source that is not part of the pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its path in the source.
    pub path: String,
    /// Why not.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// The keys of a `pack.toml` that is written for a folder without one.
#[derive(Serialize)]
struct Manifest<'a> {
    id: &'a str,
    version: &'a str,
    licence: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    architectures: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    languages: &'a [String],
    sources: Vec<String>,
}

/// Puts the pack together in the empty folder `pack`, and says what was left out. `home` is never read as a part of the source.
pub(super) fn put_together(
    fetched: &Fetched,
    pack: &Path,
    origin: &Origin,
    reader: &PdfReader,
    home: &Path,
    on_progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Skipped>, HomeError> {
    let mut copying = Copying { pack, reader, home, bytes: 0, skipped: Vec::new(), shown: fetched.shown() };
    let source = &fetched.path;
    if source.is_file() {
        let name = PathBuf::from(source.file_name().unwrap_or_default());
        manifest(pack, origin, fetched)?;
        copying.all(&[(source.clone(), name)], on_progress)?;
    } else if source.join("pack.toml").is_file() {
        copy(&source.join("pack.toml"), &pack.join("pack.toml"))?;
        for (folder, extension) in FOLDERS {
            copying.texts(&source.join(folder), &pack.join(folder), extension)?;
        }
        let documents = copying.found(&source.join(FOLDER))?;
        copying.all(&documents, on_progress)?;
    } else {
        manifest(pack, origin, fetched)?;
        let documents = copying.found(source)?;
        copying.all(&documents, on_progress)?;
    }
    copying.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(copying.skipped)
}

/// Writes the `pack.toml` of a source that has none.
fn manifest(pack: &Path, origin: &Origin, fetched: &Fetched) -> Result<(), HomeError> {
    let shown = fetched.shown();
    let name = shown.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let stem = [".git", ".zip", ".tar", ".tar.gz", ".tgz"].into_iter().find_map(|end| name.strip_suffix(end));
    let stem = stem.or_else(|| Path::new(name).file_stem().filter(|_| fetched.path.is_file())?.to_str()).unwrap_or(name);
    let id = match &origin.id {
        Some(id) => id.clone(),
        None => slug(stem),
    };
    if !is_name(&id) {
        return Err(HomeError::Id(if id.is_empty() { stem.to_owned() } else { id }));
    }
    let is_address = shown.contains("://") || shown.starts_with("git@");
    let manifest = Manifest {
        id: &id,
        version: "0.1.0",
        licence: "LicenseRef-unknown",
        description: format!("Documents from {name}."),
        vendor: origin.labels.vendor.as_deref(),
        architectures: &origin.labels.architectures,
        languages: &origin.labels.languages,
        // The path on this machine would mean nothing elsewhere.
        sources: vec![if is_address { shown.clone() } else { format!("the user's own {name}") }],
    };
    let path = pack.join("pack.toml");
    let text = toml::to_string(&manifest).map_err(|error| HomeError::io(&path, std::io::Error::other(error)))?;
    fs::write(&path, text).map_err(|error| HomeError::io(&path, error))
}

/// A name out of any text: lower-case letters and digits, and a hyphen for each run of anything else.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

struct Copying<'a> {
    pack: &'a Path,
    reader: &'a PdfReader,
    home: &'a Path,
    bytes: u64,
    skipped: Vec<Skipped>,
    shown: String,
}

impl Copying<'_> {
    fn skip(&mut self, path: &Path, reason: impl Into<String>) {
        self.skipped.push(Skipped { path: path.display().to_string(), reason: reason.into() });
    }

    /// The files of one of the folders whose texts are read with the pack.
    fn texts(&mut self, from: &Path, to: &Path, extension: &str) -> Result<(), HomeError> {
        if !from.is_dir() {
            return Ok(());
        }
        fs::create_dir(to).map_err(|error| HomeError::io(to, error))?;
        for entry in fs::read_dir(from).map_err(|error| HomeError::io(from, error))? {
            let path = entry.map_err(|error| HomeError::io(from, error))?.path();
            if path.extension().is_some_and(|found| found == extension) && !is_hidden(&path) {
                let metadata = fs::symlink_metadata(&path).map_err(|error| HomeError::io(&path, error))?;
                if metadata.is_file() {
                    copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
                } else {
                    self.skip(&path, "a link or no plain file");
                }
            }
        }
        Ok(())
    }

    /// The files below a folder that may be documents, with their paths in it, in order. Nothing when there is no such folder.
    fn found(&mut self, top: &Path) -> Result<Vec<(PathBuf, PathBuf)>, HomeError> {
        let mut found = Vec::new();
        if top.is_dir() {
            self.walk(top, top, 0, &mut found)?;
        }
        found.sort();
        Ok(found)
    }

    fn walk(&mut self, top: &Path, folder: &Path, depth: usize, found: &mut Vec<(PathBuf, PathBuf)>) -> Result<(), HomeError> {
        let listed = match fs::read_dir(folder) {
            Err(error) if depth > 0 => {
                self.skip(folder, error.to_string());
                return Ok(());
            }
            other => other.map_err(|error| HomeError::io(folder, error))?,
        };
        for entry in listed {
            let entry = entry.map_err(|error| HomeError::io(folder, error))?;
            let path = entry.path();
            if is_passed_over(&path) || path == self.home {
                continue;
            }
            let kind = entry.file_type().map_err(|error| HomeError::io(&path, error))?;
            let relative = path.strip_prefix(top).unwrap_or(&path).to_owned();
            if kind.is_symlink() {
                self.skip(&relative, "a link");
            } else if kind.is_dir() && depth < MAX_DEPTH {
                self.walk(top, &path, depth + 1, found)?;
            } else if kind.is_dir() {
                self.skip(&relative, "too many folders in each other");
            } else if !kind.is_file() {
                self.skip(&relative, "no plain file");
            } else if Format::of(&path).is_none() {
                self.skip(&relative, "not a kind of document that can be read");
            } else if relative.to_str().is_none() {
                self.skip(&relative, "its name is not Unicode");
            } else if found.len() == MAX_DOCUMENTS {
                return Err(HomeError::TooMuch { name: self.shown.clone(), limit: format!("{MAX_DOCUMENTS} documents") });
            } else {
                found.push((path, relative));
            }
        }
        Ok(())
    }

    /// Copies the documents that can be read.
    fn all(&mut self, documents: &[(PathBuf, PathBuf)], on_progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), HomeError> {
        for (done, (path, relative)) in documents.iter().enumerate() {
            on_progress(Progress::Reading { done, total: documents.len(), path: &relative.to_string_lossy() });
            let read = if Format::of(relative) == Some(Format::Pdf) {
                self.reader.read(path).map(Some)
            } else {
                Document::read_at(path, relative).map(|_| None)
            };
            let text = match read {
                Ok(text) => text,
                Err(error) => {
                    self.skip(relative, error.reason());
                    continue;
                }
            };
            self.bytes += copy(path, &self.pack.join(FOLDER).join(relative))?;
            if self.bytes > MAX_BYTES {
                return Err(HomeError::TooMuch { name: self.shown.clone(), limit: format!("{} MiB of documents", MAX_BYTES >> 20) });
            }
            if let Some(text) = text {
                let kept = extracted(self.pack, relative);
                made_parent(&kept)?;
                fs::write(&kept, text).map_err(|error| HomeError::io(&kept, error))?;
            }
        }
        Ok(())
    }
}

/// Copies a file with its time, which says whether it has changed since.
fn copy(from: &Path, to: &Path) -> Result<u64, HomeError> {
    made_parent(to)?;
    let bytes = fs::copy(from, to).map_err(|error| HomeError::io(to, error))?;
    let times = fs::metadata(from).and_then(|metadata| metadata.modified());
    if let Ok(modified) = times {
        let kept = File::options().write(true).open(to).and_then(|file| file.set_modified(modified));
        // A file that is read-only at its source stays so here, with the time of its copy.
        drop(kept);
    }
    Ok(bytes)
}

fn made_parent(path: &Path) -> Result<(), HomeError> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(|error| HomeError::io(parent, error)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_an_id() {
        for (name, expected) in [("CUDA C++ Guide_v12.4", "cuda-c-guide-v12-4"), ("--docs--", "docs"), ("Ünï", "n"), ("文書", "")] {
            assert_eq!(slug(name), expected);
        }
    }
}
