//! From a text to the chunks of an index.

use std::path::Path;

use kernelwright_packs::{Document, Entry, Pack, Structure};
use kernelwright_protocol::{Bottleneck, ContentHash, EntryKind, Phase};
use tantivy::{IndexWriter, TantivyDocument, TantivyError};

use super::state::document_key;
use super::{ANY, Fields, Nature, entry_id};
use crate::chunk::{Chunk, chunks};

/// More text of one chunk is not kept: lines of such a length are data.
const MAX_STORED_BYTES: usize = 16 << 10;

pub(super) fn add_entry(writer: &IndexWriter, fields: &Fields, pack: &Pack, entry: &Entry) -> Result<(), TantivyError> {
    let is_python = Path::new(&entry.path).extension().is_some_and(|extension| extension == "py");
    let structure = if is_python { Structure::Python } else { Structure::Markdown };
    let source = Source {
        id: entry_id(pack, entry),
        place: &entry.path,
        number: file_number(pack, &entry.path),
        title: &entry.title,
        tags: entry.tags.join(" "),
        text: &entry.text,
        nature: if entry.kind == EntryKind::Example { Nature::Example } else { Nature::Prose },
    };
    let chunks = chunks(structure, &entry.text, (entry.body_line as usize).saturating_sub(1));
    add_chunks(writer, fields, pack, &source, &chunks, |document, chunk| {
        document.add_text(fields.kind, entry.kind.as_str());
        document.add_text(fields.bottleneck, entry.bottleneck.map_or(ANY, Bottleneck::as_str));
        document.add_text(fields.phase, entry.phase.map_or(ANY, Phase::as_str));
        add_platforms(document, fields, &entry.architectures, &entry.languages);
        (chunk.start_line, chunk.end_line)
    })
}

pub(super) fn add_document(writer: &IndexWriter, fields: &Fields, pack: &Pack, document: &Document) -> Result<(), TantivyError> {
    let source = Source {
        id: format!("{}/{}", pack.id, document.path),
        place: &document.path,
        number: file_number(pack, &document_key(&document.path)),
        title: "",
        tags: String::new(),
        text: &document.text,
        nature: Nature::of_file(&document.path, document.structure),
    };
    let chunks = chunks(document.structure, &document.text, 0);
    add_chunks(writer, fields, pack, &source, &chunks, |indexed, chunk| {
        indexed.add_text(fields.kind, EntryKind::Document.as_str());
        indexed.add_text(fields.bottleneck, ANY);
        indexed.add_text(fields.phase, ANY);
        add_platforms(indexed, fields, &pack.architectures, &pack.languages);
        document.lines.originals(chunk.start_line, chunk.end_line)
    })
}

/// A text as a whole, and what holds for all of its chunks.
struct Source<'a> {
    id: String,
    place: &'a str,
    number: u64,
    title: &'a str,
    tags: String,
    text: &'a str,
    nature: Nature,
}

fn add_chunks(
    writer: &IndexWriter,
    fields: &Fields,
    pack: &Pack,
    source: &Source<'_>,
    chunks: &[Chunk],
    facets: impl Fn(&mut TantivyDocument, &Chunk) -> (u32, u32),
) -> Result<(), TantivyError> {
    let lines: Vec<&str> = source.text.lines().collect();
    for (ordinal, chunk) in (0_u64..).zip(chunks) {
        let mut text = lines[chunk.start_line as usize - 1..chunk.end_line as usize].join("\n");
        if text.len() > MAX_STORED_BYTES {
            let end = (0..=MAX_STORED_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
            text.truncate(end);
        }
        let titles: Vec<&str> =
            [source.title].into_iter().filter(|title| !title.is_empty()).chain(chunk.heading.iter().map(String::as_str)).collect();
        let mut document = TantivyDocument::default();
        document.add_text(fields.entry, &source.id);
        document.add_text(fields.place, source.place);
        document.add_text(fields.title, titles.join(" > "));
        document.add_u64(fields.bytes, text.len() as u64);
        let breadcrumb = format!("{} {}", titles.join(" "), source.tags);
        let path = format!("{} {}", pack.id, source.place);
        document.add_text(fields.body, format!("{breadcrumb}\n{path}\n{text}"));
        document.add_text(fields.text, text);
        document.add_text(fields.breadcrumb, breadcrumb);
        document.add_text(fields.path, path);
        document.add_text(fields.symbols, chunk.symbols.join(" "));
        document.add_text(fields.pack, &pack.id);
        document.add_text(fields.vendor, pack.vendor.as_deref().unwrap_or(ANY));
        document.add_u64(fields.file, source.number);
        document.add_u64(fields.ordinal, ordinal);
        document.add_u64(fields.nature, source.nature.number());
        let (start, end) = facets(&mut document, chunk);
        document.add_u64(fields.start_line, u64::from(start));
        document.add_u64(fields.end_line, u64::from(end));
        writer.add_document(document)?;
    }
    Ok(())
}

fn add_platforms(document: &mut TantivyDocument, fields: &Fields, architectures: &[String], languages: &[String]) {
    for (field, values) in [(fields.architecture, architectures), (fields.language, languages)] {
        if values.is_empty() {
            document.add_text(field, ANY);
        }
        for value in values {
            document.add_text(field, value);
        }
    }
}

/// A number for a file of a pack.
pub(super) fn file_number(pack: &Pack, path: &str) -> u64 {
    u64::from_str_radix(&ContentHash::of(format!("{}/{path}", pack.id)).as_str()[..16], 16).unwrap_or_default()
}
