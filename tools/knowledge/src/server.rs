//! The library behind MCP: few tools, small answers, and entries as resources.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kernelwright_protocol::{Bottleneck, CodeMatches, Entry, EntryKind, PackSummary, Passages, Phase};
use kernelwright_server::{ServeError, ToolFailure, Transport, prepare};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CompleteRequestParams, CompleteResult, Implementation, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};

use crate::error::LibraryError;
use crate::find::{Find, Sought};
use crate::lessons::LessonBook;
use crate::library::{Library, Settings};
use crate::resources;
use crate::search::Query;

/// Passages of an answer, unless the caller wants another number.
pub(crate) const DEFAULT_LIMIT: u32 = 5;

/// More passages than anyone reads.
const MAX_LIMIT: u32 = 20;

/// With what stands around them, passages of this size come to about 1,400 tokens: an answer should cost less than what it saves.
pub(crate) const ANSWER_BYTES: usize = 4_300;

/// Matches of `find_code` in an answer, unless the caller wants another number.
const DEFAULT_MATCHES: u32 = 30;

/// More matches than an answer should hold.
const MAX_MATCHES: u32 = 100;

const INSTRUCTIONS: &str = "Knowledge for writing fast GPU and CPU kernels, from packs with sources. Ask search_knowledge with plain words, \
    identifiers or error texts; give arch and language of your target so that nothing comes back that does not hold there. Passages are short \
    and name their entry: read_entry gives the whole of it, and read_entry with `index` what there is by platform, bottleneck and phase. \
    find_code finds exact text, patterns, definitions and files, as grep does. list_packs says what is covered. \
    find_lessons gives what earlier runs on this machine proved about changes to kernels like yours.";

/// Serves a library until the client goes away.
pub async fn serve(settings: Settings, transport: Transport) -> Result<(), ServeError> {
    let lessons = LessonBook::new(settings.home.clone());
    kernelwright_server::serve(Knowledge::new(Library::open(settings), lessons), transport).await
}

#[derive(Clone)]
pub(crate) struct Knowledge {
    library: Arc<Library>,
    pub(crate) lessons: LessonBook,
    tools: ToolRouter<Self>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// What you want to know: plain words, identifiers such as `tl.dot` or `cp.async.bulk.tensor`, or an error message.
    query: String,
    /// Only what holds for this vendor, e.g. nvidia. General entries are always included.
    #[serde(default)]
    vendor: Option<String>,
    /// Only what holds for this architecture, e.g. `sm_90`, h100 or `x86_64-avx512`. General entries are included.
    #[serde(default)]
    arch: Option<String>,
    /// Only what holds for kernels in this language, e.g. triton, cuda or cpp. General entries are included.
    #[serde(default)]
    language: Option<String>,
    /// Only entries of this kind.
    #[serde(default)]
    kind: Option<EntryKind>,
    /// Only entries about this bottleneck.
    #[serde(default)]
    bottleneck: Option<Bottleneck>,
    /// Only entries for this part of the work.
    #[serde(default)]
    phase: Option<Phase>,
    /// Only this pack, by its id from `list_packs`.
    #[serde(default)]
    pack: Option<String>,
    /// At most this many passages, 1 to 20; 5 without it.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<u32>,
}

