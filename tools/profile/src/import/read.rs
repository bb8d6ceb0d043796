//! A file's content in memory, bounded, unpacked where it is packed.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::error::{Fault, Format};

/// What a file may hold, packed and unpacked: profiles of single modules are far smaller, and all of it is in memory at once.
const LIMIT: u64 = 512 << 20;
const LIMIT_SAID: &str = "512 MiB, unpacked";

/// The first bytes of everything that gzip packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the whole file.
pub(super) fn content(path: &Path) -> Result<Vec<u8>, Fault> {
    // A FIFO would otherwise wait for its writer before it can be told from a file.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Fault::Unreadable(std::io::Error::new(ErrorKind::InvalidInput, "it is no regular file")));
    }
    let bytes = bounded(file, LIMIT)?;
    if bytes.starts_with(&GZIP) { unpacked(&bytes, LIMIT) } else { Ok(bytes) }
}

fn unpacked(packed: &[u8], limit: u64) -> Result<Vec<u8>, Fault> {
    bounded(MultiGzDecoder::new(packed), limit).map_err(|fault| match fault {
        Fault::Unreadable(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Fault::Truncated { format: Format::Gzip, at: format!("after {} bytes", packed.len()) }
        }
        Fault::Unreadable(error) => Fault::damaged(Format::Gzip, "somewhere in its packed content", error.to_string()),
        fault => fault,
    })
}

/// Memory grows with what really comes, never with what a file says of itself.
fn bounded(source: impl Read, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Fault::TooLarge { limit: LIMIT_SAID });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused_before_it_is_in_memory() {
        let bomb = packed(&vec![0; 4 << 20]);
        assert!(bomb.len() < 8 << 10);
        assert!(matches!(unpacked(&bomb, 1 << 20), Err(Fault::TooLarge { .. })));
    }

    #[test]
    fn a_cut_package_is_told_from_a_broken_one() {
        let mut whole = packed(&(0..20_000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        assert!(matches!(unpacked(&whole[..whole.len() / 2], LIMIT), Err(Fault::Truncated { format: Format::Gzip, .. })));
        let last = whole.len() - 6;
        whole[last] ^= 0x55;
        assert!(matches!(unpacked(&whole, LIMIT), Err(Fault::Damaged { format: Format::Gzip, .. })));
    }

    #[test]
    fn a_folder_is_no_file_and_neither_is_a_fifo() {
        assert!(matches!(content(&std::env::temp_dir()), Err(Fault::Unreadable(_))));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: the name is a C string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(matches!(content(&path), Err(Fault::Unreadable(error)) if error.kind() == ErrorKind::InvalidInput));
    }
}
