//! The search index over chunks: tantivy, in memory or in a folder named by the packs' content.
//!
//! An index on disk is written beside its final place and renamed, so that a kill leaves no half of one and several processes may
//! build the same at once. It holds numbers of chunks only; their text is read from the packs that it was built from.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernelwright_protocol::ContentHash;
use tantivy::collector::TopDocs;
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, Query as TantivyQuery, TermQuery};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyDocument, TantivyError, Term};

use crate::tokenize::{analyzer, question_terms};

/// Changes whenever chunks, tokens or fields do: an older index on disk is then left alone and a new one built.
const FORMAT: &str = "1";

const TOKENIZER: &str = "code";

/// The writer's buffer; one segment is written, whatever the size.
const WRITER_BYTES: usize = 32 << 20;

/// Numbers the builds of this process, so that each has a place of its own.
static BUILDS: AtomicUsize = AtomicUsize::new(0);

/// What a filter finds in entries that hold for everything.
const ANY: &str = "*";

/// One chunk as it is indexed.
pub(crate) struct Document<'a> {
    /// Its number.
    pub(crate) number: u64,
    /// Its text.
    pub(crate) body: &'a str,
    /// Title, headings, symbol and tags.
    pub(crate) breadcrumb: &'a str,
    /// Pack and file.
    pub(crate) path: &'a str,
    /// What it can be filtered by.
    pub(crate) facets: Facets<'a>,
}

/// What a chunk can be filtered by.
pub(crate) struct Facets<'a> {
    pub(crate) pack: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) vendor: Option<&'a str>,
    pub(crate) architectures: &'a [String],
    pub(crate) languages: &'a [String],
}

/// What chunks have to fit; a chunk that holds for everything fits each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    pub(crate) pack: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) vendor: Option<String>,
    pub(crate) architecture: Option<String>,
    pub(crate) language: Option<String>,
}

/// Whether documents could be added.
pub(crate) type Added = Result<(), TantivyError>;

/// Adds one document.
pub(crate) type Add<'a> = dyn FnMut(Document<'_>) -> Added + 'a;

#[derive(Clone, Copy)]
struct Fields {
    number: Field,
    body: Field,
    breadcrumb: Field,
    path: Field,
    pack: Field,
    kind: Field,
    vendor: Field,
    architecture: Field,
    language: Field,
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    // Frequencies only: phrases are not searched, and positions would double the index.
    let indexing = TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs);
    let text = TextOptions::default().set_indexing_options(indexing);
    let fields = Fields {
        number: builder.add_u64_field("number", NumericOptions::from(FAST | INDEXED)),
        body: builder.add_text_field("body", text.clone()),
        breadcrumb: builder.add_text_field("breadcrumb", text.clone()),
        path: builder.add_text_field("path", text),
        pack: builder.add_text_field("pack", STRING),
        kind: builder.add_text_field("kind", STRING),
        vendor: builder.add_text_field("vendor", STRING),
        architecture: builder.add_text_field("architecture", STRING),
        language: builder.add_text_field("language", STRING),
    };
    (builder.build(), fields)
}

fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(TOKENIZER, analyzer());
    manager
}

/// An index that answers questions with numbers of chunks.
pub(crate) struct ChunkIndex {
    reader: IndexReader,
    fields: Fields,
}

impl ChunkIndex {
    /// Opens the index of this content under `cache`, or builds it there; without a usable cache it is built in memory.
    ///
    /// `documents` hands every chunk to the function that it is given.
    pub(crate) fn open(
        content: &ContentHash,
        cache: Option<&Path>,
        documents: impl Fn(&mut Add<'_>) -> Added,
    ) -> Result<Self, TantivyError> {
        if let Some(cache) = cache {
            match Self::open_cached(&cache.join(format!("index-{FORMAT}-{}", content.as_str())), &documents) {
                Ok(index) => return Ok(index),
                // A full disk or a read-only home is no reason not to answer.
                Err(error) => tracing::warn!(%error, cache = %cache.display(), "index not cached; building it in memory"),
            }
        }
        Self::reading(build(RamDirectory::create(), &documents)?)
    }

    fn open_cached(place: &Path, documents: &impl Fn(&mut Add<'_>) -> Added) -> Result<Self, TantivyError> {
        if place.is_dir() {
            match Index::open_in_dir(place).and_then(Self::reading) {
                Ok(index) => return Ok(index),
                Err(error) => {
                    tracing::warn!(%error, place = %place.display(), "index damaged; building it again");
                    fs::remove_dir_all(place)?;
                }
            }
        }
        let beside = place.with_extension(format!("{}-{}.tmp", std::process::id(), BUILDS.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&beside)?;
        let built = MmapDirectory::open(&beside).map_err(TantivyError::from).and_then(|directory| build(directory, documents));
        let renamed = built.and_then(|index| {
            drop(index);
            fs::rename(&beside, place).map_err(TantivyError::from)
        });
        if let Err(error) = renamed {
            let _ = fs::remove_dir_all(&beside);
            // Another process was faster with the same content.
            if !place.is_dir() {
                return Err(error);
            }
        }
        Self::reading(Index::open_in_dir(place)?)
    }

    fn reading(mut index: Index) -> Result<Self, TantivyError> {
        index.set_tokenizers(tokenizers());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { reader, fields: schema().1 })
    }

    /// The best chunks for a question, best first, with their scores.
    pub(crate) fn search(&self, question: &str, filters: &Filters, limit: usize) -> Result<Vec<(u64, f32)>, TantivyError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let searcher = self.reader.searcher();
        let query = BooleanQuery::new(self.clauses(question, filters));
        let found = searcher.search(&query, &TopDocs::with_limit(limit).order_by_score())?;
        let mut numbers = HashMap::new();
        found
            .into_iter()
            .map(|(score, address)| {
                let segment = address.segment_ord;
                let column = match numbers.entry(segment) {
                    std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(searcher.segment_reader(segment).fast_fields().u64("number")?)
                    }
                };
                Ok((column.first(address.doc_id).unwrap_or_default(), score))
            })
            .collect()
    }

