//! Python: a section for each function and class with its decorators and comment, long classes by their methods, and headings that
//! are written as comments in tutorials.

use super::{Break, Gather, MAX_CHUNK_BYTES, Outline, Section, bytes, indent, is_blank};

/// What a line is, seen from outside of strings and brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Inside a string or an open bracket.
    Inside,
    Blank,
    Comment,
    Decorator,
    Definition,
    Statement,
}

/// A definition: its lines, and where its body begins.
struct Definition {
    symbol: String,
    is_class: bool,
    start: usize,
    end: usize,
}

pub(super) fn outline(lines: &[&str]) -> Outline {
    let kinds = kinds(lines);
    let mut sections = Vec::new();
    items(lines, &kinds, 0..lines.len(), 0, &[], &mut sections);
    Outline { sections, breaks: breaks(lines, &kinds) }
}

/// The sections of a range whose statements stand at one indentation.
fn items(lines: &[&str], kinds: &[Kind], range: std::ops::Range<usize>, margin: usize, above: &[String], sections: &mut Vec<Section>) {
    let mut title: Vec<String> = Vec::new();
    let mut rest = range.start;
    let mut at = range.start;
    let path = |title: &[String]| above.iter().chain(title).cloned().collect::<Vec<_>>();
    while at < range.end {
        if margin == 0
            && let Some(heading) = comment_heading(lines, kinds, at)
        {
            plain(lines, path(&title), rest..at, sections);
            title = vec![heading];
            rest = at;
            at += 2;
            continue;
        }
        let Some(definition) = definition(lines, kinds, at, margin, rest, range.end) else {
            at += 1;
            continue;
        };
        plain(lines, path(&title), rest..definition.start, sections);
        let heading: Vec<String> = path(&title).into_iter().chain([definition.symbol.clone()]).collect();
        let section = Section {
            heading: heading.clone(),
            symbols: vec![definition.symbol.clone()],
            start: definition.start,
            end: definition.end,
            shared: heading.len() - 1,
            gather: Gather::WhenShort,
        };
        let members = (definition.is_class && bytes(&lines[definition.start..definition.end]) > MAX_CHUNK_BYTES)
            .then(|| body_margin(lines, kinds, &definition))
            .flatten();
        match members {
            Some((first, inner)) => {
                let from = sections.len();
                let body = first..definition.end;
                items(lines, kinds, body, inner, &heading, sections);
                // The class's own lines: its signature, docstring and what stands before its first method.
                match sections.get_mut(from).filter(|section| section.heading == heading) {
                    Some(head) => {
                        head.start = definition.start;
                        head.symbols.insert(0, definition.symbol.clone());
                    }
                    None => sections.insert(from, Section { end: first, ..section }),
                }
            }
            None => sections.push(section),
        }
        at = definition.end;
        rest = at;
    }
    plain(lines, path(&title), rest..range.end, sections);
}

/// A section without a definition, if it says anything.
fn plain(lines: &[&str], heading: Vec<String>, range: std::ops::Range<usize>, sections: &mut Vec<Section>) {
    if range.clone().any(|i| !is_blank(lines[i])) {
        // Constants are what a module defines as well.
        let symbols = lines[range.clone()].iter().filter_map(|line| constant(line)).collect();
        sections.push(Section { heading, symbols, start: range.start, end: range.end, shared: 0, gather: Gather::Never });
    }
}

/// `NAME = ...` at the left margin.
fn constant(line: &str) -> Option<String> {
    let name = line.split([' ', ':', '=']).next()?;
    let rest = line[name.len()..].trim_start();
    let is_name = name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    (is_name && (rest.starts_with('=') || rest.starts_with(':')) && !rest.starts_with("==")).then(|| name.to_owned())
}

/// The definition that begins in line `at` with its comments and decorators; its end is where something else stands at its margin.
fn definition(lines: &[&str], kinds: &[Kind], at: usize, margin: usize, earliest: usize, limit: usize) -> Option<Definition> {
    if kinds[at] != Kind::Definition || indent(lines[at]) != margin {
        return None;
    }
    let mut start = at;
    while start > earliest && attached(lines, kinds, start - 1, margin) {
        start -= 1;
    }
    let mut end = at + 1;
    let mut last = at;
    while end < limit {
        match kinds[end] {
            Kind::Blank => {}
            Kind::Comment if indent(lines[end]) <= margin => {
                if kinds[end..limit]
                    .iter()
                    .zip(&lines[end..])
                    .find(|(kind, _)| !matches!(kind, Kind::Blank | Kind::Comment))
                    .is_none_or(|(kind, line)| *kind != Kind::Inside && indent(line) <= margin)
                {
                    break;
                }
            }
            Kind::Inside => last = end,
            _ if indent(lines[end]) <= margin => break,
            _ => last = end,
        }
        end += 1;
    }
    let (is_class, symbol) = symbol(lines[at])?;
    Some(Definition { symbol, is_class, start, end: last + 1 })
}

/// Whether a line belongs to the definition under it.
fn attached(lines: &[&str], kinds: &[Kind], at: usize, margin: usize) -> bool {
    match kinds[at] {
        Kind::Decorator => indent(lines[at]) == margin,
        // A comment that is a rule or a cell's mark heads more than one definition.
        Kind::Comment => indent(lines[at]) == margin && !lines[at].trim_start().starts_with("# %%"),
        // The arguments of a decorator over several lines.
        Kind::Inside => (0..at).rev().find(|&i| kinds[i] != Kind::Inside).is_some_and(|i| kinds[i] == Kind::Decorator),
        _ => false,
    }
}

