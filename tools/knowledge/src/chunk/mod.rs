//! Cuts texts into chunks that can be read alone: a section of a page, a function with its comment, a class.
//!
//! A chunk is a range of whole lines of its text, and every line that says something is in exactly one chunk. An outline of the text
//! comes first (one module for each [`Structure`]); what is too long in it is then cut at the best places it has, what is too short
//! to be found alone is kept with its neighbours. The outlines are read by line scanners, not parsers: they have to make something
//! sensible of files that no compiler would take.

mod braces;
mod divide;
mod markdown;
mod python;
mod rst;
mod text;

use kernelwright_packs::Structure;

use divide::{divided, gathered};

/// Longer pieces are cut where a good place is: more would crowd out the other passages of an answer.
pub(crate) const MAX_CHUNK_BYTES: usize = 1_800;

/// Longer pieces are cut wherever a line ends.
const HARD_CHUNK_BYTES: usize = 3_000;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// What it is about inside the text: headings or a symbol; empty at the text's top.
    pub(crate) heading: Vec<String>,
    /// What it defines: functions, types, macros.
    pub(crate) symbols: Vec<String>,
    /// First line in the text, counted from 1.
    pub(crate) start_line: u32,
    /// Last line, inclusive.
    pub(crate) end_line: u32,
}

/// How good a place is for a cut before a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Break {
    /// In the middle of something.
    #[default]
    None,
    /// Between two parts of something that would better stay whole, as a blank line inside fenced code.
    Poor,
    /// Between paragraphs or blocks of statements.
    Fair,
    /// Between things that do not belong together.
    Good,
}

/// A range of lines under one heading, counted from 0, the end exclusive.
#[derive(Clone, Debug)]
struct Section {
    heading: Vec<String>,
    symbols: Vec<String>,
    start: usize,
    end: usize,
    /// How much of the heading it has in common with its siblings; the rest is its own name.
    shared: usize,
    /// Whether it may share a chunk with its neighbours when all are short.
    gather: Gather,
}

/// What becomes of a section that is too short to be found alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gather {
    /// It stays alone.
    Never,
    /// It is kept with its siblings: one-line definitions, includes.
    WhenShort,
    /// The same, and with anything beside it when it is nothing but the edge of something: `namespace a {`, `};`.
    Edge,
}

/// What an outline says about a text: sections in the order of lines, and where they may be cut.
struct Outline {
    sections: Vec<Section>,
    /// For every line, how good a cut before it is.
    breaks: Vec<Break>,
}

/// The chunks of a text, in the order of its lines; `skip` lines at its top (front matter) are in none.
pub(crate) fn chunks(structure: Structure, text: &str, skip: usize) -> Vec<Chunk> {
    let lines: Vec<&str> = text.lines().collect();
    let body = lines.get(skip..).unwrap_or_default();
    let outline = match structure {
        Structure::Markdown => markdown::outline(body),
        Structure::Rst => rst::outline(body),
        Structure::Text => text::outline(body),
        Structure::Python => python::outline(body),
        Structure::CFamily => braces::outline(body, braces::Dialect::C),
        Structure::Rust => braces::outline(body, braces::Dialect::Rust),
    };
    let place = |line: usize| u32::try_from(skip + line).unwrap_or(u32::MAX);
    gathered(outline.sections, body)
        .into_iter()
        .flat_map(|section| divided(&section, &outline.breaks, body))
        .map(|section| Chunk {
            heading: section.heading,
            symbols: section.symbols,
            start_line: place(section.start + 1),
            end_line: place(section.end),
        })
        .collect()
}

fn is_blank(line: &str) -> bool {
    line.trim_start().is_empty()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn bytes(lines: &[&str]) -> usize {
    lines.iter().map(|line| line.len() + 1).sum()
}

/// Where a text without other structure may be cut: after blank lines, better before lines that are not indented.
fn paragraph_breaks(lines: &[&str]) -> Vec<Break> {
    let mut breaks = vec![Break::None; lines.len()];
    for i in 1..lines.len() {
        if is_blank(lines[i - 1]) && !is_blank(lines[i]) {
            breaks[i] = match indent(lines[i]) {
                0 => Break::Good,
                1..=4 => Break::Fair,
                _ => Break::Poor,
            };
        }
    }
    breaks
}

#[cfg(test)]
mod tests;
