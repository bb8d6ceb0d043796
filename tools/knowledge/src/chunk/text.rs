//! Plain text: paragraphs, and nothing else that could be relied on.

use super::{Gather, Outline, Section, paragraph_breaks};

pub(super) fn outline(lines: &[&str]) -> Outline {
    let whole = Section { heading: Vec::new(), symbols: Vec::new(), start: 0, end: lines.len(), shared: 0, gather: Gather::Never };
    Outline { sections: vec![whole], breaks: paragraph_breaks(lines) }
}