impl SearchArgs {
    fn read(self) -> Result<Query, ToolFailure> {
        let Self { query, vendor, arch, language, kind, bottleneck, phase, pack, limit } = self;
        if query.trim().is_empty() {
            return Err(refused("`query` is empty", "ask with plain words, identifiers or an error message"));
        }
        let limit = within(limit, DEFAULT_LIMIT, MAX_LIMIT)?;
        Ok(Query { text: query, vendor, arch, language, kind, bottleneck, phase, pack, limit, max_bytes: Some(ANSWER_BYTES) })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    /// The entry's id, `pack/entry`, from a passage; `index` for what there is to read.
    entry: String,
    /// Read on from here: `next_offset` of the call before.
    #[serde(default)]
    offset: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindArgs {
    /// Lines with this text. Give one of text, pattern and symbol, or none and `files` alone to list files.
    #[serde(default)]
    text: Option<String>,
    /// Lines that this regular expression matches.
    #[serde(default)]
    pattern: Option<String>,
    /// Lines that define this function, type, macro or constant.
    #[serde(default)]
    symbol: Option<String>,
    /// Only files that this fits: `*.cu` by name, `cutlass/include/**/*.hpp` by pack and path.
    #[serde(default)]
    files: Option<String>,
    /// Only this pack, by its id.
    #[serde(default)]
    pack: Option<String>,
    /// Go on from here: `next_offset` of the call before.
    #[serde(default)]
    offset: Option<u32>,
    /// At most this many matches, 1 to 100; 30 without it.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_MATCHES))]
    limit: Option<u32>,
}

impl FindArgs {
    fn read(self) -> Result<Find, ToolFailure> {
        let Self { text, pattern, symbol, files, pack, offset, limit } = self;
        for (name, given) in [("text", &text), ("pattern", &pattern), ("symbol", &symbol), ("files", &files)] {
            if given.as_ref().is_some_and(|given| given.trim().is_empty()) {
                return Err(refused(format!("`{name}` is empty"), format!("say what to look for, or leave `{name}` out")));
            }
        }
        let sought = match (text, pattern, symbol) {
            (Some(text), None, None) => Sought::Text(text),
            (None, Some(pattern), None) => Sought::Pattern(pattern),
            (None, None, Some(symbol)) => Sought::Symbol(symbol),
            (None, None, None) if files.is_some() => Sought::Names,
            (None, None, None) => return Err(refused("nothing is sought", "give text, pattern or symbol, or files alone to list files")),
            _ => return Err(refused("more than one thing is sought", "give one of text, pattern and symbol")),
        };
        let limit = within(limit, DEFAULT_MATCHES, MAX_MATCHES)?;
        Ok(Find { sought, files, pack, offset: offset.unwrap_or_default() as usize, limit })
    }
}

/// Nothing, and nothing else.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

fn refused(reason: impl Into<String>, fix: impl Into<String>) -> ToolFailure {
    ToolFailure::new("invalid_arguments", reason, fix)
}

/// How many are wanted: fewer than were asked for would look like all there are.
pub(crate) fn within(limit: Option<u32>, default: u32, most: u32) -> Result<usize, ToolFailure> {
    let limit = limit.unwrap_or(default);
    if (1..=most).contains(&limit) {
        return Ok(limit as usize);
    }
    Err(refused(format!("`limit` is {limit} and has to be 1 to {most}"), format!("give 1 to {most}, or leave it out for {default}")))
}

#[derive(Debug, Serialize, JsonSchema)]
struct Packs {
    /// In the order in which they are searched.
    packs: Vec<PackSummary>,
}

fn died(how: impl std::fmt::Display) -> ToolFailure {
    ToolFailure::new("internal", format!("the search died: {how}"), "ask again in other words")
}

#[tool_router]
impl Knowledge {
    pub(crate) fn new(library: Library, lessons: LessonBook) -> Self {
        Self { library: Arc::new(library), lessons, tools: prepare(Self::tool_router() + Self::lesson_tools()) }
    }

    /// Find passages about writing fast kernels: machine facts, constraints, patterns that pay and when, pitfalls, error messages with their
    /// cure, API calls and complete example kernels. Search before you write for a platform, when a kernel is slower than the machine
    /// allows, and with the text of an error you do not understand. Every passage names its entry; read the entry when a passage is cut.
    #[tool(
        title = "Search knowledge",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn search_knowledge(&self, Parameters(args): Parameters<SearchArgs>) -> Result<Json<Passages>, ToolFailure> {
        let query = args.read()?;
        // Going over to another thread and back takes longer than some searches.
        if self.library.is_ready(&query) {
            return match catch_unwind(AssertUnwindSafe(|| self.library.search(&query))) {
                Ok(answer) => Ok(Json(answer?)),
                Err(_) => Err(died("it panicked")),
            };
        }
        self.ask(move |library| library.search(&query)).await
    }

    /// Read one entry or example kernel as a whole, with its sources.
    #[tool(
        title = "Read an entry",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn read_entry(&self, Parameters(ReadArgs { entry, offset }): Parameters<ReadArgs>) -> Result<Json<Entry>, ToolFailure> {
        self.ask(move |library| library.read(&entry, offset.unwrap_or_default() as usize)).await
    }

    /// Find exact places in the packs' kernels, sources and documents, as grep does: a text, a regular expression, the definition of a symbol,
    /// or files by name. Every match has its line and the id of its file for `read_entry`.
    #[tool(
        title = "Find code",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn find_code(&self, Parameters(args): Parameters<FindArgs>) -> Result<Json<CodeMatches>, ToolFailure> {
        let find = args.read()?;
        self.ask(move |library| library.find(&find)).await
    }

    /// List the packs that are searched, with what each is about.
    #[tool(
        title = "List packs",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn list_packs(&self, Parameters(NoArgs {}): Parameters<NoArgs>) -> Result<Json<Packs>, ToolFailure> {
        self.ask(|library| library.packs().map(|packs| Packs { packs })).await
    }

    /// The library with what was just written into the home.
    pub(crate) async fn refreshed(&self) -> Result<(), ToolFailure> {
        self.ask(Library::refresh).await.map(|Json(())| ())
    }

    /// Asks the library on a thread that may block: the first question reads and indexes the packs.
    async fn ask<T, F>(&self, question: F) -> Result<Json<T>, ToolFailure>
    where
        T: Send + 'static,
        F: FnOnce(&Library) -> Result<T, LibraryError> + Send + 'static,
    {
        let library = Arc::clone(&self.library);
        match tokio::task::spawn_blocking(move || question(&library)).await {
            Ok(answer) => Ok(Json(answer?)),
            Err(error) => Err(died(error)),
        }
    }

    /// The same for what is no tool.
    async fn look<T, F>(&self, question: F) -> Result<T, ErrorData>
    where
        T: Send + 'static,
        F: FnOnce(&Library) -> Result<T, ErrorData> + Send + 'static,
    {
        let library = Arc::clone(&self.library);
        tokio::task::spawn_blocking(move || question(&library)).await.map_err(|died| ErrorData::internal_error(died.to_string(), None))?
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Knowledge {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().enable_completions().build())
            .with_server_info(Implementation::new("kernelwright-knowledge", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.look(move |library| resources::list(library, request.as_ref())).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.look(move |library| resources::read(library, request)).await
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        self.look(move |library| resources::complete(library, &request)).await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::ServiceExt;
    use rmcp::model::{ArgumentInfo, CallToolRequestParams, CallToolResult, JsonObject, Reference, ResourceContents};
    use rmcp::service::{RoleClient, RunningService};
    use serde_json::{Value, json};

    use super::*;

    async fn client() -> RunningService<RoleClient, ()> {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let running = Knowledge::new(Library::open(Settings::default()), LessonBook::new(None)).serve(far).await.unwrap();
            running.waiting().await.unwrap();
        });
        ().serve(near).await.unwrap()
    }

    async fn call(tool: &'static str, arguments: Value) -> CallToolResult {
        let arguments: JsonObject = serde_json::from_value(arguments).unwrap();
        client().await.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
    }

    fn text(result: &CallToolResult) -> &str {
        &result.content[0].as_text().unwrap().text
    }

    #[tokio::test]
    async fn hosts_have_no_objection_to_the_tools() {
        let tools = client().await.list_all_tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(),
            ["find_code", "find_lessons", "list_packs", "rate_lessons", "read_entry", "record_lesson", "search_knowledge"]
        );
        assert_eq!(kernelwright_server::lint("kernelwright-knowledge", &tools), Vec::<String>::new());
    }

    #[tokio::test]
    async fn the_search_arguments_are_plain() {
        let tools = client().await.list_all_tools().await.unwrap();
        let search = tools.iter().find(|tool| tool.name == "search_knowledge").unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&search.input_schema).unwrap());
    }

