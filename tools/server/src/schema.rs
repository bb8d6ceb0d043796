//! Makes generated schemas plain enough for every host.
//!
//! Hosts hand input schemas to model providers, whose accepted dialects differ; all of them take objects, arrays and scalars with
//! one `type` each, `enum`, `description`, `required`, `default` and bounds. Schemars says more than that: references, `anyOf` with
//! null for optional fields, `oneOf` of constants for documented enums, tagged unions, machine formats such as `uint32`.
//! [`tidy_input`] rewrites these; what the server accepts stays what the type accepts. Outputs are read by programs that know JSON
//! Schema, so [`tidy_output`] only makes the root an object and drops formats that validators stumble over.

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Formats that JSON Schema knows. Others (`uint32`, `int64`, `double`) make strict validators fail.
const KNOWN_FORMATS: [&str; 8] = ["date-time", "date", "time", "duration", "uri", "email", "uuid", "regex"];

/// References nest no deeper than this in tidied schemas; a type that contains itself ends in a plain object.
const MAX_DEPTH: usize = 24;

/// Rewrites an input schema: the root a plain object, no references, one `type` everywhere.
#[must_use]
pub fn tidy_input(schema: &Object) -> Object {
    let definitions = definitions(schema);
    let mut root = plain(schema.clone(), &definitions, 0);
    for key in ["$schema", "$defs", "definitions", "title", "description"] {
        root.shift_remove(key);
    }
    // A fixed order of keys keeps listings the same from build to build, and reads from the general to the particular.
    let mut tidy = object(json!({"type": "object", "properties": {}}));
    tidy.extend(root.into_iter().filter(|(key, _)| key != "type"));
    tidy
}

/// Makes an output schema's root an object and drops unknown formats.
#[must_use]
pub fn tidy_output(schema: &Object) -> Object {
    let definitions = definitions(schema);
    let mut root = schema.clone();
    if let Some(target) = root.get("$ref").and_then(|reference| resolve(reference, &definitions)) {
        root.shift_remove("$ref");
        for (key, value) in target {
            root.entry(key).or_insert(value);
        }
    }
    root.shift_remove("title");
    root.insert("type".into(), json!("object"));
    let mut root = Value::Object(root);
    drop_formats(&mut root);
    match root {
        Value::Object(root) => root,
        _ => Object::new(),
    }
}

fn definitions(schema: &Object) -> Object {
    ["$defs", "definitions"].iter().find_map(|key| schema.get(*key)).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn resolve(reference: &Value, definitions: &Object) -> Option<Object> {
    let name = reference.as_str()?.rsplit('/').next()?;
    definitions.get(name)?.as_object().cloned()
}

fn drop_formats(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.get("format").and_then(Value::as_str).is_some_and(|format| !KNOWN_FORMATS.contains(&format)) {
                object.shift_remove("format");
            }
            object.values_mut().for_each(drop_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_formats),
        _ => {}
    }
}

/// One schema without references, unions and constants.
fn plain(mut schema: Object, definitions: &Object, depth: usize) -> Object {
    if depth > MAX_DEPTH {
        return object(json!({"type": "object"}));
    }
    if let Some(reference) = schema.shift_remove("$ref") {
        let target = resolve(&reference, definitions).unwrap_or_else(|| object(json!({"type": "object"})));
        return plain(absorb(schema, target), definitions, depth + 1);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(variants)) = schema.shift_remove(key) {
            let variants = variants
                .into_iter()
                .map(|variant| plain(into_object(variant), definitions, depth + 1))
                .filter(|variant| !is_null(variant))
                .collect();
            schema = merge(schema, variants, if key == "allOf" { Union::All } else { Union::One });
        }
    }
    if let Some(value) = schema.shift_remove("const") {
        schema.insert("enum".into(), json!([value]));
    }
    if let Some(Value::Array(types)) = schema.get("type") {
        let scalar = types.iter().find(|kind| *kind != "null").cloned().unwrap_or_else(|| json!("string"));
        schema.insert("type".into(), scalar);
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
        if values.iter().all(Value::is_string) {
            schema.entry("type").or_insert(json!("string"));
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| !KNOWN_FORMATS.contains(&format)) {
        schema.shift_remove("format");
    }
    schema.shift_remove("title");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            *property = Value::Object(plain(into_object(property.take()), definitions, depth + 1));
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Object(_)) = schema.get_mut(key) {
            *inner = Value::Object(plain(into_object(inner.take()), definitions, depth + 1));
        }
    }
    schema
}

