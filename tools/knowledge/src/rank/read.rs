//! What is known of candidates without their texts: how often each term stands in each field, lengths, and columns.

use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet, TantivyError, Term};

use super::{Question, Searched};
use crate::index::{Fields, Nature, Numbers};

/// The fields that are weighed: body, breadcrumb, path, symbols.
pub(super) const FIELDS: usize = 4;

/// A chunk that gets a second look.
pub(super) struct Candidate {
    /// Which of the searched indexes.
    pub(super) index: usize,
    pub(super) address: DocAddress,
    /// How often each word of the question stands in each field.
    pub(super) frequencies: Vec<[u32; FIELDS]>,
    /// How many terms each field has.
    pub(super) lengths: [u32; FIELDS],
    pub(super) file: u64,
    pub(super) ordinal: u64,
    pub(super) nature: Nature,
    pub(super) bytes: u64,
}

pub(super) fn weighed(fields: &Fields) -> [Field; FIELDS] {
    [fields.body, fields.breadcrumb, fields.path, fields.symbols]
}

/// Reads the candidates, segment by segment, in the order of their addresses.
pub(super) fn read(
    indexes: &[Searched<'_>],
    question: &Question,
    mut places: Vec<(usize, DocAddress)>,
) -> Result<Vec<Candidate>, TantivyError> {
    places.sort_unstable();
    let mut read: Vec<Candidate> = Vec::with_capacity(places.len());
    for group in places.chunk_by(|a, b| (a.0, a.1.segment_ord) == (b.0, b.1.segment_ord)) {
        let (index, address) = group[0];
        let Searched { index: pack, searcher } = &indexes[index];
        let segment = searcher.segment_reader(address.segment_ord);
        let from = read.len();
        for &(_, address) in group {
            let Numbers { file, ordinal, nature, bytes, .. } = pack.numbers(address)?;
            read.push(Candidate {
                index,
                address,
                frequencies: vec![[0; FIELDS]; question.words.len()],
                lengths: [0; FIELDS],
                file,
                ordinal,
                nature,
                bytes,
            });
        }
        for (number, field) in weighed(pack.fields()).into_iter().enumerate() {
            let norms = segment.get_fieldnorms_reader(field)?;
            for candidate in &mut read[from..] {
                candidate.lengths[number] = norms.fieldnorm(candidate.address.doc_id);
            }
            let inverted = segment.inverted_index(field)?;
            for (place, word) in question.words.iter().enumerate() {
                let term = Term::from_field_text(field, &word.term);
                let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::WithFreqs)? else { continue };
                for candidate in &mut read[from..] {
                    let id = candidate.address.doc_id;
                    let at = if postings.doc() < id { postings.seek(id) } else { postings.doc() };
                    if at == id {
                        candidate.frequencies[place][number] = postings.term_freq();
                    }
                }
            }
        }
    }
    Ok(read)
}