/// The first line of a class's body after its signature, and the indentation of its members.
fn body_margin(lines: &[&str], kinds: &[Kind], class: &Definition) -> Option<(usize, usize)> {
    let signature = (class.start..class.end).find(|&i| kinds[i] == Kind::Definition)?;
    let first = (signature + 1..class.end).find(|&i| !matches!(kinds[i], Kind::Inside | Kind::Blank | Kind::Comment))?;
    Some((signature + 1, indent(lines[first])))
}

/// A title underlined inside comments: `# Compute kernel` over `# -----`.
fn comment_heading(lines: &[&str], kinds: &[Kind], at: usize) -> Option<String> {
    if kinds[at] != Kind::Comment || kinds.get(at + 1) != Some(&Kind::Comment) {
        return None;
    }
    let title = lines[at].strip_prefix('#')?.trim();
    let under = lines[at + 1].strip_prefix('#')?.trim();
    let is_rule = under.len() >= 4 && under.bytes().all(|byte| matches!(byte, b'-' | b'=' | b'~' | b'^'));
    (is_rule && title.len() > 2 && title.starts_with(|first: char| first.is_alphanumeric() || first == '`')).then(|| title.replace('`', ""))
}

fn symbol(line: &str) -> Option<(bool, String)> {
    let line = line.trim_start();
    let (is_class, rest) = [("def ", false), ("async def ", false), ("class ", true)]
        .into_iter()
        .find_map(|(start, is_class)| Some((is_class, line.strip_prefix(start)?.trim_start())))?;
    let name = &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())];
    (!name.is_empty()).then(|| (is_class, name.to_owned()))
}

fn kinds(lines: &[&str]) -> Vec<Kind> {
    let mut scan = Scan::default();
    lines
        .iter()
        .map(|line| {
            let text = line.trim_start();
            let kind = if scan.is_inside() {
                Kind::Inside
            } else if text.is_empty() {
                Kind::Blank
            } else if text.starts_with('#') {
                Kind::Comment
            } else if text.starts_with('@') {
                Kind::Decorator
            } else if symbol(text).is_some() {
                Kind::Definition
            } else {
                Kind::Statement
            };
            scan.line(line);
            kind
        })
        .collect()
}

/// What is open at a line's end.
#[derive(Default)]
struct Scan {
    quote: Option<&'static str>,
    brackets: usize,
    continued: bool,
}

impl Scan {
    fn is_inside(&self) -> bool {
        self.quote.is_some() || self.brackets > 0 || self.continued
    }

    fn line(&mut self, line: &str) {
        // A definition at the left margin inside brackets means that a bracket was misread.
        if self.quote.is_none() && self.brackets > 0 && (line.starts_with("def ") || line.starts_with("class ") || line.starts_with('@')) {
            self.brackets = 0;
        }
        let bytes = line.as_bytes();
        let mut at = 0;
        self.continued = false;
        while at < bytes.len() {
            if let Some(quote) = self.quote {
                if bytes[at] == b'\\' {
                    at += 2;
                } else if bytes[at..].starts_with(quote.as_bytes()) {
                    self.quote = None;
                    at += quote.len();
                } else {
                    at += 1;
                }
                continue;
            }
            match bytes[at] {
                b'#' => return,
                b'(' | b'[' | b'{' => self.brackets += 1,
                b')' | b']' | b'}' => self.brackets = self.brackets.saturating_sub(1),
                b'\\' if at + 1 == bytes.len() => self.continued = true,
                b'"' | b'\'' => {
                    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| bytes[at..].starts_with(quote.as_bytes()));
                    at += quote.map_or(0, |quote| quote.len() - 1);
                    self.quote = quote;
                }
                _ => {}
            }
            at += 1;
        }
        // Only triple quotes span lines.
        self.quote = self.quote.filter(|quote| quote.len() == 3);
    }
}

fn breaks(lines: &[&str], kinds: &[Kind]) -> Vec<Break> {
    let mut breaks = vec![Break::None; lines.len()];
    for i in 1..lines.len() {
        let (before, here) = (kinds[i - 1], kinds[i]);
        breaks[i] = match here {
            Kind::Blank | Kind::Inside => {
                if is_blank(lines[i - 1]) && !is_blank(lines[i]) {
                    Break::Poor
                } else {
                    Break::None
                }
            }
            Kind::Definition | Kind::Decorator if !matches!(before, Kind::Decorator | Kind::Comment | Kind::Inside) => Break::Good,
            Kind::Comment if lines[i].starts_with("# %%") || lines[i].starts_with("# In[") => Break::Good,
            _ if before == Kind::Blank && indent(lines[i]) == 0 => Break::Good,
            _ if before == Kind::Blank => Break::Fair,
            // Statements at a function's first indentation, without blank lines between them.
            Kind::Comment | Kind::Statement if indent(lines[i]) <= 4 && indent(lines[i - 1]) > indent(lines[i]) => Break::Fair,
            Kind::Statement if before != Kind::Decorator && indent(lines[i]) <= 8 => Break::Poor,
            _ => Break::None,
        };
    }
    breaks
}
