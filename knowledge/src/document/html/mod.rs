//! What a reader would see of a web page, as Markdown.
//!
//! Headings, paragraphs, lists, code blocks and tables are kept; scripts, styles and navigation are not. Pages that mark their main part
//! give only that. This is a walk over tags, not a browser's tree: a page whose tags do not match gives odd line breaks, never an error.

mod page;
mod skip;

use html5gum::{DefaultEmitter, StartTag, StringReader, Token, Tokenizer};

use self::page::{Page, Role};
use self::skip::Skip;
use super::lines::LineNumbers;

/// Reads a page.
pub(super) fn read(html: &str) -> (String, LineNumbers) {
    let breaks: Vec<usize> = html.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let line_at = |offset: usize| u32::try_from(breaks.partition_point(|at| *at < offset) + 1).unwrap_or(u32::MAX);
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    // Without it, a `<` in a script would begin a tag.
    emitter.naively_switch_states(true);
    let mut page = Page::default();
    let mut skip = Skip::default();
    let tokens: Tokenizer<StringReader<'_>, _> = Tokenizer::new_with_emitter(html, emitter);
    for token in tokens.flatten() {
        match token {
            Token::StartTag(tag) => {
                let name = text(&tag.name);
                if skip.start(&name, |attribute| value(&tag, attribute)) {
                    start(&mut page, &name, &tag, line_at(tag.span.start));
                }
            }
            Token::EndTag(tag) => {
                let name = text(&tag.name);
                if skip.end(&name) {
                    end(&mut page, &name);
                }
            }
            Token::String(string) if !skip.is_on() => page.text(&text(&string.value), line_at(string.span.start)),
            _ => {}
        }
    }
    page.finish()
}

fn start(page: &mut Page, name: &str, tag: &StartTag<usize>, line: u32) {
    match name {
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => page.heading(usize::from(name.as_bytes()[1] - b'0'), line),
        "title" => page.title_begins(),
        "pre" => page.code_begins(&language(tag), line),
        "li" => page.item(line),
        "ul" | "ol" => page.list_begins(),
        "br" | "dt" | "dd" | "figcaption" | "summary" => page.line_ends(),
        "table" | "p" | "blockquote" | "dl" | "hr" | "section" | "details" | "figure" => page.block_ends(),
        "tr" => page.row_begins(line),
        "td" | "th" => page.cell(),
        "code" | "tt" | "kbd" | "samp" => page.inline_code(),
        "img" => page.text(&value(tag, "alt").unwrap_or_default(), line),
        _ => {
            if let Some(found) = value(tag, "class").and_then(|class| language_of(&class)) {
                page.language_follows(found);
            }
            if is_block(name) {
                page.line_ends();
            }
        }
    }
    if name == "main" || name == "article" || value(tag, "role").is_some_and(|role| role == "main") {
        page.enter(Role::Main, name);
    } else {
        page.enter(Role::Other, name);
    }
}

fn end(page: &mut Page, name: &str) {
    match name {
        "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "p" | "table" | "blockquote" | "dl" | "section" | "details" | "figure" => {
            page.block_ends();
        }
        "title" => page.title_ends(),
        "pre" => page.code_ends(),
        "ul" | "ol" => page.list_ends(),
        "tr" => page.row_ends(),
        "code" | "tt" | "kbd" | "samp" => page.inline_code(),
        "li" | "dt" | "dd" => page.line_ends(),
        name if is_block(name) => page.line_ends(),
        _ => {}
    }
    page.leave(name);
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "div" | "main" | "article" | "header" | "body" | "aside" | "address" | "caption" | "thead" | "tbody" | "center" | "fieldset"
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn value(tag: &StartTag<usize>, attribute: &str) -> Option<String> {
    tag.attributes.get(attribute.as_bytes()).map(|value| text(&value.value))
}

/// The language of a code block, as pages name it in a class: `language-cpp`, `highlight-python`, `lang-sh`.
fn language(tag: &StartTag<usize>) -> String {
    value(tag, "class").and_then(|class| language_of(&class)).unwrap_or_default()
}

fn language_of(class: &str) -> Option<String> {
    let named = class
        .split_whitespace()
        .find_map(|word| ["language-", "highlight-", "lang-"].into_iter().find_map(|start| word.strip_prefix(start)));
    named
        .map(|language| language.chars().filter(|c| c.is_ascii_alphanumeric() || "+-_".contains(*c)).collect())
        .filter(|name: &String| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &[(&str, u32)]) {
        let (text, lines) = read(html);
        let found: Vec<(&str, u32)> = text.lines().zip(1..).map(|(line, number)| (line, lines.original(number))).collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn headings_paragraphs_and_lists_keep_their_lines() {
        check(
            "<html><head><title>Doc</title>\n<style>p { }</style></head><body>\n<nav>Home\n<a>Up</a></nav>\n<h1>Tiles\n</h1>\n<p>One &amp;\n two <b>bold</b>.</p>\n\
             <ul><li>first<li>second\n<ul><li>inner</li></ul></ul><p>End",
            &[
                ("# Tiles", 5),
                ("", 7),
                ("One &", 7),
                ("two bold.", 8),
                ("", 9),
                ("- first", 9),
                ("- second", 9),
                ("  - inner", 10),
                ("", 10),
                ("End", 10),
            ],
        );
    }

    #[test]
    fn code_keeps_its_blanks_and_its_language() {
        check(
            "<p>Use <code>tl.dot</code>:</p>\n<div class=\"highlight-python notranslate\"><pre><span></span>def f():\n\n    <b>return</b> a &lt; b\n</pre></div>\nAfter",
            &[
                ("Use `tl.dot`:", 1),
                ("", 2),
                ("```python", 2),
                ("def f():", 2),
                ("", 3),
                ("    return a < b", 4),
                ("```", 5),
                ("", 6),
                ("After", 6),
            ],
        );
    }

    #[test]
    fn tables_become_rows() {
        check(
            "<table>\n<tr><th>part</th><th>bytes</th></tr>\n<tr><td><p>L1</p></td>\n<td>32\nKiB</td></tr></table>",
            &[("| part | bytes |", 2), ("| L1 | 32 KiB |", 3)],
        );
    }

    #[test]
    fn the_main_part_is_enough_where_it_is_marked() {
        check(
            "<body><div>Menu entry</div><div role=\"main\"><div><h2>Part<a class=\"headerlink\">¶</a></h2><p>Text that is long enough to be one.</p></div></div><p>Copyright</p>",
            &[("## Part", 1), ("", 1), ("Text that is long enough to be one.", 1)],
        );
        check("<title>Only this</title><script>if (a < b) {}</script><p>Text", &[("# Only this", 1), ("", 1), ("Text", 1)]);
    }

    #[test]
    fn tag_soup_is_read_as_far_as_it_goes() {
        check("</div></p><li>a</ul></ul><td>b<pre>c", &[("- a", 1), ("", 1), ("b", 1), ("", 1), ("```", 1), ("c", 1), ("```", 1)]);
        check("", &[]);
        let deep = "<div>".repeat(100_000) + "x";
        check(&deep, &[("x", 1)]);
    }
}
