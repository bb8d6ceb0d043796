//! Words for what clients send.

use std::borrow::Cow;

use serde_json::Value;

/// As much of a client's own words as an answer repeats.
const LONGEST: usize = 200;

/// A client's words as an answer repeats them: cut, for a megabyte of them would come back as one.
#[must_use]
pub fn shortened(text: &str) -> Cow<'_, str> {
    cut(text, LONGEST)
}

/// At most so many characters of a text.
pub(crate) fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// What JSON calls a value.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The kind as it stands in a sentence.
pub(crate) fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        _ if kind.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"ö".repeat(200)), "ö".repeat(200));
        assert_eq!(shortened(&"ö".repeat(201)), format!("{}…", "ö".repeat(200)));
    }
}
