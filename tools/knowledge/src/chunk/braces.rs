//! C, C++, CUDA, HIP and Rust: a section for each item at the file's level or inside namespaces and modules, with the comment above
//! it; long types by their members.
//!
//! The scanner knows comments, strings, raw strings and preprocessor lines, and nothing of grammar. Where macros or conditional
//! compilation leave braces unbalanced, indentation mends the count: a brace that closes at the start of a line closes what was
//! opened by a line with the same indentation.

use super::{Break, Gather, MAX_CHUNK_BYTES, Outline, Section, bytes, indent, is_blank};
use names::{Block, block, define};

mod names;
mod scan;

use scan::{Mark, Scanner};

/// Which language's strings and items are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// C, C++, CUDA C++, HIP.
    C,
    /// Rust.
    Rust,
}

/// An item: a function, a type, a macro, a run of declarations.
#[derive(Debug)]
struct Item {
    symbol: Option<String>,
    start: usize,
    end: usize,
    /// What a type or an `impl` consists of.
    members: Vec<Item>,
}

/// An open brace.
struct Open {
    block: Block,
    /// The indentation of the line that the statement began in.
    margin: usize,
    /// Items found so far, when it is read item by item.
    items: Vec<Item>,
    /// The line in which the item that it belongs to begins.
    start: usize,
    /// The first line after what has become an item already.
    next: usize,
}

pub(super) fn outline(lines: &[&str], dialect: Dialect) -> Outline {
    let items = items(lines, dialect);
    let mut sections = Vec::new();
    place(lines, &items, 0..lines.len(), &[], &mut sections);
    Outline { sections, breaks: breaks(lines) }
}

/// Lays items out as sections that cover a range of lines.
fn place(lines: &[&str], items: &[Item], range: std::ops::Range<usize>, above: &[String], sections: &mut Vec<Section>) {
    let edge = |start: usize, end: usize| Section {
        heading: above.to_vec(),
        symbols: Vec::new(),
        start,
        end,
        shared: above.len(),
        gather: Gather::Edge,
    };
    let says_something = |start: usize, end: usize| lines[start..end].iter().any(|line| !is_blank(line));
    let mut at = range.start;
    for item in items {
        let mut start = item.start.max(at);
        if says_something(at, start) {
            sections.push(edge(at, start));
        } else {
            start = at;
        }
        let end = item.end.max(start);
        let heading: Vec<String> = above.iter().chain(&item.symbol).cloned().collect();
        let symbols: Vec<String> = item.symbol.iter().cloned().collect();
        if item.members.is_empty() || bytes(&lines[start..end]) <= MAX_CHUNK_BYTES {
            sections.push(Section { heading, symbols, start, end, shared: above.len(), gather: Gather::WhenShort });
        } else {
            let from = sections.len();
            place(lines, &item.members, start..end, &heading, sections);
            if let Some(head) = sections.get_mut(from) {
                head.symbols.splice(0..0, symbols);
            }
        }
        at = end;
    }
    if at < range.end && says_something(at, range.end) {
        sections.push(edge(at, range.end));
    }
}

fn items(lines: &[&str], dialect: Dialect) -> Vec<Item> {
    let mut scanner = Scanner::new(dialect);
    let mut stack = vec![Open { block: Block::Scope, margin: 0, items: Vec::new(), start: 0, next: 0 }];
    let mut conditions: Vec<usize> = Vec::new();
    // The code of the statement being read, without comments and strings, and where it began.
    let mut head = String::new();
    let mut begun: Option<usize> = None;
    let mut macro_start: Option<(usize, Option<String>)> = None;
    for (i, line) in lines.iter().enumerate() {
        let is_directive = dialect == Dialect::C && scanner.is_outside() && line.trim_start().starts_with('#');
        if is_directive || macro_start.is_some() {
            let directive = line.trim_start().trim_start_matches('#').trim_start();
            if macro_start.is_none() {
                follow_condition(directive, &mut conditions, &mut stack);
                macro_start = Some((i, define(directive)));
            }
            if !line.trim_end().ends_with('\\')
                && let Some((start, Some(symbol))) = macro_start.take()
                && let Some(open) = stack.last_mut().filter(|open| open.block != Block::Opaque && head.trim().is_empty())
            {
                let start = with_comments(lines, start, open.next);
                open.items.push(Item { symbol: Some(symbol), start, end: i + 1, members: Vec::new() });
                open.next = i + 1;
            }
            if !line.trim_end().ends_with('\\') {
                macro_start = None;
            }
            continue;
        }
        for mark in scanner.line(line) {
            match mark {
                Mark::Code(code) => {
                    if begun.is_none() && !code.trim().is_empty() {
                        begun = Some(i);
                    }
                    if head.len() < 2_000 {
                        head.push_str(code);
                    }
                }
                Mark::Open => {
                    let start = begun.unwrap_or(i);
                    let block =
                        if stack.last().is_some_and(|open| open.block == Block::Opaque) { Block::Opaque } else { block(&head, dialect) };
                    let margin = indent(lines[start]);
                    let start = stack.last().map_or(start, |open| with_comments(lines, start, open.next));
                    stack.push(Open { block, margin, items: Vec::new(), start, next: i + 1 });
                    if stack.last().is_some_and(|open| open.block != Block::Opaque) {
                        head.clear();
                    } else if let Some(open) = stack.last_mut() {
                        // What an opaque block is called stands before it.
                        open.items.extend(named(&head, dialect, start, i));
                        head.clear();
                    }
                    begun = None;
                }
                Mark::Close { leads } => {
                    close(&mut stack, i, leads.then(|| indent(line)));
                    head.clear();
                    begun = None;
                }
                Mark::End => {
                    if let Some(open) = stack.last_mut().filter(|open| open.block != Block::Opaque) {
                        let start = with_comments(lines, begun.unwrap_or(i), open.next);
                        let symbol = names::declared(&head, dialect);
                        // A `;` after a closing brace belongs to what was closed.
                        if !head.trim().is_empty() {
                            open.items.push(Item { symbol, start, end: i + 1, members: Vec::new() });
                            open.next = i + 1;
                        } else if let Some(last) = open.items.last_mut() {
                            last.end = last.end.max(i + 1);
                            open.next = i + 1;
                        }
                    }
                    head.clear();
                    begun = None;
                }
            }
        }
        if !head.is_empty() {
            head.push(' ');
        }
    }
    let end = lines.len();
    while stack.len() > 1 {
        close(&mut stack, end.saturating_sub(1), None);
    }
    stack.pop().map(|file| file.items).unwrap_or_default()
}

