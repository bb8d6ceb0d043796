//! The search index over chunks: tantivy, one for all built-in packs, one for each pack of the user.
//!
//! Chunks keep their text, so that a passage needs no file. An index lies in a folder whose name holds the version of the format: what an
//! older executable left is not read. How it gets there without ever being half of one is the business of
//! [`mod@built_in`] and [`users`].

mod add;
mod built_in;
mod changes;
mod columns;
mod error;
mod kept;
mod nature;
mod state;
mod users;

use std::sync::OnceLock;

use columns::Columns;
use kernelwright_packs::{Entry, Pack};
use kernelwright_protocol::EntryKind;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions, Value,
};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy, Searcher, TantivyError};

pub(crate) use built_in::built_in;
pub(crate) use columns::Numbers;
pub use error::IndexError;
pub(crate) use kept::{forget, sweep};
pub(crate) use nature::Nature;
pub(crate) use users::of_pack;

use crate::tokenize::analyzer;

/// Changes whenever chunks, tokens or fields do.
const FORMAT: &str = "4";

/// A writer's buffer. A pack of 20 MB fits; larger ones are written in pieces, which keeps memory bounded.
const WRITER_BYTES: usize = 128 << 20;

const TOKENIZER: &str = "code";

/// What a filter finds in entries that hold for everything.
pub(crate) const ANY: &str = "*";

/// The fields of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// `pack/name`.
    pub(crate) entry: Field,
    /// The file inside the pack, to be shown.
    pub(crate) place: Field,
    /// Title and heading path, to be shown.
    pub(crate) title: Field,
    /// The text, to be shown.
    pub(crate) text: Field,
    /// The text with what is in the next three fields: all that the first stage of a search looks at.
    pub(crate) body: Field,
    /// Title, headings and tags.
    pub(crate) breadcrumb: Field,
    /// Pack and file.
    pub(crate) path: Field,
    /// What it defines.
    pub(crate) symbols: Field,
    pub(crate) pack: Field,
    pub(crate) kind: Field,
    pub(crate) vendor: Field,
    pub(crate) architecture: Field,
    pub(crate) language: Field,
    pub(crate) bottleneck: Field,
    pub(crate) phase: Field,
    /// A number for the entry, to know chunks of one entry by.
    pub(crate) file: Field,
    /// The chunk's place in its entry.
    pub(crate) ordinal: Field,
    pub(crate) start_line: Field,
    pub(crate) end_line: Field,
    /// [`Nature`], as a number.
    pub(crate) nature: Field,
    /// The text's length.
    pub(crate) bytes: Field,
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    // Frequencies only: phrases are not searched, and positions would double the index.
    let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs);
    let text = TextOptions::default().set_indexing_options(indexing);
    let number = NumericOptions::from(FAST);
    let fields = Fields {
        entry: builder.add_text_field("entry", STRING | STORED),
        place: builder.add_text_field("place", STORED),
        title: builder.add_text_field("title", STORED),
        text: builder.add_text_field("text", STORED),
        body: builder.add_text_field("body", text.clone()),
        breadcrumb: builder.add_text_field("breadcrumb", text.clone()),
        path: builder.add_text_field("path", text.clone()),
        symbols: builder.add_text_field("symbols", text),
        pack: builder.add_text_field("pack", STRING),
        kind: builder.add_text_field("kind", STRING | STORED),
        vendor: builder.add_text_field("vendor", STRING),
        architecture: builder.add_text_field("architecture", STRING),
        language: builder.add_text_field("language", STRING),
        bottleneck: builder.add_text_field("bottleneck", STRING),
        phase: builder.add_text_field("phase", STRING),
        file: builder.add_u64_field("file", number.clone() | INDEXED),
        ordinal: builder.add_u64_field("ordinal", number.clone()),
        start_line: builder.add_u64_field("start_line", number.clone()),
        end_line: builder.add_u64_field("end_line", number.clone()),
        nature: builder.add_u64_field("nature", number.clone()),
        bytes: builder.add_u64_field("bytes", number),
    };
    (builder.build(), fields)
}

fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(TOKENIZER, analyzer());
    manager
}

/// A committed index, ready to be searched.
pub(crate) struct PackIndex {
    reader: IndexReader,
    fields: Fields,
    freshness: Freshness,
    /// Those of every segment, once they were asked for.
    columns: OnceLock<Vec<Columns>>,
}

/// Whether an index holds what its pack held when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    /// It does.
    Current,
    /// Another process was writing; what it had committed before is searched.
    Behind,
}

/// A chunk as the index keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) entry: String,
    pub(crate) place: String,
    pub(crate) title: String,
    pub(crate) kind: EntryKind,
    pub(crate) text: String,
}

impl PackIndex {
    fn reading(mut index: Index, freshness: Freshness) -> Result<Self, TantivyError> {
        index.set_tokenizers(tokenizers());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { reader, fields: schema().1, freshness, columns: OnceLock::new() })
    }

    pub(crate) fn is_current(&self) -> bool {
        self.freshness == Freshness::Current
    }

    /// What is known of a chunk in numbers.
    pub(crate) fn numbers(&self, address: DocAddress) -> Result<Numbers, TantivyError> {
        let columns = if let Some(columns) = self.columns.get() {
            columns
        } else {
            let opened = self.searcher().segment_readers().iter().map(Columns::of).collect::<Result<_, _>>()?;
            self.columns.get_or_init(|| opened)
        };
        Ok(columns[address.segment_ord as usize].numbers(address.doc_id))
    }

    /// The state of the index at the last commit before it was opened.
    pub(crate) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// A chunk's text.
    pub(crate) fn text(&self, searcher: &Searcher, address: DocAddress) -> Result<String, TantivyError> {
        let document: TantivyDocument = searcher.doc(address)?;
        Ok(document.get_first(self.fields.text).and_then(|value| value.as_str()).unwrap_or_default().to_owned())
    }

    /// What is kept of a chunk.
    pub(crate) fn stored(&self, searcher: &Searcher, address: DocAddress) -> Result<Stored, TantivyError> {
        let document: TantivyDocument = searcher.doc(address)?;
        let text = |field: Field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let Fields { entry, place, title, text: body, kind, .. } = self.fields;
        Ok(Stored { entry: text(entry), place: text(place), title: text(title), kind: kind_of(&text(kind)), text: text(body) })
    }
}

fn kind_of(name: &str) -> EntryKind {
    EntryKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or(EntryKind::Document)
}

/// The id of an entry, as tools take and give it.
pub(crate) fn entry_id(pack: &Pack, entry: &Entry) -> String {
    format!("{}/{}", pack.id, entry.name)
}
