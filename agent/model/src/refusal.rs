//! What a server's refusal means: whether it may pass, and if not, whose business it is.
//!
//! Servers agree on little more than the status, so the words count as well. They are only used to choose between kinds of failure; what
//! is not recognised is shown as the server said it.

use serde_json::Value;

use crate::{Fault, ModelError, secret::Mask};

/// The longest part of a server's message that is kept, in characters.
const LONGEST: usize = 600;

/// A server's refusal, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status, or the one that the error would have had outside a stream.
    pub(crate) status: u16,
    /// Its codes and types in lower case, e.g. `insufficient_quota`.
    codes: Vec<String>,
    /// What it says.
    message: String,
    /// What kind of text it came as.
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Html,
    Other,
}

/// Who is asked what, for the messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) url: &'a str,
    pub(crate) model: &'a str,
}

/// What a refusal means.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// Trying again is pointless.
    Final(ModelError),
    /// It may pass.
    Passing(Fault),
}

impl Refusal {
    /// Reads the body of a response with an error status.
    pub(crate) fn from_body(status: u16, body: &[u8], mask: &Mask) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => Self { status, ..Self::from_json(&value, mask) },
            Err(_) if is_html(body) => {
                Self { status, codes: Vec::new(), message: shorten(&mask.apply(&html_title(&text))), form: Form::Html }
            }
            Err(_) => Self { status, codes: Vec::new(), message: shorten(&mask.apply(text.trim())), form: Form::Other },
        }
    }

    /// Reads an error that came inside a stream, or in a response that claimed success.
    pub(crate) fn from_json(value: &Value, mask: &Mask) -> Self {
        // Some servers put the error, or everything, into a list.
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = match &value["error"] {
            Value::Null => value,
            error => error,
        };
        let field = |name: &str| error[name].as_str().or_else(|| value[name].as_str());
        let message =
            field("message").or_else(|| error.as_str()).or_else(|| field("detail")).map_or_else(|| error.to_string(), str::to_owned);
        let codes: Vec<String> =
            ["code", "type", "status"].iter().filter_map(|name| error[*name].as_str()).map(str::to_lowercase).collect();
        let number =
            |name: &str| error[name].as_u64().and_then(|number| u16::try_from(number).ok()).filter(|status| (400..600).contains(status));
        let status = number("code").or_else(|| number("status")).unwrap_or_else(|| status_of(&codes));
        Self { status, codes, message: shorten(&mask.apply(&message)), form: Form::Json }
    }

    /// What to make of it.
    pub(crate) fn meaning(self, asked: Asked<'_>) -> Meaning {
        let url = asked.url.to_owned();
        let model = asked.model.to_owned();
        let words = self.message.to_lowercase();
        let status = self.status;
        let message = if self.message.is_empty() { "no explanation".to_owned() } else { self.message.clone() };
        if self.is_about_credit(&words) {
            return Meaning::Final(ModelError::NoCredit { url, message });
        }
        if status == 429 {
            return Meaning::Passing(Fault::Status { status, message });
        }
        if self.is_about_model(&words) {
            return Meaning::Final(ModelError::UnknownModel { url, model, message });
        }
        if matches!(status, 401 | 403) {
            return Meaning::Final(ModelError::Auth { url, status, message });
        }
        if is_about_tool_choice(&words) {
            return Meaning::Final(ModelError::NoToolChoice { url, message });
        }
        if is_about_tools(&words) {
            return Meaning::Final(ModelError::NoToolSupport { url, model, message });
        }
        if self.is_about_length(&words) {
            return Meaning::Final(ModelError::ContextTooLong { url, model, message });
        }
        // "Not implemented" does not pass: whatever is there does not take questions.
        if matches!(status, 404 | 405 | 410 | 501) {
            return Meaning::Final(wrong_url(&url, &format!("HTTP {status}: {message}")));
        }
        if matches!(status, 408 | 409 | 425 | 500..) {
            return Meaning::Passing(Fault::Status { status, message });
        }
        if self.form == Form::Html {
            return Meaning::Final(wrong_url(&url, &format!("HTTP {status}: {message}")));
        }
        Meaning::Final(ModelError::Rejected { url, status, message })
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    fn is_about_credit(&self, words: &str) -> bool {
        // "Exceeded your quota" alone is not enough: some providers say it when one minute's quota is used up.
        self.status == 402
            || self.has_code(&[
                "insufficient_quota",
                "billing_hard_limit_reached",
                "billing_not_active",
                "insufficient_balance",
                "billing_error",
            ])
            || has_any(words, &["credit balance is too low", "insufficient balance", "insufficient credit", "insufficient_quota"])
    }

    fn is_about_model(&self, words: &str) -> bool {
        self.has_code(&["model_not_found", "unknown_model", "model_not_available"])
            || (matches!(self.status, 400 | 403 | 404 | 422)
                && self.form != Form::Html
                && words.contains("model")
                && has_any(words, &["not found", "does not exist", "not exist", "not a valid model", "unknown model", "invalid model", "no such model"])
                && !has_any(words, &["tool use", "function"]))
            // Anthropic says no more than `model: NAME`.
            || (self.status == 404 && words.starts_with("model:"))
    }

    fn is_about_length(&self, words: &str) -> bool {
        self.status == 413
            || self.has_code(&["context_length_exceeded", "request_too_large", "exceed_context_size_error"])
            || (self.status != 404
                && has_any(
                    words,
                    &[
                        "maximum context length",
                        "context length exceeded",
                        "prompt is too long",
                        "exceeds the available context size",
                        "exceed context limit",
                        "exceeds the context",
                        "exceeds the model's maximum context",
                        "input is too long",
                        "maximum number of tokens allowed",
                    ],
                ))
    }
}

