//! The library behind MCP: three tools, small answers.

use std::sync::Arc;

use kernelwright_protocol::{Entry, EntryKind, PackSummary, Passages};
use kernelwright_server::{ServeError, ToolFailure, Transport, prepare};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};

use crate::error::LibraryError;
use crate::library::{Library, Query, Settings};

/// Passages of an answer, unless the caller wants another number.
const DEFAULT_LIMIT: u32 = 5;

/// More passages than anyone reads.
const MAX_LIMIT: u32 = 20;

/// With what stands around them, passages of this size come to about 1,200 tokens: an answer should cost less than what it saves.
const ANSWER_BYTES: usize = 3_400;

/// Serves a library until the client goes away.
pub async fn serve(settings: Settings, transport: Transport) -> Result<(), ServeError> {
    kernelwright_server::serve(Knowledge::new(Library::open(settings)), transport).await
}

#[derive(Clone)]
pub(crate) struct Knowledge {
    library: Arc<Library>,
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
    /// Only what holds for this architecture, as `describe_target` names it, e.g. `sm_90` or `x86_64-avx512`. General entries are included.
    #[serde(default)]
    arch: Option<String>,
    /// Only what holds for kernels in this language, e.g. triton, cuda or cpp. General entries are included.
    #[serde(default)]
    language: Option<String>,
    /// Only entries of this kind.
    #[serde(default)]
    kind: Option<EntryKind>,
    /// At most this many passages, 1 to 20; 5 without it.
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    /// The entry's id, `pack/entry`, from a passage.
    entry: String,
    /// Read on from here: `next_offset` of the call before.
    #[serde(default)]
    offset: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Packs {
    /// In the order in which they are searched.
    packs: Vec<PackSummary>,
}

#[tool_router]
impl Knowledge {
    pub(crate) fn new(library: Library) -> Self {
        Self { library: Arc::new(library), tools: prepare(Self::tool_router()) }
    }

    /// Find passages about writing fast kernels: machine facts, constraints, patterns that pay and when, pitfalls, error messages with their
    /// cure, API calls and complete example kernels. Search before you write for a platform, when a kernel is slower than the machine
    /// allows, and with the text of an error you do not understand. Every passage names its entry; read the entry when a passage is cut.
    #[tool(
        title = "Search knowledge",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn search_knowledge(&self, Parameters(args): Parameters<SearchArgs>) -> Result<Json<Passages>, ToolFailure> {
        let SearchArgs { query, vendor, arch, language, kind, limit } = args;
        let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
        let query = Query { text: query, vendor, arch, language, kind, pack: None, limit, max_bytes: Some(ANSWER_BYTES) };
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

    /// List the packs that are searched, with what each is about.
    #[tool(
        title = "List packs",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn list_packs(&self) -> Result<Json<Packs>, ToolFailure> {
        self.ask(|library| library.packs().map(|packs| Packs { packs })).await
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
            Err(error) => Err(ToolFailure::new("internal", format!("the search died: {error}"), "ask again in other words")),
        }
    }
}

#[tool_handler(
    router = self.tools,
    name = "kernelwright-knowledge",
    instructions = "Knowledge for writing fast GPU and CPU kernels, from packs with sources. Ask search_knowledge with plain words, identifiers \
                    or error texts; give arch and language of your target so that nothing comes back that does not hold there. Passages are \
                    short and name their entry: read_entry gives the whole of it. list_packs says what is covered."
)]
impl ServerHandler for Knowledge {}

#[cfg(test)]
mod tests {
    use rmcp::ServiceExt;
    use rmcp::model::{CallToolRequestParams, CallToolResult, JsonObject};
    use rmcp::service::{RoleClient, RunningService};
    use serde_json::{Value, json};

    use super::*;

    async fn client() -> RunningService<RoleClient, ()> {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let running = Knowledge::new(Library::open(Settings::default())).serve(far).await.unwrap();
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
        assert_eq!(tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), ["list_packs", "read_entry", "search_knowledge"]);
        assert_eq!(kernelwright_server::lint("kernelwright-knowledge", &tools), Vec::<String>::new());
    }

    #[tokio::test]
    async fn the_search_arguments_are_plain() {
        let tools = client().await.list_all_tools().await.unwrap();
        let search = tools.iter().find(|tool| tool.name == "search_knowledge").unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&search.input_schema).unwrap(), @r#"
        {
          "type": "object",
          "properties": {
            "query": {
              "description": "What you want to know: plain words, identifiers such as `tl.dot` or `cp.async.bulk.tensor`, or an error message.",
              "type": "string"
            },
            "vendor": {
              "description": "Only what holds for this vendor, e.g. nvidia. General entries are always included.",
              "type": "string"
            },
            "arch": {
              "description": "Only what holds for this architecture, as `describe_target` names it, e.g. `sm_90` or `x86_64-avx512`. General entries are included.",
              "type": "string"
            },
            "language": {
              "description": "Only what holds for kernels in this language, e.g. triton, cuda or cpp. General entries are included.",
              "type": "string"
            },
            "kind": {
              "description": "Only entries of this kind. What an entry is for. constraint: A rule that code for the platform has to keep. guidance: How to go about something. hardware: A fact about a machine. pattern: A transformation that pays, and when. pitfall: Something that goes wrong, and why. error: An error message, its cause and its cure. api: How a named interface is called. example: A complete kernel.",
              "type": "string",
              "enum": [
                "constraint",
                "guidance",
                "hardware",
                "pattern",
                "pitfall",
                "error",
                "api",
                "example"
              ]
            },
            "limit": {
              "description": "At most this many passages, 1 to 20; 5 without it.",
              "type": "integer",
              "minimum": 0
            }
          },
          "additionalProperties": false,
          "required": [
            "query"
          ]
        }
        "#);
    }

    #[tokio::test]
    async fn answers_are_small_and_lead_to_entries() {
        let found = call("search_knowledge", json!({"query": "softmax", "language": "cpp", "limit": 20})).await;
        assert!(text(&found).len() < 8_000, "{}", text(&found).len());
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
        assert!(text(&result).contains("expected one of `constraint`"), "{}", text(&result));
    }

    #[tokio::test]
    async fn packs_are_listed() {
        let listed = call("list_packs", json!({})).await;
        assert!(text(&listed).contains("\"id\":\"x86-cpu\""), "{}", text(&listed));
    }
}
