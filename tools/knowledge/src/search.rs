//! From a question to passages.

use std::fmt::Write as _;

use kernelwright_protocol::{Bottleneck, EntryKind, Passage, Passages, Phase};

use crate::error::LibraryError;
use crate::index::Stored;
use crate::passages::{Hit, joined, shown};
use crate::rank::{Filters, Searched, rank};
use crate::shelves::Shelves;

/// What the note under a passage that was cut takes at most.
const MARK_BYTES: usize = 40;

/// A question.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words, identifiers, an error message; any text will do.
    pub text: String,
    /// Only what holds for this vendor, e.g. `nvidia`.
    pub vendor: Option<String>,
    /// Only what holds for this architecture, e.g. `sm_90` or `x86_64-avx512`.
    pub arch: Option<String>,
    /// Only what holds for this language, e.g. `triton`.
    pub language: Option<String>,
    /// Only entries of this kind.
    pub kind: Option<EntryKind>,
    /// Only entries about this bottleneck.
    pub bottleneck: Option<Bottleneck>,
    /// Only entries for this part of the work.
    pub phase: Option<Phase>,
    /// Only entries of this pack.
    pub pack: Option<String>,
    /// At most this many passages.
    pub limit: usize,
    /// At most this many bytes of text in all passages together; whole chunks without it.
    pub max_bytes: Option<usize>,
}

impl Shelves {
    pub(crate) fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        self.require(query.pack.as_deref())?;
        // A user's pack has an index of its own, in which nothing has to be filtered.
        let shares_index = |id: &String| self.packs[..self.built_in].iter().any(|pack| pack.id == *id);
        let filters = Filters {
            pack: query.pack.clone().filter(shares_index),
            kind: query.kind,
            vendor: query.vendor.clone(),
            architecture: query.arch.clone(),
            language: query.language.clone(),
            bottleneck: query.bottleneck,
            phase: query.phase,
        };
        if query.limit == 0 {
            return Ok(Passages::default());
        }
        let searched = self.searched(query.pack.as_deref());
        let found = rank(&searched, &query.text, &filters)?;
        let mut passages = joined(&found, query.limit)
            .iter()
            .map(|hit| passage(&searched[hit.index], hit))
            .collect::<Result<Vec<Passage>, LibraryError>>()?;
        if let Some(budget) = query.max_bytes {
            let budget = budget.saturating_sub(passages.len() * MARK_BYTES);
            let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
            let shown = shown(&texts, budget);
            for (passage, shown) in passages.iter_mut().zip(shown) {
                cut(passage, shown);
            }
            passages.retain(|passage| !passage.text.is_empty());
        }
        Ok(Passages { passages })
    }
}

/// A hit as it is handed out.
fn passage(searched: &Searched<'_>, hit: &Hit) -> Result<Passage, LibraryError> {
    let Searched { index, searcher } = searched;
    let mut whole: Option<Passage> = None;
    for &address in &hit.chunks {
        let (first, last) = index.numbers(address)?.lines;
        let stored = index.stored(searcher, address)?;
        match &mut whole {
            None => {
                let Stored { entry, place, title, kind, text } = stored;
                let heading = if title.is_empty() { place.clone() } else { title };
                let score = f64::from(hit.score);
                whole = Some(Passage { entry, heading, kind, path: place, start_line: first, end_line: last, score, text });
            }
            Some(passage) => {
                // What lies between neighbours is blank.
                let gap = first.saturating_sub(passage.end_line).clamp(1, 3);
                passage.text.push_str(&"\n".repeat(gap as usize));
                passage.text.push_str(&stored.text);
                passage.end_line = passage.end_line.max(last);
            }
        }
    }
    // A hit has at least the chunk that it was made of.
    whole.ok_or_else(|| LibraryError::Index(tantivy::TantivyError::InternalError("a hit without chunks".to_owned()).into()))
}

/// Keeps the first lines of a passage and says what is missing: a list of rules that ends in the middle must not look complete.
fn cut(passage: &mut Passage, lines: usize) {
    let all = passage.text.lines().count();
    if lines >= all {
        return;
    }
    passage.text = passage.text.lines().take(lines).collect::<Vec<_>>().join("\n");
    if lines > 0 {
        let _ = write!(passage.text, "\n[{} more lines: read_entry]", all - lines);
    }
    let last = passage.start_line + u32::try_from(lines.max(1) - 1).unwrap_or(u32::MAX);
    passage.end_line = passage.end_line.min(last);
}