    fn clauses(&self, question: &str, filters: &Filters) -> Vec<(Occur, Box<dyn TantivyQuery>)> {
        let Fields { body, breadcrumb, path, pack, kind, vendor, architecture, language, .. } = self.fields;
        let mut words: Vec<(Occur, Box<dyn TantivyQuery>)> = Vec::new();
        for term in question_terms(question) {
            for (field, boost) in [(body, 1.0), (breadcrumb, 2.0), (path, 1.0)] {
                let query = TermQuery::new(Term::from_field_text(field, &term), IndexRecordOption::WithFreqs);
                words.push((Occur::Should, Box::new(BoostQuery::new(Box::new(query), boost))));
            }
        }
        if words.is_empty() {
            return vec![(Occur::Must, Box::new(EmptyQuery))];
        }
        let mut clauses: Vec<(Occur, Box<dyn TantivyQuery>)> = vec![(Occur::Must, Box::new(BooleanQuery::new(words)))];
        let mut filter = |field: Field, values: Vec<String>| {
            let terms = values.iter().map(|value| Term::from_field_text(field, value)).collect();
            // Filters decide, they do not rank.
            let query = ConstScoreQuery::new(Box::new(BooleanQuery::new_multiterms_query(terms)), 0.0);
            clauses.push((Occur::Must, Box::new(query)));
        };
        for (field, value) in [(pack, &filters.pack), (kind, &filters.kind)] {
            if let Some(value) = value {
                filter(field, vec![value.clone()]);
            }
        }
        for (field, value) in [(vendor, &filters.vendor), (language, &filters.language)] {
            if let Some(value) = value {
                filter(field, vec![value.to_lowercase(), ANY.to_owned()]);
            }
        }
        if let Some(value) = &filters.architecture {
            let value = value.to_lowercase();
            // `x86_64` holds for `x86_64-avx512` as well.
            let general = value.match_indices('-').map(|(at, _)| value[..at].to_owned());
            let values = general.chain([value.clone(), ANY.to_owned()]).collect();
            filter(architecture, values);
        }
        clauses
    }
}

fn build(directory: impl Into<Box<dyn Directory>>, documents: &impl Fn(&mut Add<'_>) -> Added) -> Result<Index, TantivyError> {
    let (schema, fields) = schema();
    // One segment, written by this thread: no merging, and no threads of its own in a server that is mostly idle.
    let mut writer = Index::builder().schema(schema).tokenizers(tokenizers()).single_segment_index_writer(directory, WRITER_BYTES)?;
    documents(&mut |document| {
        let Document { number, body, breadcrumb, path, facets } = document;
        let mut indexed = TantivyDocument::default();
        indexed.add_u64(fields.number, number);
        indexed.add_text(fields.body, body);
        indexed.add_text(fields.breadcrumb, breadcrumb);
        indexed.add_text(fields.path, path);
        indexed.add_text(fields.pack, facets.pack);
        indexed.add_text(fields.kind, facets.kind);
        indexed.add_text(fields.vendor, facets.vendor.unwrap_or(ANY));
        for (field, values) in [(fields.architecture, facets.architectures), (fields.language, facets.languages)] {
            if values.is_empty() {
                indexed.add_text(field, ANY);
            }
            for value in values {
                indexed.add_text(field, value);
            }
        }
        writer.add_document(indexed)
    })?;
    writer.finalize()
}
