//! Code, line by line, without comments and strings.

use super::Dialect;

/// What matters of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    /// Code between the other marks.
    Code(&'a str),
    /// `{`.
    Open,
    /// `}`; whether nothing stands before it in its line.
    Close { leads: bool },
    /// `;` outside of parentheses.
    End,
}

/// What is open at a line's end.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Code,
    Comment {
        depth: usize,
    },
    /// A raw string, up to this.
    Raw(String),
}

/// Reads a file's lines one after the other.
pub(super) struct Scanner {
    dialect: Dialect,
    state: State,
    parentheses: usize,
}

impl Scanner {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, state: State::Code, parentheses: 0 }
    }

    /// Whether the next line begins outside of comments and raw strings.
    pub(super) fn is_outside(&self) -> bool {
        self.state == State::Code
    }

    pub(super) fn line<'a>(&mut self, line: &'a str) -> Vec<Mark<'a>> {
        let bytes = line.as_bytes();
        let mut marks = Vec::new();
        let mut at = 0;
        let mut code = 0;
        let mut leads = true;
        while at < bytes.len() {
            match &mut self.state {
                State::Comment { depth } => {
                    if bytes[at..].starts_with(b"*/") {
                        *depth -= 1;
                        at += 2;
                        if *depth == 0 {
                            self.state = State::Code;
                        }
                    } else if self.dialect == Dialect::Rust && bytes[at..].starts_with(b"/*") {
                        *depth += 1;
                        at += 2;
                    } else {
                        at += 1;
                    }
                    code = at;
                    continue;
                }
                State::Raw(end) => {
                    if bytes[at..].starts_with(end.as_bytes()) {
                        at += end.len();
                        self.state = State::Code;
                    } else {
                        at += 1;
                    }
                    code = at;
                    continue;
                }
                State::Code => {}
            }
            let here = bytes[at];
            let mut mark = |marks: &mut Vec<Mark<'a>>, to: usize, next: usize| {
                if let Some(text) = line.get(code..to).filter(|text| !text.is_empty()) {
                    marks.push(Mark::Code(text));
                }
                code = next;
            };
            match here {
                b'/' if bytes[at..].starts_with(b"//") => {
                    mark(&mut marks, at, bytes.len());
                    break;
                }
                b'/' if bytes[at..].starts_with(b"/*") => {
                    mark(&mut marks, at, at + 2);
                    self.state = State::Comment { depth: 1 };
                    at += 2;
                    continue;
                }
                b'"' => {
                    mark(&mut marks, at, at);
                    if let Some((end, length)) = self.raw(line, at) {
                        self.state = State::Raw(end);
                        at += length;
                    } else {
                        at = string_end(bytes, at, b'"');
                    }
                    code = at;
                    leads = false;
                    continue;
                }
                b'\'' => {
                    if let Some(end) = self.character_end(bytes, at) {
                        mark(&mut marks, at, end);
                        at = end;
                        continue;
                    }
                }
                b'(' => self.parentheses += 1,
                b')' => self.parentheses = self.parentheses.saturating_sub(1),
                b'{' | b'}' => {
                    mark(&mut marks, at, at + 1);
                    marks.push(if here == b'{' { Mark::Open } else { Mark::Close { leads } });
                    // Braces inside parentheses are lambdas' and initialisers'; those that lead a line end what was misread.
                    if leads && here == b'}' {
                        self.parentheses = 0;
                    }
                }
                b';' if self.parentheses == 0 => {
                    mark(&mut marks, at, at + 1);
                    marks.push(Mark::End);
                }
                _ => {}
            }
            leads &= here.is_ascii_whitespace();
            at += 1;
        }
        if self.state == State::Code
            && let Some(text) = line.get(code..).filter(|text| !text.trim().is_empty())
        {
            marks.push(Mark::Code(text));
        }
        marks
    }

    /// The end of the raw string whose quote is at `at`, and how long its beginning is.
    fn raw(&self, line: &str, at: usize) -> Option<(String, usize)> {
        let before = &line[..at];
        match self.dialect {
            Dialect::C => {
                let is_raw = before.ends_with('R') && !before[..at - 1].ends_with(|c: char| c.is_alphanumeric() && !"uUL8".contains(c));
                let delimiter = line[at + 1..].split_once('(').filter(|(name, _)| is_raw && name.len() <= 16)?.0;
                Some((format!("){delimiter}\""), delimiter.len() + 2))
            }
            Dialect::Rust => {
                let hashes = before.len() - before.trim_end_matches('#').len();
                let is_raw = before[..at - hashes].ends_with('r');
                is_raw.then(|| (format!("\"{}", "#".repeat(hashes)), 1))
            }
        }
    }

    /// The end of a character, if the quote at `at` begins one and not a lifetime or a digit's separator.
    fn character_end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        if at > 0 && bytes[at - 1].is_ascii_alphanumeric() && self.dialect == Dialect::C {
            return None;
        }
        match (bytes.get(at + 1)?, bytes.get(at + 2)) {
            (b'\\', _) => Some(string_end(bytes, at, b'\'')),
            (_, Some(b'\'')) => Some(at + 3),
            (first, _) if !first.is_ascii() => Some(string_end(bytes, at, b'\'')),
            _ => None,
        }
    }
}

/// Behind the string that begins at `at`; strings do not span lines, unless by a backslash, which is rare enough.
fn string_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            here if here == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
