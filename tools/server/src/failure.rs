//! The one form of a tool's failure.

use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde_json::json;

/// Where programs find a failure's parts in the `_meta` of a result.
const META_KEY: &str = "kernelwright/error";

/// Why a tool could not do what it was asked, and what to do instead.
///
/// A tool is an `async fn(...) -> Result<Json<T>, ToolFailure>` (or `Result<Json<T>, CallToolResult>`). The host's model reads the
/// text: so code, reason and fix are all in it; programs find the same three in the result's `_meta`, under `kernelwright/error`. They are
/// no structured content: a tool's output schema does not admit them, and hosts that hold errors to it would lose the text as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// What kind of failure, as a stable word in `snake_case`.
    pub code: &'static str,
    /// What happened and where, in a sentence.
    pub reason: String,
    /// What to do about it, in a sentence.
    pub fix: String,
}

impl ToolFailure {
    /// A failure with its three parts.
    pub fn new(code: &'static str, reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), fix: fix.into() }
    }
}

impl From<ToolFailure> for CallToolResult {
    fn from(ToolFailure { code, reason, fix }: ToolFailure) -> Self {
        let mut result = Self::error(vec![ContentBlock::text(format!("error: {code}\nreason: {reason}\nfix: {fix}"))]);
        let parts = json!({"code": code, "reason": reason, "fix": fix});
        result.meta = Some(MetaObject(JsonObject::from_iter([(META_KEY.to_owned(), parts)])));
        result
    }
}

impl IntoCallToolResult for ToolFailure {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::from(self).into())
    }
}
