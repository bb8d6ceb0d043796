//! A text as its author left it: documentation, a notebook, source code.
//!
//! A document has no front matter. What is taken from it is text with a known structure, in which every line knows its line in the original
//! file, so that a passage can be looked up where the user has it. Bytes are read only by [`Document::read`], never by a listing.

mod format;
mod html;
mod lines;
mod listing;
mod notebook;
mod numbered;
mod pdf;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::format::{Format, Structure};
pub use self::lines::LineNumbers;
pub use self::listing::DocumentFile;
pub(crate) use self::listing::Listing;
pub use self::pdf::{PDF_VERB, PdfReader, print_pdf};

/// The folder of a pack in which documents lie.
pub(crate) const FOLDER: &str = "documents";

/// The folder of a pack in which the text of its PDFs is kept, each under the name of its document and `.md`.
pub(crate) const EXTRACTED: &str = "extracted";

/// How far into a file a zero byte is looked for, which no text has.
const SNIFFED: usize = 8_192;

/// What could be taken from a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The path below `documents/`, with `/` between its parts.
    pub path: String,
    /// How the text is put together.
    pub structure: Structure,
    /// The text; for a notebook or a web page what a reader would see of it, as Markdown.
    pub text: String,
    /// Which line of the original each line of the text is from.
    pub lines: LineNumbers,
}

impl Document {
    /// Reads a document of the pack in the folder `root`; `relative` is its path below `documents/`.
    pub fn read(root: &Path, relative: &Path) -> Result<Self, DocumentError> {
        let path = root.join(FOLDER).join(relative);
        if Format::of(relative) == Some(Format::Pdf) {
            return Self::read_extracted(root, relative, &path);
        }
        Self::read_at(&path, relative)
    }

    /// Reads the file at `path`, of any format but PDF, as the document `relative`.
    pub(crate) fn read_at(path: &Path, relative: &Path) -> Result<Self, DocumentError> {
        let format = Format::of(relative).ok_or_else(|| DocumentError::Format(path.to_owned()))?;
        let original = into_text(read_bounded(path, format.max_bytes())?, path)?;
        let (text, lines) = match format {
            Format::Html => html::read(&original),
            Format::Notebook => notebook::read(&original).map_err(|error| DocumentError::Broken {
                path: path.to_owned(),
                line: Some(error.line()),
                reason: error.to_string(),
            })?,
            Format::Pdf => return Err(DocumentError::NotExtracted(path.to_owned())),
            _ => (original, LineNumbers::Same),
        };
        if text.trim().is_empty() {
            return Err(DocumentError::NoText(path.to_owned()));
        }
        Ok(Self { path: relative.to_string_lossy().into_owned(), structure: format.structure(), text, lines })
    }

    /// A PDF's text, which was taken from it when its pack was added.
    fn read_extracted(root: &Path, relative: &Path, path: &Path) -> Result<Self, DocumentError> {
        let kept = extracted(root, relative);
        let bytes = match read_bounded(&kept, Format::Markdown.max_bytes()) {
            Err(DocumentError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Err(DocumentError::NotExtracted(path.to_owned()));
            }
            other => other?,
        };
        let text = into_text(bytes, &kept)?;
        Ok(Self { path: relative.to_string_lossy().into_owned(), structure: Structure::Markdown, text, lines: LineNumbers::Same })
    }
}

/// Where the text of a PDF is kept.
pub(crate) fn extracted(root: &Path, relative: &Path) -> PathBuf {
    let mut name = root.join(EXTRACTED).join(relative).into_os_string();
    name.push(".md");
    name.into()
}

/// The file's bytes, unless there are more than its format may have.
fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, DocumentError> {
    let failed = |source| DocumentError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")));
    }
    if metadata.len() > limit {
        return Err(DocumentError::TooLarge { path: path.to_owned(), bytes: metadata.len(), limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // It may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(DocumentError::TooLarge { path: path.to_owned(), bytes: bytes.len() as u64, limit });
    }
    Ok(bytes)
}

/// UTF-8 without its byte order mark. Other encodings are refused: a guess would put wrong words into the index.
fn into_text(bytes: Vec<u8>, path: &Path) -> Result<String, DocumentError> {
    if bytes[..bytes.len().min(SNIFFED)].contains(&0) {
        return Err(DocumentError::Binary(path.to_owned()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let byte = error.utf8_error().valid_up_to();
            let line = 1 + String::from_utf8_lossy(&error.as_bytes()[..byte]).matches('\n').count();
            Err(DocumentError::NotUtf8 { path: path.to_owned(), line, byte })
        }
    }
}

/// Why a document has no text.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// The system refused.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// More than any document may have.
    #[error("{path}: {bytes} bytes are more than a document of this kind may have ({limit})")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A kind of file that nothing is known about.
    #[error("{0}: not a kind of document that can be read")]
    Format(PathBuf),
    /// Called a text, and is none.
    #[error("{0}: holds binary data, not text")]
    Binary(PathBuf),
    /// Not UTF-8.
    #[error("{path}:{line}: not UTF-8, at byte {byte}")]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line with the first wrong byte, counted from 1.
        line: usize,
        /// Its place in the file, counted from 0.
        byte: usize,
    },
    /// Not of the form that its name promises.
    #[error("{path}{}: cannot be read: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense.
        line: Option<usize>,
        /// Why.
        reason: String,
    },
    /// Readable, and nothing to read.
    #[error("{0}: has no text")]
    NoText(PathBuf),
    /// A PDF whose text nobody has taken from it yet.
    #[error("{0}: its text has not been taken from it yet")]
    NotExtracted(PathBuf),
}

