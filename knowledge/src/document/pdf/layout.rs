//! From drawn strings to lines of text, by where they stand on the page.

use std::collections::HashMap;

use lopdf::Object;

use super::font::Font;
use super::number;

/// A step down or up that is a new line, in parts of the font's size.
const LINE: f32 = 0.4;

/// A step down that is a new paragraph.
const PARAGRAPH: f32 = 1.9;

/// A gap that is a blank between words.
const BLANK: f32 = 0.18;

/// Nothing that people read has more on a page.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// An affine map: x' = a x + c y + e, y' = b x + d y + f.
type Matrix = [f32; 6];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// `first`, then `second`.
fn compose(first: Matrix, second: Matrix) -> Matrix {
    let turned = |x: f32, y: f32| [x * second[0] + y * second[2], x * second[1] + y * second[3]];
    let ([right_x, right_y], [up_x, up_y], [to_x, to_y]) =
        (turned(first[0], first[1]), turned(first[2], first[3]), turned(first[4], first[5]));
    [right_x, right_y, up_x, up_y, to_x + second[4], to_y + second[5]]
}

pub(super) struct Layout<'a> {
    fonts: &'a HashMap<&'a [u8], Font<'a>>,
    font: Option<&'a Font<'a>>,
    size: f32,
    leading: f32,
    character_spacing: f32,
    word_spacing: f32,
    page: Matrix,
    saved: Vec<Matrix>,
    line: Matrix,
    place: Matrix,
    /// Where the last string ended, and how tall it was on the page.
    end: Option<(f32, f32, f32)>,
    text: String,
}

impl<'a> Layout<'a> {
    pub(super) fn new(fonts: &'a HashMap<&'a [u8], Font<'a>>) -> Self {
        Self {
            fonts,
            font: None,
            size: 1.0,
            leading: 0.0,
            character_spacing: 0.0,
            word_spacing: 0.0,
            page: IDENTITY,
            saved: Vec::new(),
            line: IDENTITY,
            place: IDENTITY,
            end: None,
            text: String::new(),
        }
    }

    /// One operation of the page's content; those that draw no text are passed over.
    pub(super) fn operation(&mut self, operator: &str, operands: &[Object]) {
        let numbers: Vec<f32> = operands.iter().filter_map(number).collect();
        match (operator, numbers.as_slice()) {
            ("q", _) => self.saved.push(self.page),
            ("Q", _) => self.page = self.saved.pop().unwrap_or(self.page),
            ("cm", numbers) => {
                if let Ok(matrix) = Matrix::try_from(numbers) {
                    self.page = compose(matrix, self.page);
                }
            }
            ("BT", _) => self.set_line(IDENTITY),
            ("Tm", numbers) => {
                if let Ok(matrix) = Matrix::try_from(numbers) {
                    self.set_line(matrix);
                }
            }
            ("Td", &[x, y]) => self.set_line(compose([1.0, 0.0, 0.0, 1.0, x, y], self.line)),
            ("TD", &[x, y]) => {
                self.leading = -y;
                self.set_line(compose([1.0, 0.0, 0.0, 1.0, x, y], self.line));
            }
            ("T*", _) => self.next_line(),
            ("TL", &[leading]) => self.leading = leading,
            ("Tc", &[spacing]) => self.character_spacing = spacing,
            ("Tw", &[spacing]) => self.word_spacing = spacing,
            ("Tf", &[size]) => {
                self.size = size;
                self.font = operands.first().and_then(|name| name.as_name().ok()).and_then(|name| self.fonts.get(name));
            }
            ("Tj", _) => self.strings(operands),
            ("TJ", _) => {
                if let Some(Object::Array(parts)) = operands.first() {
                    self.strings(parts);
                }
            }
            ("'" | "\"", _) => {
                self.next_line();
                self.strings(operands.get(operands.len().saturating_sub(1)..).unwrap_or_default());
            }
            _ => {}
        }
    }

    fn set_line(&mut self, line: Matrix) {
        self.line = line;
        self.place = line;
    }

    fn next_line(&mut self) {
        self.set_line(compose([1.0, 0.0, 0.0, 1.0, 0.0, -self.leading], self.line));
    }

    fn advance(&mut self, by: f32) {
        self.place = compose([1.0, 0.0, 0.0, 1.0, by, 0.0], self.place);
    }

    /// Strings, and between them steps to the left in thousandths of the font's size.
    fn strings(&mut self, parts: &[Object]) {
        for part in parts {
            match part {
                Object::String(bytes, _) => self.string(bytes),
                step => {
                    if let Some(step) = number(step) {
                        self.advance(-step / 1000.0 * self.size);
                    }
                }
            }
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        let Some(font) = self.font else { return };
        let text = font.text(bytes);
        let (width, count) = font.width(bytes);
        let at = compose(self.place, self.page);
        let height = (self.size * at[2].hypot(at[3])).abs().max(0.01);
        self.join(at[4], at[5], height, &text);
        let blanks = text.matches(' ').count();
        self.advance(width * self.size + self.character_spacing * count as f32 + self.word_spacing * blanks as f32);
        let to = compose(self.place, self.page);
        self.end = Some((to[4], to[5], height));
        if self.text.len() < MAX_PAGE_BYTES {
            self.text.extend(text.chars().map(|character| if character.is_control() { ' ' } else { character }));
        }
    }

    /// Puts between two strings what lies between them on the page.
    fn join(&mut self, x: f32, y: f32, height: f32, next: &str) {
        let Some((end_x, end_y, before)) = self.end else { return };
        let size = height.max(before);
        let (right, down) = (x - end_x, (y - end_y).abs());
        if down > LINE * size || right < -2.0 * size {
            self.text.push('\n');
            if down > PARAGRAPH * size {
                self.text.push('\n');
            }
        } else if right > BLANK * size && !self.text.ends_with([' ', '\n']) && !next.starts_with(' ') {
            self.text.push(' ');
        }
    }

    /// The page's lines. What would read as a heading or a fence in Markdown is escaped.
    pub(super) fn finish(self) -> String {
        let mut page = String::new();
        for line in self.text.lines().map(str::trim) {
            if line.is_empty() && (page.is_empty() || page.ends_with("\n\n")) {
                continue;
            }
            if line.starts_with('#') || line.starts_with("```") {
                page.push('\\');
            }
            page.push_str(line);
            page.push('\n');
        }
        page
    }
}
