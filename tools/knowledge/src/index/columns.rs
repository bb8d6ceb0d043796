//! The numbers that an index keeps of each chunk.
//!
//! To open a column is to read the head of each of its blocks, which takes longer than to answer most questions; so they are opened once.

use tantivy::columnar::Column;
use tantivy::{DocId, SegmentReader, TantivyError};

use super::Nature;

/// The columns of a segment.
pub(super) struct Columns {
    file: Column<u64>,
    ordinal: Column<u64>,
    nature: Column<u64>,
    bytes: Column<u64>,
    start_line: Column<u64>,
    end_line: Column<u64>,
}

/// What they say of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    /// Its entry's number.
    pub(crate) file: u64,
    /// Its place in its entry.
    pub(crate) ordinal: u64,
    pub(crate) nature: Nature,
    pub(crate) bytes: u64,
    /// Its first and last line in its file.
    pub(crate) lines: (u32, u32),
}

impl Columns {
    pub(super) fn of(segment: &SegmentReader) -> Result<Self, TantivyError> {
        let columns = segment.fast_fields();
        Ok(Self {
            file: columns.u64("file")?,
            ordinal: columns.u64("ordinal")?,
            nature: columns.u64("nature")?,
            bytes: columns.u64("bytes")?,
            start_line: columns.u64("start_line")?,
            end_line: columns.u64("end_line")?,
        })
    }

    pub(super) fn numbers(&self, chunk: DocId) -> Numbers {
        let number = |column: &Column<u64>| column.first(chunk).unwrap_or_default();
        let line = |column: &Column<u64>| u32::try_from(column.first(chunk).unwrap_or(1)).unwrap_or(u32::MAX);
        Numbers {
            file: number(&self.file),
            ordinal: number(&self.ordinal),
            nature: Nature::of(number(&self.nature)),
            bytes: number(&self.bytes),
            lines: (line(&self.start_line), line(&self.end_line)),
        }
    }
}
