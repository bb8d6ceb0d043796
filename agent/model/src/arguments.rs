//! The arguments of a tool call, which a model writes as text and may get wrong.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a tool was called with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// A JSON object, whose members may still be the wrong ones.
    Object(Map<String, Value>),
    /// Not a JSON object. Kept so that the model can be told, and the log shows what it wrote.
    Malformed {
        /// What the model wrote.
        text: String,
        /// What is wrong with it, in words for the model.
        reason: String,
    },
}

impl Arguments {
    /// Reads what a model wrote. Nothing at all counts as an object without members: tools without parameters are called like that.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::from_value(value),
            Err(error) => Self::Malformed { text: text.to_owned(), reason: format!("the arguments are not valid JSON: {error}") },
        }
    }

    /// Takes a JSON value for arguments. A string is taken for its content, because some servers encode arguments twice.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(object) => Self::Object(object),
            Value::Null => Self::Object(Map::new()),
            Value::String(text) => match serde_json::from_str::<Value>(&text) {
                Ok(Value::Object(object)) => Self::Object(object),
                Ok(other) => Self::not_an_object(text, &other),
                Err(error) => Self::Malformed { text, reason: format!("the arguments are not valid JSON: {error}") },
            },
            other => Self::not_an_object(other.to_string(), &other),
        }
    }

    /// What the model wrote before its answer reached a length limit.
    pub(crate) fn cut_off(text: &str) -> Self {
        match Self::parse(text) {
            Self::Object(object) if !text.trim().is_empty() => Self::Object(object),
            _ => Self::Malformed {
                text: text.to_owned(),
                reason: "the answer reached its length limit before the arguments were complete".to_owned(),
            },
        }
    }

    /// The arguments as JSON text, for sending back. Malformed ones are wrapped into an object: servers that parse the conversation
    /// would refuse all of it otherwise.
    pub(crate) fn to_wire(&self) -> String {
        Value::Object(self.to_object()).to_string()
    }

    /// The arguments as an object, for sending back.
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        match self {
            Self::Object(object) => object.clone(),
            Self::Malformed { text, .. } => Map::from_iter([("malformed_arguments".to_owned(), Value::String(text.clone()))]),
        }
    }

    fn not_an_object(text: String, value: &Value) -> Self {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Self::Malformed { text, reason: format!("the arguments must be a JSON object, not {kind}") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Arguments;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let got = match Arguments::parse(text) {
            Arguments::Object(object) => serde_json::to_string(&object).unwrap(),
            Arguments::Malformed { reason, .. } => reason,
        };
        assert_eq!(got, expect, "for {text:?}");
    }

    #[test]
    fn text_becomes_an_object_or_a_reason() {
        check(r#"{"a": 1}"#, r#"{"a":1}"#);
        check("", "{}");
        check("  \n", "{}");
        check("null", "{}");
        check(r#""{\"a\": 1}""#, r#"{"a":1}"#);
        check("[1]", "the arguments must be a JSON object, not an array");
        check(r#"{"a": "#, "the arguments are not valid JSON: EOF while parsing a value at line 1 column 6");
    }

    #[test]
    fn malformed_arguments_survive_the_log_and_go_back_as_an_object() {
        let arguments = Arguments::parse("{'a': 1}");
        let logged = serde_json::to_string(&arguments).unwrap();
        assert_eq!(serde_json::from_str::<Arguments>(&logged).unwrap(), arguments);
        assert_eq!(arguments.to_wire(), json!({"malformed_arguments": "{'a': 1}"}).to_string());
    }

    #[test]
    fn a_cut_off_call_is_malformed_even_when_nothing_was_written() {
        assert!(matches!(Arguments::cut_off(""), Arguments::Malformed { .. }));
        assert!(matches!(Arguments::cut_off(r#"{"a"#), Arguments::Malformed { .. }));
        assert!(matches!(Arguments::cut_off(r#"{"a": 1}"#), Arguments::Object(_)));
    }
}
