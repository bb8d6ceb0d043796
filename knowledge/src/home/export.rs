//! A pack as an archive that anyone can add.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use super::error::HomeError;
use crate::document::{FOLDER, Listing};
use crate::files::{FOLDERS, Files};

/// Writes the pack in `folder` as a tar.gz in which everything lies below `id/`. What belongs to this machine stays out.
pub(super) fn export(folder: &Path, id: &str, archive: &Path) -> Result<(), HomeError> {
    let mut members = vec!["pack.toml".to_owned()];
    for (name, extension) in FOLDERS {
        let Ok(entries) = fs::read_dir(folder.join(name)) else { continue };
        let names = entries.flatten().filter(|entry| entry.path().extension().is_some_and(|found| found == extension));
        members.extend(names.map(|entry| format!("{name}/{}", entry.file_name().to_string_lossy())));
    }
    let documents = Listing::of(folder).map_err(HomeError::Pack)?.documents;
    members.extend(documents.iter().map(|file| format!("{FOLDER}/{}", file.path)));
    members.sort();
    written(archive, |tar| {
        for member in &members {
            let bytes = fs::read(folder.join(member))?;
            append(tar, &format!("{id}/{member}"), &bytes)?;
        }
        Ok(())
    })
}

/// Writes a built-in pack as an archive, as a model for packs of one's own. `None` when there is no such pack.
#[must_use]
pub fn export_built_in(id: &str, archive: &Path) -> Option<Result<(), HomeError>> {
    let files = Files::built_in().into_iter().find(|files| files.id() == id)?;
    Some(written(archive, |tar| {
        append(tar, &format!("{id}/pack.toml"), files.manifest.as_bytes())?;
        for file in files.entries.iter().chain(&files.problems) {
            append(tar, &format!("{id}/{}", file.path), file.text.as_bytes())?;
        }
        Ok(())
    }))
}

type Tar = tar::Builder<GzEncoder<NamedTempFile>>;

/// Writes beside the archive and moves what is whole into place; an archive that is there stays as it is.
fn written(archive: &Path, add_all: impl FnOnce(&mut Tar) -> io::Result<()>) -> Result<(), HomeError> {
    let failed = |error| HomeError::io(archive, error);
    let beside = archive.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = NamedTempFile::new_in(beside).map_err(failed)?;
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    add_all(&mut tar).map_err(failed)?;
    let mut file = tar.into_inner().and_then(GzEncoder::finish).map_err(failed)?;
    file.flush().map_err(failed)?;
    // Temporary files are for their owner's eyes only; an archive is for everyone.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(failed)?;
    file.persist_noclobber(archive).map(|_: File| ()).map_err(|error| failed(error.error))
}

/// The same bytes for the same pack: no times, no owners.
fn append(tar: &mut Tar, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_cksum();
    tar.append_data(&mut header, path, bytes)
}
