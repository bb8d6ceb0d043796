//! Exact places in the packs' files, as grep finds them: a string, a pattern, a definition, a file's name.

use std::borrow::Cow;

use kernelwright_packs::{Document, Pack};
use kernelwright_protocol::{CodeMatch, CodeMatches};
use regex::{Regex, RegexBuilder};
use tantivy::Term;
use tantivy::collector::TopDocs;
use tantivy::query::TermQuery;
use tantivy::schema::IndexRecordOption;

use crate::error::LibraryError;
use crate::index::entry_id;
use crate::library::Library;
use crate::rank::Searched;
use crate::shelves::Shelves;
use crate::tokenize::forms;

/// Longer lines are cut where they are shown.
const MAX_LINE_CHARACTERS: usize = 200;

/// A pattern may not compile to more than this.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// How many chunks that define a symbol are looked into.
const MAX_DEFINITIONS: usize = 1_000;

/// What to look for.
#[derive(Clone, Debug)]
pub enum Sought {
    /// Lines that hold this text, upper and lower case as written.
    Text(String),
    /// Lines that a regular expression matches.
    Pattern(String),
    /// Lines that define a function, type, macro or constant of this name.
    Symbol(String),
    /// Nothing inside the files: only their names.
    Names,
}

/// Where to look, and which page of the answer is wanted.
#[derive(Clone, Debug)]
pub struct Find {
    /// What to look for.
    pub sought: Sought,
    /// Only files whose `pack/path` fits: `*` for anything inside a folder, `**` for folders as well, `?` for one character.
    pub files: Option<String>,
    /// Only this pack.
    pub pack: Option<String>,
    /// How many matches to pass over.
    pub offset: usize,
    /// At most this many matches.
    pub limit: usize,
}

impl Library {
    /// The places where something stands, in the order of packs, files and lines.
    pub fn find(&self, find: &Find) -> Result<CodeMatches, LibraryError> {
        let shelves = self.shelves_with(find.pack.as_deref())?;
        shelves.require(find.pack.as_deref())?;
        let files = find.files.as_deref().map(glob).transpose()?;
        let is_asked = |path: &str| files.as_ref().is_none_or(|files| files.is_match(path));
        let mut page = Page { left_out: find.offset, limit: find.limit, found: CodeMatches::default(), is_full: false };
        match &find.sought {
            Sought::Symbol(symbol) => definitions(&shelves, symbol, find.pack.as_deref(), &is_asked, &mut page)?,
            Sought::Names => each_file(&shelves, find.pack.as_deref(), &is_asked, &mut |file| {
                page.add(file.id(), None, "");
                !page.is_full
            }),
            Sought::Text(_) | Sought::Pattern(_) => {
                let pattern = match &find.sought {
                    Sought::Pattern(pattern) => compiled(pattern)?,
                    Sought::Text(text) => compiled(&regex::escape(text))?,
                    Sought::Symbol(_) | Sought::Names => return Ok(page.found),
                };
                each_file(&shelves, find.pack.as_deref(), &is_asked, &mut |file| {
                    let Some(text) = file.text() else { return true };
                    // Most files have no match, which one pass over the whole of them tells.
                    if !pattern.is_match(&text) {
                        return true;
                    }
                    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| pattern.is_match(line)) {
                        page.add(file.id(), Some(file.original(number)), line);
                        if page.is_full {
                            return false;
                        }
                    }
                    true
                });
            }
        }
        if page.is_full {
            page.found.next_offset = u32::try_from(find.offset.saturating_add(find.limit)).ok();
        }
        Ok(page.found)
    }
}

/// One page of matches.
struct Page {
    left_out: usize,
    limit: usize,
    found: CodeMatches,
    /// Whether there is a match that has no room.
    is_full: bool,
}

impl Page {
    fn add(&mut self, entry: String, line: Option<u32>, text: &str) {
        if self.left_out > 0 {
            self.left_out -= 1;
        } else if self.found.matches.len() < self.limit {
            let text = text.trim().chars().take(MAX_LINE_CHARACTERS).collect();
            self.found.matches.push(CodeMatch { entry, line, text });
        } else {
            self.is_full = true;
        }
    }
}

/// A file of a pack.
enum File<'a> {
    Entry(&'a Pack, &'a kernelwright_packs::Entry),
    Document(&'a Pack, &'a str, std::cell::OnceCell<Option<Document>>),
}

impl File<'_> {
    fn id(&self) -> String {
        match self {
            Self::Entry(pack, entry) => entry_id(pack, entry),
            Self::Document(pack, path, _) => format!("{}/{path}", pack.id),
        }
    }

    /// What it is matched by.
    fn path(&self) -> String {
        match self {
            Self::Entry(pack, entry) => format!("{}/{}", pack.id, entry.path),
            Self::Document(pack, path, _) => format!("{}/{path}", pack.id),
        }
    }

    /// Its text; nothing for a document that cannot be read, which indexing has reported.
    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Entry(_, entry) => Some(Cow::Borrowed(&entry.text)),
            Self::Document(pack, path, read) => {
                let document = read.get_or_init(|| Document::read(pack.root.as_deref()?, path.as_ref()).ok());
                document.as_ref().map(|document| Cow::Borrowed(document.text.as_str()))
            }
        }
    }

    /// The file's line for a line of its text.
    fn original(&self, line: u32) -> u32 {
        match self {
            Self::Document(_, _, read) => read.get().and_then(Option::as_ref).map_or(line, |document| document.lines.original(line)),
            Self::Entry(..) => line,
        }
    }
}