/// The item that an opaque block stands for; its end is set when it closes.
fn named(head: &str, dialect: Dialect, start: usize, at: usize) -> Option<Item> {
    Some(Item { symbol: Some(names::called(head, dialect)?), start, end: at + 1, members: Vec::new() })
}

/// Closes the innermost block; one whose brace leads a line closes everything that was opened deeper than its indentation.
fn close(stack: &mut Vec<Open>, line: usize, margin: Option<usize>) {
    let depth = match margin {
        Some(margin) => stack.iter().skip(1).rposition(|open| open.margin == margin).map_or(stack.len() - 1, |at| at + 1),
        None => stack.len() - 1,
    };
    while stack.len() > depth.max(1) {
        let Some(open) = stack.pop() else { return };
        let Some(outer) = stack.last_mut() else { return };
        if outer.block == Block::Opaque {
            continue;
        }
        match open.block {
            Block::Scope => {
                outer.items.extend(open.items);
            }
            Block::Members(symbol) => {
                outer.items.push(Item { symbol, start: open.start, end: line + 1, members: open.items });
            }
            Block::Opaque => {
                let symbol = open.items.into_iter().next().and_then(|item| item.symbol);
                outer.items.push(Item { symbol, start: open.start, end: line + 1, members: Vec::new() });
            }
        }
        outer.next = line + 1;
    }
}

/// Branches of a condition open the same braces again: each begins with what was open before the first.
fn follow_condition(directive: &str, conditions: &mut Vec<usize>, stack: &mut Vec<Open>) {
    if directive.starts_with("if") {
        conditions.push(stack.len());
    } else if directive.starts_with("el") {
        if let Some(depth) = conditions.last() {
            while stack.len() > (*depth).max(1) {
                stack.pop();
            }
        }
    } else if directive.starts_with("endif") {
        conditions.pop();
    }
}

/// The first line of the comments, attributes and templates directly above a line.
fn with_comments(lines: &[&str], at: usize, earliest: usize) -> usize {
    let mut start = at;
    while start > earliest {
        let line = lines[start - 1].trim();
        let is_comment = line.starts_with("//") || line.starts_with('*') || line.starts_with("/*") || line.ends_with("*/");
        let is_attribute = line.starts_with("#[") || line.starts_with("[[");
        if line.is_empty() || !(is_comment || is_attribute || in_comment(lines, start - 1, earliest)) {
            break;
        }
        start -= 1;
    }
    start
}

/// Whether a line lies in a block comment that ends right below it.
fn in_comment(lines: &[&str], at: usize, earliest: usize) -> bool {
    const FAR: usize = 60;
    let ends = lines[at..].iter().take(FAR).find_map(|line| {
        let (open, close) = (line.find("/*"), line.find("*/"));
        (open.is_some() || close.is_some()).then_some(close.is_some() && open.is_none_or(|open| close.is_some_and(|close| close < open)))
    });
    ends == Some(true) && lines[earliest..=at].iter().rev().take(FAR).any(|line| line.contains("/*"))
}

fn breaks(lines: &[&str]) -> Vec<Break> {
    let mut breaks = vec![Break::None; lines.len()];
    for i in 1..lines.len() {
        if is_blank(lines[i]) {
            continue;
        }
        let after_blank = is_blank(lines[i - 1]);
        let is_closing = lines[i].trim_start().starts_with('}');
        breaks[i] = match (after_blank, indent(lines[i])) {
            _ if is_closing => Break::None,
            (true, 0) => Break::Good,
            (true, _) => Break::Fair,
            (false, here) if indent(lines[i - 1]) >= here && here <= 4 && lines[i - 1].trim_end().ends_with([';', '}']) => Break::Poor,
            _ => Break::None,
        };
    }
    breaks
}