    #[tokio::test]
    async fn answers_are_small_and_lead_to_entries() {
        let found = call("search_knowledge", json!({"query": "softmax", "language": "cpp", "limit": 20})).await;
        assert!(text(&found).len() < 10_000, "{}", text(&found).len());
        let passages: Passages = serde_json::from_value(found.structured_content.unwrap()).unwrap();
        let entry = call("read_entry", json!({"entry": passages.passages[0].entry})).await;
        assert_eq!(entry.is_error, Some(false));
        assert!(text(&entry).contains("sources"));
    }

    #[tokio::test]
    async fn failures_say_how_to_go_on() {
        let result = call("read_entry", json!({"entry": "x86-cpu/streaming"})).await;
        assert_eq!(result.is_error, Some(true));
        assert!(
            text(&result).starts_with("error: entry_unknown\nreason: there is no entry `x86-cpu/streaming`\nfix: "),
            "{}",
            text(&result)
        );
        assert!(text(&result).contains("x86-cpu/streaming-stores"), "{}", text(&result));
        let result = call("search_knowledge", json!({"query": "x", "kind": "rumour"})).await;
        assert!(text(&result).contains("one of \"constraint\""), "{}", text(&result));
    }

    #[tokio::test]
    async fn entries_are_resources_that_hosts_can_complete() {
        let client = client().await;
        let resources = client.list_all_resources().await.unwrap();
        assert_eq!(resources[0].uri, "kernelwright://knowledge/index");
        assert!(resources.len() > 20, "{}", resources.len());
        let index = client.read_resource(ReadResourceRequestParams::new(&resources[0].uri)).await.unwrap();
        let ResourceContents::TextResourceContents { text, mime_type, .. } = &index.contents[0] else { panic!("{index:?}") };
        assert_eq!(mime_type.as_deref(), Some("text/markdown"));
        assert!(text.contains("\n## By bottleneck\n"), "{text}");
        assert!(text.contains("x86-cpu/streaming-stores"), "{text}");
        for kind in ["text/markdown", "text/x-python"] {
            let listed = resources.iter().find(|listed| listed.mime_type.as_deref() == Some(kind)).unwrap();
            let read = client.read_resource(ReadResourceRequestParams::new(&listed.uri)).await.unwrap();
            let ResourceContents::TextResourceContents { mime_type, .. } = &read.contents[0] else { panic!("{read:?}") };
            assert_eq!(mime_type.as_deref(), Some(kind), "{}", listed.uri);
        }
        let unknown = client.read_resource(ReadResourceRequestParams::new("kernelwright://knowledge/x86-cpu/streaming")).await;
        assert!(unknown.unwrap_err().to_string().contains("x86-cpu/streaming-stores"));
        let templates = client.list_all_resource_templates().await.unwrap();
        let reference = Reference::for_resource(&templates[0].uri_template);
        let argument = ArgumentInfo::new("entry", "x86-cpu/s");
        let completed = client.complete(CompleteRequestParams::new(reference, argument)).await.unwrap();
        assert!(completed.completion.values.contains(&"x86-cpu/streaming-stores".to_owned()), "{completed:?}");
    }

