//! The tools that the agent itself offers the model: the draft under its hands, its notes, and the end of the step.

use kernelwright_model::ToolSpec;
use kernelwright_search::NodeId;
use serde_json::{Map, Value, json};

/// A call of one of the agent's own tools, with its arguments read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnCall {
    /// Replace the whole draft.
    Write { source: String },
    /// Replace one place of the draft.
    Edit { old: String, new: String },
    /// Show the draft, or a node's kernel.
    Read { node: Option<NodeId> },
    /// Keep a sentence for later steps.
    Note { text: String },
    /// End the step.
    Finish { summary: String },
}

pub(crate) const WRITE_KERNEL: &str = "write_kernel";
pub(crate) const EDIT_KERNEL: &str = "edit_kernel";
pub(crate) const READ_KERNEL: &str = "read_kernel";
pub(crate) const TAKE_NOTE: &str = "take_note";
pub(crate) const FINISH_STEP: &str = "finish_step";

/// The tools as the model is told about them.
pub(crate) fn specs() -> Vec<ToolSpec> {
    let text = |description: &str| json!({"type": "string", "description": description});
    vec![
        spec(
            WRITE_KERNEL,
            "Replace the whole draft with a new Python file. It must define `class ModelNew(torch.nn.Module)` with the problem's constructor \
             and forward arguments. Nothing is checked or run by this: call evaluate_kernel afterwards.",
            &json!({"source": text("The complete text of the file.")}),
            &["source"],
        ),
        spec(
            EDIT_KERNEL,
            "Replace one place of the draft. `old` has to occur in it exactly once, character by character; add lines around it until it does.",
            &json!({"old": text("The text to replace."), "new": text("What to put in its place.")}),
            &["old", "new"],
        ),
        spec(
            READ_KERNEL,
            "Show the draft, or an earlier kernel of this run.",
            &json!({"node": {"type": "integer", "description": "The number of a kernel, as `kernel 3` in what the step begins with. Without it, the draft is shown."}}),
            &[],
        ),
        spec(
            TAKE_NOTE,
            "Write down one finding for later steps, which do not see this conversation: what was tried, what came of it, and why. One or two \
             sentences with figures.",
            &json!({"text": text("The finding.")}),
            &["text"],
        ),
        spec(
            FINISH_STEP,
            "End this step. The best kernel that was evaluated in it is kept.",
            &json!({"summary": text("What makes the best kernel of this step as fast as it is, in two to four sentences for the report.")}),
            &["summary"],
        ),
    ]
}

fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

/// Whether the agent itself answers this tool.
pub(crate) fn is_own(tool: &str) -> bool {
    [WRITE_KERNEL, EDIT_KERNEL, READ_KERNEL, TAKE_NOTE, FINISH_STEP].contains(&tool)
}

/// Reads a call; the error is a sentence for the model.
pub(crate) fn read(tool: &str, arguments: &Map<String, Value>) -> Result<OwnCall, String> {
    let text = |name: &str| match arguments.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("`{name}` of {tool} must be a string, not {other}")),
        None => Err(format!("{tool} needs `{name}`, a string")),
    };
    match tool {
        WRITE_KERNEL => Ok(OwnCall::Write { source: text("source")? }),
        EDIT_KERNEL => Ok(OwnCall::Edit { old: text("old")?, new: text("new")? }),
        READ_KERNEL => match arguments.get("node") {
            None | Some(Value::Null) => Ok(OwnCall::Read { node: None }),
            Some(value) => {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                number
                    .map(|number| OwnCall::Read { node: Some(NodeId(number)) })
                    .ok_or_else(|| format!("`node` must be a number, not {value}"))
            }
        },
        TAKE_NOTE => Ok(OwnCall::Note { text: text("text")? }),
        FINISH_STEP => Ok(OwnCall::Finish { summary: text("summary")? }),
        other => Err(format!("there is no tool `{other}`")),
    }
}

/// Replaces the one place where `old` occurs; the error is a sentence for the model.
pub(crate) fn edit(source: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Err("`old` is empty; give the text to replace".to_owned());
    }
    match source.matches(old).count() {
        1 => Ok(source.replacen(old, new, 1)),
        0 => Err("`old` does not occur in the draft; read_kernel shows it character by character".to_owned()),
        many => Err(format!("`old` occurs {many} times in the draft; add lines around it until it is unique")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_needs_exactly_one_place() {
        assert_eq!(edit("a = 1\nb = 1\n", "a = 1", "a = 2"), Ok("a = 2\nb = 1\n".to_owned()));
        assert!(edit("a = 1\nb = 1\n", "= 1", "= 2").unwrap_err().contains("2 times"));
        assert!(edit("a = 1\n", "c", "d").unwrap_err().contains("does not occur"));
        assert!(edit("a = 1\n", "", "d").unwrap_err().contains("empty"));
    }

    #[test]
    fn wrong_arguments_are_answered_with_what_is_needed() {
        let arguments = json!({"source": 3});
        let read = |tool| read(tool, arguments.as_object().unwrap());
        assert_eq!(read(WRITE_KERNEL), Err("`source` of write_kernel must be a string, not 3".to_owned()));
        assert_eq!(read(TAKE_NOTE), Err("take_note needs `text`, a string".to_owned()));
        assert_eq!(read(READ_KERNEL), Ok(OwnCall::Read { node: None }));
    }

    #[test]
    fn every_offered_tool_can_be_read() {
        for spec in specs() {
            assert!(is_own(&spec.name));
            assert_ne!(read(&spec.name, &Map::new()), Err(format!("there is no tool `{}`", spec.name)));
        }
    }
}
