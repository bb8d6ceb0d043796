//! The last pass over a server's tools before they are listed.

use std::sync::Arc;
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolResponse, CallToolResult, ErrorCode, Tool};

use crate::{ToolFailure, tidy_input, tidy_output};

/// Makes a router's tools acceptable to every host: tidied schemas, and malformed arguments answered with a [`ToolFailure`] that
/// names the arguments there are. Tools are listed in the order of their names.
///
/// Use it once, where the server is built: `tools: prepare(Self::tool_router())`, with `#[tool_handler(router = self.tools)]`.
#[must_use]
pub fn prepare<S: Send + Sync + 'static>(router: ToolRouter<S>) -> ToolRouter<S> {
    router.into_iter().fold(ToolRouter::new(), |prepared, route| prepared.with_route(prepare_route(route)))
}

fn prepare_route<S: Send + Sync + 'static>(route: ToolRoute<S>) -> ToolRoute<S> {
    let ToolRoute { mut attr, call, .. } = route;
    attr.input_schema = Arc::new(tidy_input(&attr.input_schema));
    attr.output_schema = attr.output_schema.map(|schema| Arc::new(tidy_output(&schema)));
    let usage: Arc<str> = usage(&attr).into();
    let name = attr.name.clone();
    ToolRoute::new_dyn(attr, move |context: ToolCallContext<'_, S>| {
        let (name, usage, started) = (name.clone(), Arc::clone(&usage), Instant::now());
        let answer = call(context);
        Box::pin(async move {
            let answer = match answer.await {
                Err(error) => refuse_arguments(error, &usage),
                answer => answer,
            };
            tracing::debug!(tool = %name, elapsed = ?started.elapsed(), "call answered");
            answer
        })
    })
}

/// What rmcp reports as a protocol error without a cure becomes a failure that a model can act on.
fn refuse_arguments(error: ErrorData, usage: &str) -> Result<CallToolResponse, ErrorData> {
    if error.code != ErrorCode::INVALID_PARAMS {
        return Err(error);
    }
    let reason = error.message.trim_start_matches("failed to deserialize parameters: ").to_owned();
    Ok(CallToolResult::from(ToolFailure::new("invalid_arguments", reason, usage)).into())
}

/// The arguments of a tool in a sentence.
fn usage(tool: &Tool) -> String {
    let required = tool.input_schema.get("required").and_then(|list| list.as_array());
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|entry| entry == name));
    let properties = tool.input_schema.get("properties").and_then(|properties| properties.as_object());
    let arguments: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let kind = schema.get("type").and_then(|kind| kind.as_str()).unwrap_or("value");
            format!("{name} ({kind}{})", if is_required(name) { ", required" } else { "" })
        })
        .collect();
    if arguments.is_empty() {
        return format!("call {} without arguments", tool.name);
    }
    format!("call {} with: {}", tool.name, arguments.join(", "))
}
