//! A process of its own for each PDF, so that nothing in one can harm the program that wants its text.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::document::DocumentError;
use crate::document::format::Format;

/// The hidden verb under which the executable becomes such a process; the file's path follows.
pub const PDF_VERB: &str = "__read-pdf";

/// A manual of 2,000 pages takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Address space of the process: a large file unpacked, several times over.
const MEMORY: u64 = 4 << 30;

/// More text than this is cut off.
const MAX_TEXT: u64 = 16 << 20;

/// Reads PDFs by starting an executable that calls [`print_pdf`] when its first argument is [`PDF_VERB`].
#[derive(Clone, Debug)]
pub struct PdfReader {
    program: PathBuf,
    patience: Duration,
}

impl PdfReader {
    /// A reader that starts this executable.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), patience: PATIENCE }
    }

    /// The text of the PDF at `path`. An error says why it has none.
    pub fn read(&self, path: &Path) -> Result<String, DocumentError> {
        let failed = |source| DocumentError::Io { path: path.to_owned(), source };
        let broken = |reason: String| DocumentError::Broken { path: path.to_owned(), line: None, reason };
        let mut command = Command::new(&self.program);
        command.arg(PDF_VERB).arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env_clear();
        let mut child = command.spawn().map_err(failed)?;
        let (sender, receiver) = channel();
        let (out, errors) = (child.stdout.take(), child.stderr.take());
        thread::spawn(move || sender.send((read_all(out), read_all(errors))));
        match receiver.recv_timeout(self.patience) {
            Ok((out, errors)) => {
                let status = child.wait().map_err(failed)?;
                if status.success() {
                    let text = String::from_utf8(out).map_err(|_| broken("its text is not Unicode".to_owned()))?;
                    if text.trim().is_empty() { Err(DocumentError::NoText(path.to_owned())) } else { Ok(text) }
                } else {
                    Err(broken(reason(&errors)))
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                end(&mut child);
                Err(broken(format!("reading it takes more than {} s", self.patience.as_secs())))
            }
        }
    }
}

fn read_all(source: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(source) = source {
        // What came before an error is all there is.
        let _ = source.take(MAX_TEXT).read_to_end(&mut bytes);
    }
    bytes
}

/// What the process said last, or that it was killed without a word.
fn reason(errors: &[u8]) -> String {
    let said = String::from_utf8_lossy(errors);
    // A panic's message stands below its place.
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("note:"));
    last.map_or_else(|| "the process that read it was killed".to_owned(), str::to_owned)
}

fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

/// Becomes the process that reads one PDF: prints its text, or says on stderr why it cannot.
pub fn print_pdf(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    for (resource, limit) in [(Resource::As, MEMORY), (Resource::Cpu, PATIENCE.as_secs()), (Resource::Core, 0)] {
        // Where a limit cannot be set, the others and the parent's patience remain.
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
    match args.next().map_or_else(|| Err("no file".to_owned()), |path| text(&path)) {
        Ok(text) => {
            let mut out = io::stdout().lock();
            if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(reason) => {
            let _ = writeln!(io::stderr().lock(), "{reason}");
            ExitCode::FAILURE
        }
    }
}

fn text(path: &OsStr) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > Format::Pdf.max_bytes() {
        return Err(format!("{size} bytes are more than a PDF may have"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    super::read(&bytes).map_err(|error| error.to_string())
}
