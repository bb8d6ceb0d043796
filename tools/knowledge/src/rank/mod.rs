//! From a question to ranked chunks: BM25 over one field for the first eighty, then a second look at those alone.
//!
//! The first stage finds nearly everything; the order is what is lost there. The second reads how often each term stands in each field of
//! each candidate from the postings, and weighs what a sum over terms cannot see: how much of the question a chunk covers, whether the words
//! follow each other, what its neighbours say, and what sort of text it is.

mod question;
mod read;
mod score;
mod thesaurus;
mod vocabulary;

use std::cell::RefCell;
use std::collections::HashMap;

use kernelwright_protocol::{Bottleneck, EntryKind, Phase};
use tantivy::collector::TopDocs;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query as TantivyQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Searcher, TantivyError, Term};

use crate::index::{ANY, Nature, PackIndex};
use question::{Question, Want};
use score::rescored;

/// How many chunks get a second look.
const CANDIDATES: usize = 80;

/// What chunks have to fit; a chunk that holds for everything fits each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    pub(crate) pack: Option<String>,
    pub(crate) kind: Option<EntryKind>,
    /// One of these, as of the next two; none stands for any.
    pub(crate) vendors: Vec<String>,
    pub(crate) architectures: Vec<String>,
    pub(crate) languages: Vec<String>,
    pub(crate) bottleneck: Option<Bottleneck>,
    pub(crate) phase: Option<Phase>,
}

/// A chunk that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Which of the searched indexes.
    pub(crate) index: usize,
    pub(crate) address: DocAddress,
    pub(crate) score: f32,
    /// Its entry's number.
    pub(crate) file: u64,
    /// Its place in its entry.
    pub(crate) ordinal: u64,
    pub(crate) bytes: u64,
    pub(crate) nature: Nature,
}

/// A word that is looked for, with its rarity in what it counts.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    /// As a text's words are brought to one form.
    pub(crate) term: String,
    /// Its place in the question; a word and what stands for it share one.
    pub(crate) place: usize,
    pub(crate) weight: f32,
}

/// What a question finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    /// The best chunks of all indexes, best first.
    pub(crate) found: Vec<Found>,
    /// What was looked for.
    pub(crate) words: Vec<Weighed>,
}

/// An index with its state at one moment.
pub(crate) struct Searched<'a> {
    pub(crate) index: &'a PackIndex,
    pub(crate) searcher: Searcher,
}

/// The best chunks of all indexes.
pub(crate) fn rank(indexes: &[Searched<'_>], question: &str, filters: &Filters) -> Result<Ranked, TantivyError> {
    let question = Question::read(question);
    if question.words.is_empty() {
        return Ok(Ranked::default());
    }
    let statistics = Together::of(indexes);
    let mut candidates: Vec<(usize, f32, DocAddress)> = Vec::new();
    for (number, searched) in indexes.iter().enumerate() {
        let query = query(searched.index, &question, filters);
        let top = TopDocs::with_limit(CANDIDATES).order_by_score();
        let found = searched.searcher.search_with_statistics_provider(&query, &top, &statistics)?;
        candidates.extend(found.into_iter().map(|(score, address)| (number, score, address)));
    }
    candidates.sort_by(|a, b| b.1.total_cmp(&a.1));
    candidates.truncate(CANDIDATES);
    let places = candidates.into_iter().map(|(number, _, address)| (number, address)).collect();
    rescored(indexes, &question, &statistics, places)
}

/// The statistics of all searched indexes, so that scores of one can be compared with those of another.
pub(crate) struct Together<'a> {
    indexes: &'a [Searched<'a>],
    /// How many chunks have a term: looked up by both stages.
    known: RefCell<HashMap<Term, u64>>,
}

impl<'a> Together<'a> {
    pub(crate) fn of(indexes: &'a [Searched<'a>]) -> Self {
        Self { indexes, known: RefCell::default() }
    }
}

impl Bm25StatisticsProvider for Together<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.indexes.iter().map(|searched| searched.searcher.total_num_tokens(field)).sum()
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.indexes.iter().map(|searched| searched.searcher.total_num_docs()).sum()
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(known) = self.known.borrow().get(term) {
            return Ok(*known);
        }
        let count = self.indexes.iter().map(|searched| searched.searcher.doc_freq(term)).sum::<tantivy::Result<u64>>()?;
        self.known.borrow_mut().insert(term.clone(), count);
        Ok(count)
    }
}

fn query(index: &PackIndex, question: &Question, filters: &Filters) -> BooleanQuery {
    let fields = index.fields();
    let mut words: Vec<(Occur, Box<dyn TantivyQuery>)> = Vec::new();
    for word in &question.words {
        let query = TermQuery::new(Term::from_field_text(fields.body, &word.term), IndexRecordOption::WithFreqs);
        words.push((Occur::Should, Box::new(BoostQuery::new(Box::new(query), word.weight))));
    }
    let filters = clauses(index, filters);
    if filters.is_empty() {
        return BooleanQuery::new(words);
    }
    let mut clauses: Vec<(Occur, Box<dyn TantivyQuery>)> = vec![(Occur::Must, Box::new(BooleanQuery::new(words)))];
    // Filters decide, they do not rank.
    clauses.extend(filters.into_iter().map(|query| (Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0)) as Box<dyn TantivyQuery>)));
    BooleanQuery::new(clauses)
}

/// The names under which something holds for an architecture: `x86_64` holds for `x86_64-avx512` as well.
pub(crate) fn of_architecture(name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let general = name.match_indices('-').map(|(at, _)| name[..at].to_owned());
    general.chain([name.clone()]).collect()
}

fn clauses(index: &PackIndex, filters: &Filters) -> Vec<Box<dyn TantivyQuery>> {
    let fields = index.fields();
    let any_of = |field: Field, values: Vec<String>| -> Box<dyn TantivyQuery> {
        Box::new(BooleanQuery::new_multiterms_query(values.iter().map(|value| Term::from_field_text(field, value)).collect()))
    };
    let mut clauses = Vec::new();
    for (field, value) in [(fields.pack, filters.pack.as_deref()), (fields.kind, filters.kind.map(EntryKind::as_str))] {
        clauses.extend(value.map(|value| any_of(field, vec![value.to_owned()])));
    }
    // These two sort entries by subject: one without a subject is not what was asked for.
    for (field, value) in
        [(fields.bottleneck, filters.bottleneck.map(Bottleneck::as_str)), (fields.phase, filters.phase.map(Phase::as_str))]
    {
        clauses.extend(value.map(|value| any_of(field, vec![value.to_owned()])));
    }
    let architectures = filters.architectures.iter().flat_map(|name| of_architecture(name)).collect();
    for (field, mut values) in
        [(fields.vendor, filters.vendors.clone()), (fields.language, filters.languages.clone()), (fields.architecture, architectures)]
    {
        if !values.is_empty() {
            values.push(ANY.to_owned());
            clauses.push(any_of(field, values));
        }
    }
    clauses
}
