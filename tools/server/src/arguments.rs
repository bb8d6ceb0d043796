//! A tool's arguments against its input schema: what is wrong about them, by name.
//!
//! Whether a call is refused is for the deserializer to say, which does not say of which argument it speaks. This looks for the place.

use rmcp::model::JsonObject;
use serde_json::{Map, Number, Value};

use crate::text::{kind, shortened, with_article};

/// More objections at once are more than anybody reads.
const MOST: usize = 5;

/// How deep a description goes into objects.
const DEPTH: usize = 3;

/// Turns numbers such as 2.0 into integers where the schema wants those: JSON Schema counts them among them.
pub(crate) fn make_integers(schema: &JsonObject, arguments: &mut JsonObject) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, value) in arguments.iter_mut() {
        if let Some(schema) = properties.get(name).and_then(Value::as_object) {
            make_integer(schema, value);
        }
    }
}

fn make_integer(schema: &JsonObject, value: &mut Value) {
    match value {
        Value::Number(number) if says(schema, "type") == Some("integer") => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items").and_then(Value::as_object) {
                for item in items {
                    make_integer(schema, item);
                }
            }
        }
        Value::Object(fields) => make_integers(schema, fields),
        _ => {}
    }
}

/// A number with a fraction of zero as an integer.
fn whole(number: &Number) -> Option<Number> {
    /// From here on, not every integer is a floating-point number, and a conversion would have to guess.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is small enough")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

/// What is wrong with the arguments, if the schema shows it.
pub(crate) fn objections(schema: &JsonObject, arguments: Option<&JsonObject>) -> Option<String> {
    let mut found = Vec::new();
    look_into(schema, arguments.unwrap_or(&Map::new()), "", &mut found);
    found.truncate(MOST);
    (!found.is_empty()).then(|| found.join("; "))
}

/// Looks at an object; `prefix` is its own name and a dot, or nothing.
fn look_into(schema: &JsonObject, given: &JsonObject, prefix: &str, found: &mut Vec<String>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in given {
        if found.len() >= MOST {
            return;
        }
        match properties.and_then(|properties| properties.get(name)?.as_object()) {
            Some(_) if value.is_null() && !is_required(schema, name) => {}
            Some(schema) => look_at(schema, value, &format!("{prefix}{name}"), found),
            None if closed => found.push(format!("there is no argument `{prefix}{}`", shortened(name))),
            None => {}
        }
    }
    for name in properties.into_iter().flat_map(Map::keys).filter(|name| is_required(schema, name) && !given.contains_key(*name)) {
        found.push(format!("`{prefix}{name}` is missing"));
    }
}

/// Looks at a value of this name.
fn look_at(schema: &JsonObject, value: &Value, name: &str, found: &mut Vec<String>) {
    let wanted = says(schema, "type");
    let fits = match wanted {
        Some("integer") => value.is_i64() || value.is_u64(),
        Some(wanted) => kind(value) == wanted,
        None => true,
    };
    if !fits {
        let is = if value.is_number() { shown(value) } else { with_article(kind(value)) };
        found.push(format!("`{name}` is {is} and has to be {}", with_article(wanted.unwrap_or_default())));
        return;
    }
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        let too_small = bound("minimum").is_some_and(|minimum| number < minimum);
        let too_large = bound("maximum").is_some_and(|maximum| number > maximum);
        if let Some((side, key)) = too_small.then_some(("least", "minimum")).or(too_large.then_some(("most", "maximum"))) {
            found.push(format!("`{name}` is {} and has to be at {side} {}", shown(value), schema.get(key).map(shown).unwrap_or_default()));
        }
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array).filter(|choices| !choices.contains(value)) {
        let choices: Vec<_> = choices.iter().map(shown).collect();
        found.push(format!("`{name}` is {} and has to be one of {}", shown(value), choices.join(", ")));
    }
    match value {
        Value::Object(fields) => look_into(schema, fields, &format!("{name}."), found),
        Value::Array(items) => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
            if (items.len() as u64) < least {
                found.push(format!("`{name}` has {} items and needs at least {least}", items.len()));
            }
            if let Some(schema) = schema.get("items").and_then(Value::as_object) {
                for (index, item) in items.iter().enumerate() {
                    if found.len() >= MOST {
                        return;
                    }
                    look_at(schema, item, &format!("{name}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn says<'a>(schema: &'a JsonObject, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

fn is_required(schema: &JsonObject, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|list| list.iter().any(|entry| entry == name))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", shortened(text)),
        other => shortened(&other.to_string()).into_owned(),
    }
}

/// The arguments that a schema has, in words: each with its kind, and objects with their fields.
pub(crate) fn described(schema: &JsonObject) -> String {
    fields(schema, DEPTH)
}

fn fields(schema: &JsonObject, depth: usize) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let what = property.as_object().map_or_else(|| "value".to_owned(), |property| what(property, depth));
            format!("{name} ({what}{})", if is_required(schema, name) { ", required" } else { "" })
        })
        .collect();
    fields.join(", ")
}

fn what(schema: &JsonObject, depth: usize) -> String {
    let inner = match says(schema, "type") {
        _ if depth <= 1 => None,
        Some("object") => Some(fields(schema, depth - 1)).filter(|fields| !fields.is_empty()),
        Some("array") => {
            schema.get("items").and_then(Value::as_object).filter(|items| items.contains_key("type")).map(|items| what(items, depth - 1))
        }
        _ => None,
    };
    let kind = says(schema, "type").unwrap_or("value");
    inner.map_or_else(|| kind.to_owned(), |inner| format!("{kind} of {inner}"))
}

/// A deserializer's message in words that mean something outside of Rust.
pub(crate) fn without_types(message: &str) -> String {
    const NAMES: [(&str, &str); 2] = [("an integer", "u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize"), ("a number", "f32 f64")];
    // Only behind this word do names of types stand; before it are the client's own.
    let Some((given, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let replaced = NAMES.iter().find(|(_, names)| names.split(' ').any(|name| name == expected)).map(|(word, _)| *word);
    let replaced =
        replaced.or_else(|| ["struct ", "internally tagged enum "].iter().any(|kind| expected.starts_with(kind)).then_some("an object"));
    format!("{given}expected {}", replaced.unwrap_or(expected))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> JsonObject {
        let Value::Object(schema) = json!({
            "type": "object",
            "properties": {
                "trials": {"type": "integer", "minimum": 1, "maximum": 20},
                "speed": {"type": "number"},
                "names": {"type": "array", "items": {"type": "string", "enum": ["eager", "compile"]}, "minItems": 1},
                "subject": {
                    "type": "object",
                    "properties": {"operators": {"type": "array", "items": {"type": "string"}}, "rows": {"type": "integer"}},
                    "required": ["operators"],
                },
                "source": {"type": "string"},
            },
            "required": ["source"],
            "additionalProperties": false,
        }) else {
            panic!("it is an object")
        };
        schema
    }

    fn check(arguments: &Value, expected: Option<&str>) {
        assert_eq!(objections(&schema(), arguments.as_object()).as_deref(), expected, "{arguments}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        check(&json!({"source": "x"}), None);
        check(&json!({"source": "x", "trials": null, "speed": 1, "names": ["eager"], "subject": {"operators": [], "colour": 1}}), None);
        check(&json!({}), Some("`source` is missing"));
        check(&Value::Null, Some("`source` is missing"));
        check(&json!({"source": null}), Some("`source` is null and has to be a string"));
        check(&json!({"source": "x", "trials": "5"}), Some("`trials` is a string and has to be an integer"));
        check(&json!({"source": "x", "trials": 2.5}), Some("`trials` is 2.5 and has to be an integer"));
        check(&json!({"source": "x", "trials": -1}), Some("`trials` is -1 and has to be at least 1"));
        check(&json!({"source": "x", "trials": 21}), Some("`trials` is 21 and has to be at most 20"));
        check(&json!({"source": "x", "foo": 1}), Some("there is no argument `foo`"));
        check(&json!({"sauce": "x"}), Some("there is no argument `sauce`; `source` is missing"));
        check(&json!({"source": "x", "names": []}), Some("`names` has 0 items and needs at least 1"));
        check(&json!({"source": "x", "names": ["eager", "lazy"]}), Some(r#"`names[1]` is "lazy" and has to be one of "eager", "compile""#));
        check(
            &json!({"source": "x", "subject": {"rows": true}}),
            Some("`subject.rows` is a boolean and has to be an integer; `subject.operators` is missing"),
        );
    }

    #[test]
    fn little_is_said_about_much_that_is_wrong() {
        let long = objections(&schema(), json!({"source": "x", "names": vec!["y".repeat(1_000_000); 1_000]}).as_object()).unwrap();
        assert!(long.len() < 2_000 && long.contains("`names[4]`") && !long.contains("`names[5]`"), "{long}");
    }

    #[test]
    fn whole_numbers_become_integers_where_those_are_wanted() {
        let mut arguments = json!({"trials": 2.0, "speed": 2.0, "subject": {"rows": -3.0, "operators": []}, "source": "x", "foo": 1.0});
        make_integers(&schema(), arguments.as_object_mut().unwrap());
        assert_eq!(arguments, json!({"trials": 2, "speed": 2.0, "subject": {"rows": -3, "operators": []}, "source": "x", "foo": 1.0}));
        for kept in [json!({"trials": 2.5}), json!({"trials": 1e30}), json!({"trials": "2.0"})] {
            let mut arguments = kept.clone();
            make_integers(&schema(), arguments.as_object_mut().unwrap());
            assert_eq!(arguments, kept);
        }
    }

    #[test]
    fn a_description_names_inner_fields() {
        assert_eq!(
            described(&schema()),
            "trials (integer), speed (number), names (array of string), \
             subject (object of operators (array of string, required), rows (integer)), source (string, required)"
        );
    }

    #[test]
    fn messages_do_not_speak_of_rust() {
        for (message, expected) in [
            ("invalid value: integer `5000000000`, expected u32", "invalid value: integer `5000000000`, expected an integer"),
            ("invalid type: map, expected struct Subject with 2 elements", "invalid type: map, expected an object"),
            ("missing field `text`", "missing field `text`"),
        ] {
            assert_eq!(without_types(message), expected);
        }
    }
}
