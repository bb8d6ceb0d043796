//! The container of Nsight Compute's reports, as its Customization Guide describes it under "Report File Format": a magic number, a header,
//! and blocks, each a header and a payload of messages with their sizes before them.

use super::wire::{self, Fields, Malformed};
use crate::import::error::{Fault, Format};

/// What every report begins with.
pub(in crate::import) const MAGIC: &[u8] = b"NVR\0";
/// The version of the format.
const VERSION: u64 = 7;
/// Names, modules or launches: real reports have some thousands of each.
const MOST: usize = 1 << 20;

/// The parts of a report that are read.
#[derive(Default)]
pub(super) struct Container<'a> {
    /// Names that messages refer to by their position.
    pub strings: Vec<&'a [u8]>,
    /// Compiled modules.
    pub sources: Vec<&'a [u8]>,
    /// Profiled launches.
    pub results: Vec<&'a [u8]>,
}

/// What a block's header says, by the numbers of its fields.
mod header {
    pub(super) const SOURCES: u64 = 1;
    pub(super) const RESULTS: u64 = 2;
    pub(super) const STRING_TABLE: u64 = 4;
    pub(super) const PAYLOAD_SIZE: u64 = 5;
}

impl<'a> Container<'a> {
    /// Takes a report apart.
    pub(super) fn of(report: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor { report, at: MAGIC.len() };
        let file_header = cursor.sized("in the file's header")?;
        check(file_header, "in the file's header")?;
        let version = wire::last(file_header, 1).and_then(wire::Value::integer).unwrap_or(0);
        if version != VERSION {
            return Err(Fault::Version { format: Format::NcuReport, found: version, known: VERSION });
        }
        let mut container = Self::default();
        let mut number = 0;
        while cursor.at < report.len() {
            container.block(&mut cursor, number)?;
            number += 1;
        }
        Ok(container)
    }

    fn block(&mut self, cursor: &mut Cursor<'a>, number: usize) -> Result<(), Fault> {
        let place = format!("in block {number}, at byte {}", cursor.at);
        let header = cursor.sized(&place)?;
        check(header, &place)?;
        let count = |field| wire::last(header, field).and_then(wire::Value::integer).unwrap_or(0);
        for string in
            wire::last(header, header::STRING_TABLE).and_then(wire::Value::bytes).into_iter().flat_map(|table| wire::all(table, 1))
        {
            limited(&self.strings, &place)?;
            self.strings.push(string);
        }
        let payload = cursor.payload(count(header::PAYLOAD_SIZE), &place)?;
        let mut entries = Cursor { report: payload, at: 0 };
        for (count, kind) in [(count(header::SOURCES), &mut self.sources), (count(header::RESULTS), &mut self.results)] {
            for _ in 0..count {
                // The payload's own size was right, so an entry that passes its end is no cut but a contradiction.
                let entry =
                    entries.sized(&place).map_err(|_| Fault::damaged(Format::NcuReport, &place, "an entry passes its block's end"))?;
                check(entry, &place)?;
                limited(kind, &place)?;
                kind.push(entry);
            }
        }
        Ok(())
    }
}

/// References take more memory than the empty messages they refer to.
fn limited(list: &[&[u8]], place: &str) -> Result<(), Fault> {
    if list.len() == MOST {
        return Err(Fault::damaged(Format::NcuReport, place, "there are more than a million names, modules or launches"));
    }
    Ok(())
}

fn check(message: &[u8], place: &str) -> Result<(), Fault> {
    if Fields::of(message).any(|field| field == Err(Malformed)) {
        return Err(Fault::damaged(Format::NcuReport, place, "a message is malformed"));
    }
    Ok(())
}

struct Cursor<'a> {
    report: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Four bytes of size, then as many bytes.
    fn sized(&mut self, place: &str) -> Result<&'a [u8], Fault> {
        let size = self.payload(4, place)?.try_into().map_or(0, u32::from_le_bytes);
        self.payload(u64::from(size), place)
    }

    fn payload(&mut self, size: u64, place: &str) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(size).ok().and_then(|size| self.report.get(self.at..self.at.checked_add(size)?));
        let taken = taken.ok_or_else(|| Fault::Truncated { format: Format::NcuReport, at: place.to_owned() })?;
        self.at += taken.len();
        Ok(taken)
    }
}
