//! Lessons: entries that runs write, with a `[lesson]` table in their front matter.
//!
//! What the table says is the business of whoever writes and ranks lessons. A pack only knows that a lesson has one and nothing else has.

use kernelwright_protocol::EntryKind;
use serde::de::DeserializeOwned;

use crate::front_matter::{FrontMatter, Placed, Style, split};
use crate::problem::Fault;

/// The `[lesson]` table of an entry's file, given the whole text of the file.
pub fn lesson_table<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let (front, _) = split(text, Style::Markdown).map_err(|(_, fault)| fault)?;
    let table = front.lesson.ok_or(Fault::LessonTable)?;
    table.try_into().map_err(|error: toml::de::Error| Fault::Form(error.message().to_owned()))
}

/// Whether the table is there if and only if the kind asks for it.
pub(crate) fn agrees(kind: EntryKind, front: &FrontMatter) -> Result<(), Placed> {
    if (kind == EntryKind::Lesson) == front.lesson.is_some() { Ok(()) } else { Err((Some(1), Fault::LessonTable)) }
}
