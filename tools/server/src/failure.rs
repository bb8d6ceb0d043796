//! The one form of a tool's failure.

use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde_json::json;

/// Why a tool could not do what it was asked, and what to do instead.
///
/// A tool is an `async fn(...) -> Result<Json<T>, ToolFailure>` (or `Result<Json<T>, CallToolResult>`). The host's model reads the
/// text, and some hosts drop structured content from errors: so code, reason and fix are all in the text; programs find the same
/// three under `error` in the structured content.
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
        result.structured_content = Some(json!({"error": {"code": code, "reason": reason, "fix": fix}}));
        result
    }
}

impl IntoCallToolResult for ToolFailure {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::from(self).into())
    }
}
