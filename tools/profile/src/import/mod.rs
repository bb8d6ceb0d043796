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

use kernelwright_protocol::Nanoseconds;

pub use error::{Fault, Format, ImportError};

use crate::{Capture, RawFigure};

/// Figures of all kernels together, and the bytes of a name: a real profile has some hundred figures a kernel, with names of some dozen bytes.
const FIGURES: usize = 4 << 20;
const NAME: usize = 256;

/// How the files begin that zstd packed, as Nsight Compute's `.ncu-repz` are.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What a file says nothing of. Whoever had it written knows: see [`Capture::over`].
const CALLS_UNKNOWN: &str = "The file does not say how many calls of the module it covers: everything in it counts as one call.";

impl Capture {
    /// The figures of one call, where the file covers so many.
    #[must_use]
    pub fn over(mut self, calls: u32) -> Self {
        self.calls = calls.max(1);
        let calls = f64::from(self.calls);
        for kernel in &mut self.kernels {
            let time = &mut kernel.time;
            time.launches_per_call /= calls;
            time.time_per_call_ns = Nanoseconds((time.time_per_call_ns.0 as f64 / calls).round() as u64);
        }
        self.limits.retain(|limit| limit != CALLS_UNKNOWN);
        self
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_several_calls_is_told_as_one() {
        let tree = r#"[{"frame": {"name": "ROOT"}, "metrics": {}, "children": [
            {"frame": {"name": "add"}, "metrics": {"time (ns)": 60000, "count": 20, "device_id": "0", "device_type": "CUDA"}, "children": []}]},
            {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}]"#;
        let file = of(tree.as_bytes()).map_err(|fault| fault.of(Path::new("profile.hatchet"))).unwrap();
        assert!(file.limits.iter().any(|limit| limit == CALLS_UNKNOWN), "{:?}", file.limits);
        let capture = file.over(10);
        let time = &capture.kernels[0].time;
        assert_eq!((time.launches_per_call, time.time_per_call_ns.0, capture.calls), (2.0, 6000, 10));
        assert!(capture.limits.iter().all(|limit| limit != CALLS_UNKNOWN), "{:?}", capture.limits);
    }
}