    #[tokio::test]
    async fn places_in_code_are_found_or_the_failure_says_how() {
        let found = call("find_code", json!({"text": "_mm512_stream_ps", "pack": "x86-cpu"})).await;
        assert_eq!(found.is_error, Some(false));
        let result = call("find_code", json!({"pattern": "(a"})).await;
        assert!(text(&result).starts_with("error: pattern_invalid"), "{}", text(&result));
        let result = call("find_code", json!({})).await;
        assert!(text(&result).contains("fix: give text, pattern or symbol"), "{}", text(&result));
    }

    #[tokio::test]
    async fn packs_are_listed() {
        let listed = call("list_packs", json!({})).await;
        assert!(text(&listed).contains("\"id\":\"x86-cpu\""), "{}", text(&listed));
        let bare = client().await.call_tool(CallToolRequestParams::new("list_packs")).await.unwrap();
        assert_eq!(text(&bare), text(&listed));
    }

    #[tokio::test]
    async fn no_tool_takes_what_it_does_not_know() {
        for tool in client().await.list_all_tools().await.unwrap() {
            assert_eq!(tool.input_schema.get("additionalProperties"), Some(&json!(false)), "{}", tool.name);
        }
        let refused = call("list_packs", json!({"colour": "blue"})).await;
        assert!(text(&refused).starts_with("error: invalid_arguments"), "{}", text(&refused));
    }

