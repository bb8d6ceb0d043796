//! Reports kept on disk under the hash of their content, for all servers that share a cache folder.
//!
//! A file appears with all of its content or not at all, so that processes need no lock. The newest are kept, within bounds.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kernelwright_protocol::ContentHash;

use crate::error::ProfileError;
use crate::report::Report;

/// What resources of this kind start with.
pub(crate) const SCHEME: &str = "kernelwright://profiles/";

/// The bounds of what is kept: the newest reports, and no more bytes than this.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    reports: usize,
    bytes: u64,
}

/// A search makes about ten reports an hour; one with all counters of forty kernels has a few megabytes.
const BOUNDS: Bounds = Bounds { reports: 500, bytes: 512 << 20 };
/// Short enough to type, long enough to be one report's own.
const SHORTEST_NAME: usize = 8;
/// Lines of a resource that are read at once.
const LINES: usize = 400;

/// The folder of reports.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
    bounds: Bounds,
}

/// The resource that a report is read as.
pub(crate) fn uri(id: &ContentHash) -> String {
    format!("{SCHEME}{}", id.as_str())
}

impl Archive {
    /// The reports below a cache folder.
    pub(crate) fn below(cache: &Path) -> Self {
        Self { folder: cache.join("profile-reports"), bounds: BOUNDS }
    }

    /// Keeps a report and says its name.
    pub(crate) fn keep(&self, report: &Report) -> Result<ContentHash, ProfileError> {
        // With line breaks: resources are read by lines.
        let content = serde_json::to_vec_pretty(report).map_err(io::Error::from).map_err(|source| self.failed(source))?;
        let id = ContentHash::of(&content);
        self.write(&id, &content).map_err(|source| self.failed(source))?;
        self.prune(&id);
        Ok(id)
    }

    fn write(&self, id: &ContentHash, content: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let partial = self.folder.join(format!("{}.{}-{:?}", id.as_str(), std::process::id(), std::thread::current().id()));
        fs::write(&partial, content)?;
        // A report that is there already is as good as new.
        fs::rename(&partial, self.path(id)).inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })
    }

    /// The report of this name or of the one name that begins like this.
    pub(crate) fn find(&self, name: &str) -> Result<(ContentHash, Report), ProfileError> {
        let unknown = || ProfileError::NoSuchProfile(name.to_owned());
        let id = self.named(name).ok_or_else(unknown)?;
        let content = fs::read(self.path(&id)).map_err(|_| unknown())?;
        let report = serde_json::from_slice(&content).map_err(|error| self.failed(error.into()))?;
        Ok((id, report))
    }

    /// The one kept report whose name begins like this.
    fn named(&self, name: &str) -> Option<ContentHash> {
        let digits = name.len() >= SHORTEST_NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut found = self.kept().into_iter().filter(|kept| digits && kept.id.as_str().starts_with(&name.to_ascii_lowercase()));
        let (Some(one), None) = (found.next(), found.next()) else { return None };
        Some(one.id)
    }

    /// The lines of a resource: `kernelwright://profiles/ID` with `?offset=N&limit=N` where others than the first are wanted. The first digits of
    /// the name are enough here as well.
    pub(crate) fn read(&self, uri: &str) -> Result<Extract, ProfileError> {
        let unknown = || ProfileError::NoSuchProfile(uri.to_owned());
        let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut offset, mut limit) = (0, LINES);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').and_then(|(key, value)| Some((key, value.parse().ok()?))) {
                Some(("offset", lines)) => offset = lines,
                Some(("limit", lines)) => limit = lines,
                _ => return Err(unknown()),
            }
        }
        let id = self.named(name).ok_or_else(unknown)?;
        let text = fs::read_to_string(self.path(&id)).map_err(|_| unknown())?;
        let total = text.lines().count();
        let mut part: String = text.lines().skip(offset).take(limit).flat_map(|line| [line, "\n"]).collect();
        let end = offset.saturating_add(limit);
        let is_whole = offset == 0 && end >= total;
        if end < total {
            // Writing into a `String` does not fail.
            let _ = writeln!(part, "[lines {offset} to {} of {total}; next: {}?offset={end}&limit={limit}]", end - 1, self::uri(&id));
        }
        Ok(Extract { text: part, is_whole })
    }

    /// Removes the oldest reports beyond the bounds, and never the one just kept.
    fn prune(&self, newest: &ContentHash) {
        let mut kept = self.kept();
        kept.sort_by_key(|one| (one.id != *newest, std::cmp::Reverse(one.modified)));
        let mut bytes = 0;
        for (position, one) in kept.iter().enumerate() {
            bytes += one.bytes;
            if position > 0 && (position >= self.bounds.reports || bytes > self.bounds.bytes) {
                let _ = fs::remove_file(self.path(&one.id));
            }
        }
    }

    fn kept(&self) -> Vec<Kept> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let kept = |entry: fs::DirEntry| {
            let id = entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok()?;
            let meta = entry.metadata().ok()?;
            Some(Kept { id, modified: meta.modified().ok()?, bytes: meta.len() })
        };
        entries.flatten().filter_map(kept).collect()
    }

    fn path(&self, id: &ContentHash) -> PathBuf {
        self.folder.join(format!("{}.json", id.as_str()))
    }

    fn failed(&self, source: io::Error) -> ProfileError {
        ProfileError::Archive { folder: self.folder.clone(), source }
    }
}

