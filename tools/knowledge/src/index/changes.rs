//! What has changed in a pack since it was indexed.

use std::collections::HashSet;

use kernelwright_packs::{DocumentFile, Entry, Pack};
use kernelwright_protocol::ContentHash;

use super::state::{Stamp, State, document_key, manifest};

/// What has to be done to an index.
pub(super) struct Changes<'a> {
    pub(super) state: State,
    /// Everything has to go first.
    pub(super) restart: bool,
    pub(super) removed: Vec<String>,
    pub(super) entries: Vec<(&'a Entry, Stamp)>,
    pub(super) documents: Vec<&'a DocumentFile>,
}

impl<'a> Changes<'a> {
    /// What a pack has that an index of this state has not.
    pub(super) fn since(mut state: State, pack: &'a Pack) -> Self {
        let manifest = manifest(pack);
        let restart = state.manifest != manifest && !state.manifest.is_empty();
        if restart {
            state.files.clear();
        }
        state.manifest = manifest;
        let entries: Vec<(&Entry, Stamp)> = pack
            .entries
            .iter()
            .map(|entry| {
                let hash = ContentHash::of(&entry.text).as_str().to_owned();
                (entry, Stamp { bytes: entry.text.len() as u64, modified: 0, hash })
            })
            .filter(|(entry, stamp)| state.files.get(&entry.path) != Some(stamp))
            .collect();
        let documents: Vec<_> = pack
            .documents
            .iter()
            .filter(|file| !state.files.get(&document_key(&file.path)).is_some_and(|stamp| stamp.is_same(file)))
            .collect();
        let there: HashSet<String> =
            pack.entries.iter().map(|entry| entry.path.clone()).chain(pack.documents.iter().map(|file| document_key(&file.path))).collect();
        let removed = state.files.keys().filter(|path| !there.contains(*path)).cloned().collect();
        Self { state, restart, removed, entries, documents }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.restart && self.removed.is_empty() && self.entries.is_empty() && self.documents.is_empty()
    }
}