impl DocumentError {
    /// What is wrong, for a list in which the file is named already.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::TooLarge { bytes, limit, .. } => format!("{bytes} bytes, and at most {limit} are read"),
            Self::Format(_) => "not a kind of document that can be read".to_owned(),
            Self::Binary(_) => "holds binary data, not text".to_owned(),
            Self::NotUtf8 { line, byte, .. } => format!("not UTF-8, at line {line}, byte {byte}"),
            Self::Broken { reason, .. } => reason.clone(),
            Self::NoText(_) => "has no text".to_owned(),
            Self::NotExtracted(_) => "its text has not been taken from it yet".to_owned(),
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the file and its permissions",
            Self::TooLarge { .. } => "split it, or leave it out",
            Self::Format(_) => "md, rst, txt, html, ipynb, pdf, py, rs and C, C++ or CUDA sources can be read",
            Self::Binary(_) => "leave it out, or convert it to text",
            Self::Broken { .. } => "open it with the program that made it and save it again, or leave it out",
            Self::NoText(_) => "pages that are pictures need character recognition first, e.g. with ocrmypdf",
            Self::NotExtracted(_) => "add the folder with `kernelwright knowledge add`, which reads PDFs",
            Self::NotUtf8 { .. } => "convert it, e.g. with: iconv -f latin1 -t utf-8 OLD > NEW",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn read(name: &str, bytes: &[u8]) -> Result<Document, String> {
        let root = TempDir::new().unwrap();
        let path = root.path().join(FOLDER).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let told = |error: DocumentError| error.to_string().replace(&format!("{}/", root.path().display()), "");
        Document::read(root.path(), Path::new(name)).map_err(told)
    }

    #[test]
    fn plain_texts_keep_their_lines() {
        let document = read("guide/tiles.md", "\u{feff}# Tiles\r\n\nText.\n".as_bytes()).unwrap();
        assert_eq!((document.path.as_str(), document.structure), ("guide/tiles.md", Structure::Markdown));
        assert_eq!(document.text, "# Tiles\r\n\nText.\n");
        assert_eq!(document.lines.original(3), 3);
        assert_eq!(read("a.cuh", b"int x;\n").unwrap().structure, Structure::CFamily);
        assert_eq!(read("a.TXT", b"Text.").unwrap().structure, Structure::Text);
        let page = read("a.html", b"<h1>Tiles</h1>\n<p>Text.").unwrap();
        assert_eq!((page.text.as_str(), page.structure, page.lines.original(3)), ("# Tiles\n\nText.\n", Structure::Markdown, 2));
    }

    #[test]
    fn what_is_no_text_says_where() {
        assert_eq!(read("a.md", b"one\ntwo \xff\n").unwrap_err(), "documents/a.md:2: not UTF-8, at byte 8");
        assert_eq!(read("a.txt", b"MZ\0\0").unwrap_err(), "documents/a.txt: holds binary data, not text");
        assert_eq!(read("a.exe", b"").unwrap_err(), "documents/a.exe: not a kind of document that can be read");
        assert_eq!(read("a.md", b" \n").unwrap_err(), "documents/a.md: has no text");
        assert_eq!(read("a.pdf", b"%PDF").unwrap_err(), "documents/a.pdf: its text has not been taken from it yet");
        let cut = read("a.ipynb", b"{\"cells\": [\n").unwrap_err();
        assert_eq!(cut, "documents/a.ipynb:2: cannot be read: EOF while parsing a list at line 2 column 0");
    }

    #[test]
    fn a_huge_file_is_refused_without_reading_it() {
        let root = TempDir::new().unwrap();
        fs::create_dir(root.path().join(FOLDER)).unwrap();
        File::create(root.path().join("documents/a.md")).unwrap().set_len(200 << 20).unwrap();
        let error = Document::read(root.path(), Path::new("a.md")).unwrap_err();
        assert!(matches!(error, DocumentError::TooLarge { bytes: 209_715_200, limit: 16_777_216, .. }), "{error}");
    }
}
