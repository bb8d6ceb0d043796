//! Profiles from files that other programs wrote, told apart by what is in them, each as a [`Capture`].
//!
//! Read are Nsight Compute's reports and the tables it prints, Proton's trees and the Torch profiler's traces, each also packed with gzip.
//! Files are foreign input: no length in them is believed, and what is broken is refused with the place where it is.
//!
//! Limits: the whole file is in memory; of a report only launches are read, not ranges or graphs, and no machine code is disassembled.

mod error;
mod launches;
mod ncu;
mod proton;
mod read;
mod torch;

use std::path::Path;

pub use error::{Fault, Format, ImportError};

use crate::{Capture, RawFigure};

/// Figures of all kernels together, and the bytes of a name: a real profile has some hundred figures a kernel, with names of some dozen bytes.
const FIGURES: usize = 4 << 20;
const NAME: usize = 256;

/// How the files begin that zstd packed, as Nsight Compute's `.ncu-repz` are.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Reads a file that a profiler wrote.
pub fn import(path: &Path) -> Result<Capture, ImportError> {
    read::content(path).and_then(|content| of(&content)).map_err(|fault| fault.of(path))
}

/// Reads what a profiler wrote.
fn of(content: &[u8]) -> Result<Capture, Fault> {
    if content.starts_with(ncu::MAGIC) {
        return ncu::report::read(content);
    }
    if content.starts_with(&ZSTD) {
        return Err(Fault::Packed);
    }
    let text = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    match text.trim_ascii_start().first() {
        Some(b'{') if torch::is_trace(text) => return torch::read(text),
        Some(b'[') if proton::is_tree(text) => return proton::read(text),
        _ => {}
    }
    let table = String::from_utf8_lossy(text);
    match ncu::csv::table(&table) {
        Some(begin) => ncu::csv::read(&table, begin),
        None => Err(Fault::Unknown { begins: text.iter().take(24).map(|byte| char::from(*byte)).flat_map(char::escape_default).collect() }),
    }
}

/// Whether so many figures more can be taken: names repeat in every kernel, so a small file could ask for much memory.
fn limited(taken: &mut usize, more: &[RawFigure]) -> Result<(), Fault> {
    *taken += more.len();
    if *taken > FIGURES { Err(Fault::TooLarge { limit: "four million figures" }) } else { Ok(()) }
}
