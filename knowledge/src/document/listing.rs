//! Which documents a pack has, without reading them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::FOLDER;
use super::format::Format;
use crate::files::is_passed_over;
use crate::problem::PackError;

/// How deep folders may lie in each other; a guard against mounts that contain themselves.
const MAX_DEPTH: usize = 64;

/// One document of a pack, unread. Size and time say whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFile {
    /// The path below `documents/`, with `/` between its parts.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// The documents of a pack, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Those that can be read, as far as name and size say.
    pub(crate) documents: Vec<DocumentFile>,
}

impl Listing {
    /// Lists `documents/` of a pack's folder. What is hidden, links and what is no document are passed over; a missing folder is an empty one.
    pub(crate) fn of(root: &Path) -> Result<Self, PackError> {
        let folder = root.join(FOLDER);
        let mut listing = Self::default();
        if folder.is_dir() {
            listing.add(&folder, &folder, 0)?;
        }
        listing.documents.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    fn add(&mut self, top: &Path, folder: &Path, depth: usize) -> Result<(), PackError> {
        let failed = |path: &Path| {
            let path: PathBuf = path.to_owned();
            move |source| PackError::Io { path, source }
        };
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let entry = entry.map_err(failed(folder))?;
            let path = entry.path();
            if is_passed_over(&path) {
                continue;
            }
            // Of the entry itself: a link is neither a folder nor a file here.
            let metadata = entry.metadata().map_err(failed(&path))?;
            if metadata.is_dir() && depth < MAX_DEPTH {
                self.add(top, &path, depth + 1)?;
            } else if metadata.is_file()
                && Format::of(&path).is_some_and(|format| metadata.len() <= format.max_bytes())
                && let Some(relative) = path.strip_prefix(top).ok().and_then(Path::to_str)
            {
                let modified = metadata.modified().map_err(failed(&path))?;
                self.documents.push(DocumentFile { path: relative.to_owned(), bytes: metadata.len(), modified });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn documents_are_listed_by_path_and_the_rest_is_passed_over() {
        let root = TempDir::new().unwrap();
        let top = root.path().join(FOLDER);
        fs::create_dir_all(top.join("b/.git")).unwrap();
        fs::create_dir_all(top.join("b/.agents/skills")).unwrap();
        for name in ["b/one.md", "a.cu", "picture.png", "b/.git/config.txt", "b/.agents/skills/tune.md", ".hidden.md"] {
            fs::write(top.join(name), "text").unwrap();
        }
        fs::File::create(top.join("huge.md")).unwrap().set_len(200 << 20).unwrap();
        symlink("/etc/hosts", top.join("link.txt")).unwrap();
        symlink("/etc", top.join("linked")).unwrap();
        let found: Vec<(String, u64)> =
            Listing::of(root.path()).unwrap().documents.into_iter().map(|file| (file.path, file.bytes)).collect();
        let expected = ["a.cu", "b/.agents/skills/tune.md", "b/one.md"].map(|path| (path.to_owned(), 4));
        assert_eq!(found, expected);
        assert!(Listing::of(Path::new("/does/not/exist")).unwrap().documents.is_empty());
    }
}
