//! Which files can be read, and how what is read from them is put together.

use std::path::Path;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `md`, `markdown`.
    Markdown,
    /// `rst`.
    Rst,
    /// `txt`.
    Text,
    /// `html`, `htm`.
    Html,
    /// `ipynb`.
    Notebook,
    /// `pdf`.
    Pdf,
    /// `py`.
    Python,
    /// `c`, `h`, `cc`, `cpp`, `cxx`, `hpp`, `cu`, `cuh`.
    CFamily,
    /// `rs`.
    Rust,
}

/// How a text is put together, which says where it may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Structure {
    /// Headings with `#`, fenced code.
    Markdown,
    /// Underlined headings, directives.
    Rst,
    /// Paragraphs only.
    Text,
    /// Functions and classes by indentation.
    Python,
    /// Functions and types in braces, C to CUDA C++.
    CFamily,
    /// Items in braces.
    Rust,
}

impl Format {
    /// The format of a file by its name; `None` for what cannot be read.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "md" | "markdown" => Self::Markdown,
            "rst" => Self::Rst,
            "txt" => Self::Text,
            "html" | "htm" => Self::Html,
            "ipynb" => Self::Notebook,
            "pdf" => Self::Pdf,
            "py" => Self::Python,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hxx" | "hh" | "cu" | "cuh" => Self::CFamily,
            "rs" => Self::Rust,
            _ => return None,
        })
    }

    /// The structure of the text that is read from such a file.
    #[must_use]
    pub fn structure(self) -> Structure {
        match self {
            Self::Markdown | Self::Html | Self::Notebook | Self::Pdf => Structure::Markdown,
            Self::Rst => Structure::Rst,
            Self::Text => Structure::Text,
            Self::Python => Structure::Python,
            Self::CFamily => Structure::CFamily,
            Self::Rust => Structure::Rust,
        }
    }

    /// The most bytes such a file may have.
    #[must_use]
    pub fn max_bytes(self) -> u64 {
        const MEBIBYTE: u64 = 1 << 20;
        match self {
            // Mostly pictures and fonts.
            Self::Pdf => 64 * MEBIBYTE,
            _ => 16 * MEBIBYTE,
        }
    }
}