/// A page where a model was expected.
pub(crate) fn wrong_url(url: &str, found: &str) -> ModelError {
    let hint = if url.contains("/v1/") {
        "check the address: the model's endpoint may be under another path, which can be given in full"
    } else {
        "check the address: most servers want /v1 at its end, and the whole path of the endpoint may be given as well"
    };
    ModelError::WrongUrl { url: url.to_owned(), found: found.to_owned(), hint: hint.to_owned() }
}

/// Whether a body is a page for people.
pub(crate) fn is_html(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// What a page calls itself.
pub(crate) fn html_title(page: &str) -> String {
    let title = |page: &str| {
        // Only ASCII changes its case, so that places in one text are places in the other.
        let lower = page.to_ascii_lowercase();
        let from = lower.find("<title>")? + "<title>".len();
        let to = from + lower[from..].find("</title>")?;
        Some(page[from..to].trim().to_owned())
    };
    match title(page) {
        Some(title) if !title.is_empty() => format!("a web page, {title:?}"),
        _ => "a web page".to_owned(),
    }
}

fn is_about_tool_choice(words: &str) -> bool {
    let named = has_any(words, &["tool_choice", "tool choice", "forces tool use", "forced tool use", "forcing tool use"]);
    // vLLM without a tool parser names the default choice, but it is the tools that it cannot do.
    named && !words.contains("requires --")
}

fn is_about_tools(words: &str) -> bool {
    let named =
        has_any(words, &["tools", "tool use", "tool calling", "tool choice", "function calling", "function call", "functions", "'tool'"]);
    named
        && has_any(
            words,
            &[
                "not support",
                "n't support",
                "unsupported",
                "no endpoints found that support",
                "requires --",
                "not enabled",
                "not available",
                "not allowed",
                "unknown field",
                "unrecognized",
                "unexpected",
                "not permitted",
            ],
        )
}

fn has_any(words: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| words.contains(part))
}

/// The status that an error would have had, had it come before the stream.
fn status_of(codes: &[String]) -> u16 {
    let one = |code: &str| match code {
        "invalid_request_error" | "invalid_argument" | "bad_request" => Some(400),
        "authentication_error" | "invalid_api_key" | "unauthenticated" => Some(401),
        "permission_error" | "permission_denied" => Some(403),
        "not_found_error" | "not_found" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" => Some(429),
        "overloaded_error" => Some(529),
        _ => None,
    };
    codes.iter().find_map(|code| one(code)).unwrap_or(500)
}

