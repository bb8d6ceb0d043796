//! Answers of recorded runs.

use std::path::Path;

use kernelwright_model::{Answer, Client, ClientSettings, Finish, ModelError, NoSink, Place, ReplaySettings, Usage};
use serde_json::json;

use crate::{Kept, question};

fn recorded(text: &str) -> Answer {
    let usage = Usage { input: 100, output: 10, ..Usage::default() };
    Answer { text: Some(text.to_owned()), calls: Vec::new(), carry: None, usage, finish: Finish::Stop, model: "claude-opus-5-5".to_owned() }
}

fn line(text: &str) -> String {
    json!({"v": 1, "seq": 3, "type": "model_answered", "ask": 1, "answer": recorded(text), "usage": {"input": 100, "output": 10}})
        .to_string()
}

fn open(path: &Path) -> Result<Client, ModelError> {
    Client::open(&ClientSettings::Replay(ReplaySettings { path: path.to_owned() }))
}

fn place(ask: u64) -> Place {
    Place { ask, step: 1, turn: 1 }
}

#[tokio::test]
async fn answers_come_in_their_order_and_cost_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let other = json!({"type": "step_started", "step": 1}).to_string();
    // The last line is what a kill leaves.
    let log = [other.as_str(), &line("one"), "", &line("two"), "{\"type\": \"model_ans"].join("\n");
    std::fs::write(dir.path().join("events.jsonl"), log).unwrap();
    for path in [dir.path().to_owned(), dir.path().join("events.jsonl")] {
        let client = open(&path).unwrap();
        let kept = Kept::default();
        assert_eq!(client.ask(&question(), place(2), &kept).await.unwrap(), recorded("two"));
        assert_eq!(client.ask(&question(), place(1), &kept).await.unwrap(), recorded("one"));
        assert_eq!(kept.lines(), ["text two", "text one"]);
        assert_eq!(client.cost(&recorded("one").usage, "claude-opus-5-5"), Some(0.0));
        let error = client.ask(&question(), place(3), &NoSink).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("question 3 is not in the recording {}, which has 2 answers", dir.path().join("events.jsonl").display())
        );
        assert!(matches!(error, ModelError::ReplayExhausted { asked: 3, available: 2, .. }));
    }
}

#[test]
fn a_damaged_recording_is_refused_with_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let fault = |log: &str| {
        std::fs::write(&path, log).unwrap();
        open(&path).unwrap_err().to_string().replace(&path.display().to_string(), "LOG")
    };
    assert_eq!(
        fault(&format!("{{oops\n{}\n", line("one"))),
        "the recording LOG cannot be used: line 1 is not JSON: key must be a string at line 1 column 2"
    );
    assert_eq!(
        fault("{\"type\": \"model_answered\", \"answer\": {\"text\": 1}}\n"),
        "the recording LOG cannot be used: line 1 holds no answer: invalid type: integer `1`, expected a string"
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        open(&path).unwrap_err().to_string().replace(&path.display().to_string(), "LOG"),
        "the recording LOG cannot be used: No such file or directory (os error 2)"
    );
}

/// Run logs are read by later versions: the form of an answer must not change.
#[test]
fn the_recorded_form_of_an_answer_is_stable() {
    let text = r#"{"text":"Hi","calls":[{"id":"a","name":"evaluate","arguments":{"object":{"code":"x"}}},{"id":"b","name":"evaluate","arguments":{"malformed":{"text":"{","reason":"cut"}}}],"carry":{"provider":"openai","model":"m"},"usage":{"input":10,"output":5,"cached_input":3,"counted":"by_provider"},"finish":"tool_calls","model":"m-1"}"#;
    let answer: Answer = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&answer).unwrap(), text);
    let shortest =
        r#"{"text":null,"calls":[],"usage":{"input":0,"output":0,"counted":"by_provider"},"finish":{"other":"pause_turn"},"model":""}"#;
    let answer: Answer = serde_json::from_str(r#"{"finish":{"other":"pause_turn"}}"#).unwrap();
    assert_eq!(serde_json::to_string(&answer).unwrap(), shortest);
}
