//! What a page's fonts say about bytes: which text they are and how wide they print.

use std::collections::{BTreeMap, HashMap};

use lopdf::{Dictionary, Document, Encoding, Object, ObjectId};

use super::{MAX_STREAM_BYTES, number};

/// The width of what no table lists, in thousandths of the font's size: that of a letter in most faces.
const USUAL_WIDTH: f32 = 500.0;

/// The fonts of a page by the name that its content uses.
pub(super) struct Fonts<'a> {
    document: &'a Document,
    by_name: BTreeMap<Vec<u8>, Dictionary>,
}

/// One of them.
pub(super) struct Font<'a> {
    encoding: Option<Encoding<'a>>,
    widths: HashMap<u16, f32>,
    usual: f32,
    /// Two bytes to a character.
    is_wide: bool,
}

impl<'a> Fonts<'a> {
    pub(super) fn of(document: &'a Document, page: ObjectId) -> Self {
        let fonts = document.get_page_fonts(page).unwrap_or_default();
        let by_name = fonts.into_iter().map(|(name, font)| (name, with_unicode_first(font))).collect();
        Self { document, by_name }
    }

    /// Each of them, read once: pages change their font at every other word.
    pub(super) fn read(&self) -> HashMap<&[u8], Font<'_>> {
        self.by_name.iter().map(|(name, font)| (name.as_slice(), self.font(font))).collect()
    }

    fn font<'b>(&'b self, font: &'b Dictionary) -> Font<'b> {
        let encoding = font.get_font_encoding_with_limit(self.document, MAX_STREAM_BYTES).ok();
        let is_wide = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type0");
        let (widths, usual) = if is_wide { self.wide(font) } else { (self.narrow(font), USUAL_WIDTH) };
        Font { encoding, widths, usual, is_wide }
    }

    /// `/FirstChar` and `/Widths` of a font with one byte to a character.
    fn narrow(&self, font: &Dictionary) -> HashMap<u16, f32> {
        let first = font.get_deref(b"FirstChar", self.document).and_then(Object::as_i64).unwrap_or(0);
        let widths = font.get_deref(b"Widths", self.document).and_then(Object::as_array);
        let first = u16::try_from(first).unwrap_or(0);
        widths.map(|widths| (first..=255).zip(widths.iter().filter_map(number)).collect()).unwrap_or_default()
    }

    /// `/DW` and `/W` of the descendant of a font with two bytes to a character.
    fn wide(&self, font: &Dictionary) -> (HashMap<u16, f32>, f32) {
        let mut widths = HashMap::new();
        let descendant = font.get_deref(b"DescendantFonts", self.document).and_then(Object::as_array).ok();
        let descendant = descendant.and_then(|fonts| self.document.dereference(fonts.first()?).ok()?.1.as_dict().ok());
        let Some(descendant) = descendant else { return (widths, 1000.0) };
        let usual = descendant.get_deref(b"DW", self.document).ok().and_then(number).unwrap_or(1000.0);
        let Ok(listed) = descendant.get_deref(b"W", self.document).and_then(Object::as_array) else { return (widths, usual) };
        let mut parts = listed.iter();
        while let (Some(first), Some(next)) = (parts.next().and_then(code), parts.next()) {
            match (self.document.dereference(next), next) {
                (Ok((_, Object::Array(each))), _) => widths.extend((first..).zip(each.iter().filter_map(number))),
                (_, last) => {
                    let (Some(last), Some(width)) = (code(last), parts.next().and_then(number)) else { break };
                    widths.extend((first..=last).map(|code| (code, width)));
                }
            }
        }
        (widths, usual)
    }
}

impl Font<'_> {
    /// The text of a string.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        match &self.encoding {
            Some(encoding) => Document::decode_text(encoding, bytes).unwrap_or_default(),
            None => bytes.iter().filter(|byte| byte.is_ascii()).map(|byte| char::from(*byte)).collect(),
        }
    }

    /// How wide a string prints, in parts of the font's size, and how many characters it has.
    pub(super) fn width(&self, bytes: &[u8]) -> (f32, usize) {
        let width = |code: u16| self.widths.get(&code).copied().unwrap_or(self.usual);
        let (sum, count) = if self.is_wide {
            (bytes.chunks_exact(2).map(|pair| width(u16::from_be_bytes([pair[0], pair[1]]))).sum::<f32>(), bytes.len() / 2)
        } else {
            (bytes.iter().map(|byte| width(u16::from(*byte))).sum::<f32>(), bytes.len())
        };
        (sum / 1000.0, count)
    }
}

/// A font whose map to Unicode is asked before its encoding: glyphs of embedded fonts often have names that mean nothing.
fn with_unicode_first(font: &Dictionary) -> Dictionary {
    let mut font = font.clone();
    if font.has(b"ToUnicode") {
        font.remove(b"Encoding");
    }
    font
}

fn code(object: &Object) -> Option<u16> {
    u16::try_from(object.as_i64().ok()?).ok()
}