/// Lines of a report.
#[derive(Debug)]
pub(crate) struct Extract {
    pub(crate) text: String,
    /// Whether these are all of them, which together are JSON.
    pub(crate) is_whole: bool,
}

/// One report on disk.
struct Kept {
    id: ContentHash,
    modified: SystemTime,
    bytes: u64,
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::ProfilerKind;

    use super::*;
    use crate::capture::{Capture, Taken};
    use crate::report::Subject;

    fn report(device: &str) -> Report {
        let capture = Capture { device: Some(device.to_owned()), ..Capture::new(ProfilerKind::Ncu) };
        Report::of(Subject::default(), Taken { capture, before: vec![], work: None, files: vec![], passed_over: vec![] }, None)
    }

    #[test]
    fn a_report_is_found_by_the_first_digits_of_its_name() {
        let cache = tempfile::tempdir().unwrap();
        let archive = Archive::below(cache.path());
        let id = archive.keep(&report("a")).unwrap();
        assert_eq!(archive.keep(&report("a")).unwrap(), id);
        assert_ne!(archive.keep(&report("b")).unwrap(), id);
        assert_eq!(archive.find(&id.as_str()[..10].to_ascii_uppercase()).unwrap(), (id.clone(), report("a")));
        for unknown in ["", "../../x", &id.as_str()[..4], "0123456789"] {
            assert!(matches!(archive.find(unknown), Err(ProfileError::NoSuchProfile(_))), "{unknown}");
        }
        let names: Vec<_> = fs::read_dir(cache.path().join("profile-reports")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn a_report_is_a_resource_that_is_read_by_lines() {
        let cache = tempfile::tempdir().unwrap();
        let archive = Archive::below(cache.path());
        let uri = uri(&archive.keep(&report("a")).unwrap());
        let whole = archive.read(&uri).unwrap();
        assert!(whole.is_whole);
        assert_eq!(serde_json::from_str::<Report>(&whole.text).unwrap(), report("a"));
        let Extract { text: part, is_whole } = archive.read(&format!("{uri}?offset=0&limit=1")).unwrap();
        assert!(!is_whole && !archive.read(&format!("{uri}?offset=1")).unwrap().is_whole);
        assert!(part.starts_with("{\n[lines 0 to 0 of ") && part.ends_with(&format!("next: {uri}?offset=1&limit=1]\n")), "{part}");
        let (short, upper) = (&uri[..SCHEME.len() + 8], uri[SCHEME.len()..][..10].to_ascii_uppercase());
        for name in [short.to_owned(), format!("{SCHEME}{upper}")] {
            assert_eq!(archive.read(&name).unwrap().text, whole.text, "{name}");
        }
        for unknown in [&uri[..SCHEME.len() + 7], "kernelwright://profiles/x", "kernelwright://artifacts/x", &format!("{uri}?lines=2")] {
            assert!(archive.read(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn the_newest_are_kept() {
        let cache = tempfile::tempdir().unwrap();
        let archive = Archive { bounds: Bounds { reports: 2, bytes: 1 << 20 }, ..Archive::below(cache.path()) };
        for device in ["a", "b", "c", "d"] {
            let id = archive.keep(&report(device)).unwrap();
            assert!(archive.find(id.as_str()).is_ok());
        }
        assert_eq!(archive.kept().len(), 2);
        let archive = Archive { bounds: Bounds { reports: 2, bytes: 1 }, ..archive };
        let id = archive.keep(&report("e")).unwrap();
        assert_eq!(archive.kept().iter().map(|kept| &kept.id).collect::<Vec<_>>(), [&id]);
    }
}