/// One line of at most [`LONGEST`] characters.
pub(crate) fn shorten(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Meaning, Refusal};
    use crate::{ModelError, secret::Mask};

    #[track_caller]
    fn check(status: u16, body: &str, expect: &str) {
        let mask = Mask::default();
        let meaning = Refusal::from_body(status, body.as_bytes(), &mask).meaning(Asked { url: "https://host/v1/x", model: "m" });
        let got = match &meaning {
            Meaning::Passing(_) => "passing",
            Meaning::Final(error) => match error {
                ModelError::Auth { .. } => "auth",
                ModelError::WrongUrl { .. } => "wrong url",
                ModelError::UnknownModel { .. } => "unknown model",
                ModelError::NoToolSupport { .. } => "no tools",
                ModelError::NoToolChoice { .. } => "no tool choice",
                ModelError::ContextTooLong { .. } => "too long",
                ModelError::NoCredit { .. } => "no credit",
                ModelError::Rejected { .. } => "rejected",
                _ => "another",
            },
        };
        assert_eq!(got, expect, "for {status} {body}: {meaning:?}");
    }

    #[test]
    fn what_may_pass() {
        check(429, r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#, "passing");
        check(429, r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#, "passing");
        check(529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "passing");
        check(502, "<html><title>502 Bad Gateway</title></html>", "passing");
        check(500, "", "passing");
        check(503, "no healthy upstream", "passing");
        check(408, "", "passing");
        check(409, r#"{"error":"conflict"}"#, "passing");
    }

    #[test]
    fn keys_and_credit() {
        check(401, r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#, "auth");
        check(401, "", "auth");
        check(403, r#"{"error":{"type":"permission_error","message":"Your key may not use this"}}"#, "auth");
        check(
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "no credit",
        );
        check(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            "no credit",
        );
        check(402, r#"{"error":{"message":"Insufficient Balance"}}"#, "no credit");
    }

    #[test]
    fn names_and_addresses() {
        check(
            404,
            r#"{"error":{"message":"The model `m` does not exist or you do not have access to it.","code":"model_not_found"}}"#,
            "unknown model",
        );
        check(404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#, "unknown model");
        check(404, r#"{"object":"error","message":"The model `m` does not exist.","type":"NotFoundError","code":404}"#, "unknown model");
        check(404, r#"{"error":{"message":"model 'm' not found","type":"api_error"}}"#, "unknown model");
        check(400, r#"{"error":{"message":"m is not a valid model ID","code":400}}"#, "unknown model");
        check(403, r#"{"error":{"message":"Project `p` does not have access to model `m`","code":"model_not_found"}}"#, "unknown model");
        check(404, r#"{"detail":"Not Found"}"#, "wrong url");
        check(404, "<!DOCTYPE html><title>Not here</title>", "wrong url");
        check(405, r#"{"detail":"Method Not Allowed"}"#, "wrong url");
        check(501, "<html><title>Unsupported method ('POST')</title></html>", "wrong url");
        check(400, "<html>plain page</html>", "wrong url");
    }

    #[test]
    fn tools() {
        check(400, r#"{"error":{"message":"registry.ollama.ai/library/m does not support tools","type":"api_error"}}"#, "no tools");
        check(404, r#"{"error":{"message":"No endpoints found that support tool use. To learn more see ...","code":404}}"#, "no tools");
        check(
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}"#,
            "no tools",
        );
        check(500, r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#, "no tools");
        check(400, r#"{"error":{"message":"This model does not support function calling"}}"#, "no tools");
        check(400, r#"{"error":{"message":"m does not support this tool_choice","type":"invalid_request_error"}}"#, "no tool choice");
        check(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Thinking may not be enabled when tool_choice forces tool use."}}"#,
            "no tool choice",
        );
        check(400, r#"{"error":{"message":"Invalid schema for function 'evaluate': type is missing"}}"#, "rejected");
        check(
            400,
            r#"{"error":{"message":"messages with role 'tool' must be a response to a preceding message with 'tool_calls'"}}"#,
            "rejected",
        );
    }

    #[test]
    fn lengths_and_the_rest() {
        check(
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
            "too long",
        );
        check(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "too long",
        );
        check(400, r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it"}}"#, "too long");
        check(413, "", "too long");
        check(400, r#"{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}"#, "rejected");
        check(422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, "rejected");
    }

    #[test]
    fn an_error_in_a_stream_gets_the_status_it_would_have_had() {
        let status = |body: &str| Refusal::from_json(&serde_json::from_str(body).unwrap(), &Mask::default()).status;
        assert_eq!(status(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#), 529);
        assert_eq!(status(r#"{"error":{"message":"bad","code":502}}"#), 502);
        assert_eq!(status(r#"{"error":{"message":"bad"}}"#), 500);
    }
}
