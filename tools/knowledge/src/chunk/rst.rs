//! reStructuredText: a section an underlined title, directives and literal blocks kept with what introduces them.

use super::markdown::{Path, begin};
use super::{Break, Gather, Outline, Section, indent, is_blank};

/// Directives that document a symbol.
const DEFINING: [&str; 12] =
    ["function", "class", "method", "macro", "struct", "enum", "type", "member", "data", "autofunction", "autoclass", "doxygenfunction"];

pub(super) fn outline(lines: &[&str]) -> Outline {
    let mut path = Path::default();
    // Levels are what the text makes them: the first kind of line under a title is the highest.
    let mut levels: Vec<(char, bool)> = Vec::new();
    let whole = Section { heading: Vec::new(), symbols: Vec::new(), start: 0, end: lines.len(), shared: 0, gather: Gather::Never };
    let mut sections = vec![whole];
    let mut breaks = vec![Break::None; lines.len()];
    for (i, line) in lines.iter().enumerate() {
        if i > 0 && is_blank(lines[i - 1]) && !is_blank(line) {
            breaks[i] = match indent(line) {
                0 if follows_introduction(lines, i) => Break::Poor,
                0 => Break::Fair,
                _ => Break::Poor,
            };
        }
        if let Some((sign, overlined)) = underlined(lines, i) {
            let style = (sign, overlined);
            let level = levels.iter().position(|known| *known == style).unwrap_or_else(|| {
                levels.push(style);
                levels.len() - 1
            });
            let start = start_of(lines, i - usize::from(overlined));
            begin(&mut sections, path.enter(level, line.trim().replace('`', "")), start, lines);
        } else if let Some(symbol) = defined(line)
            && let Some(section) = sections.last_mut()
        {
            breaks[i] = Break::Good;
            section.symbols.push(symbol);
        }
    }
    Outline { sections, breaks }
}

/// The sign under a title in line `at`, and whether it stands above it as well.
fn underlined(lines: &[&str], at: usize) -> Option<(char, bool)> {
    let title = lines[at].trim_end();
    let under = lines.get(at + 1)?.trim_end();
    let sign = rule(under)?;
    let is_title = !title.trim().is_empty() && rule(title).is_none();
    let overlined = at > 0 && lines[at - 1].trim_end() == under && is_title;
    let stands_alone = overlined || at == 0 || is_blank(lines[at - 1]) || lines[at - 1].starts_with(".. ");
    // Shorter lines are tables' and mistakes that docutils forgives.
    let is_long = under.chars().count() + 2 >= title.trim().chars().count();
    (is_title && stands_alone && is_long && (overlined || indent(title) == 0)).then_some((sign, overlined))
}

fn rule(line: &str) -> Option<char> {
    let sign = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|other| other == sign)).then_some(sign)
}

/// Labels and comments directly above a title belong to it.
fn start_of(lines: &[&str], title: usize) -> usize {
    let mut start = title;
    while start > 0 && (is_blank(lines[start - 1]) || lines[start - 1].starts_with(".. _")) {
        start -= 1;
    }
    start
}

fn follows_introduction(lines: &[&str], at: usize) -> bool {
    let is_directive = lines[at].starts_with(".. code") || lines[at].starts_with(".. math");
    is_directive || lines[..at].iter().rev().find(|line| !is_blank(line)).is_some_and(|line| indent(line) == 0 && line.ends_with(':'))
}

/// The symbol that a directive documents.
fn defined(line: &str) -> Option<String> {
    let (name, signature) = line.trim_start().strip_prefix(".. ")?.split_once("::")?;
    let name = name.rsplit(':').next()?;
    if !DEFINING.contains(&name) {
        return None;
    }
    let before = signature.split('(').next()?.trim();
    let symbol = before.rsplit([' ', '*', '&']).next()?;
    (!symbol.is_empty()).then(|| symbol.to_owned())
}
