//! What can be read but should not be published.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kernelwright_protocol::EntryKind;

use crate::document::{Document, DocumentError};
use crate::files::Files;
use crate::pack::{Entry, Pack};
use crate::problem::{Fault, Problem};
use crate::python;
use crate::read::Reading;
use crate::similar::Shingles;
use crate::skeleton::PLACEHOLDER;

/// An entry that is longer says more than one thing.
const MAX_ENTRY_CHARACTERS: usize = 8_000;

/// A kernel that is longer teaches nothing any more.
const MAX_EXAMPLE_CHARACTERS: usize = 16_000;

/// The ends of headers' names, and the size above which nobody puts one into an example.
const HEADERS: [&str; 5] = ["h", "hh", "hpp", "hxx", "cuh"];
const MAX_HEADER_BYTES: u64 = MAX_EXAMPLE_CHARACTERS as u64;

/// Titles head passages, which are small.
const MAX_TITLE_CHARACTERS: usize = 100;

/// Everything wrong with some packs, in the order of packs, files and lines.
pub(crate) fn check_all(packs: &[Files]) -> Vec<Problem> {
    let mut texts = Vec::new();
    let mut problems = Vec::new();
    for files in packs {
        let Reading { pack, problems: mut found } = Reading::of(files);
        if let Some(pack) = pack {
            check(files, &pack, &mut found);
            let brought_along = brought_along(&pack);
            for entry in &pack.entries {
                let path = format!("{}/{}", files.root, entry.path);
                let is_example = entry.path.starts_with("examples/");
                let mut shingles = Shingles::of(entry.body());
                if is_example {
                    shingles.leave_out(&brought_along);
                }
                texts.push((path, is_example, shingles));
            }
        }
        found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        problems.push(found);
    }
    let mut problems: Vec<Problem> = problems.into_iter().flatten().collect();
    for (i, (path, is_example, shingles)) in texts.iter().enumerate() {
        // Kernels of one kind share their frame; what they explain differs.
        let others = texts[..i].iter().filter(|(_, other_is_example, _)| is_example == other_is_example);
        if let Some((other, percent)) =
            others.filter_map(|(other, _, them)| Some((other, shingles.shared(them)?))).max_by_key(|(_, percent)| *percent)
        {
            let fault = Fault::NearDuplicate { other: other.clone(), percent };
            problems.push(Problem { path: path.clone(), line: None, fault });
        }
    }
    problems
}

/// The packs that cannot be installed because a built-in one has their id.
pub(crate) fn built_in_ids(packs: &[Files]) -> Vec<Problem> {
    let taken: HashSet<String> = Files::built_in().iter().map(Files::id).collect();
    let clash = |files: &Files| {
        let id = files.id();
        let line = files.manifest.lines().zip(1..).find(|(line, _)| line.trim_start().starts_with("id")).map(|(_, number)| number);
        taken.contains(&id).then(|| files.problem("pack.toml", line, Fault::BuiltInId(id)))
    };
    packs.iter().filter_map(clash).collect()
}

/// The headers of a pack. A candidate is one file, so every example that needs one holds all of it: that makes no two examples alike.
fn brought_along(pack: &Pack) -> Shingles {
    let is_header = |path: &Path| path.extension().is_some_and(|end| HEADERS.iter().any(|known| end == *known));
    let has_examples = pack.entries.iter().any(|entry| entry.kind == EntryKind::Example);
    let headers = pack.documents.iter().filter(|file| has_examples && file.bytes <= MAX_HEADER_BYTES && is_header(Path::new(&file.path)));
    let texts = pack.root.iter().flat_map(|root| headers.clone().filter_map(|file| Document::read(root, Path::new(&file.path)).ok()));
    Shingles::of(&texts.map(|header| header.text).collect::<Vec<_>>().join("\n"))
}

