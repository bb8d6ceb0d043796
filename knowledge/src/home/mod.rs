//! The user's pack home: the folder in which installed packs lie, one folder each, named by its id.
//!
//! A pack comes from a folder, an archive, a git address or a single document. It is put together beside the others and moved into place
//! by one rename, so whoever reads sees the old pack, the new one or none, and a kill leaves nothing but a hidden folder that the next change
//! clears away. Changes are made under a lock; reading needs none. Each pack remembers where it came from (`.origin.toml`), to be fetched again.

mod archive;
mod documents;
mod error;
mod export;
mod origin;
mod place;
mod source;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use self::documents::Skipped;
pub use self::error::HomeError;
pub use self::export::export_built_in;
pub use self::origin::{Labels, Origin};
use self::source::Source;
use crate::document::PdfReader;
use crate::files::{Files, is_hidden};
use crate::pack::Pack;
use crate::problem::{PackError, Problem};
use crate::read::Reading;
use crate::{check, load};

/// How folders at work begin; nothing that is hidden is a pack.
const STAGING: &str = ".staging-";

/// The file whose lock guards changes.
const LOCK: &str = ".lock";

/// How long a lock may be held before another process is believed to be at work: a child of this one holds a copy until it is its program.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// The user's pack home. The folder is made when something is added.
#[derive(Clone, Debug)]
pub struct Home {
    folder: PathBuf,
}

/// A pack that lies there.
#[derive(Debug)]
pub struct Installed {
    /// Its id, which is its folder's name.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The pack with every file that can be read, or why there is none.
    pub pack: Result<Pack, PackError>,
    /// Files of it that were damaged after it was installed, and are passed over.
    pub damaged: Vec<Problem>,
    /// Where it came from; `None` for one that was put there by hand.
    pub origin: Option<Origin>,
}

/// What has been added.
#[derive(Debug)]
pub struct Added {
    /// The pack as it now lies in the home.
    pub pack: Pack,
    /// Files of the source that are not part of it.
    pub skipped: Vec<Skipped>,
    /// What its author should correct; it can be used nevertheless.
    pub problems: Vec<Problem>,
}

/// How far adding has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Another program fetches the source.
    Fetching {
        /// From where.
        address: &'a str,
    },
    /// An archive is unpacked.
    Unpacking,
    /// Documents are read.
    Reading {
        /// How many have been, of those that can be.
        done: usize,
        /// How many there are.
        total: usize,
        /// The one at hand.
        path: &'a str,
    },
}

