//! The text of a PDF.
//!
//! Such files come from anywhere and are hard to read, so one is read once, when its pack is added, by a process that may crash, hang or run out of
//! memory alone ([`PdfReader`]). The text is kept beside the document; whoever searches reads only that. What it is not: a picture of the
//! page. Text that is drawn as a picture, tables' columns and the order of odd layouts are lost.

mod font;
mod layout;
mod process;

use std::fmt::Write as _;

use lopdf::{Document, LoadOptions, Object};

use self::font::Fonts;
use self::layout::Layout;
pub use self::process::{PDF_VERB, PdfReader, print_pdf};

/// No stream may grow beyond this; pages of documentation have a few hundred kilobytes.
const MAX_STREAM_BYTES: usize = 64 << 20;

/// Reads a PDF: a heading `## Page N` and the lines of the page, for every page that has text. Empty when none has.
///
/// May panic, loop or take any amount of memory on a hostile file: only for [`print_pdf`].
fn read(bytes: &[u8]) -> Result<String, lopdf::Error> {
    let document = Document::load_mem_with_options(bytes, LoadOptions::with_max_decompressed_size(MAX_STREAM_BYTES))?;
    let mut text = String::new();
    for (number, page) in document.get_pages() {
        let fonts = Fonts::of(&document, page);
        let fonts = fonts.read();
        // A page that cannot be read must not cost the others.
        let Ok(content) = document.get_page_content_with_limit(page, MAX_STREAM_BYTES) else { continue };
        let mut layout = Layout::new(&fonts);
        for operation in lopdf::content::Content::decode_iter(&content) {
            let Ok(operation) = operation else { break };
            layout.operation(&operation.operator, &operation.operands);
        }
        let page = layout.finish();
        if !page.trim().is_empty() {
            let _ = writeln!(text, "## Page {number}\n\n{page}");
        }
    }
    Ok(text)
}

/// A number, whole or not.
fn number(object: &Object) -> Option<f32> {
    object.as_float().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDF with one page of the given content, one font and a right table of offsets.
    fn pdf(content: &str) -> Vec<u8> {
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>".to_owned(),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".to_owned(),
            format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        ];
        let mut file = "%PDF-1.4\n".to_owned();
        let mut offsets = Vec::new();
        for (object, number) in objects.iter().zip(1..) {
            offsets.push(file.len());
            let _ = write!(file, "{number} 0 obj\n{object}\nendobj\n");
        }
        let table = file.len();
        let _ = write!(file, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
        for offset in offsets {
            let _ = writeln!(file, "{offset:010} 00000 n ");
        }
        let _ = write!(file, "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1);
        file.into_bytes()
    }

    fn check(content: &str, expected: &str) {
        assert_eq!(read(&pdf(content)).unwrap(), expected, "{content}");
    }

    #[test]
    fn lines_words_and_paragraphs_are_told_apart_by_where_they_stand() {
        check(
            "BT /F1 10 Tf 14 TL 72 700 Td (Tiles are) Tj ( 16 by 16.) Tj T* [(Load) -600 (them) 20 ( once.)] TJ 0 -40 Td (# Next) Tj ET",
            "## Page 1\n\nTiles are 16 by 16.\nLoad them once.\n\n\\# Next\n\n",
        );
        check("BT /F1 10 Tf 72 700 Td (one) Tj 60 0 Td (two) Tj 15.5 0 Td (three) Tj ET", "## Page 1\n\none twothree\n\n");
        check("q 1 0 0 -1 0 800 cm BT /F1 10 Tf 1 0 0 1 72 100 Tm (up) Tj 1 0 0 1 72 114 Tm (down) Tj ET Q", "## Page 1\n\nup\ndown\n\n");
    }

    #[test]
    fn a_page_without_text_has_none() {
        check("0 0 100 100 re f", "");
    }

    #[test]
    fn what_is_no_pdf_is_an_error() {
        assert!(read(b"%PDF-1.7\nnothing").is_err());
        assert!(read(b"").is_err());
        let mut cut = pdf("BT /F1 10 Tf 72 700 Td (Cut) Tj ET");
        cut.truncate(300);
        // Whatever it gives, it comes back.
        let _ = read(&cut);
    }
}
