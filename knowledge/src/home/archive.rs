//! Unpacking archives that may come from anyone.
//!
//! Only files that a pack can have are unpacked, under names that stay inside the folder; a name that leads out of it, an absolute one and a link
//! out of it end the whole matter, because such an archive was made with intent. What is unpacked is counted while it is written, whatever the archive says
//! of its sizes.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use zip::ZipArchive;

use super::error::HomeError;
use crate::document::Format;
use crate::files::is_passed_over;

/// Of all files together.
const MAX_BYTES: u64 = 2 << 30;

/// Members of any kind.
const MAX_MEMBERS: usize = 200_000;

/// How a tar archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
}

/// Unpacks a zip archive into `folder`, which is made.
pub(super) fn unzip(archive: &Path, file: File, folder: &Path) -> Result<(), HomeError> {
    let broken = |error: zip::result::ZipError| HomeError::Archive { archive: archive.to_owned(), reason: error.to_string() };
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(broken)?;
    let mut unpacking = Unpacking::new(archive, folder)?;
    // All names first: nothing of an archive with one bad name is used.
    for index in 0..zip.len() {
        let member = zip.by_index_raw(index).map_err(broken)?;
        let is_link = member.unix_mode().is_some_and(|mode| mode & 0o170_000 == 0o120_000);
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        unpacking.member(&name)?;
        drop(member);
        if is_link {
            let mut target = String::new();
            // A target that is no text, or long, points nowhere.
            let read = zip.by_index(index).map_err(broken)?.take(4_096).read_to_string(&mut target);
            if read.is_ok() {
                unpacking.link(&name, &target)?;
            }
        }
    }
    for index in 0..zip.len() {
        let mut member = zip.by_index(index).map_err(broken)?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        if member.is_file() {
            unpacking.file(&name, &mut member)?;
        }
    }
    Ok(())
}

/// Unpacks a tar archive into `folder`, which is made.
pub(super) fn untar(archive: &Path, file: File, compression: Compression, folder: &Path) -> Result<(), HomeError> {
    let mut unpacking = Unpacking::new(archive, folder)?;
    let file = BufReader::new(file);
    // What is passed over has to be unpacked to be passed over.
    match compression {
        Compression::None => unpacking.tar(file.take(MAX_BYTES + 1)),
        Compression::Gzip => unpacking.tar(MultiGzDecoder::new(file).take(2 * MAX_BYTES)),
    }
}

/// An archive on its way into a folder.
struct Unpacking<'a> {
    archive: &'a Path,
    folder: &'a Path,
    bytes: u64,
    members: usize,
}

impl<'a> Unpacking<'a> {
    fn new(archive: &'a Path, folder: &'a Path) -> Result<Self, HomeError> {
        fs::create_dir(folder).map_err(|error| HomeError::io(folder, error))?;
        Ok(Self { archive, folder, bytes: 0, members: 0 })
    }

    fn tar(&mut self, stream: impl Read) -> Result<(), HomeError> {
        let archive = self.archive;
        let broken = |error: io::Error| HomeError::Archive { archive: archive.to_owned(), reason: error.to_string() };
        let mut tar = tar::Archive::new(stream);
        for member in tar.entries().map_err(broken)? {
            let mut member = member.map_err(broken)?;
            let name = String::from_utf8_lossy(&member.path_bytes()).into_owned();
            let kind = member.header().entry_type();
            self.member(&name)?;
            if kind.is_symlink() || kind.is_hard_link() {
                let target = member.link_name_bytes().map(|target| String::from_utf8_lossy(&target).into_owned()).unwrap_or_default();
                self.link(&name, &target)?;
            } else if kind.is_file() {
                self.file(&name, &mut member)?;
            }
        }
        Ok(())
    }

    /// Counts a member and looks at its name.
    fn member(&mut self, name: &str) -> Result<(), HomeError> {
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(self.too_much(format!("{MAX_MEMBERS} files and folders")));
        }
        self.inside(name).map(drop)
    }

    /// The path of a member inside the folder.
    fn inside(&self, name: &str) -> Result<PathBuf, HomeError> {
        // Archives made on Windows.
        let name = name.replace('\\', "/");
        let mut path = PathBuf::new();
        for component in Path::new(&name).components() {
            match component {
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                Component::ParentDir => return Err(self.refused(&name, "leads out of the archive")),
                Component::RootDir | Component::Prefix(_) => return Err(self.refused(&name, "is an absolute path")),
            }
        }
        Ok(path)
    }

    /// A link is never made; one that leads out of the archive is a reason to stop.
    fn link(&self, name: &str, target: &str) -> Result<(), HomeError> {
        let mut depth = Path::new(name).components().count().saturating_sub(1);
        for component in Path::new(target).components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir if depth > 0 => depth -= 1,
                _ => return Err(self.refused(name, "is a link that leads out of the archive")),
            }
        }
        Ok(())
    }

    fn file(&mut self, name: &str, content: &mut impl Read) -> Result<(), HomeError> {
        let path = self.inside(name)?;
        let is_wanted = path.ends_with("pack.toml") || Format::of(&path).is_some();
        let is_hidden = path.components().any(|part| is_passed_over(part.as_ref()));
        if !is_wanted || is_hidden {
            return Ok(());
        }
        let path = self.folder.join(path);
        let failed = |error| HomeError::io(&path, error);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        // One byte more than any document may have: the reader then says that it is too large.
        let limit = Format::of(&path).map_or(1 << 20, Format::max_bytes) + 1;
        let mut file = File::create(&path).map_err(failed)?;
        let mut left = limit;
        let mut buffer = vec![0; 64 << 10];
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(buffer.len()));
            let read = content
                .read(&mut buffer[..wanted])
                .map_err(|error| HomeError::Archive { archive: self.archive.to_owned(), reason: format!("{name}: {error}") })?;
            if read == 0 {
                break;
            }
            left -= read as u64;
            self.bytes += read as u64;
            if self.bytes > MAX_BYTES {
                return Err(self.too_much(format!("{} MiB unpacked", MAX_BYTES >> 20)));
            }
            file.write_all(&buffer[..read]).map_err(failed)?;
        }
        Ok(())
    }

    fn refused(&self, member: &str, reason: &'static str) -> HomeError {
        HomeError::Unsafe { archive: self.archive.to_owned(), member: member.to_owned(), reason }
    }

    fn too_much(&self, limit: String) -> HomeError {
        HomeError::TooMuch { name: self.archive.display().to_string(), limit }
    }
}
