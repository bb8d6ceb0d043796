//! Files that a client names: texts are read, and nothing else.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kernelwright_server::read_source;
use tokio::process::Command;

/// A path of this name with nothing there.
fn free(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

async fn check(path: &Path, kind: ErrorKind, message: &str) {
    let error = read_source(path).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (kind, message.to_owned()), "{}", path.display());
}

#[tokio::test]
async fn a_text_is_read_up_to_16_mib() {
    let path = free("text.py");
    std::fs::write(&path, "größe = 1\n").unwrap();
    assert_eq!(read_source(&path).await.unwrap(), "größe = 1\n");
    let path = free("long.py");
    std::fs::write(&path, vec![b' '; 16 << 20]).unwrap();
    assert_eq!(read_source(&path).await.unwrap().len(), 16 << 20);
    std::fs::write(&path, vec![b' '; (16 << 20) + 1]).unwrap();
    check(&path, ErrorKind::FileTooLarge, "it is longer than 16 MiB").await;
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let path = free("binary.py");
    std::fs::write(&path, b"x = \xff").unwrap();
    check(&path, ErrorKind::InvalidData, "it is no text: byte 4 is no UTF-8").await;
    assert_eq!(read_source(&free("nothing.py")).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_without_waiting() {
    let fifo = free("fifo.py");
    assert!(Command::new("mkfifo").arg(&fifo).status().await.unwrap().success());
    for path in [fifo.as_path(), Path::new("/dev/zero"), Path::new(env!("CARGO_TARGET_TMPDIR"))] {
        check(path, ErrorKind::InvalidInput, "it is no regular file").await;
    }
}