/// Whether a value has to fit every variant or one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Union {
    All,
    One,
}

/// Folds the variants of a union into the schema that holds them: constants become one `enum` whose description lists what each
/// means; objects become one object that has all their properties.
fn merge(mut schema: Object, variants: Vec<Object>, union: Union) -> Object {
    if variants.len() == 1 {
        return variants.into_iter().fold(schema, absorb);
    }
    if variants.iter().all(|variant| variant.contains_key("enum")) {
        return merge_constants(schema, variants);
    }
    let mut required: Option<Vec<Value>> = None;
    for variant in &variants {
        let these = variant.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        required = Some(match (required, union) {
            (None, _) => these,
            (Some(so_far), Union::One) => so_far.into_iter().filter(|name| these.contains(name)).collect(),
            (Some(so_far), Union::All) => so_far.into_iter().chain(these).collect(),
        });
    }
    for variant in variants {
        if let Some(kind) = variant.get("type") {
            schema.entry("type").or_insert_with(|| kind.clone());
        }
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        let Some(properties) = properties.as_object_mut() else { continue };
        for (name, property) in variant.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match properties.get_mut(name).and_then(Value::as_object_mut) {
                Some(existing) => extend_enum(existing, property),
                None => {
                    properties.insert(name.clone(), property.clone());
                }
            }
        }
    }
    if schema.get("properties").and_then(Value::as_object).is_some_and(Map::is_empty) {
        schema.shift_remove("properties");
    }
    if let Some(required) = required.filter(|names| !names.is_empty()) {
        let all = schema.entry("required").or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            let missing: Vec<Value> = required.into_iter().filter(|name| !all.contains(name)).collect();
            all.extend(missing);
        }
    }
    schema
}

/// Adds what a type says to what stands beside its reference. The field's own words win, except that a choice keeps its meanings.
fn absorb(mut schema: Object, of_type: Object) -> Object {
    let is_choice = of_type.contains_key("enum");
    for (key, value) in of_type {
        match (schema.get_mut(&key), value) {
            (Some(Value::String(said)), Value::String(more)) if is_choice && key == "description" => {
                said.push(' ');
                said.push_str(&more);
            }
            (Some(_), _) => {}
            (None, value) => {
                schema.insert(key, value);
            }
        }
    }
    schema
}

fn merge_constants(mut schema: Object, variants: Vec<Object>) -> Object {
    let mut values = Vec::new();
    let mut meanings = Vec::new();
    for variant in variants {
        let these = variant.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
        if let ([Value::String(name)], Some(meaning)) = (these.as_slice(), variant.get("description").and_then(Value::as_str)) {
            meanings.push(format!("{name}: {meaning}"));
        }
        if let Some(kind) = variant.get("type") {
            schema.entry("type").or_insert_with(|| kind.clone());
        }
        values.extend(these);
    }
    schema.insert("enum".into(), Value::Array(values));
    if !meanings.is_empty() {
        let said = schema.get("description").and_then(Value::as_str).map(|text| format!("{text} ")).unwrap_or_default();
        schema.insert("description".into(), json!(format!("{said}{}", meanings.join(" "))));
    }
    schema
}

