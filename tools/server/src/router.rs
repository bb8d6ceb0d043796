//! The last pass over a server's tools before they are listed.

use std::sync::Arc;
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolResponse, CallToolResult, ErrorCode, Tool};

use crate::arguments::{described, make_integers, objections, without_types};
use crate::text::cut;
use crate::{ToolFailure, tidy_input, tidy_output};

/// As much of a deserializer's message as is told, in characters: it may repeat all that it was given.
const MESSAGE: usize = 1_000;

/// Makes a router's tools acceptable to every host: tidied schemas, and malformed arguments answered with a [`ToolFailure`] that
/// says which one is wrong and names those that there are. Tools are listed in the order of their names.
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
    let schema = Arc::clone(&attr.input_schema);
    ToolRoute::new_dyn(attr, move |mut context: ToolCallContext<'_, S>| {
        let (name, usage, started) = (name.clone(), Arc::clone(&usage), Instant::now());
        if let Some(arguments) = &mut context.arguments {
            make_integers(&schema, arguments);
        }
        // Looked for now, as the call takes the arguments; told only if it refuses them.
        let objections = objections(&schema, context.arguments.as_ref());
        let answer = call(context);
        Box::pin(async move {
            let answer = match answer.await {
                Err(error) => refuse_arguments(error, objections, &usage),
                answer => answer,
            };
            tracing::debug!(tool = %name, elapsed = ?started.elapsed(), "call answered");
            answer
        })
    })
}

/// What rmcp reports as a protocol error without a cure becomes a failure that a model can act on.
fn refuse_arguments(error: ErrorData, objections: Option<String>, usage: &str) -> Result<CallToolResponse, ErrorData> {
    if error.code != ErrorCode::INVALID_PARAMS {
        return Err(error);
    }
    let reason = objections.unwrap_or_else(|| {
        let message = error.message.trim_start_matches("failed to deserialize parameters: ");
        without_types(&cut(message, MESSAGE))
    });
    Ok(CallToolResult::from(ToolFailure::new("invalid_arguments", reason, usage)).into())
}

/// The arguments of a tool in a sentence.
fn usage(tool: &Tool) -> String {
    let arguments = described(&tool.input_schema);
    if arguments.is_empty() {
        return format!("call {} without arguments", tool.name);
    }
    format!("call {} with: {arguments}", tool.name)
}
