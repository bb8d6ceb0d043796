//! tantivy as it comes, on the chunks of a library: what its own ranking has to be better than.

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, STORED, Schema, TEXT, TantivyDocument, Value};
use tantivy::{DocAddress, Index, Searcher, TantivyError, Term, doc};

use super::Place;
use crate::error::LibraryError;
use crate::index::PackIndex;
use crate::library::Library;
use crate::rank::Searched;

/// The writer's buffer.
const WRITER_BYTES: usize = 128 << 20;

/// The chunks' texts under the default tokenizer, in memory.
pub(super) struct Plain {
    searcher: Searcher,
    text: Field,
    place: Field,
}

impl Plain {
    /// Indexes the chunks that a search of this pack would go through.
    pub(super) fn of(library: &Library, pack: Option<&str>) -> Result<Self, LibraryError> {
        let shelves = library.shelves()?;
        let mut builder = Schema::builder();
        let text = builder.add_text_field("text", TEXT);
        let place = builder.add_text_field("place", STORED);
        let index = Index::create_in_ram(builder.build());
        let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        for Searched { index, searcher } in shelves.searched(pack)? {
            for (segment, reader) in (0..).zip(searcher.segment_readers()) {
                for document in reader.doc_ids_alive() {
                    let (chunk, lines) = chunk(index, &searcher, DocAddress::new(segment, document))?;
                    writer.add_document(doc!(text => chunk, place => lines))?;
                }
            }
        }
        writer.commit()?;
        Ok(Self { searcher: index.reader()?.searcher(), text, place })
    }

    /// The best chunks for any of the question's words.
    pub(super) fn search(&self, question: &str, limit: usize) -> Result<Vec<Place>, LibraryError> {
        let mut words: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        self.searcher.index().tokenizer_for_field(self.text)?.token_stream(question).process(&mut |token| {
            let term = Term::from_field_text(self.text, &token.text);
            words.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
        });
        let found = self.searcher.search(&BooleanQuery::new(words), &TopDocs::with_limit(limit).order_by_score())?;
        let place = |(_, address)| {
            let document: TantivyDocument = self.searcher.doc(address)?;
            Ok(document.get_first(self.place).and_then(|value| value.as_str()).and_then(parsed))
        };
        let places = found.into_iter().map(place).collect::<Result<Vec<_>, TantivyError>>()?;
        Ok(places.into_iter().flatten().collect())
    }
}

/// A chunk's text, and its place in a form that can be stored.
fn chunk(index: &PackIndex, searcher: &Searcher, address: DocAddress) -> Result<(String, String), LibraryError> {
    let stored = index.stored(searcher, address)?;
    let (first, last) = index.numbers(address)?.lines;
    Ok((stored.text, format!("{first} {last} {}", stored.place)))
}

fn parsed(place: &str) -> Option<Place> {
    let mut parts = place.splitn(3, ' ');
    let (start_line, end_line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(Place { path: parts.next()?.to_owned(), start_line, end_line })
}
