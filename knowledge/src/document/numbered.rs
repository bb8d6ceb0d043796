//! Text put together line by line, each with the line of the original that it is from.

use super::lines::LineNumbers;

/// A text under construction. Blank lines neither begin nor end it and never stand in pairs.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    text: String,
    lines: Vec<u32>,
    /// A blank line is due before the next one.
    gap: bool,
}

impl Numbered {
    /// Adds a line; what is blank becomes a gap.
    pub(super) fn line(&mut self, text: &str, original: u32) {
        if text.trim().is_empty() {
            self.gap();
        } else {
            self.verbatim(text.trim_end(), original);
        }
    }

    /// Adds a line as it is, blank or not: code.
    pub(super) fn verbatim(&mut self, text: &str, original: u32) {
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            self.text.push('\n');
            self.lines.push(original);
        }
        self.text.push_str(text);
        self.text.push('\n');
        self.lines.push(original);
    }

    /// Leaves a blank line before what follows.
    pub(super) fn gap(&mut self) {
        self.gap = true;
    }

    pub(super) fn finish(self) -> (String, LineNumbers) {
        (self.text, LineNumbers::From(self.lines))
    }
}
