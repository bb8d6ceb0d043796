//! From a question to passages.

use std::fmt::Write as _;
use std::ops::Range;

use kernelwright_protocol::{Bottleneck, EntryKind, Passage, Passages, Phase};

use crate::error::LibraryError;
use crate::excerpt::{Excerpt, Full, excerpts};
use crate::index::{Nature, Stored};
use crate::labels::{self, Label};
use crate::passages::{Hit, joined};
use crate::rank::{Filters, Ranked, Searched, of_architecture, rank};
use crate::shelves::Shelves;

/// A question.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words, identifiers, an error message; any text will do.
    pub text: String,
    /// Only what holds for this vendor, e.g. `nvidia`. Here and in the next two, the names that people use are understood.
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
    /// At most this many bytes of text in all passages together: of each the lines that fit best. Whole chunks without it.
    pub max_bytes: Option<usize>,
}

impl Shelves {
    pub(crate) fn search(&self, query: &Query) -> Result<Passages, LibraryError> {
        self.require(query.pack.as_deref())?;
        // A user's pack has an index of its own, in which nothing has to be filtered.
        let shares_index = |id: &String| self.packs[..self.built_in].iter().any(|pack| pack.id == *id);
        let named = |label, asked: &Option<String>| asked.as_deref().map_or(Ok(Vec::new()), |asked| self.named(label, asked));
        let architectures = named(Label::Arch, &query.arch)?;
        let mut vendors = named(Label::Vendor, &query.vendor)?;
        if vendors.is_empty() {
            vendors.extend(self.maker(&architectures));
        }
        let filters = Filters {
            pack: query.pack.clone().filter(shares_index),
            kind: query.kind,
            vendors,
            architectures,
            languages: named(Label::Language, &query.language)?,
            bottleneck: query.bottleneck,
            phase: query.phase,
        };
        if query.limit == 0 {
            return Ok(Passages::default());
        }
        let searched = self.searched(query.pack.as_deref())?;
        let Ranked { found, words } = rank(&searched, &query.text, &filters)?;
        let mut wholes = joined(&found, query.limit)
            .iter()
            .map(|hit| Whole::of(&searched[hit.index], hit))
            .collect::<Result<Vec<Whole>, LibraryError>>()?;
        if let Some(budget) = query.max_bytes {
            let texts: Vec<Full<'_>> = wholes.iter().map(Whole::full).collect();
            let shown = excerpts(&texts, &words, budget);
            for (whole, excerpt) in wholes.iter_mut().zip(&shown) {
                whole.cut(excerpt);
            }
        }
        Ok(Passages { passages: wholes.into_iter().map(|whole| whole.passage).collect() })
    }

    /// Whose these architectures are, by the packs that are about them: what holds for another vendor as a whole does not hold there.
    fn maker(&self, architectures: &[String]) -> Option<String> {
        let names: Vec<String> = architectures.iter().flat_map(|name| of_architecture(name)).collect();
        let mut makers =
            self.packs.iter().filter(|pack| pack.architectures.iter().any(|name| names.contains(name))).map(|pack| &pack.vendor);
        let Some(first) = makers.next() else { return labels::maker(architectures.first()?).map(str::to_owned) };
        first.clone().filter(|_| makers.all(|other| other == first))
    }
}

/// A hit as it is handed out, before anything is left out.
struct Whole {
    passage: Passage,
    is_code: bool,
    /// The lines of the best chunk, counted from 0.
    best: Range<usize>,
    /// The chunks that it is made of.
    parts: Vec<Part>,
}

/// The place of a chunk in a passage.
struct Part {
    /// Its first line of the passage's text, counted from 0, and how many it has there.
    line: usize,
    count: usize,
    /// Its first and last line in its file.
    first: u32,
    last: u32,
}

impl Part {
    /// The file's line for a line of the passage. A text that was taken out of a file may have fewer lines than it or more.
    fn original(&self, line: usize) -> u32 {
        let steps = self.count.saturating_sub(1).max(1);
        let step = line.saturating_sub(self.line).min(steps);
        let span = (self.last - self.first) as usize;
        self.first + u32::try_from(span * step / steps).unwrap_or_default()
    }
}

impl Whole {
    fn full(&self) -> Full<'_> {
        let Self { passage, is_code, best, parts } = self;
        Full { text: &passage.text, is_code: *is_code, best: best.clone(), starts: parts.iter().map(|part| part.line).collect() }
    }

    fn of(searched: &Searched<'_>, hit: &Hit) -> Result<Self, LibraryError> {
        let Searched { index, searcher } = searched;
        let mut whole: Option<Self> = None;
        for &address in &hit.chunks {
            let (first, last) = index.numbers(address)?.lines;
            let stored = index.stored(searcher, address)?;
            let count = stored.text.lines().count();
            match &mut whole {
                None => {
                    let Stored { entry, place, title, kind, text } = stored;
                    let heading = if title.is_empty() { place.clone() } else { title };
                    let score = f64::from(hit.score);
                    let passage = Passage { entry, heading, kind, path: place, start_line: first, end_line: last, score, text };
                    let is_code = !matches!(hit.nature, Nature::Prose | Nature::Notes);
                    whole = Some(Self { passage, is_code, best: 0..count, parts: vec![Part { line: 0, count, first, last }] });
                }
                Some(Self { passage, parts, best, .. }) => {
                    // What lies between neighbours is blank.
                    let gap = first.saturating_sub(passage.end_line).clamp(1, 3);
                    passage.text.push_str(&"\n".repeat(gap as usize));
                    let line = passage.text.matches('\n').count();
                    parts.push(Part { line, count, first, last });
                    if address == hit.best {
                        *best = line..line + count;
                    }
                    passage.text.push_str(&stored.text);
                    passage.end_line = passage.end_line.max(last);
                }
            }
        }
        // A hit has at least the chunk that it was made of.
        whole.ok_or_else(|| LibraryError::Index(tantivy::TantivyError::InternalError("a hit without chunks".to_owned()).into()))
    }

    /// Keeps a part of the text, and says what is missing: a list of rules that ends in the middle must not look complete.
    fn cut(&mut self, excerpt: &Excerpt) {
        let Self { passage, parts, .. } = self;
        let Excerpt { bytes, lines } = excerpt;
        let (before, after) = (&passage.text[..bytes.start], &passage.text[bytes.end..]);
        let (before, after) = (before.matches('\n').count(), after.matches('\n').count());
        let is_inside = |at: usize| at > 0 && at < passage.text.len() && passage.text.as_bytes()[at - 1] != b'\n';
        let begins_inside = is_inside(bytes.start);
        let ends_inside = is_inside(bytes.end) && passage.text.as_bytes()[bytes.end] != b'\n';
        let mut shown = String::with_capacity(bytes.len() + 60);
        if before > 0 {
            let how = if after > 0 { "" } else { ": read_entry" };
            let _ = writeln!(shown, "[{before} lines before{how}]");
        }
        if begins_inside {
            shown.push_str("… ");
        }
        shown.push_str(passage.text[bytes.clone()].trim_end());
        if ends_inside {
            shown.push_str(" …");
        }
        if after > 0 {
            let _ = write!(shown, "\n[{after} more lines: read_entry]");
        }
        passage.text = shown;
        let original = |line: usize| parts.iter().rev().find(|part| part.line <= line).map(|part| part.original(line));
        let first = original(lines.start).unwrap_or(passage.start_line);
        let last = original(lines.end.max(1) - 1).unwrap_or(passage.end_line);
        (passage.start_line, passage.end_line) = (first, last.max(first));
    }
}
