//! Which source line an instruction belongs to, from the line table in the compiled module that a report carries.
//!
//! The table is a help and not the report: a module without one, or with one that cannot be read, gives no lines and no error.

use std::collections::BTreeMap;

use gimli::{DebugLine, DebugLineOffset, LineProgramHeader, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

type Bytes<'a> = gimli::EndianSlice<'a, LittleEndian>;

/// The lines of one function, by the distance of instructions from its beginning.
pub(super) struct Lines {
    /// First instruction of a stretch, its file in `files`, its line; in the order of instructions.
    stretches: Vec<(u64, usize, u64)>,
    files: Vec<String>,
}

/// Longer paths are not kept: each can stand in a line of its own.
const PATH: usize = 1024;

impl Lines {
    /// Reads the lines of a function of a compiled module.
    pub(super) fn of(module: &[u8], function: &str) -> Option<Self> {
        let file: ElfFile64<'_, object::LittleEndian> = ElfFile64::parse(module).ok()?;
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(function))?;
        let home = base(&symbol)?;
        let table = patched(&file)?;
        let mut stretches = Vec::new();
        let mut files: Vec<String> = Vec::new();
        let mut offset = 0;
        // A table for each compiled unit, one after the other.
        while let Ok(program) = DebugLine::new(&table, LittleEndian).program(DebugLineOffset(offset), 8, None, None) {
            let next = offset + program.header().unit_length() + usize::from(program.header().format().initial_length_size());
            let mut rows = program.rows();
            let mut known = BTreeMap::new();
            while let Ok(Some((header, row))) = rows.next_row() {
                let Some(at) = row.address().checked_sub(home).filter(|at| *at < symbol.size()) else { continue };
                let number = *known.entry(row.file_index()).or_insert_with(|| {
                    files.push(path(&file, header, row.file_index())?);
                    Some(files.len() - 1)
                });
                if let (Some(line), Some(number), false) = (row.line(), number, row.end_sequence()) {
                    stretches.push((at, number, line.get()));
                }
            }
            offset = next;
        }
        // Of several rows for one instruction the first counts: those after it are lines of functions that were inlined there.
        stretches.sort_by_key(|(at, _, _)| *at);
        stretches.dedup_by_key(|(at, _, _)| *at);
        (!stretches.is_empty()).then_some(Self { stretches, files })
    }

    /// File and line of an instruction.
    pub(super) fn find(&self, at: u64) -> Option<(&str, u64)> {
        let after = self.stretches.partition_point(|(begin, _, _)| *begin <= at);
        let (_, file, line) = self.stretches.get(after.checked_sub(1)?)?;
        Some((self.files.get(*file)?, *line))
    }
}

/// Sections of a module are not placed yet, so each gets an address range of its own.
fn base<'a>(symbol: &impl ObjectSymbol<'a>) -> Option<u64> {
    let section = symbol.section_index()?.0 as u64;
    (section << 40).checked_add(symbol.address())
}

/// The line tables with the functions' addresses filled in.
fn patched(file: &ElfFile64<'_, object::LittleEndian>) -> Option<Vec<u8>> {
    let section = file.section_by_name(".debug_line")?;
    let mut table = section.data().ok()?.to_vec();
    for (at, relocation) in section.relocations() {
        let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
        let address = file.symbol_by_index(symbol).ok().and_then(|symbol| base(&symbol));
        let place = usize::try_from(at).ok().and_then(|at| table.get_mut(at..at.checked_add(8)?));
        if let (Some(address), Some(place)) = (address, place) {
            place.copy_from_slice(&address.wrapping_add_signed(relocation.addend()).to_le_bytes());
        }
    }
    Some(table)
}

fn path(file: &ElfFile64<'_, object::LittleEndian>, header: &LineProgramHeader<Bytes<'_>>, index: u64) -> Option<String> {
    let entry = header.file(index)?;
    let name = text(file, &entry.path_name())?;
    let folder =
        entry.directory(header).and_then(|folder| text(file, &folder)).filter(|folder| !folder.is_empty() && !name.starts_with('/'));
    if name.len() + folder.as_ref().map_or(0, String::len) > PATH {
        return None;
    }
    Some(plain(&folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"))))
}

/// Compilers write paths as they find headers: `bin/../include` is `include`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !["", ".."].contains(last)) => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn text(file: &ElfFile64<'_, object::LittleEndian>, value: &gimli::AttributeValue<Bytes<'_>>) -> Option<String> {
    let bytes = match value {
        gimli::AttributeValue::String(bytes) => bytes.slice(),
        gimli::AttributeValue::DebugLineStrRef(offset) => {
            let strings = file.section_by_name(".debug_line_str")?.data().ok()?;
            strings.get(offset.0..)?.split(|byte| *byte == 0).next()?
        }
        _ => return None,
    };
    Some(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn paths_lose_their_detours() {
        let paths = ["/usr/bin/../include/./a.h", "../../a.cu", "/../a.cu", "a/b/../../../c.py", "a.py"].map(plain);
        assert_eq!(paths, ["/usr/include/a.h", "../../a.cu", "/../a.cu", "../c.py", "a.py"]);
    }
}
