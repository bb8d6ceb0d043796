//! What can be read but should not be published.

use std::collections::HashMap;

use crate::files::Files;
use crate::pack::{Entry, Kind, Pack};
use crate::problem::{Fault, Problem};
use crate::python;
use crate::read::Reading;

/// An entry that is longer says more than one thing.
const MAX_ENTRY_CHARACTERS: usize = 8_000;

/// A kernel that is longer teaches nothing any more.
const MAX_EXAMPLE_CHARACTERS: usize = 16_000;

/// Titles head passages, which are small.
const MAX_TITLE_CHARACTERS: usize = 100;

/// Everything wrong with a pack, in the order of files and lines.
pub(crate) fn check(files: &Files) -> Vec<Problem> {
    let Reading { pack, mut problems } = Reading::of(files);
    if let Some(pack) = pack {
        if pack.entries.is_empty() && problems.is_empty() {
            problems.push(files.problem("pack.toml", None, Fault::NoEntries));
        }
        let mut titles: HashMap<&str, &str> = HashMap::new();
        for entry in &pack.entries {
            let mut report = |line: Option<u32>, fault: Fault| problems.push(files.problem(&entry.path, line, fault));
            check_front_matter(entry, &pack, &mut report);
            if let Some(other) = titles.insert(&entry.title, &entry.path) {
                report(Some(1), Fault::DuplicateTitle(other.to_owned()));
            }
            check_text(entry, &mut report);
        }
    }
    problems.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    problems
}

fn check_front_matter(entry: &Entry, pack: &Pack, report: &mut impl FnMut(Option<u32>, Fault)) {
    let line_of = |key: &str| entry.text.lines().zip(1..entry.body_line).find(|(line, _)| line.contains(key)).map(|(_, number)| number);
    let title = entry.title.chars().count();
    if !(1..=MAX_TITLE_CHARACTERS).contains(&title) {
        report(line_of("title"), Fault::Title(title));
    }
    if entry.sources.is_empty() {
        report(Some(1), Fault::NoSource);
    }
    for source in &entry.sources {
        if !is_source(source) {
            report(line_of(source), Fault::Source(source.clone()));
        }
    }
    for tag in &entry.tags {
        if !pack.tags.contains(tag) {
            report(line_of(tag), Fault::Tag(tag.clone()));
        }
    }
}

/// An address with a host, or a document named in words; a bare word leads nowhere.
fn is_source(source: &str) -> bool {
    match source.split_once("://") {
        Some(("https" | "http", rest)) => rest.split('/').next().is_some_and(|host| host.contains('.')) && !source.contains(' '),
        Some(_) => false,
        None => source.trim().contains(' '),
    }
}

fn check_text(entry: &Entry, report: &mut impl FnMut(Option<u32>, Fault)) {
    let body = entry.body();
    if body.trim().is_empty() {
        report(Some(entry.body_line), Fault::Empty);
        return;
    }
    let is_example = entry.path.starts_with("examples/");
    let limit = if is_example { MAX_EXAMPLE_CHARACTERS } else { MAX_ENTRY_CHARACTERS };
    let characters = body.chars().count();
    if characters > limit {
        report(None, Fault::TooLong { characters, limit });
    }
    if is_example {
        debug_assert_eq!(entry.kind, Kind::Example, "what lies in examples/ is read as an example");
        if let Some((line, fault)) = python::first_fault(body) {
            report(Some(entry.body_line - 1 + line), Fault::Python(fault));
        }
    } else {
        check_markdown(entry, report);
    }
}

fn check_markdown(entry: &Entry, report: &mut impl FnMut(Option<u32>, Fault)) {
    let mut open_fence: Option<u32> = None;
    for (line, number) in entry.body().lines().zip(entry.body_line..) {
        if line.trim_start().starts_with("```") {
            open_fence = if open_fence.is_some() { None } else { Some(number) };
        } else if open_fence.is_none() && line.starts_with("# ") {
            report(Some(number), Fault::TopHeading);
        }
    }
    if let Some(line) = open_fence {
        report(Some(line), Fault::FenceOpen);
    }
}
