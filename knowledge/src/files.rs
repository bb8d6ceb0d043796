//! The files of a pack, from a folder or from the executable.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::Utf8Error;

use include_dir::{Dir, DirEntry, include_dir};

use crate::document::{DocumentFile, Listing};
use crate::problem::{Fault, PackError, Problem};

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/packs");

/// No text of a pack is anywhere near this; what is larger is not read at all.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The files of one pack that matter.
#[derive(Debug)]
pub(crate) struct Files {
    /// The pack's folder, as the user would write it.
    pub(crate) root: String,
    /// The text of `pack.toml`.
    pub(crate) manifest: String,
    /// `entries/*.md` and `examples/*.py`, in the order of their paths inside the pack.
    pub(crate) entries: Vec<TextFile>,
    /// `problems/*.py`, in the same order.
    pub(crate) problems: Vec<TextFile>,
    /// What lies below `documents/`, unread.
    pub(crate) documents: Vec<DocumentFile>,
    /// Where the pack lies; `None` inside the executable.
    pub(crate) folder: Option<PathBuf>,
    /// Files that could not be read as text.
    pub(crate) unreadable: Vec<Problem>,
}

/// One text.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// The path inside the pack.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

impl Files {
    /// The packs inside the executable.
    pub(crate) fn built_in() -> Vec<Self> {
        let mut packs: Vec<Self> = BUILT_IN
            .dirs()
            .filter_map(|dir| {
                let manifest = dir.get_file(dir.path().join("pack.toml"))?;
                let mut files = Self::new(format!("built-in pack {}", dir.path().display()), manifest.contents());
                for (folder, extension) in FOLDERS {
                    let Some(folder) = dir.get_dir(dir.path().join(folder)) else { continue };
                    for file in folder.entries().iter().filter_map(DirEntry::as_file) {
                        let inside = file.path().strip_prefix(dir.path()).unwrap_or(file.path());
                        if has_extension(inside, extension) {
                            files.add(inside, file.contents());
                        }
                    }
                }
                Some(files.sorted())
            })
            .collect();
        packs.sort_by(|a, b| a.root.cmp(&b.root));
        packs
    }

    /// The packs of a folder: itself, or the folders directly below it.
    pub(crate) fn in_folder(folder: &Path) -> Result<Vec<Self>, PackError> {
        if folder.join("pack.toml").is_file() {
            return Ok(vec![Self::of_folder(folder)?]);
        }
        let packs: Vec<PathBuf> = list(folder)?.into_iter().filter(|path| !is_hidden(path) && path.join("pack.toml").is_file()).collect();
        if packs.is_empty() {
            return Err(PackError::NoPack(folder.to_owned()));
        }
        packs.iter().map(|pack| Self::of_folder(pack)).collect()
    }

    fn of_folder(folder: &Path) -> Result<Self, PackError> {
        let manifest = folder.join("pack.toml");
        let read = |path: &Path| fs::read(path).map_err(|source| PackError::Io { path: path.to_owned(), source });
        let mut files = Self::new(folder.display().to_string(), &read(&manifest)?);
        files.documents = Listing::of(folder)?.documents;
        files.folder = Some(folder.to_owned());
        for (name, extension) in FOLDERS {
            let inner = folder.join(name);
            if !inner.is_dir() {
                continue;
            }
            for path in list(&inner)? {
                if !has_extension(&path, extension) || is_hidden(&path) {
                    continue;
                }
                let inside = path.strip_prefix(folder).unwrap_or(&path);
                let metadata = fs::metadata(&path).map_err(|source| PackError::Io { path: path.clone(), source })?;
                if metadata.len() > MAX_FILE_BYTES {
                    let fault = Fault::TooLarge { bytes: metadata.len(), limit: MAX_FILE_BYTES };
                    files.unreadable.push(files.problem(&inside.to_string_lossy(), None, fault));
                } else {
                    files.add(inside, &read(&path)?);
                }
            }
        }
        Ok(files.sorted())
    }

    fn new(root: String, manifest: &[u8]) -> Self {
        let mut files = Self {
            root,
            manifest: String::new(),
            entries: Vec::new(),
            problems: Vec::new(),
            documents: Vec::new(),
            folder: None,
            unreadable: Vec::new(),
        };
        match std::str::from_utf8(manifest) {
            Ok(text) => text.clone_into(&mut files.manifest),
            Err(error) => files.unreadable.push(files.not_utf8("pack.toml", manifest, error)),
        }
        files
    }

    fn add(&mut self, inside: &Path, content: &[u8]) {
        let path = inside.to_string_lossy().into_owned();
        match std::str::from_utf8(content) {
            Ok(text) => {
                let kept = if inside.starts_with("problems") { &mut self.problems } else { &mut self.entries };
                kept.push(TextFile { path, text: text.to_owned() });
            }
            Err(error) => self.unreadable.push(self.not_utf8(&path, content, error)),
        }
    }

    fn not_utf8(&self, path: &str, content: &[u8], error: Utf8Error) -> Problem {
        let byte = error.valid_up_to();
        let line = 1 + String::from_utf8_lossy(&content[..byte]).matches('\n').count();
        self.problem(path, u32::try_from(line).ok(), Fault::NotUtf8 { byte })
    }

    fn sorted(mut self) -> Self {
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        self.problems.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }

    /// The id in the manifest; empty where there is none.
    pub(crate) fn id(&self) -> String {
        let manifest: toml::Table = toml::from_str(&self.manifest).unwrap_or_default();
        manifest.get("id").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    }

    /// Whether `pack.toml` is no text.
    pub(crate) fn has_no_manifest(&self) -> bool {
        let manifest = format!("{}/pack.toml", self.root);
        self.unreadable.iter().any(|problem| problem.path == manifest)
    }

    /// A problem in one of these files.
    pub(crate) fn problem(&self, path: &str, line: Option<u32>, fault: Fault) -> Problem {
        Problem { path: format!("{}/{path}", self.root), line, fault }
    }
}

/// The folders of texts that are read with the pack, and the extension that counts in each.
pub(crate) const FOLDERS: [(&str, &str); 3] = [("entries", "md"), ("examples", "py"), ("problems", "py")];

/// What is hidden is at work, or of another program: an editor's, a version control's, an archiver's.
pub(crate) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Hidden folders that are documentation all the same: what was written for agents about a project.
const OF_AGENTS: [&str; 2] = [".agents", ".claude"];

/// What no document is looked for in.
pub(crate) fn is_passed_over(path: &Path) -> bool {
    is_hidden(path) && !OF_AGENTS.iter().any(|name| path.ends_with(name))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, PackError> {
    let listed: io::Result<Vec<PathBuf>> =
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut paths = listed.map_err(|source| PackError::Io { path: folder.to_owned(), source })?;
    paths.sort();
    Ok(paths)
}
