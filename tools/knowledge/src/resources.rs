//! Entries as MCP resources: hosts that let people pick what a model reads list them and complete their ids.

use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use crate::contents;
use crate::error::LibraryError;
use crate::library::Library;
use crate::shelves::Shelves;

/// What stands before an entry's id.
const SCHEME: &str = "kernelwright://knowledge/";

const MARKDOWN: &str = "text/markdown";

/// How many resources are listed at once.
const PAGE: usize = 100;

/// The entries, after the document to read first. Documents are too many to list; the template leads to them.
pub(crate) fn list(library: &Library, request: Option<&PaginatedRequestParams>) -> Result<ListResourcesResult, ErrorData> {
    let cursor = request.and_then(|request| request.cursor.as_deref());
    let offset = match cursor {
        None => 0,
        Some(cursor) => {
            cursor.parse::<usize>().map_err(|_| ErrorData::invalid_params(format!("`{cursor}` is no cursor of this server"), None))?
        }
    };
    let shelves = shelves(library)?;
    let first = Resource::new(format!("{SCHEME}{}", contents::ID), contents::ID)
        .with_title("What there is to read")
        .with_description("All entries by platform, bottleneck and phase: read it first.")
        .with_mime_type(MARKDOWN);
    let entries = shelves.packs.iter().flat_map(|pack| pack.entries.iter().map(move |entry| (pack, entry))).map(|(pack, entry)| {
        let id = crate::index::entry_id(pack, entry);
        Resource::new(format!("{SCHEME}{id}"), id).with_title(entry.title.clone()).with_mime_type(mime_type(&entry.path))
    });
    let mut page: Vec<Resource> = [first].into_iter().chain(entries).skip(offset).take(PAGE + 1).collect();
    let is_more = page.len() > PAGE;
    page.truncate(PAGE);
    let mut listed = ListResourcesResult::with_all_items(page);
    listed.next_cursor = is_more.then(|| (offset + PAGE).to_string());
    Ok(listed)
}

/// The one form that all resources have.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(format!("{SCHEME}{{+entry}}"), "entry")
        .with_title("Knowledge entry")
        .with_description("An entry, example kernel or document as a whole, by its id `pack/entry`.");
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// The text of the entry that a URI names.
pub(crate) fn read(library: &Library, request: ReadResourceRequestParams) -> Result<ReadResourceResponse, ErrorData> {
    let unknown = |reason: String| ErrorData::resource_not_found(reason, None);
    let id = request.uri.strip_prefix(SCHEME).ok_or_else(|| unknown(format!("`{}` does not begin with `{SCHEME}`", request.uri)))?;
    let mut text = String::new();
    let mut offset = 0;
    loop {
        let page = library.read(id, offset).map_err(|error| unknown(format!("{error}; {}", error.hint())))?;
        text.push_str(&page.text);
        match page.next_offset {
            Some(next) => offset = next as usize,
            None => break,
        }
    }
    let shelves = shelves(library)?;
    let mime_type = mime_type_of(&shelves, id.trim());
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri).with_mime_type(mime_type)]).into())
}

/// What is read under an id. The names of entries are without the end of their file's, those of documents have it.
fn mime_type_of(shelves: &Shelves, id: &str) -> &'static str {
    if id == contents::ID {
        return MARKDOWN;
    }
    let mut entries = shelves.packs.iter().flat_map(|pack| pack.entries.iter().map(move |entry| (pack, entry)));
    let entry = entries.find(|(pack, entry)| crate::index::entry_id(pack, entry) == id);
    mime_type(entry.map_or(id, |(_, entry)| &entry.path))
}

/// What a file's text is. Documents are of many kinds; of those that are no Markdown, a host needs to know no more than that they are text.
fn mime_type(path: &str) -> &'static str {
    match std::path::Path::new(path).extension().and_then(std::ffi::OsStr::to_str) {
        Some("py") => "text/x-python",
        Some("md") => MARKDOWN,
        _ => "text/plain",
    }
}

/// The ids that an argument may become: those that begin with it, then those that hold it.
pub(crate) fn complete(library: &Library, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    if request.argument.name != "entry" {
        return Ok(CompleteResult::default());
    }
    let written = request.argument.value.as_str();
    let shelves = shelves(library)?;
    let (begin, hold): (Vec<String>, Vec<String>) = shelves.ids().filter(|id| id.contains(written)).partition(|id| id.starts_with(written));
    let total = u32::try_from(begin.len() + hold.len()).unwrap_or(u32::MAX);
    let values: Vec<String> = begin.into_iter().chain(hold).take(CompletionInfo::MAX_VALUES).collect();
    let is_more = total as usize > values.len();
    let completion =
        CompletionInfo::with_pagination(values, Some(total), is_more).map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(completion))
}

fn shelves(library: &Library) -> Result<std::sync::Arc<Shelves>, ErrorData> {
    library.shelves().map_err(|error: LibraryError| ErrorData::internal_error(format!("{error}; {}", error.hint()), None))
}