/// What is wrong with one pack, beside what keeps parts of it from being read.
fn check(files: &Files, pack: &Pack, problems: &mut Vec<Problem>) {
    if pack.entries.is_empty() && pack.documents.is_empty() && problems.is_empty() {
        problems.push(files.problem("pack.toml", None, Fault::NoEntries));
    }
    if let Some(line) = placeholder(&files.manifest) {
        problems.push(files.problem("pack.toml", Some(line), Fault::Placeholder));
    }
    let mut titles: HashMap<&str, &str> = HashMap::new();
    for entry in &pack.entries {
        let mut report = |line: Option<u32>, fault: Fault| problems.push(files.problem(&entry.path, line, fault));
        check_front_matter(entry, pack, &mut report);
        if let Some(other) = titles.insert(&entry.title, &entry.path) {
            report(Some(1), Fault::DuplicateTitle(other.to_owned()));
        }
        check_problem(entry, pack, &mut report);
        check_text(entry, &mut report);
        if let Some(line) = placeholder(&entry.text) {
            report(Some(line), Fault::Placeholder);
        }
    }
    let solved: HashSet<&str> = pack.entries.iter().filter_map(|entry| entry.problem.as_deref()).collect();
    for file in &pack.problems {
        let mut report = |line: Option<u32>, fault: Fault| problems.push(files.problem(&file.path, line, fault));
        if let Some((line, fault)) = python::first_fault(&file.text) {
            report(Some(line), Fault::Python(fault));
        }
        for (name, keyword) in [("Model", "class "), ("get_inputs", "def "), ("get_init_inputs", "def ")] {
            let defines = |line: &str| {
                let rest = line.strip_prefix(keyword)?.strip_prefix(name)?;
                Some(rest.starts_with(['(', ':']))
            };
            if !file.text.lines().any(|line| defines(line).unwrap_or(false)) {
                report(None, Fault::ProblemForm(name));
            }
        }
        if !solved.contains(file.path.as_str()) {
            report(None, Fault::UnusedProblem);
        }
    }
    if let Some(root) = &pack.root {
        for document in &pack.documents {
            match Document::read(root, Path::new(&document.path)) {
                // Adding the pack takes care of that.
                Ok(_) | Err(DocumentError::NotExtracted(_)) => {}
                Err(error) => problems.push(files.problem(&format!("documents/{}", document.path), None, Fault::Document(error.reason()))),
            }
        }
    }
}

fn placeholder(text: &str) -> Option<u32> {
    text.lines().zip(1..).find(|(line, _)| line.contains(PLACEHOLDER)).map(|(_, number)| number)
}

/// An example solves a problem of its pack and says how it was tried; nothing else does.
fn check_problem(entry: &Entry, pack: &Pack, report: &mut impl FnMut(Option<u32>, Fault)) {
    let is_example = entry.path.starts_with("examples/");
    match &entry.problem {
        Some(problem) if is_example && !pack.problems.iter().any(|file| file.path == *problem) => {
            report(line_of(entry, "problem"), Fault::DanglingProblem(problem.clone()));
        }
        Some(_) if !is_example => report(line_of(entry, "problem"), Fault::ProblemOfText),
        None if is_example => report(Some(1), Fault::NoProblem),
        _ => {}
    }
    if is_example && entry.evidence.is_empty() {
        report(Some(1), Fault::NoEvidence);
    }
    if is_example && !entry.body().lines().any(|line| line.starts_with("class ModelNew")) {
        report(None, Fault::NoModelNew);
    }
    if !is_example && entry.kind == EntryKind::Example {
        report(line_of(entry, "kind"), Fault::MarkdownExample);
    }
}

/// The line of the front matter that says something.
fn line_of(entry: &Entry, what: &str) -> Option<u32> {
    entry.text.lines().zip(1..entry.body_line).find(|(line, _)| line.contains(what)).map(|(_, number)| number)
}

fn check_front_matter(entry: &Entry, pack: &Pack, report: &mut impl FnMut(Option<u32>, Fault)) {
    let title = entry.title.chars().count();
    if !(1..=MAX_TITLE_CHARACTERS).contains(&title) {
        report(line_of(entry, "title"), Fault::Title(title));
    }
    if entry.sources.is_empty() {
        report(Some(1), Fault::NoSource);
    }
    for source in &entry.sources {
        if !is_source(source, pack) {
            report(line_of(entry, source), Fault::Source(source.clone()));
        }
    }
    for tag in &entry.tags {
        if !pack.tags.contains(tag) {
            report(line_of(entry, tag), Fault::Tag(tag.clone()));
        }
    }
}

/// An address with a host, a file of the pack's documents, or a document named in words; a bare word leads nowhere.
fn is_source(source: &str, pack: &Pack) -> bool {
    if let Some(path) = source.strip_prefix("documents/") {
        return pack.documents.iter().any(|file| file.path == path);
    }
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
