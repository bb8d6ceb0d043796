//! Why a file cannot be imported.

use std::io;
use std::path::{Path, PathBuf};

/// A profile from a file could not be taken over.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct ImportError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub fault: Fault,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system does not let it be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It holds more than is taken into memory.
    #[error("it holds more than {limit}")]
    TooLarge {
        /// What is taken at most.
        limit: &'static str,
    },
    /// Nothing in it looks like a profile.
    #[error(
        "it is no profile that can be read: it begins with `{begins}`; looked for an Nsight Compute report (`NVR`), Nsight Compute CSV (a row \
         with `ID` and `Kernel Name`), a Proton tree (a JSON list of frames) and a Torch trace (JSON with `traceEvents`), each also in gzip"
    )]
    Unknown {
        /// Its first characters.
        begins: String,
    },
    /// It is packed in a way that is not unpacked here.
    #[error("it is packed with zstd")]
    Packed,
    /// It is written in another version of its format.
    #[error("this {format} has format version {found}; version {known} can be read")]
    Version {
        /// What it is.
        format: Format,
        /// The version it says.
        found: u64,
        /// The version that can be read.
        known: u64,
    },
    /// It ends too early.
    #[error("this {format} ends too early, {at}")]
    Truncated {
        /// What it is.
        format: Format,
        /// Where.
        at: String,
    },
    /// It contradicts its own format.
    #[error("this {format} is damaged {at}: {why}")]
    Damaged {
        /// What it is.
        format: Format,
        /// Where.
        at: String,
        /// What is wrong there.
        why: String,
    },
    /// There is no kernel and no operator in it.
    #[error("this {0} holds no kernel")]
    Empty(Format),
}

/// The forms of files that are told apart by what is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Nsight Compute's own report.
    NcuReport,
    /// What `ncu --csv` prints.
    NcuCsv,
    /// The tree that Proton writes, for Hatchet.
    Proton,
    /// Chrome's trace format as the Torch profiler exports it.
    TorchTrace,
    /// A file packed with gzip, whatever is in it.
    Gzip,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NcuReport => "Nsight Compute report",
            Self::NcuCsv => "Nsight Compute table",
            Self::Proton => "Proton tree",
            Self::TorchTrace => "Torch trace",
            Self::Gzip => "gzip file",
        })
    }
}

impl Fault {
    /// Notes which file it is.
    pub(super) fn of(self, path: &Path) -> ImportError {
        ImportError { path: path.to_owned(), fault: self }
    }

    pub(super) fn damaged(format: Format, at: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Damaged { format, at: at.into(), why: why.into() }
    }

    /// Sorts what the JSON reader objects to.
    pub(super) fn json(format: Format, error: &serde_json::Error) -> Self {
        let at = format!("in line {}, column {}", error.line(), error.column());
        if error.is_eof() { Self::Truncated { format, at } } else { Self::Damaged { format, at, why: error.to_string() } }
    }
}

impl ImportError {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.fault {
            Fault::Unreadable(_) => "file_unreadable",
            Fault::TooLarge { .. } => "file_too_large",
            Fault::Unknown { .. } => "format_unknown",
            Fault::Packed => "format_packed",
            Fault::Version { .. } => "format_version",
            Fault::Truncated { .. } => "file_truncated",
            Fault::Damaged { .. } => "file_damaged",
            Fault::Empty(_) => "file_empty",
        }
    }

    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match &self.fault {
            Fault::Unreadable(_) => "give the path of a file that the server can read",
            Fault::TooLarge { .. } => "profile fewer launches (`--launch-count`, `--kernel-name`, a shorter schedule) and import that file",
            Fault::Unknown { .. } => {
                "give what `ncu --export`, `ncu --csv`, `proton.finalize()` or torch's `export_chrome_trace` wrote; other profilers are not read"
            }
            Fault::Packed => "unpack it with `zstd -d`, then import the file that comes out",
            Fault::Version { found, known, .. } if found > known => {
                "this program is older than the profiler: print it with `ncu --import FILE --page raw --csv` and import that"
            }
            Fault::Version { .. } => "the profiler is too old: print it with `ncu --import FILE --page raw --csv` and import that",
            Fault::Truncated { .. } => "it was cut off: let the profiler finish, then copy the file again and compare its size",
            Fault::Damaged { .. } => "copy the file again in binary mode; if it stays, write it anew with the profiler",
            Fault::Empty(Format::NcuReport | Format::NcuCsv) => {
                "no kernel was profiled: look at the profiler's filters (`--kernel-name`, `--launch-skip`, `--profile-from-start`)"
            }
            Fault::Empty(_) => "nothing ran while it was recorded: profile around the calls, after warm-up, and synchronise before the end",
        }
    }
}