/// Calls `visit` with every file that is asked for, until it says that it has enough.
fn each_file(shelves: &Shelves, pack: Option<&str>, is_asked: &dyn Fn(&str) -> bool, visit: &mut dyn FnMut(&File<'_>) -> bool) {
    for pack in shelves.packs.iter().filter(|known| pack.is_none_or(|id| known.id == id)) {
        let entries = pack.entries.iter().map(|entry| File::Entry(pack, entry));
        let documents = pack.documents.iter().map(|file| File::Document(pack, &file.path, std::cell::OnceCell::new()));
        for file in entries.chain(documents) {
            if is_asked(&file.path()) && !visit(&file) {
                return;
            }
        }
    }
}

/// The first line of each chunk that defines a symbol in which its name stands.
fn definitions(
    shelves: &Shelves,
    symbol: &str,
    pack: Option<&str>,
    is_asked: &dyn Fn(&str) -> bool,
    page: &mut Page,
) -> Result<(), LibraryError> {
    // A qualified name is looked up by what stands last in it.
    let name = symbol.trim().trim_end_matches("()").rsplit([':', '.']).next().unwrap_or(symbol);
    if name.is_empty() {
        return Err(LibraryError::Symbol(symbol.to_owned()));
    }
    let word = compiled(&format!(r"\b{}\b", regex::escape(name)))?;
    let term = forms(name).whole;
    let mut found: Vec<(String, String, u32, String)> = Vec::new();
    for Searched { index, searcher } in shelves.searched(pack)? {
        let query = TermQuery::new(Term::from_field_text(index.fields().symbols, &term), IndexRecordOption::Basic);
        let top = TopDocs::with_limit(MAX_DEFINITIONS).order_by_score();
        for (_, address) in searcher.search(&query, &top)? {
            let stored = index.stored(&searcher, address)?;
            let (first, last) = index.numbers(address)?.lines;
            let pack = stored.entry.split('/').next().unwrap_or_default();
            let path = format!("{pack}/{}", stored.place);
            let Some((number, line)) = (0..).zip(stored.text.lines()).find(|(_, line)| defines(line, &word)) else { continue };
            if is_asked(&path) {
                found.push((path, stored.entry.clone(), (first + number).min(last), line.to_owned()));
            }
        }
    }
    found.sort();
    for (_, entry, line, text) in found {
        page.add(entry, Some(line), &text);
    }
    Ok(())
}

/// Whether a line names a symbol and is no comment.
fn defines(line: &str, word: &Regex) -> bool {
    let text = line.trim_start();
    let is_comment = ["//", "/*", "* ", "# ", "\"\"\""].into_iter().any(|sign| text.starts_with(sign));
    !is_comment && word.is_match(text)
}

fn compiled(pattern: &str) -> Result<Regex, LibraryError> {
    // A pattern is matched line by line, so that its anchors are those of lines.
    RegexBuilder::new(pattern).multi_line(true).size_limit(MAX_PATTERN_BYTES).build().map_err(|error| LibraryError::Pattern {
        pattern: pattern.to_owned(),
        message: error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    })
}

/// A pattern for whole paths; one without a `/` is for names alone.
fn glob(files: &str) -> Result<Regex, LibraryError> {
    // Other patterns for files have meanings for these. Taken as they stand they would fit no file, which would read as if there were none.
    let mut signs = files.char_indices();
    if let Some((_, sign)) = signs.find(|(at, sign)| "[]{}\\".contains(*sign) || (*at == 0 && *sign == '!')) {
        return Err(LibraryError::Files { files: files.to_owned(), sign });
    }
    let mut pattern = String::from(if files.contains('/') { "^" } else { "(?:^|/)" });
    let mut signs = files.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '*' if signs.next_if_eq(&'*').is_some() => {
                // `**/` is no folder as well as many.
                pattern.push_str(if signs.next_if_eq(&'/').is_some() { "(?:.*/)?" } else { ".*" });
            }
            '*' => pattern.push_str("[^/]*"),
            '?' => pattern.push_str("[^/]"),
            sign => pattern.push_str(&regex::escape(&sign.to_string())),
        }
    }
    pattern.push('$');
    compiled(&pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_paths_or_names() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(glob(pattern).unwrap().is_match(path), expected, "{pattern} {path}");
        };
        check("*.cu", "p/src/a.cu", true);
        check("*.cu", "p/src/a.cuh", false);
        check("a.cu", "p/ba.cu", false);
        check("p/**/a.?u", "p/src/deep/a.cu", true);
        check("p/**/a.cu", "p/a.cu", true);
        check("p/*.cu", "p/src/a.cu", false);
        check("p/**", "p/src/a.cu", true);
        check("a+(b).cu", "p/a+(b).cu", true);
    }

    #[test]
    fn a_glob_of_another_kind_says_what_is_known() {
        for (files, sign) in [("*.{cu,cuh}", '{'), ("[ab].cu", '['), ("!a.cu", '!'), ("a\\*.cu", '\\')] {
            let error = glob(files).unwrap_err();
            assert_eq!(error.to_string(), format!("`{files}` is no pattern for files: `{sign}` has no meaning in it"));
        }
        let hint = glob("[ab].cu").unwrap_err().hint();
        assert_eq!(hint, "use `*` inside a folder, `**` for folders as well and `?` for any one character, or ask several times");
    }

    #[test]
    fn a_pattern_that_is_none_says_why() {
        let error = compiled("(a").unwrap_err();
        assert_eq!(error.to_string(), "`(a` is no regular expression: unclosed group");
    }
}
