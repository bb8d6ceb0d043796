//! Markdown: a section a heading, fenced code kept whole where its size allows it.

use super::{Break, Gather, Outline, Section, is_blank};

/// A heading path being followed down a text.
#[derive(Default)]
pub(super) struct Path {
    titles: Vec<(usize, String)>,
}

impl Path {
    /// Goes on under a new heading and gives the path to it.
    pub(super) fn enter(&mut self, level: usize, title: String) -> Vec<String> {
        self.titles.retain(|(above, _)| *above < level);
        self.titles.push((level, title));
        self.titles.iter().map(|(_, title)| title.clone()).collect()
    }
}

pub(super) fn outline(lines: &[&str]) -> Outline {
    let mut path = Path::default();
    let front = front_matter(lines);
    let top = title_of(&lines[..front]).map(|title| path.enter(0, title)).unwrap_or_default();
    let mut sections = vec![section(top, 0, lines.len())];
    let mut breaks = vec![Break::None; lines.len()];
    let mut fence: Option<&str> = None;
    for (i, line) in lines.iter().enumerate().skip(front) {
        if let Some(open) = fence {
            if closes(line, open) {
                fence = None;
            } else if i > 0 && is_blank(lines[i - 1]) {
                breaks[i] = Break::Poor;
            }
            continue;
        }
        if i > 0 && is_blank(lines[i - 1]) && !is_blank(line) {
            breaks[i] = paragraph_break(lines, i);
        }
        fence = opens(line);
        let titled = atx(line).or_else(|| setext(lines, i));
        if let Some((level, title)) = titled.filter(|_| fence.is_none()) {
            begin(&mut sections, path.enter(level, title), i, lines);
        }
    }
    Outline { sections, breaks }
}

fn section(heading: Vec<String>, start: usize, end: usize) -> Section {
    Section { heading, symbols: Vec::new(), start, end, shared: 0, gather: Gather::Never }
}

/// Ends the last section before line `start` and begins another there. A heading with nothing under it but further headings belongs
/// to the first of them.
pub(super) fn begin(sections: &mut Vec<Section>, heading: Vec<String>, start: usize, lines: &[&str]) {
    let Some(last) = sections.last_mut() else { return };
    let said = lines[last.start..start].iter().filter(|line| !is_blank(line)).count();
    let is_bare = said == 0 || (said <= 2 && !last.heading.is_empty() && heading.starts_with(&last.heading));
    if is_bare && last.start < start && heading.len() >= last.heading.len() && (said == 0 || heading.len() > last.heading.len()) {
        last.heading = heading;
    } else {
        last.end = start;
        sections.push(section(heading, start, lines.len()));
    }
}

/// A list's items and code after its introduction are worse places for a cut than the beginning of a paragraph.
fn paragraph_break(lines: &[&str], at: usize) -> Break {
    let line = lines[at];
    let introduced = lines[..at].iter().rev().find(|line| !is_blank(line)).is_some_and(|line| line.trim_end().ends_with(':'));
    if introduced || line.starts_with("   ") || line.starts_with('\t') { Break::Poor } else { Break::Fair }
}

/// The fence that a line opens.
fn opens(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(sign).len();
    // An info string with backticks is inline code.
    (length >= 3 && !(sign == '`' && text[length..].contains('`'))).then(|| &text[..length])
}

fn closes(line: &str, open: &str) -> bool {
    let text = line.trim();
    text.len() >= open.len() && text.starts_with(open) && text.chars().all(|sign| open.starts_with(sign))
}

fn atx(line: &str) -> Option<(usize, String)> {
    let line = line.strip_prefix("   ").unwrap_or(line).trim_start_matches(' ');
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..)?.strip_prefix([' ', '\t'])?;
    let title = plain(title.trim().trim_end_matches('#'));
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

/// A heading that is underlined in the next line.
fn setext(lines: &[&str], at: usize) -> Option<(usize, String)> {
    let (line, under) = (lines[at], lines.get(at + 1)?.trim_end());
    let level = match under.bytes().next()? {
        b'=' if under.bytes().all(|byte| byte == b'=') => 1,
        b'-' if under.bytes().all(|byte| byte == b'-') => 2,
        _ => return None,
    };
    let is_text = line.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '`' | '*' | '_' | '('));
    let is_alone = at == 0 || is_blank(lines[at - 1]);
    (under.len() >= 2 && is_text && is_alone && !line.contains('|')).then(|| (level, plain(line.trim())))
}

/// Without anchors, marks and images.
fn plain(title: &str) -> String {
    let title = title.split(" {#").next().unwrap_or(title);
    title.split("<a ").next().unwrap_or(title).replace(['`', '*'], "").trim().to_owned()
}

/// How many lines of YAML or TOML stand at the top.
fn front_matter(lines: &[&str]) -> usize {
    let Some(mark) = lines.first().map(|line| line.trim_end()).filter(|line| matches!(*line, "---" | "+++")) else { return 0 };
    lines.iter().skip(1).position(|line| line.trim_end() == mark).map_or(0, |end| end + 2)
}

fn title_of(front: &[&str]) -> Option<String> {
    let line = front.iter().find_map(|line| line.strip_prefix("title"))?;
    let title = line.trim_start().strip_prefix([':', '='])?.trim().trim_matches(['"', '\'']).trim();
    (!title.is_empty()).then(|| title.to_owned())
}
