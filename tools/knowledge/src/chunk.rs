//! Cuts entries into chunks that can be read alone: a section of an entry, a function of a kernel.
//!
//! A chunk is a range of whole lines of its file. A function's signature, docstring and body stay together, and so does a fenced
//! block of code; a section that is too long for a passage is cut between paragraphs.

use kernelwright_packs::Entry;

/// A chunk that is longer crowds out the others of an answer.
const MAX_CHUNK_BYTES: usize = 2_000;

/// A piece of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// What it is about inside the entry: headings or a symbol; empty at the entry's top.
    pub(crate) heading: Vec<String>,
    /// First line in the file, counted from 1.
    pub(crate) start_line: u32,
    /// Last line, inclusive.
    pub(crate) end_line: u32,
}

/// The chunks of an entry, in the order of its lines.
pub(crate) fn chunks(entry: &Entry) -> Vec<Chunk> {
    let is_python = std::path::Path::new(&entry.path).extension().is_some_and(|extension| extension == "py");
    let sections = if is_python { functions(entry) } else { sections(entry) };
    let lines: Vec<&str> = entry.text.lines().collect();
    sections.into_iter().filter_map(|section| trimmed(section, &lines)).flat_map(|section| divided(section, &lines)).collect()
}

/// One chunk a heading, down to the next heading of any level.
fn sections(entry: &Entry) -> Vec<Chunk> {
    let mut sections = vec![Chunk { heading: Vec::new(), start_line: entry.body_line, end_line: entry.body_line }];
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut fenced = false;
    for (line, number) in entry.body().lines().zip(entry.body_line..) {
        fenced ^= is_fence(line);
        if let Some((level, title)) = heading(line).filter(|_| !fenced) {
            path.retain(|(above, _)| *above < level);
            path.push((level, title.to_owned()));
            let heading = path.iter().map(|(_, title)| title.clone()).collect();
            sections.push(Chunk { heading, start_line: number, end_line: number });
        }
        if let Some(section) = sections.last_mut() {
            section.end_line = number;
        }
    }
    sections
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..)?.strip_prefix(' ')?.trim();
    (level > 0 && !title.is_empty()).then_some((level, title))
}

/// One chunk for what stands before the first definition, and one for each definition at the left margin with its decorators.
fn functions(entry: &Entry) -> Vec<Chunk> {
    let mut chunks = vec![Chunk { heading: Vec::new(), start_line: entry.body_line, end_line: entry.body_line }];
    let mut decorated = false;
    for (line, number) in entry.body().lines().zip(entry.body_line..) {
        let symbol = symbol(line);
        let decorator = line.starts_with('@');
        if let Some(symbol) = symbol.filter(|_| decorated) {
            if let Some(chunk) = chunks.last_mut() {
                chunk.heading = vec![symbol.to_owned()];
            }
        } else if symbol.is_some() || (decorator && !decorated) {
            chunks.push(Chunk { heading: symbol.map(str::to_owned).into_iter().collect(), start_line: number, end_line: number });
        }
        decorated = decorator || (decorated && symbol.is_none());
        if let Some(chunk) = chunks.last_mut() {
            chunk.end_line = number;
        }
    }
    chunks
}

fn symbol(line: &str) -> Option<&str> {
    let rest = ["def ", "class ", "async def "].iter().find_map(|start| line.strip_prefix(start))?;
    Some(&rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())])
}

/// Without blank lines at its ends; nothing if nothing but a heading is left.
fn trimmed(mut chunk: Chunk, lines: &[&str]) -> Option<Chunk> {
    let blank = |number: u32| lines.get(number as usize - 1).is_none_or(|line| line.trim().is_empty());
    while chunk.end_line >= chunk.start_line && blank(chunk.end_line) {
        chunk.end_line -= 1;
    }
    while chunk.start_line <= chunk.end_line && blank(chunk.start_line) {
        chunk.start_line += 1;
    }
    let only_heading =
        chunk.start_line == chunk.end_line && lines.get(chunk.start_line as usize - 1).is_some_and(|line| heading(line).is_some());
    (chunk.start_line <= chunk.end_line && !only_heading).then_some(chunk)
}

/// Cut at blank lines outside code, where a piece would become too long.
fn divided(chunk: Chunk, lines: &[&str]) -> Vec<Chunk> {
    let size = |from: u32, to: u32| lines[from as usize - 1..to as usize].iter().map(|line| line.len() + 1).sum::<usize>();
    let mut pieces = Vec::new();
    let mut start = chunk.start_line;
    let mut last_break: Option<u32> = None;
    let mut fenced = false;
    for number in chunk.start_line..=chunk.end_line {
        let line = lines[number as usize - 1];
        fenced ^= is_fence(line);
        if size(start, number) > MAX_CHUNK_BYTES
            && let Some(at) = last_break.take()
        {
            pieces.push(Chunk { heading: chunk.heading.clone(), start_line: start, end_line: at - 1 });
            start = at + 1;
        }
        if line.trim().is_empty() && !fenced && number > start {
            last_break = Some(number);
        }
    }
    pieces.push(Chunk { start_line: start, ..chunk });
    pieces.into_iter().filter_map(|piece| trimmed(piece, lines)).collect()
}

#[cfg(test)]
mod tests {
    use kernelwright_packs::Kind;

    use super::*;

    fn check(path: &str, body: &str, expected: &[(&str, u32, u32)]) {
        let entry = Entry {
            name: "name".into(),
            title: "Title".into(),
            kind: Kind::Guidance,
            languages: vec![],
            architectures: vec![],
            bottleneck: None,
            sources: vec![],
            tags: vec![],
            path: path.into(),
            text: format!("+++\n+++\n{body}"),
            body_line: 3,
        };
        let chunks = chunks(&entry);
        let found: Vec<(String, u32, u32)> =
            chunks.iter().map(|chunk| (chunk.heading.join(" > "), chunk.start_line, chunk.end_line)).collect();
        let expected: Vec<(String, u32, u32)> =
            expected.iter().map(|(heading, start, end)| ((*heading).to_owned(), *start, *end)).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn entries_are_cut_at_headings() {
        check(
            "entries/a.md",
            "Intro.\n\n## One\nText.\n```sh\n## no heading\n```\n### Inner\nMore.\n## Two\n\nEnd.\n",
            &[("", 3, 3), ("One", 5, 9), ("One > Inner", 10, 11), ("Two", 12, 14)],
        );
        check("entries/a.md", "## Outer\n\n### Inner\nText.\n", &[("Outer > Inner", 5, 6)]);
    }

    #[test]
    fn long_sections_are_cut_between_paragraphs() {
        let paragraph = "x".repeat(1_500);
        check("entries/a.md", &format!("## One\n{paragraph}\n\n{paragraph}\n"), &[("One", 3, 4), ("One", 6, 6)]);
    }

    #[test]
    fn kernels_are_cut_at_functions_with_their_decorators() {
        check(
            "examples/a.py",
            "\"\"\"Doc.\"\"\"\nimport torch\n\n\n@triton.jit\n@other\ndef kernel(x):\n    return x\n\n\nclass ModelNew:\n    def forward(self):\n        pass\n",
            &[("", 3, 4), ("kernel", 7, 10), ("ModelNew", 13, 15)],
        );
    }
}
