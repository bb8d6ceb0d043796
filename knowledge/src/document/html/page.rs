//! A page's text while it is walked over.

use crate::document::lines::LineNumbers;
use crate::document::numbered::Numbered;

/// How far lists are indented; deeper ones are as deep as this.
const MAX_INDENT: usize = 6;

/// Less text than this is not a page's main part, whatever its tags say.
const MIN_MAIN: usize = 20;

/// What an element says about the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Its content is what the page is about.
    Main,
    /// Nothing.
    Other,
}

/// What a line is, which says how it is joined to its neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Words, with blanks folded and line breaks kept.
    #[default]
    Prose,
    /// A heading or a table row: one line, whatever breaks are in it.
    OneLine,
    /// Characters as they are.
    Code,
    /// The page's title, which is not part of the text.
    Title,
}

/// A line that is done.
#[derive(Debug)]
enum Piece {
    Line { text: String, original: u32, main: bool, verbatim: bool },
    Gap,
}

#[derive(Debug, Default)]
pub(super) struct Page {
    pieces: Vec<Piece>,
    /// The line at hand, and the line of the original on which it began.
    current: String,
    began: Option<u32>,
    mode: Mode,
    /// How many lists are open.
    lists: usize,
    /// How many main parts are open, by the name of their element and how many of that name are open inside.
    main: Vec<(String, usize)>,
    title: String,
    /// The language that an element around the next code block names.
    language: Option<String>,
    has_heading: bool,
    /// The line of the original up to which the walk has come.
    last_line: u32,
}

impl Page {
    pub(super) fn text(&mut self, text: &str, line: u32) {
        match self.mode {
            Mode::Title => self.title.push_str(text),
            Mode::Code => {
                for (index, part) in text.split('\n').enumerate() {
                    let line = line.saturating_add(u32::try_from(index).unwrap_or(0));
                    if index > 0 {
                        self.flush_code();
                    }
                    self.began.get_or_insert(line);
                    self.current.push_str(part.trim_end_matches('\r'));
                    self.last_line = line;
                }
            }
            Mode::Prose | Mode::OneLine => {
                for (index, part) in text.split('\n').enumerate() {
                    let line = line.saturating_add(u32::try_from(index).unwrap_or(0));
                    if index > 0 {
                        if self.mode == Mode::Prose && self.has_words() {
                            self.flush();
                        } else {
                            self.blank();
                        }
                    }
                    self.words(part, line);
                    self.last_line = line;
                }
            }
        }
    }

    fn words(&mut self, part: &str, line: u32) {
        if part.starts_with(char::is_whitespace) {
            self.blank();
        }
        for (index, word) in part.split_whitespace().enumerate() {
            if index > 0 {
                self.blank();
            }
            self.began.get_or_insert(line);
            self.current.push_str(word);
        }
        if part.ends_with(char::is_whitespace) {
            self.blank();
        }
    }

    fn blank(&mut self) {
        if !self.current.is_empty() && !self.current.ends_with(' ') {
            self.current.push(' ');
        }
    }

    /// Whether there is more in the line than the mark of an item.
    fn has_words(&self) -> bool {
        !matches!(self.current.trim(), "" | "-" | "|")
    }

