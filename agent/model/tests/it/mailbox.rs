//! Questions and answers as files.

use std::path::Path;

use kernelwright_model::{Answer, Client, ClientSettings, Counted, Finish, MailboxSettings, ModelError, NoSink, Place, Request};
use serde_json::{Value, json};

use crate::{calls, follow_up, question};

const PLACE: Place = Place { ask: 7, step: 2, turn: 3 };

fn open(dir: &Path) -> Client {
    let settings = MailboxSettings::new(dir);
    Client::open(&ClientSettings::Mailbox(settings)).unwrap()
}

async fn ask(client: &Client, request: &Request) -> Result<Answer, ModelError> {
    client.ask(request, PLACE, &NoSink).await
}

async fn answer_to(reply: &Value) -> Result<Answer, ModelError> {
    let dir = tempfile::tempdir().unwrap();
    let client = open(dir.path());
    ask(&client, &question()).await.unwrap_err();
    std::fs::write(dir.path().join("0007.reply.json"), reply.to_string()).unwrap();
    ask(&client, &question()).await
}

#[tokio::test]
async fn a_question_waits_and_its_answer_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let client = open(dir.path());
    for _ in 0..2 {
        let error = ask(&client, &question()).await.unwrap_err();
        let ModelError::Suspended { waiting } = &error else { panic!("{error:?}") };
        assert_eq!(waiting, &[dir.path().join("0007.reply.json")]);
        assert_eq!(error.to_string(), format!("waiting for {}", dir.path().join("0007.reply.json").display()));
    }
    let names: Vec<String> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["0007.request.json"]);
    let sent: Value = serde_json::from_slice(&std::fs::read(dir.path().join("0007.request.json")).unwrap()).unwrap();
    assert_eq!(sent["messages"][1], json!({"role": "user", "content": "Make it faster."}));
    assert_eq!(sent["metadata"], json!({"ask": "7", "step": "2", "turn": "3"}));

    let reply = json!({"content": "Trying.", "tool_calls": [{"name": "evaluate", "arguments": {"code": "a"}}, {"name": "evaluate", "arguments": "{"}]});
    std::fs::write(dir.path().join("0007.reply.json"), reply.to_string()).unwrap();
    // Another process asks again.
    let answer = ask(&open(dir.path()), &question()).await.unwrap();
    assert_eq!((answer.text.as_deref(), &answer.finish), (Some("Trying."), &Finish::ToolCalls));
    let lines = calls(&answer.calls);
    assert_eq!(lines[0], r#"call_0 evaluate {"object":{"code":"a"}}"#);
    assert!(lines[1].starts_with(r#"call_1 evaluate {"malformed":{"text":"{","#), "{lines:?}");
    assert_eq!((answer.usage.counted, client.cost(&answer.usage, &answer.model)), (Counted::Estimated, None));
}

#[tokio::test]
async fn replies_of_services_are_read_as_they_are() {
    let completion = json!({
        "object": "chat.completion", "model": "m-1",
        "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    });
    let batch_line = json!({"custom_id": "7", "response": {"status_code": 200, "body": completion}, "error": null});
    let message = json!({
        "type": "message", "model": "m-1", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    });
    for reply in [completion, batch_line, message] {
        let answer = answer_to(&reply).await.unwrap();
        assert_eq!((answer.text.as_deref(), answer.usage.input, answer.model.as_str()), (Some("ok"), 3, "m-1"), "{reply}");
    }
}

#[tokio::test]
async fn a_reply_that_is_none_is_named_with_its_fault() {
    let faults = [
        (json!({}), "it has neither text nor tool calls"),
        (json!([]), "it is not an object"),
        (json!({"content": 7}), "its `content` is not text"),
        (json!({"tool_calls": {}}), "its `tool_calls` is not a list"),
        (json!({"tool_calls": [{"arguments": {}}]}), "tool_calls[0] has no name"),
        (json!({"contents": "a"}), "it has an unknown field \"contents\""),
        (json!({"status": 429}), "it reports a failure with status 429"),
        (
            json!({"error": {"message": "expired"}, "choices": []}),
            "it reports a failure: {\"error\":{\"message\":\"expired\"},\"choices\":[]}",
        ),
    ];
    for (reply, fault) in faults {
        let error = answer_to(&reply).await.unwrap_err();
        let ModelError::BadReply { path, reason } = &error else { panic!("{error:?}") };
        assert_eq!((path.file_name().unwrap().to_str(), reason.as_str()), (Some("0007.reply.json"), fault));
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    let client = open(dir.path());
    ask(&client, &question()).await.unwrap_err();
    std::fs::write(dir.path().join("0007.reply.json"), "{\"content\": \"old\"}").unwrap();
    let answer = ask(&client, &question()).await.unwrap();
    let error = ask(&client, &follow_up(&question(), &answer)).await.unwrap_err();
    assert!(matches!(error, ModelError::OtherQuestion { .. }), "{error:?}");
}

#[tokio::test]
async fn a_question_that_changed_before_it_was_answered_is_put_anew() {
    let dir = tempfile::tempdir().unwrap();
    let client = open(dir.path());
    ask(&client, &question()).await.unwrap_err();
    let mut changed = question();
    changed.system = "Be thorough.".to_owned();
    ask(&client, &changed).await.unwrap_err();
    std::fs::write(dir.path().join("0007.reply.json"), "{\"content\": \"new\"}").unwrap();
    assert_eq!(ask(&client, &changed).await.unwrap().text.as_deref(), Some("new"));
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "").unwrap();
    let settings = MailboxSettings::new(path.join("box"));
    let error = Client::open(&ClientSettings::Mailbox(settings)).unwrap_err();
    assert_eq!(error.to_string(), format!("the mailbox file {}: Not a directory (os error 20)", path.join("box").display()));
}
