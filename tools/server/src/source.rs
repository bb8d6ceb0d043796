//! Files that a client names, read so that no file can hang the server or fill its memory.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The largest file that is read, in bytes. Sources have kilobytes; this is what a line on stdio may have.
const LARGEST: u64 = 16 << 20;

/// Linux's number, the same on x86-64 and Arm: to open a FIFO then waits for nobody.
const O_NONBLOCK: i32 = 0o4000;

/// Reads a text file of at most 16 MiB.
///
/// Use it for every path that comes with a call. Only regular files are read: a FIFO would wait for its writer, and a device may have no end.
///
/// # Errors
///
/// What the system says, [`ErrorKind::InvalidInput`] for what is no regular file, [`ErrorKind::FileTooLarge`], or
/// [`ErrorKind::InvalidData`] for what is no UTF-8.
pub async fn read_source(path: &Path) -> io::Result<String> {
    let path = path.to_path_buf();
    tokio::task::spawn_blocking(move || read(&path)).await.map_err(io::Error::other)?
}

fn read(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    // Of the open file: what the path names may be another one by now.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    // Its length is not asked for: a file may grow, and those of /proc have none.
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {} MiB", LARGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(ErrorKind::InvalidData, format!("it is no text: byte {at} is no UTF-8"))
    })
}
