//! The knowledge server: retrieval over knowledge packs.
//!
//! A [`Library`] holds the built-in packs and those of the user, and answers a [`Query`] with passages: lexical search over chunks cut
//! along headings and functions, with tokens that keep identifiers whole and in parts, in two stages. It finds exact places ([`Find`])
//! and reads entries as well. [`serve`] puts a library behind MCP; [`eval()`] measures it on questions whose answers are known.
//!
//! What kernels proved is kept as entries too, out of verdicts that whoever calls points at (`lessons`).
//!
//! Nothing here knows a model or how a run is made. Nothing is read before the first question, so that a server starts at once.

mod chunk;
mod contents;
mod error;
mod eval;
mod excerpt;
mod find;
mod index;
mod labels;
mod lessons;
mod library;
mod packs;
mod passages;
mod rank;
mod read;
mod resources;
mod search;
mod server;
mod shelves;
mod slot;
mod stamp;
mod stem;
mod tokenize;

pub use error::LibraryError;
pub use eval::{EvalError, Figures, Interval, Report, Row, Shown, eval};
pub use find::{Find, Sought};
pub use index::IndexError;
pub use labels::Label;
pub use lessons::{Forgotten, KeptLesson, KeptLessons, LessonError};
pub use library::{BuiltIn, Library, Settings};
pub use packs::Unreadable;
pub use search::Query;
pub use server::serve;
