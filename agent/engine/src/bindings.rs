//! Which arguments of the servers' tools belong to the run and not to the model.
//!
//! The model works on one problem, one target and its current draft. Letting it name them would only let it name them wrongly, so these
//! properties are taken out of the schemas that it sees and filled in when it calls.

use std::path::{Path, PathBuf};

use kernelwright_protocol::{CandidateId, Target};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// The kernel that the model is working on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) id: CandidateId,
    pub(crate) path: PathBuf,
    pub(crate) source: String,
}

/// A tool needs a kernel and there is none yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoDraft;

/// What the run fills in.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    problem_path: PathBuf,
    problem_source: String,
    target: Target,
    /// Any other property with a fixed value: evaluation options, baselines, waiting times.
    options: Object,
}

/// What a property stands for.
enum Owned<'a> {
    ProblemText,
    ProblemFile,
    CandidateText,
    CandidateFile,
    Target,
    Option(&'a Value),
}

impl Bindings {
    pub(crate) fn new(problem_path: &Path, problem_source: &str, target: Target, options: Object) -> Self {
        Self { problem_path: problem_path.to_path_buf(), problem_source: problem_source.to_owned(), target, options }
    }

    fn owned(&self, property: &str) -> Option<Owned<'_>> {
        match property {
            "problem" => Some(Owned::ProblemText),
            "problem_file" => Some(Owned::ProblemFile),
            "candidate" => Some(Owned::CandidateText),
            "candidate_file" => Some(Owned::CandidateFile),
            "target" => Some(Owned::Target),
            other => self.options.get(other).map(Owned::Option),
        }
    }

    /// The schema as the model sees it.
    pub(crate) fn hide(&self, schema: &Object) -> Object {
        let mut schema = schema.clone();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| self.owned(name).is_none());
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name.as_str().is_none_or(|name| self.owned(name).is_none()));
        }
        schema
    }

    /// The arguments as the server gets them. What the model says about the run's own properties is dropped.
    pub(crate) fn bind(&self, schema: &Object, arguments: Object, draft: Option<&Draft>) -> Result<Object, NoDraft> {
        let empty = Object::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let has = |name: &str| properties.contains_key(name);
        let needs = |name: &str| schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name));
        let mut bound: Object = arguments.into_iter().filter(|(name, _)| self.owned(name).is_none()).collect();
        for name in properties.keys() {
            let value = match self.owned(name) {
                None => continue,
                // Where a tool takes a text or a file, the file is enough.
                Some(Owned::ProblemText) if has("problem_file") => continue,
                Some(Owned::CandidateText) if has("candidate_file") => continue,
                Some(Owned::ProblemText) => self.problem_source.clone().into(),
                Some(Owned::ProblemFile) => path_value(&self.problem_path),
                Some(Owned::CandidateText | Owned::CandidateFile) if draft.is_none() => {
                    if needs(name) {
                        return Err(NoDraft);
                    }
                    continue;
                }
                Some(Owned::CandidateText) => draft.map(|draft| draft.source.clone()).into(),
                Some(Owned::CandidateFile) => draft.map_or(Value::Null, |draft| path_value(&draft.path)),
                Some(Owned::Target) => self.target.to_string().into(),
                Some(Owned::Option(value)) => value.clone(),
            };
            bound.insert(name.clone(), value);
        }
        Ok(bound)
    }
}

fn path_value(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn bindings() -> Bindings {
        Bindings::new(Path::new("/run/problem.py"), "problem text", Target::CPU, object(&json!({"trials": 3})))
    }

    fn schema() -> Object {
        object(&json!({
            "type": "object",
            "properties": {"problem": {}, "problem_file": {}, "candidate": {}, "target": {}, "trials": {}, "detail": {"type": "string"}},
            "required": ["candidate", "detail"]
        }))
    }

    #[test]
    fn the_model_sees_only_what_it_decides() {
        let seen = bindings().hide(&schema());
        assert_eq!(Value::Object(seen), json!({"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}));
    }

    #[test]
    fn the_run_fills_in_the_rest_whatever_the_model_says() {
        let draft = Draft { id: CandidateId::of("x"), path: "/run/x.py".into(), source: "x".into() };
        let bound = bindings().bind(&schema(), object(&json!({"detail": "all", "target": "cuda", "trials": 1})), Some(&draft)).unwrap();
        let expected = json!({"detail": "all", "problem_file": "/run/problem.py", "candidate": "x", "target": "cpu", "trials": 3});
        assert_eq!(Value::Object(bound), expected);
    }

    #[test]
    fn a_tool_that_needs_a_kernel_says_so_before_it_is_called() {
        assert_eq!(bindings().bind(&schema(), Object::new(), None), Err(NoDraft));
    }
}
