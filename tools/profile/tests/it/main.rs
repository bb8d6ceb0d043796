//! Files that real profilers wrote, and broken ones, through the crate's own door.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![allow(clippy::float_cmp, reason = "figures are the profiler's own to the last digit")]

mod broken;
mod encode;
mod ncu;
mod ncu_csv;
mod proton;
mod torch;

use std::path::{Path, PathBuf};

use kernelwright_profile::{Capture, ImportError, import};

/// A file of `tests/fixtures`.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Imports what a file with this content is taken for.
fn import_bytes(content: &[u8]) -> Result<Capture, ImportError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    import(file.path())
}

/// The content of a file that gzip packed.
fn unpacked(name: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let packed = std::fs::File::open(fixture(name)).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(packed), &mut content).unwrap();
    content
}
