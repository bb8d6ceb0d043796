//! Knowledge packs: format, loader, checker and the packs that are built in.
//!
//! A pack is a folder that anyone can write; `FORMAT.md` beside this crate's manifest says how. [`load`] reads the packs of a folder
//! and refuses what cannot be understood, with file and line; [`check`] also reports what can be read but should not be published;
//! [`built_in`] gives the packs that are part of the executable. A pack may also hold documents as their authors left them;
//! [`Document::read`] turns one into text with structure and line numbers. How passages are found is not this crate's business.

mod check;
mod document;
mod files;
mod front_matter;
mod home;
mod lesson;
mod pack;
mod problem;
mod python;
mod read;
mod similar;
mod skeleton;

pub use document::{Document, DocumentError, DocumentFile, Format, LineNumbers, PDF_VERB, PdfReader, Structure, print_pdf};
pub use home::{Added, Home, HomeError, Installed, Labels, Origin, Progress, Skipped, export_built_in};
pub use lesson::lesson_table;
pub use pack::{Entry, Evidence, EvidenceStatus, Pack, ProblemFile};
pub use problem::{Fault, PackError, Problem};
pub use skeleton::begin;

use std::path::Path;

use crate::files::Files;
use crate::read::Reading;

/// The packs that are part of the executable, in the order of their ids.
pub fn built_in() -> Result<Vec<Pack>, PackError> {
    Files::built_in().into_iter().map(|files| Reading::of(&files).into_pack(&files)).collect()
}

/// The packs of a folder: the folder itself if it has a `pack.toml`, otherwise its subfolders that have one.
pub fn load(folder: &Path) -> Result<Vec<Pack>, PackError> {
    Files::in_folder(folder)?.into_iter().map(|files| Reading::of(&files).into_pack(&files)).collect()
}

/// Everything wrong with the packs of a folder, ids that are taken first, then in the order of files and lines; empty when they are fit to publish.
pub fn check(folder: &Path) -> Result<Vec<Problem>, PackError> {
    let packs = Files::in_folder(folder)?;
    let mut problems = check::built_in_ids(&packs);
    problems.extend(check::check_all(&packs));
    Ok(problems)
}

/// Everything wrong with the built-in packs.
#[must_use]
pub fn check_built_in() -> Vec<Problem> {
    check::check_all(&Files::built_in())
}