    fn push(&mut self, text: String, verbatim: bool) {
        let original = self.began.take().unwrap_or(self.last_line.max(1));
        self.pieces.push(Piece::Line { text, original, main: !self.main.is_empty(), verbatim });
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.current);
        if matches!(line.trim(), "" | "-") {
            self.began = None;
        } else {
            self.push(line, false);
        }
    }

    fn flush_code(&mut self) {
        let line = std::mem::take(&mut self.current);
        self.push(line, true);
    }

    /// The line is over, unless it is one that holds everything up to its own end.
    pub(super) fn line_ends(&mut self) {
        match self.mode {
            Mode::Prose => self.flush(),
            Mode::OneLine => self.blank(),
            Mode::Code => {}
            Mode::Title => self.title_ends(),
        }
    }

    /// The paragraph, or whatever it was, is over.
    pub(super) fn block_ends(&mut self) {
        if self.mode == Mode::OneLine && self.current.starts_with('|') {
            self.blank();
            return;
        }
        if self.mode == Mode::OneLine {
            self.mode = Mode::Prose;
        }
        if self.mode == Mode::Prose {
            // A paragraph in an item belongs to its mark.
            if self.current.trim() == "-" {
                return;
            }
            self.flush();
            self.pieces.push(Piece::Gap);
        }
    }

    pub(super) fn heading(&mut self, level: usize, line: u32) {
        if matches!(self.mode, Mode::Code) {
            return;
        }
        self.mode = Mode::Prose;
        self.flush();
        self.pieces.push(Piece::Gap);
        self.has_heading |= level == 1;
        self.mode = Mode::OneLine;
        self.current = format!("{} ", "#".repeat(level));
        self.began = Some(line);
    }

    pub(super) fn title_begins(&mut self) {
        if self.title.is_empty() && self.mode == Mode::Prose {
            self.mode = Mode::Title;
        }
    }

    pub(super) fn title_ends(&mut self) {
        if self.mode == Mode::Title {
            self.mode = Mode::Prose;
        }
    }

    pub(super) fn list_begins(&mut self) {
        self.line_ends();
        if self.lists == 0 && self.mode == Mode::Prose {
            self.pieces.push(Piece::Gap);
        }
        self.lists += 1;
    }

    pub(super) fn list_ends(&mut self) {
        self.line_ends();
        self.lists = self.lists.saturating_sub(1);
        if self.lists == 0 && self.mode == Mode::Prose {
            self.pieces.push(Piece::Gap);
        }
    }

    pub(super) fn item(&mut self, line: u32) {
        self.line_ends();
        if self.mode == Mode::Prose {
            self.current = format!("{}- ", "  ".repeat(self.lists.clamp(1, MAX_INDENT) - 1));
            self.began = Some(line);
        }
    }

    pub(super) fn row_begins(&mut self, line: u32) {
        if self.mode == Mode::Prose {
            self.flush();
            self.mode = Mode::OneLine;
            "|".clone_into(&mut self.current);
            self.began = Some(line);
        }
    }

    pub(super) fn cell(&mut self) {
        if self.mode == Mode::OneLine && self.current.starts_with('|') {
            self.current.truncate(self.current.trim_end().len());
            self.current.push_str(if self.current.len() > 1 { " | " } else { " " });
        } else {
            self.line_ends();
        }
    }

    pub(super) fn row_ends(&mut self) {
        if self.mode == Mode::OneLine && self.current.starts_with('|') {
            self.mode = Mode::Prose;
            if self.current.contains(|character: char| !"| ".contains(character)) {
                self.current.truncate(self.current.trim_end().len());
                self.current.push_str(" |");
                self.flush();
            } else {
                self.current.clear();
                self.began = None;
            }
        }
    }

    pub(super) fn inline_code(&mut self) {
        if matches!(self.mode, Mode::Prose | Mode::OneLine) {
            self.current.push('`');
        }
    }

    pub(super) fn language_follows(&mut self, language: String) {
        self.language = Some(language);
    }

    pub(super) fn code_begins(&mut self, language: &str, line: u32) {
        if matches!(self.mode, Mode::Code | Mode::Title) {
            return;
        }
        // A table is often nothing but line numbers beside code.
        self.mode = Mode::Prose;
        if !self.has_words() {
            self.current.clear();
        }
        self.flush();
        self.pieces.push(Piece::Gap);
        let around = self.language.take().filter(|language| !matches!(language.as_str(), "default" | "none" | "text" | "notranslate"));
        let language = if language.is_empty() { around.unwrap_or_default() } else { language.to_owned() };
        self.began = Some(line);
        self.push(format!("```{language}"), true);
        self.mode = Mode::Code;
    }

    pub(super) fn code_ends(&mut self) {
        if self.mode != Mode::Code {
            return;
        }
        if self.current.trim().is_empty() {
            self.current.clear();
            self.began = None;
        } else {
            self.flush_code();
        }
        self.began = Some(self.last_line.max(1));
        self.push("```".to_owned(), true);
        self.mode = Mode::Prose;
        self.pieces.push(Piece::Gap);
    }

    /// An element begins, after what it does to lines.
    pub(super) fn enter(&mut self, role: Role, name: &str) {
        if role == Role::Main {
            self.main.push((name.to_owned(), 1));
        } else if let Some((_, open)) = self.main.last_mut().filter(|(element, _)| element == name) {
            *open += 1;
        }
    }

    /// An element ends, after what that does to lines.
    pub(super) fn leave(&mut self, name: &str) {
        if let Some((_, open)) = self.main.last_mut().filter(|(element, _)| element == name) {
            *open -= 1;
            if *open == 0 {
                self.main.pop();
            }
        }
    }

    pub(super) fn finish(mut self) -> (String, LineNumbers) {
        match self.mode {
            Mode::Code => self.code_ends(),
            Mode::OneLine if self.current.starts_with('|') => self.row_ends(),
            _ => self.flush(),
        }
        let main: usize =
            self.pieces.iter().map(|piece| if let Piece::Line { text, main: true, .. } = piece { text.len() } else { 0 }).sum();
        let mut out = Numbered::default();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.has_heading && !title.is_empty() {
            out.line(&format!("# {title}"), 1);
            out.gap();
        }
        for piece in self.pieces {
            match piece {
                Piece::Line { main: false, .. } if main >= MIN_MAIN => {}
                Piece::Line { text, original, verbatim: true, .. } => out.verbatim(&text, original),
                Piece::Line { text, original, .. } => out.line(&text, original),
                Piece::Gap => out.gap(),
            }
        }
        out.finish()
    }
}
