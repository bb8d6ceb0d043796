//! Reads the Python files that users name.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The longest source that is read, in bytes: a device has no end.
const LONGEST: u64 = 16 << 20;

/// The text of a file; a pipe will do, as a shell makes one of a command.
pub fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 16 MiB"));
    }
    Ok(text)
}
