//! The document to read first: what there is, by platform, bottleneck and phase.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernelwright_packs::{Entry as PackEntry, Pack};
use kernelwright_protocol::{Entry, EntryKind};

use crate::index::entry_id;

/// Its id, where an entry's is expected.
pub(crate) const ID: &str = "index";

/// The document over these packs.
pub(crate) fn of(packs: &[Pack]) -> Entry {
    let mut text =
        String::from("Every line leads to entries: read one with its id, or search with the filters named here.\n\n## Packs\n\n");
    for pack in packs {
        let documents = if pack.documents.is_empty() { String::new() } else { format!(", {} documents", pack.documents.len()) };
        let _ = writeln!(text, "- `{}` ({} entries{documents}): {}", pack.id, pack.entries.len(), pack.description);
    }
    section(&mut text, packs, "By platform", platforms);
    section(&mut text, packs, "By bottleneck", |_, entry| {
        entry.bottleneck.iter().map(|bottleneck| bottleneck.as_str().to_owned()).collect()
    });
    section(&mut text, packs, "By phase", |_, entry| entry.phase.iter().map(|phase| phase.as_str().to_owned()).collect());
    section(&mut text, packs, "Example kernels", |_, entry| {
        let languages = if entry.languages.is_empty() { vec!["any language".to_owned()] } else { entry.languages.clone() };
        if entry.kind == EntryKind::Example { languages } else { Vec::new() }
    });
    Entry {
        id: ID.to_owned(),
        title: "What there is to read".to_owned(),
        kind: EntryKind::Guidance,
        sources: Vec::new(),
        text,
        next_offset: None,
    }
}

fn platforms(pack: &Pack, entry: &PackEntry) -> Vec<String> {
    if !entry.architectures.is_empty() {
        return entry.architectures.clone();
    }
    vec![pack.vendor.clone().unwrap_or_else(|| "any".to_owned())]
}

/// A list of entries' ids for each value that they have.
fn section(text: &mut String, packs: &[Pack], title: &str, values: impl Fn(&Pack, &PackEntry) -> Vec<String>) {
    let mut by_value: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pack in packs {
        // Lessons are many and found by what they are about.
        for entry in pack.entries.iter().filter(|entry| entry.kind != EntryKind::Lesson) {
            for value in values(pack, entry) {
                by_value.entry(value).or_default().push(entry_id(pack, entry));
            }
        }
    }
    if by_value.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n## {title}\n");
    for (value, ids) in by_value {
        let _ = writeln!(text, "- {value}: {}", ids.join(", "));
    }
}
