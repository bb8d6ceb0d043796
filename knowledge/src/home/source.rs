//! What a pack can come from, and bringing it to this machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Progress;
use super::archive::{self, Compression};
use super::error::HomeError;
use crate::document::Format;

/// What the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Folder(PathBuf),
    Document(PathBuf),
    Zip(PathBuf),
    Tar(PathBuf, Compression),
    Git(String),
}

/// Files on this machine.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Where they lie: a folder, or one document.
    pub(super) path: PathBuf,
    /// What the user called them.
    name: String,
}

impl Fetched {
    /// What the user called them.
    pub(super) fn shown(&self) -> String {
        self.name.clone()
    }
}

impl Source {
    pub(super) fn of(source: &str) -> Result<Self, HomeError> {
        if ["https://", "http://", "ssh://", "git://", "file://", "git@"].iter().any(|start| source.starts_with(start)) {
            return Ok(Self::Git(source.to_owned()));
        }
        let path = PathBuf::from(source);
        let metadata = fs::metadata(&path).map_err(|error| HomeError::io(&path, error))?;
        if metadata.is_dir() {
            // A bare repository has nothing to read but its history.
            let is_bare = path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir();
            return Ok(if is_bare { Self::Git(source.to_owned()) } else { Self::Folder(path) });
        }
        if !metadata.is_file() {
            return Err(HomeError::Source(source.to_owned()));
        }
        let name = source.to_ascii_lowercase();
        let ends = |end: &str| name.ends_with(end);
        Ok(match () {
            () if ends(".zip") => Self::Zip(path),
            () if ends(".tar") => Self::Tar(path, Compression::None),
            () if ends(".tar.gz") || ends(".tgz") => Self::Tar(path, Compression::Gzip),
            () if Format::of(&path).is_some() => Self::Document(path),
            () => return Err(HomeError::Source(source.to_owned())),
        })
    }

    /// Brings it to this machine; `folder` is a free name for what has to be unpacked.
    pub(super) fn fetch(&self, folder: &Path, on_progress: &mut dyn FnMut(Progress<'_>)) -> Result<Fetched, HomeError> {
        let open = |archive: &Path| File::open(archive).map_err(|error| HomeError::io(archive, error));
        match self {
            Self::Folder(path) | Self::Document(path) => Ok(Fetched { path: path.clone(), name: path.display().to_string() }),
            Self::Zip(path) => {
                on_progress(Progress::Unpacking);
                archive::unzip(path, open(path)?, folder)?;
                Ok(Fetched { path: only_folder(folder), name: path.display().to_string() })
            }
            Self::Tar(path, compression) => {
                on_progress(Progress::Unpacking);
                archive::untar(path, open(path)?, *compression, folder)?;
                Ok(Fetched { path: only_folder(folder), name: path.display().to_string() })
            }
            Self::Git(address) => {
                on_progress(Progress::Fetching { address });
                clone(address, folder)?;
                Ok(Fetched { path: folder.to_owned(), name: address.clone() })
            }
        }
    }
}

/// Archives mostly hold one folder, which is then what was meant.
fn only_folder(folder: &Path) -> PathBuf {
    let mut inside =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect::<Vec<_>>()).unwrap_or_default();
    match (inside.pop(), inside.is_empty()) {
        (Some(only), true)
            if only.is_dir() && only.file_name().is_none_or(|name| !["documents", "entries"].iter().any(|part| name == *part)) =>
        {
            only
        }
        _ => folder.to_owned(),
    }
}

/// The newest state of a repository, by the user's own git with the user's own keys, which must not ask.
fn clone(address: &str, folder: &Path) -> Result<(), HomeError> {
    let failed = |reason: String| HomeError::Git { address: address.to_owned(), reason };
    let output = Command::new("git")
        // A repository of one's own may have links and hooks; neither is followed.
        .args(["-c", "core.symlinks=false", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"])
        .args(["clone", "--quiet", "--depth", "1", "--"])
        .arg(address)
        .arg(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_LFS_SKIP_SMUDGE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| {
            failed(if error.kind() == std::io::ErrorKind::NotFound { "git is not installed".to_owned() } else { error.to_string() })
        })?;
    if output.status.success() { Ok(()) } else { Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())) }
}
