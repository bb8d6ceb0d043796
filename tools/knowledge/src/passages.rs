//! From chunks that were found to passages.

use tantivy::DocAddress;

use crate::index::Nature;
use crate::rank::Found;

/// Neighbours are joined up to this size, so that one passage does not take the whole answer.
const MAX_JOINED_BYTES: u64 = 3_200;

/// How many times as many chunks as passages may be joined to better ones.
const NEAR: usize = 4;

/// Chunks of one entry that follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    /// Which of the searched indexes.
    pub(crate) index: usize,
    /// In the order of the entry.
    pub(crate) chunks: Vec<DocAddress>,
    /// The best of them.
    pub(crate) best: DocAddress,
    pub(crate) nature: Nature,
    /// The best score of what was joined.
    pub(crate) score: f32,
    file: u64,
    first: u64,
    last: u64,
    bytes: u64,
}

impl Hit {
    fn of(found: &Found) -> Self {
        let Found { index, address, score, file, ordinal, bytes, nature } = *found;
        Self { index, chunks: vec![address], best: address, nature, score, file, first: ordinal, last: ordinal, bytes }
    }

    fn is_of(&self, found: &Found) -> bool {
        self.index == found.index && self.file == found.file
    }

    /// Takes a neighbour in, if it is one and there is room.
    fn takes(&mut self, found: &Found) -> bool {
        if !self.is_of(found) || self.bytes + found.bytes > MAX_JOINED_BYTES {
            return false;
        }
        if found.ordinal + 1 == self.first {
            self.chunks.insert(0, found.address);
            self.first = found.ordinal;
        } else if found.ordinal == self.last + 1 {
            self.chunks.push(found.address);
            self.last = found.ordinal;
        } else {
            return false;
        }
        self.bytes += found.bytes;
        true
    }
}

/// Joins neighbours at the place of the better one, and keeps the first `limit` hits.
///
/// Further parts of a kernel that cannot be joined are left out: they all fit the same question, and it is read as a whole anyway.
pub(crate) fn joined(found: &[Found], limit: usize) -> Vec<Hit> {
    let mut kept: Vec<Hit> = Vec::new();
    for (rank, found) in found.iter().enumerate() {
        // What ranks far below the limit is not worth room beside a good hit.
        let is_near = rank < limit * NEAR;
        if is_near && kept.iter_mut().any(|better| better.takes(found)) {
            continue;
        }
        let is_repeat = found.nature == Nature::Example && kept.iter().any(|better| better.is_of(found));
        if kept.len() < limit && !is_repeat {
            kept.push(Hit::of(found));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: u64, ordinal: u64, nature: Nature) -> Found {
        let address = DocAddress { segment_ord: 0, doc_id: u32::try_from(file * 10 + ordinal).unwrap() };
        Found { index: 0, address, score: 1.0, file, ordinal, bytes: 1_200, nature }
    }

    fn joins(hits: &[(u64, u64)], nature: Nature, limit: usize) -> Vec<Vec<u32>> {
        let hits: Vec<Found> = hits.iter().map(|&(file, ordinal)| found(file, ordinal, nature)).collect();
        joined(&hits, limit).into_iter().map(|hit| hit.chunks.iter().map(|address| address.doc_id).collect()).collect()
    }

    #[test]
    fn neighbours_become_one_passage_of_bounded_size() {
        assert_eq!(joins(&[(0, 4), (1, 0), (0, 3), (0, 7)], Nature::Prose, 3), [vec![3, 4], vec![10], vec![7]]);
        assert_eq!(joins(&[(0, 4), (0, 3), (0, 5)], Nature::Prose, 3), [vec![3, 4], vec![5]]);
    }

    #[test]
    fn a_kernel_takes_one_place() {
        assert_eq!(joins(&[(0, 0), (0, 5), (1, 0), (0, 1)], Nature::Example, 3), [vec![0, 1], vec![10]]);
    }
}