    #[tokio::test]
    async fn what_asks_for_nothing_is_refused() {
        let subject = json!({"operators": ["softmax"], "backend": "cpu"});
        for (tool, arguments, reason) in [
            ("search_knowledge", json!({"query": ""}), "`query` is empty"),
            ("search_knowledge", json!({"query": " \n"}), "`query` is empty"),
            ("search_knowledge", json!({"query": "tiles", "limit": 0}), "`limit` is 0 and has to be 1 to 20"),
            ("search_knowledge", json!({"query": "tiles", "limit": 21}), "`limit` is 21 and has to be 1 to 20"),
            ("find_lessons", json!({"subject": subject, "limit": 21}), "`limit` is 21 and has to be 1 to 20"),
            ("find_code", json!({"text": " "}), "`text` is empty"),
            ("find_code", json!({"pattern": ""}), "`pattern` is empty"),
            ("find_code", json!({"symbol": ""}), "`symbol` is empty"),
            ("find_code", json!({"files": ""}), "`files` is empty"),
            ("find_code", json!({"text": "x", "limit": 0}), "`limit` is 0 and has to be 1 to 100"),
            ("find_code", json!({"text": "x", "limit": 101}), "`limit` is 101 and has to be 1 to 100"),
        ] {
            let refused = call(tool, arguments).await;
            let expected = format!("error: invalid_arguments\nreason: {reason}\nfix: ");
            assert!(refused.is_error == Some(true) && text(&refused).starts_with(&expected), "{}", text(&refused));
        }
        let refused = call("find_code", json!({"symbol": "torch::"})).await;
        assert!(text(&refused).starts_with("error: symbol_invalid\nreason: `torch::` names no symbol\n"), "{}", text(&refused));
        let refused = call("find_code", json!({"files": "*.{cu,cuh}"})).await;
        let expected = "error: files_invalid\nreason: `*.{cu,cuh}` is no pattern for files: `{` has no meaning in it\n";
        assert!(text(&refused).starts_with(expected), "{}", text(&refused));
    }

    #[tokio::test]
    async fn limits_are_in_the_schema() {
        let tools = client().await.list_all_tools().await.unwrap();
        for (name, most) in [("search_knowledge", 20), ("find_lessons", 20), ("find_code", 100)] {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let limit = &tool.input_schema["properties"]["limit"];
            assert_eq!((&limit["minimum"], &limit["maximum"]), (&json!(1), &json!(most)), "{name}");
        }
    }

    #[tokio::test]
    async fn a_part_is_known_by_its_names_and_a_name_that_nobody_knows_is_refused() {
        let entries = async |arch: &str| {
            let found = call("search_knowledge", json!({"query": "wgmma tma", "arch": arch})).await;
            let passages: Passages = serde_json::from_value(found.structured_content.unwrap()).unwrap();
            passages.passages.into_iter().map(|passage| passage.entry).collect::<Vec<_>>()
        };
        let hopper = entries("sm_90").await;
        assert!(hopper.iter().any(|entry| entry.starts_with("nvidia-hopper/")), "{hopper:?}");
        for name in ["h100", "Hopper", "sm90", "NVIDIA H200"] {
            assert_eq!(entries(name).await, hopper, "{name}");
        }
        let refused = call("search_knowledge", json!({"query": "tiles", "vendor": "foo"})).await;
        let expected =
            "error: vendor_unknown\nreason: there is no vendor `foo` in the packs\nfix: name one of: amd, huawei, meta, nvidia; ";
        assert!(text(&refused).starts_with(expected), "{}", text(&refused));
    }
}
