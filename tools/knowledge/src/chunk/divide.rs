//! From sections to pieces of a size that fits an answer.

use super::{Break, Gather, HARD_CHUNK_BYTES, MAX_CHUNK_BYTES, Section, bytes, is_blank};

/// Sections below this are kept with their neighbours, if they may be.
const SHORT_BYTES: usize = 350;

/// What is kept together stays below this.
const GATHERED_BYTES: usize = 1_200;

/// A last piece below this stays with the one before it.
const REST_BYTES: usize = 300;

/// Edges below this say nothing alone.
const EDGE_BYTES: usize = 60;

/// A section with its size.
struct Sized {
    section: Section,
    bytes: usize,
}

/// Puts runs of short siblings together, and edges to what they are the edge of.
pub(super) fn gathered(sections: Vec<Section>, lines: &[&str]) -> Vec<Section> {
    let mut kept: Vec<Sized> = Vec::new();
    for section in sections {
        let bytes = bytes(&lines[section.start..section.end]);
        let closes = lines[section.start..section.end].iter().all(|line| is_blank(line) || line.trim_start().starts_with('}'));
        let mut next = Sized { section, bytes };
        match kept.last_mut().filter(|last| last.section.end == next.section.start) {
            Some(last) if next.is_edge() && closes && last.section.gather != Gather::Never => last.take(next),
            Some(last) if last.is_edge() && next.section.gather != Gather::Never => {
                next.section.start = last.section.start;
                next.section.symbols.splice(0..0, std::mem::take(&mut last.section.symbols));
                next.bytes += last.bytes;
                *last = next;
            }
            Some(last) if last.has_room_for(&next) => {
                // The first definition names the chunk; what only surrounds it does not.
                if last.section.symbols.is_empty() {
                    last.section.heading.clone_from(&next.section.heading);
                    last.section.shared = next.section.shared;
                }
                last.take(next);
            }
            _ => kept.push(next),
        }
    }
    kept.into_iter().map(|kept| kept.section).collect()
}

impl Sized {
    fn is_edge(&self) -> bool {
        self.section.gather == Gather::Edge && self.bytes < EDGE_BYTES
    }

    fn has_room_for(&self, next: &Self) -> bool {
        let may = self.section.gather != Gather::Never && next.section.gather != Gather::Never;
        let are_short = next.bytes < SHORT_BYTES && self.bytes + next.bytes < GATHERED_BYTES && self.bytes < GATHERED_BYTES - SHORT_BYTES;
        let parent = |section: &Section| section.heading[..section.shared.min(section.heading.len())].to_vec();
        may && are_short && parent(&self.section) == parent(&next.section)
    }

    fn take(&mut self, next: Self) {
        self.section.end = next.section.end;
        self.section.symbols.extend(next.section.symbols);
        self.bytes += next.bytes;
    }
}

/// Cut where a piece would become too long, without blank lines at the ends of pieces; nothing of a section that says nothing.
pub(super) fn divided(section: &Section, breaks: &[Break], lines: &[&str]) -> Vec<Section> {
    let Some(section) = trimmed(section.clone(), lines) else { return Vec::new() };
    let mut pieces = Vec::new();
    let mut start = section.start;
    while let Some(at) = cut(start, section.end, breaks, lines) {
        pieces.extend(trimmed(Section { start, end: at, ..section.clone() }, lines));
        start = at;
    }
    pieces.extend(trimmed(Section { start, ..section }, lines));
    pieces
}

/// Where to cut the lines from `start` to `end`, if they are too long.
fn cut(start: usize, end: usize, breaks: &[Break], lines: &[&str]) -> Option<usize> {
    // Texts may be long: it is enough to know whether the rest is more than may stay whole.
    let mut total = 0;
    for line in &lines[start..end] {
        total += line.len() + 1;
        if total > HARD_CHUNK_BYTES {
            break;
        }
    }
    if total <= MAX_CHUNK_BYTES + REST_BYTES {
        return None;
    }
    let mut size = 0;
    // The best and latest place so far for each size of piece.
    let mut best: Option<(Break, usize)> = None;
    let mut later: Option<usize> = None;
    for at in start + 1..end {
        size += lines[at - 1].len() + 1;
        let quality = breaks[at];
        if size > HARD_CHUNK_BYTES {
            break;
        }
        if size > MAX_CHUNK_BYTES {
            if later.is_none() && quality >= Break::Fair {
                later = Some(at);
            }
        } else if size >= MAX_CHUNK_BYTES / 3 && quality > Break::None && best.is_none_or(|(known, _)| quality >= known) {
            best = Some((quality, at));
        }
    }
    match (best, later) {
        (Some((quality, at)), _) if quality >= Break::Fair => Some(at),
        (_, Some(at)) => Some(at),
        _ if total <= HARD_CHUNK_BYTES => None,
        (Some((_, at)), None) => Some(at),
        (None, None) => Some(by_size(start, end, lines)),
    }
}

/// The first line end after the longest piece that is still wanted; at least one line.
fn by_size(start: usize, end: usize, lines: &[&str]) -> usize {
    let mut size = 0;
    let whole = lines[start..end].iter().take_while(|line| {
        size += line.len() + 1;
        size <= MAX_CHUNK_BYTES
    });
    (start + whole.count().max(1)).min(end - 1).max(start + 1)
}

/// Without blank lines at its ends; nothing if nothing is left.
fn trimmed(mut section: Section, lines: &[&str]) -> Option<Section> {
    while section.end > section.start && is_blank(lines[section.end - 1]) {
        section.end -= 1;
    }
    while section.start < section.end && is_blank(lines[section.start]) {
        section.start += 1;
    }
    (section.start < section.end).then_some(section)
}