/// A tag that differs between variants lists the values of all of them.
fn extend_enum(existing: &mut Object, other: &Value) {
    let (Some(Value::Array(values)), Some(Value::Array(more))) = (existing.get_mut("enum"), other.get("enum")) else { return };
    for value in more {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
}

fn is_null(schema: &Object) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// `true` is a schema as well; it says nothing, like `{}`.
fn into_object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

fn object(value: Value) -> Object {
    into_object(value)
}

#[cfg(test)]
mod tests {
    use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
    use rmcp::schemars::{self, JsonSchema};
    use serde::{Deserialize, Serialize};

    use super::*;

    /// More effort takes longer.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Effort {
        /// Look once.
        Quick,
        /// Look everywhere.
        Thorough,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Shape {
        rows: u32,
        columns: Option<u64>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "from", rename_all = "snake_case")]
    enum Source {
        File { path: String },
        Text { text: String },
    }

    /// Everything that schemars says in its own way.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Arguments {
        /// The kernel.
        source: Source,
        /// How hard to try.
        effort: Option<Effort>,
        /// Where.
        #[serde(default)]
        shapes: Vec<Shape>,
        /// Seconds to wait.
        #[serde(default)]
        wait_s: Option<u32>,
        limit: Option<f64>,
        nested: Option<Box<Arguments>>,
        anything: Option<Value>,
    }

    #[test]
    fn inputs_become_plain_objects() {
        #[derive(Serialize, Deserialize, JsonSchema)]
        struct Flat {
            /// The kernel.
            source: Source,
            /// How hard to try.
            effort: Option<Effort>,
            /// Where.
            #[serde(default)]
            shapes: Vec<Shape>,
            /// Seconds to wait.
            #[serde(default)]
            wait_s: Option<u32>,
        }
        let tidy = Value::Object(tidy_input(&schema_for_input::<Flat>().unwrap()));
        insta::assert_snapshot!(serde_json::to_string_pretty(&tidy).unwrap(), @r#"
        {
          "type": "object",
          "properties": {
            "source": {
              "description": "The kernel.",
              "type": "object",
              "properties": {
                "from": {
                  "type": "string",
                  "enum": [
                    "file",
                    "text"
                  ]
                },
                "path": {
                  "type": "string"
                },
                "text": {
                  "type": "string"
                }
              },
              "required": [
                "from"
              ]
            },
            "effort": {
              "description": "How hard to try. More effort takes longer. quick: Look once. thorough: Look everywhere.",
              "type": "string",
              "enum": [
                "quick",
                "thorough"
              ]
            },
            "shapes": {
              "description": "Where.",
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "rows": {
                    "type": "integer",
                    "minimum": 0
                  },
                  "columns": {
                    "type": "integer",
                    "minimum": 0
                  }
                },
                "required": [
                  "rows"
                ]
              },
              "default": []
            },
            "wait_s": {
              "description": "Seconds to wait.",
              "type": "integer",
              "minimum": 0
            }
          },
          "required": [
            "source"
          ]
        }
        "#);
    }

    #[test]
    fn no_trace_of_unions_and_references_is_left() {
        let tidy = Value::Object(tidy_input(&schema_for_input::<Arguments>().unwrap()));
        let text = tidy.to_string();
        for word in ["$ref", "$defs", "anyOf", "oneOf", "allOf", "\"const\"", "uint", "\"double\"", "null", "\"title\""] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn a_tagged_union_as_a_whole_becomes_an_object() {
        let generated = schemars::schema_for!(Source);
        let tidy = tidy_input(generated.as_object().unwrap());
        assert_eq!(tidy["type"], "object");
        assert_eq!(tidy["required"], json!(["from"]));
        assert_eq!(tidy["properties"]["from"]["enum"], json!(["file", "text"]));
    }

    #[test]
    fn outputs_keep_their_unions_below_an_object() {
        #[derive(Serialize, JsonSchema)]
        struct Answer {
            count: u64,
            #[serde(flatten)]
            source: Source,
        }
        let tidy = Value::Object(tidy_output(&schema_for_output::<Answer>()));
        assert_eq!(tidy["type"], "object");
        assert!(tidy.to_string().contains("oneOf"));
        assert!(!tidy.to_string().contains("uint64"));
    }
}
