//! The knowledge server: retrieval over knowledge packs.
//!
//! A [`Library`] holds the built-in packs and those of the user, and answers a [`Query`] with passages: lexical search over chunks cut
//! along headings and functions, with tokens that keep identifiers whole and in parts. [`serve`] puts a library behind MCP.
//!
//! Nothing here knows a model or a run. Nothing is read before the first question, so that a server starts at once.

mod chunk;
mod error;
mod index;
mod library;
mod passages;
mod server;
mod tokenize;

pub use error::LibraryError;
pub use library::{BuiltIn, Library, Query, Settings};
pub use server::serve;
