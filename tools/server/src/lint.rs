//! What hosts would object to in a list of tools. Each server's tests expect an empty list.

use rmcp::model::Tool;
use serde_json::Value;

/// Some hosts join server and tool into one name and allow sixty-four characters.
const NAME_LIMIT: usize = 60;

/// Longer descriptions are cut by some hosts.
const DESCRIPTION_LIMIT: usize = 2_000;

/// One line per objection, in the tools' order; `server` is the name under which the server is configured in a host.
#[must_use]
pub fn lint(server: &str, tools: &[Tool]) -> Vec<String> {
    tools
        .iter()
        .flat_map(|tool| {
            let objections = lint_tool(server, tool);
            objections.into_iter().map(|objection| format!("{}: {objection}", tool.name)).collect::<Vec<_>>()
        })
        .collect()
}

fn lint_tool(server: &str, tool: &Tool) -> Vec<String> {
    let mut objections = Vec::new();
    let mut object_to = |wrong: bool, what: &str| {
        if wrong {
            objections.push(what.to_owned());
        }
    };

    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    object_to(tool.name.is_empty() || !tool.name.chars().all(plain), "the name is not of lower-case letters, digits and _");
    object_to(server.len() + tool.name.len() > NAME_LIMIT, "server and tool name together exceed 60 characters");
    object_to(tool.title.is_none(), "no title");
    let description = tool.description.as_deref().unwrap_or_default();
    object_to(description.is_empty(), "no description");
    object_to(description.len() > DESCRIPTION_LIMIT, "the description exceeds 2,000 bytes");

    let hints = tool.annotations.as_ref();
    object_to(hints.is_none_or(|hints| hints.read_only_hint.is_none()), "no read_only_hint");
    object_to(hints.is_none_or(|hints| hints.destructive_hint.is_none()), "no destructive_hint");
    object_to(hints.is_none_or(|hints| hints.idempotent_hint.is_none()), "no idempotent_hint");
    object_to(hints.is_none_or(|hints| hints.open_world_hint.is_none()), "no open_world_hint");

    let is_object = |schema: &serde_json::Map<String, Value>| schema.get("type").is_some_and(|kind| kind == "object");
    object_to(!is_object(&tool.input_schema), "the input schema's root is no object");
    object_to(tool.output_schema.as_deref().is_none_or(|schema| !is_object(schema)), "the output schema's root is no object");

    for (name, schema) in tool.input_schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        lint_argument(name, schema, &mut objections);
    }
    objections
}

fn lint_argument(path: &str, schema: &Value, objections: &mut Vec<String>) {
    let has = |key: &str| schema.get(key).is_some();
    if !schema.get("type").is_some_and(Value::is_string) {
        objections.push(format!("{path} has no single type"));
    }
    for key in ["$ref", "const", "anyOf", "oneOf", "allOf"] {
        if has(key) {
            objections.push(format!("{path} uses {key}"));
        }
    }
    if !path.contains('.') && !has("description") {
        objections.push(format!("{path} has no description"));
    }
    for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        lint_argument(&format!("{path}.{name}"), inner, objections);
    }
    if let Some(items) = schema.get("items") {
        lint_argument(&format!("{path}.items"), items, objections);
    }
}
