//! What an index was built from, kept with its commit: a commit and its state appear together or not at all.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use kernelwright_packs::{DocumentFile, Pack};
use kernelwright_protocol::ContentHash;
use serde::{Deserialize, Serialize};

/// The files of a pack as they were indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// What holds for every chunk, out of `pack.toml`: another manifest means another index.
    pub(super) manifest: String,
    /// By the path inside the pack.
    pub(super) files: BTreeMap<String, Stamp>,
}

/// One file as it was indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    /// Nanoseconds since 1970; 0 for files that are read anyway.
    pub(super) modified: u64,
    /// The hash of its content; empty for a file without text, which has no chunks.
    pub(super) hash: String,
}

impl Stamp {
    /// The stamp of a document that has not been read.
    pub(super) fn unread(file: &DocumentFile) -> Self {
        let since = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { bytes: file.bytes, modified: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), hash: String::new() }
    }

    /// Whether the file was not written since. One that is as new as the look at it may have been written again within the clock's tick.
    pub(super) fn is_same(&self, file: &DocumentFile) -> bool {
        const TICK: std::time::Duration = std::time::Duration::from_millis(20);
        let is_settled = SystemTime::now().duration_since(file.modified).is_ok_and(|age| age > TICK);
        let now = Self::unread(file);
        is_settled && now.bytes == self.bytes && now.modified == self.modified
    }
}

/// What holds for all documents and entries of a pack.
pub(super) fn manifest(pack: &Pack) -> String {
    let all = format!("{}\0{:?}\0{:?}\0{:?}", pack.id, pack.vendor, pack.architectures, pack.languages);
    ContentHash::of(all).as_str().to_owned()
}

/// The key of a document; entries have the path inside the pack, which begins with another folder.
pub(super) fn document_key(path: &str) -> String {
    format!("documents/{path}")
}