impl Home {
    /// The home in this folder, whether or not it is there.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folders of its packs, in the order of their ids. A home that is not there has none.
    pub fn folders(&self) -> Result<Vec<PathBuf>, HomeError> {
        let failed = |source| HomeError::io(&self.folder, source);
        let listed = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            other => other.map_err(failed)?,
        };
        let mut folders = Vec::new();
        for entry in listed {
            let entry = entry.map_err(failed)?;
            if !is_hidden(&entry.path()) && entry.path().join("pack.toml").is_file() {
                folders.push(entry.path());
            }
        }
        folders.sort();
        Ok(folders)
    }

    /// Its packs, in the order of their ids. One that cannot be read does not hide the others, nor does a damaged file the rest of its pack.
    pub fn packs(&self) -> Result<Vec<Installed>, HomeError> {
        let installed = |folder: PathBuf| {
            let (pack, damaged) = match readable(&folder) {
                Ok((pack, damaged)) => (Ok(pack), damaged),
                Err(error) => (Err(error), vec![]),
            };
            let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Installed { id, pack, damaged, origin: Origin::read(&folder), folder }
        };
        Ok(self.folders()?.into_iter().map(installed).collect())
    }

    /// The folder of one of its packs.
    pub fn find(&self, id: &str) -> Result<PathBuf, HomeError> {
        let folders = self.folders()?;
        let name = |folder: &PathBuf| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match folders.iter().find(|folder| name(folder) == id) {
            Some(folder) => Ok(folder.clone()),
            None => Err(HomeError::Unknown { id: id.to_owned(), known: folders.iter().map(name).collect() }),
        }
    }

    /// Adds a pack. `reader` reads its PDFs; `on_progress` is told how far it is.
    pub fn add(&self, origin: &Origin, reader: &PdfReader, on_progress: &mut dyn FnMut(Progress<'_>)) -> Result<Added, HomeError> {
        let _lock = self.lock()?;
        self.install(origin, reader, on_progress, place::Occupied::Refused)
    }

    /// Fetches a pack again from where it came from. An unchanged document keeps its time, so that it need not be indexed again.
    pub fn update(&self, id: &str, reader: &PdfReader, on_progress: &mut dyn FnMut(Progress<'_>)) -> Result<Added, HomeError> {
        let _lock = self.lock()?;
        let folder = self.find(id)?;
        let origin = Origin::read(&folder).ok_or_else(|| HomeError::NoOrigin(id.to_owned()))?;
        let origin = Origin { id: Some(id.to_owned()), ..origin };
        self.install(&origin, reader, on_progress, place::Occupied::Replaced)
    }

    /// Takes a pack away.
    pub fn remove(&self, id: &str) -> Result<(), HomeError> {
        let _lock = self.lock()?;
        let folder = self.find(id)?;
        let staging = self.staging()?;
        fs::rename(&folder, staging.path().join("pack")).map_err(|source| HomeError::io(&folder, source))
    }

    /// Writes a pack as an archive that [`Home::add`] takes; the archive must not be there yet.
    pub fn export(&self, id: &str, archive: &Path) -> Result<(), HomeError> {
        export::export(&self.find(id)?, id, archive)
    }

    fn install(
        &self,
        origin: &Origin,
        reader: &PdfReader,
        on_progress: &mut dyn FnMut(Progress<'_>),
        occupied: place::Occupied,
    ) -> Result<Added, HomeError> {
        let source = Source::of(&origin.source)?;
        let staging = self.staging()?;
        let fetched = source.fetch(&staging.path().join("source"), on_progress)?;
        let pack = staging.path().join("pack");
        fs::create_dir(&pack).map_err(|error| HomeError::io(&pack, error))?;
        let skipped = documents::put_together(&fetched, &pack, origin, reader, &self.folder, on_progress)?;
        // Problems are told where the user has the files; what lies in the staging folder is gone when they are read.
        let shown = fetched.shown();
        let staged = load_one(&pack).map_err(|error| HomeError::Pack(error.moved(&pack.display().to_string(), &shown)))?;
        if let Some(id) = origin.id.as_deref().filter(|id| *id != staged.id) {
            return Err(HomeError::OtherId { asked: id.to_owned(), found: staged.id });
        }
        if Files::built_in().iter().any(|files| files.id() == staged.id) {
            return Err(HomeError::BuiltIn(staged.id));
        }
        if staged.entries.is_empty() && staged.documents.is_empty() {
            return Err(HomeError::Nothing { name: shown, skipped });
        }
        let problems = check(&pack).map_err(HomeError::Pack)?;
        let problems = problems.into_iter().map(|problem| problem.moved(&pack.display().to_string(), &shown)).collect();
        origin.write(&pack)?;
        let folder = self.folder.join(&staged.id);
        place::put(&pack, &folder, &staging.path().join("old"), occupied)?;
        // Read again from where it lies now.
        Ok(Added { pack: load_one(&folder).map_err(HomeError::Pack)?, skipped, problems })
    }

    /// A hidden folder beside the packs, gone when it is dropped.
    fn staging(&self) -> Result<TempDir, HomeError> {
        tempfile::Builder::new().prefix(STAGING).tempdir_in(&self.folder).map_err(|source| HomeError::io(&self.folder, source))
    }

    /// Makes the home if need be, locks it, and clears away what a killed process left.
    fn lock(&self) -> Result<File, HomeError> {
        fs::create_dir_all(&self.folder).map_err(|source| HomeError::io(&self.folder, source))?;
        let path = self.folder.join(LOCK);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(|source| HomeError::io(&path, source))?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PATIENCE / 20),
                Err(TryLockError::WouldBlock) => return Err(HomeError::Busy(self.folder.clone())),
                Err(TryLockError::Error(source)) => return Err(HomeError::io(&path, source)),
            }
        }
        for entry in fs::read_dir(&self.folder).map_err(|source| HomeError::io(&self.folder, source))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(STAGING) {
                // What cannot be cleared away is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(file)
    }
}

/// What can be read of the pack in a folder, and why the rest cannot.
fn readable(folder: &Path) -> Result<(Pack, Vec<Problem>), PackError> {
    let files = Files::in_folder(folder)?.pop().ok_or_else(|| PackError::NoPack(folder.to_owned()))?;
    Reading::of(&files).into_readable(&files)
}

/// The pack in a folder that has a `pack.toml`.
fn load_one(folder: &Path) -> Result<Pack, PackError> {
    load(folder)?.pop().ok_or_else(|| PackError::NoPack(folder.to_owned()))
}
