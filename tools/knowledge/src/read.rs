//! Entries and documents as a whole, page by page.

use std::path::Path;

use kernelwright_packs::Document;
use kernelwright_protocol::{Entry, EntryKind};

use crate::contents;
use crate::error::LibraryError;
use crate::rank::{Filters, Searched, rank};
use crate::shelves::Shelves;

/// How much of an entry is read at once: more than any entry has, so that only long examples and documents need a second call.
const PAGE_CHARACTERS: usize = 12_000;

/// How many similar ids a wrong one is answered with.
const NEAREST_IDS: usize = 5;

impl Shelves {
    pub(crate) fn read(&self, id: &str, offset: usize) -> Result<Entry, LibraryError> {
        let id = id.trim();
        if id == contents::ID {
            return Ok(page(contents::of(&self.packs), offset));
        }
        if let Some((pack, name)) = id.split_once('/')
            && let Some(pack) = self.packs.iter().find(|known| known.id == pack)
        {
            if let Some(entry) = pack.entries.iter().find(|entry| entry.name == name) {
                let whole = Entry {
                    id: id.to_owned(),
                    title: entry.title.clone(),
                    kind: entry.kind,
                    sources: entry.sources.clone(),
                    text: entry.body().to_owned(),
                    next_offset: None,
                };
                return Ok(page(whole, offset));
            }
            if let Some((file, root)) = pack.documents.iter().find(|file| file.path == name).zip(pack.root.as_deref()) {
                let document = Document::read(root, Path::new(&file.path))?;
                let whole = Entry {
                    id: id.to_owned(),
                    title: document.path,
                    kind: EntryKind::Document,
                    sources: pack.sources.clone(),
                    text: document.text,
                    next_offset: None,
                };
                return Ok(page(whole, offset));
            }
        }
        Err(LibraryError::UnknownEntry { id: id.to_owned(), nearest: self.nearest(id)? })
    }

    /// Ids of entries that a wrong id may have meant.
    fn nearest(&self, id: &str) -> Result<Vec<String>, LibraryError> {
        let searched = self.searched(None)?;
        let mut ids: Vec<String> = Vec::new();
        for found in rank(&searched, id, &Filters::default())?.found {
            if ids.len() == NEAREST_IDS {
                break;
            }
            let Searched { index, searcher } = &searched[found.index];
            let id = index.stored(searcher, found.address)?.entry;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }
}

/// A page of an entry.
fn page(mut whole: Entry, offset: usize) -> Entry {
    let text: String = whole.text.chars().skip(offset).take(PAGE_CHARACTERS).collect();
    let end = offset.saturating_add(text.chars().count());
    let is_more = whole.text.chars().nth(end).is_some();
    whole.next_offset = if is_more { u32::try_from(end).ok() } else { None };
    whole.text = text;
    whole
}
