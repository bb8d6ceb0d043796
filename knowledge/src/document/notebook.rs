//! Notebooks: text and code cells as Markdown, with the start of what the cells printed.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lines::LineNumbers;
use super::numbered::Numbered;

/// So much of one output is kept: enough for an error or a table's head.
const OUTPUT_LINES: usize = 10;
const OUTPUT_CHARACTERS: usize = 200;

#[derive(Deserialize)]
struct Notebook<'a> {
    #[serde(borrow)]
    cells: Vec<Cell<'a>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    language_info: Option<LanguageInfo>,
}

#[derive(Deserialize)]
struct LanguageInfo {
    name: String,
}

#[derive(Deserialize)]
struct Cell<'a> {
    #[serde(rename = "cell_type")]
    kind: String,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(default, borrow)]
    outputs: Vec<Output<'a>>,
}

#[derive(Deserialize)]
struct Output<'a> {
    /// What a stream printed.
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
    /// A result, in one or more forms.
    #[serde(default, borrow)]
    data: Option<Data<'a>>,
    #[serde(default, borrow)]
    ename: Option<&'a RawValue>,
    #[serde(default, borrow)]
    evalue: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(default, borrow, rename = "text/plain")]
    plain: Option<&'a RawValue>,
}

/// A line and where it stands in the file.
type Line = (String, u32);

/// Reads a notebook of format 4, the only one written since 2014.
pub(super) fn read(json: &str) -> Result<(String, LineNumbers), serde_json::Error> {
    let notebook: Notebook<'_> = serde_json::from_str(json)?;
    let place = Place::of(json);
    let language = notebook.metadata.language_info.map_or_else(|| "python".to_owned(), |info| info.name);
    let mut out = Numbered::default();
    for cell in &notebook.cells {
        let lines = place.lines(cell.source)?;
        if lines.iter().all(|(line, _)| line.trim().is_empty()) {
            continue;
        }
        out.gap();
        if cell.kind == "code" {
            fenced(&mut out, &language, &lines);
            for output in &cell.outputs {
                let shown = shown(output, &place)?;
                if !shown.is_empty() {
                    fenced(&mut out, "text", &shown);
                }
            }
        } else {
            for (line, original) in lines {
                out.verbatim(&line, original);
            }
        }
        out.gap();
    }
    Ok(out.finish())
}

fn fenced(out: &mut Numbered, language: &str, lines: &[Line]) {
    let (first, last) = (lines.first().map_or(1, |line| line.1), lines.last().map_or(1, |line| line.1));
    out.verbatim(&format!("```{language}"), first);
    for (line, original) in lines {
        out.verbatim(line, *original);
    }
    out.verbatim("```", last);
}

/// The start of an output; nothing for pictures.
fn shown(output: &Output<'_>, place: &Place<'_>) -> Result<Vec<Line>, serde_json::Error> {
    let text = output.text.or(output.data.as_ref().and_then(|data| data.plain));
    let mut lines = match text {
        Some(raw) => place.lines(raw)?,
        None => vec![],
    };
    if let Some(name) = output.ename {
        let value = output.evalue.map(|value| place.lines(value)).transpose()?.unwrap_or_default();
        let value = value.into_iter().next().map_or_else(String::new, |(value, _)| value);
        lines.extend(place.lines(name)?.into_iter().map(|(name, original)| (format!("{name}: {value}"), original)));
    }
    lines.truncate(OUTPUT_LINES);
    for (line, _) in &mut lines {
        if let Some((at, _)) = line.char_indices().nth(OUTPUT_CHARACTERS) {
            line.truncate(at);
        }
    }
    Ok(lines)
}

/// Finds out on which line of the file a part of it stands.
struct Place<'a> {
    json: &'a str,
    breaks: Vec<usize>,
}

impl<'a> Place<'a> {
    fn of(json: &'a str) -> Self {
        Self { json, breaks: json.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect() }
    }

    /// `part` is a slice of the file, so its address tells its place.
    fn line_of(&self, part: &str) -> u32 {
        let offset = (part.as_ptr() as usize).saturating_sub(self.json.as_ptr() as usize);
        u32::try_from(self.breaks.partition_point(|at| *at < offset) + 1).unwrap_or(u32::MAX)
    }

    /// The lines of a text that is written as a string or as an array of strings.
    fn lines(&self, raw: &RawValue) -> Result<Vec<Line>, serde_json::Error> {
        let parts: Vec<&RawValue> = if raw.get().starts_with('[') { serde_json::from_str(raw.get())? } else { vec![raw] };
        let mut lines = Vec::new();
        let mut open: Option<Line> = None;
        for part in parts {
            let original = self.line_of(part.get());
            let text: String = serde_json::from_str(part.get())?;
            for piece in text.split_inclusive('\n') {
                let (line, _) = open.get_or_insert_with(|| (String::new(), original));
                line.push_str(piece.trim_end_matches(['\n', '\r']));
                if piece.ends_with('\n') {
                    lines.extend(open.take());
                }
            }
        }
        lines.extend(open);
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": [
    "# Softmax\n",
    "\n",
    "One pass."
  ]},
  {"cell_type": "code", "metadata": {}, "source": "import torch\nx = 1", "outputs": [
    {"output_type": "stream", "name": "stdout", "text": [
      "tensor\n"]},
    {"output_type": "display_data", "data": {"image/png": "iVBOR"}},
    {"output_type": "error", "ename": "ValueError", "evalue": "odd", "traceback": []}
  ]},
  {"cell_type": "code", "metadata": {}, "source": [], "outputs": []}
 ],
 "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5
}"##;

    #[test]
    fn cells_become_markdown_with_the_lines_of_the_file() {
        let (text, lines) = read(NOTEBOOK).unwrap();
        let found: Vec<(&str, u32)> = text.lines().zip(1..).map(|(line, number)| (line, lines.original(number))).collect();
        let expected = [
            ("# Softmax", 4),
            ("", 5),
            ("One pass.", 6),
            ("", 8),
            ("```python", 8),
            ("import torch", 8),
            ("x = 1", 8),
            ("```", 8),
            ("```text", 10),
            ("tensor", 10),
            ("```", 10),
            ("```text", 12),
            ("ValueError: odd", 12),
            ("```", 12),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_notebook_says_where() {
        assert_eq!(read("{\"cells\": [\n 1]}").unwrap_err().line(), 2);
        assert_eq!(read("{\"cells\": []}").unwrap(), (String::new(), LineNumbers::From(vec![])));
    }
}
