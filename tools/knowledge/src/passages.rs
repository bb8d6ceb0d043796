//! From chunks that were found to passages that fit an answer.

use crate::chunk::Chunk;

/// Even the last passage of an answer shows this many bytes, or nothing.
const MIN_PASSAGE_BYTES: usize = 300;

/// Neighbours are joined up to this size, so that one passage does not take the whole answer.
const MAX_JOINED_BYTES: usize = 2_400;

/// What becomes of further hits in an entry that has one already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// They are passages of their own.
    Kept,
    /// They are left out unless they can be joined: the parts of a kernel all fit the same question, and it is read as a whole anyway.
    Dropped,
}

/// What was found: lines of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hit<'a> {
    /// Which pack, and which entry of it.
    pub(crate) entry: (usize, usize),
    /// Its lines.
    pub(crate) lines: &'a [&'a str],
    /// Where in the entry.
    pub(crate) chunk: Chunk,
    /// What becomes of further hits in the same entry.
    pub(crate) repeats: Repeats,
    /// The better score of what was joined.
    pub(crate) score: f32,
}

impl Hit<'_> {
    /// The text of its lines.
    pub(crate) fn text(&self) -> String {
        self.lines[self.chunk.start_line as usize - 1..self.chunk.end_line as usize].join("\n")
    }

    fn bytes(&self) -> usize {
        self.lines[self.chunk.start_line as usize - 1..self.chunk.end_line as usize].iter().map(|line| line.len() + 1).sum()
    }

    /// Whether nothing but blank lines lies between the two.
    fn touches(&self, other: &Hit<'_>) -> bool {
        let (first, second) = if self.chunk.start_line < other.chunk.start_line { (self, other) } else { (other, self) };
        let between = first.chunk.end_line as usize..second.chunk.start_line as usize - 1;
        self.entry == other.entry && self.lines.get(between).is_some_and(|gap| gap.iter().all(|line| line.trim().is_empty()))
    }
}

/// Joins hits that are neighbours in their entry, at the place of the better one, and keeps the first `limit`.
pub(crate) fn joined(hits: Vec<Hit<'_>>, limit: usize) -> Vec<Hit<'_>> {
    let mut kept: Vec<Hit<'_>> = Vec::new();
    for (rank, hit) in hits.into_iter().enumerate() {
        // What ranks far below the limit is not worth a place beside a good hit.
        let is_near = rank < limit * 2;
        let room = |better: &Hit<'_>| better.touches(&hit) && better.bytes() + hit.bytes() <= MAX_JOINED_BYTES;
        if let Some(better) = kept.iter_mut().find(|better| is_near && room(better)) {
            better.chunk.start_line = better.chunk.start_line.min(hit.chunk.start_line);
            better.chunk.end_line = better.chunk.end_line.max(hit.chunk.end_line);
        } else if kept.len() < limit && (hit.repeats == Repeats::Kept || kept.iter().all(|better| better.entry != hit.entry)) {
            kept.push(hit);
        }
    }
    kept
}

/// Cuts the hits to whole lines that fit `budget` bytes together; better hits get more of it.
pub(crate) fn fitted(hits: Vec<Hit<'_>>, budget: usize) -> Vec<Hit<'_>> {
    let mut left = budget;
    let mut waiting = hits.len();
    let mut fitted = Vec::new();
    for mut hit in hits {
        // Half as much again as an equal share: later hits are less likely to be read.
        let share = (left * 3 / 2 / waiting).max(MIN_PASSAGE_BYTES).min(left);
        waiting -= 1;
        let mut bytes = 0;
        let shown = hit.lines[hit.chunk.start_line as usize - 1..hit.chunk.end_line as usize]
            .iter()
            .take_while(|line| {
                bytes += line.len() + 1;
                bytes <= share
            })
            .count();
        if shown == 0 {
            continue;
        }
        hit.chunk.end_line = hit.chunk.start_line + u32::try_from(shown - 1).unwrap_or(u32::MAX);
        left -= hit.bytes();
        fitted.push(hit);
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 9] = ["one", "two", "", "four", "five", "six", "seven", "eight", "nine"];

    fn hit(entry: usize, start_line: u32, end_line: u32) -> Hit<'static> {
        Hit { entry: (0, entry), lines: &LINES, chunk: Chunk { heading: vec![], start_line, end_line }, repeats: Repeats::Kept, score: 1.0 }
    }

    fn ranges(hits: &[Hit<'_>]) -> Vec<(usize, u32, u32)> {
        hits.iter().map(|hit| (hit.entry.1, hit.chunk.start_line, hit.chunk.end_line)).collect()
    }

    #[test]
    fn neighbours_become_one_passage() {
        let found = joined(vec![hit(0, 4, 5), hit(1, 1, 2), hit(0, 1, 2), hit(0, 8, 9)], 3);
        assert_eq!(ranges(&found), [(0, 1, 5), (1, 1, 2), (0, 8, 9)]);
    }

    #[test]
    fn a_kernel_takes_one_place() {
        let kernel = |start_line, end_line| Hit { repeats: Repeats::Dropped, ..hit(0, start_line, end_line) };
        let found = joined(vec![kernel(1, 2), kernel(8, 9), hit(1, 1, 2), kernel(4, 5)], 3);
        assert_eq!(ranges(&found), [(0, 1, 5), (1, 1, 2)]);
    }

    #[test]
    fn answers_are_cut_to_whole_lines() {
        let found = fitted(vec![hit(0, 1, 9), hit(1, 4, 9)], 26);
        assert_eq!(ranges(&found), [(0, 1, 6)]);
        assert_eq!(found[0].text(), "one\ntwo\n\nfour\nfive\nsix");
    }
}
