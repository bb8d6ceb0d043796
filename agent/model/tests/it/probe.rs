//! The first question to a model.

use kernelwright_model::{Client, ClientSettings, MailboxSettings, ModelError, NoSink, Usage};
use serde_json::json;

use crate::{
    Kept, chat, messages,
    server::{Reply, Server},
    settings,
};

fn answer(message: &serde_json::Value, finish: &str) -> Reply {
    let usage = json!({"prompt_tokens": 90, "completion_tokens": 12});
    Reply::json(200, json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}))
}

fn called() -> Reply {
    answer(&json!({"tool_calls": [{"id": "a", "function": {"name": "report_ready", "arguments": "{\"ready\": true}"}}]}), "tool_calls")
}

#[tokio::test]
async fn a_model_that_calls_the_tool_is_good() {
    let server = Server::start([called()]).await;
    let usage = chat(settings(&server.url)).probe(&NoSink).await.unwrap();
    assert_eq!((usage.input, usage.output), (90, 12));
    let body = &server.asked()[0].body;
    assert_eq!((&body["tool_choice"], body["tools"].as_array().unwrap().len()), (&json!("required"), 1));
}

#[tokio::test]
async fn a_model_that_only_writes_has_no_function_calling() {
    let server = Server::start([answer(&json!({"content": "<tool_call>report_ready</tool_call>"}), "stop")]).await;
    let error = chat(settings(&server.url)).probe(&NoSink).await.unwrap_err();
    assert!(matches!(error, ModelError::NoToolSupport { .. }), "{error:?}");
    assert!(error.to_string().ends_with("asked to call a tool, it wrote \"<tool_call>report_ready</tool_call>\""), "{error}");
}

#[tokio::test]
async fn a_model_that_cannot_be_made_to_call_is_asked_to() {
    let refusals = ["m-1 does not support this tool_choice", "forced calls are off in this mode", "requiring tools is unsupported here"];
    for refusal in refusals {
        let refusal = json!({"error": {"message": refusal}});
        let server = Server::start([Reply::json(400, refusal), called()]).await;
        chat(settings(&server.url)).probe(&NoSink).await.unwrap();
        let asked = server.asked();
        assert_eq!(asked.len(), 2);
        assert!(asked[1].body.get("tool_choice").is_none());
    }
}

#[tokio::test]
async fn a_server_without_tools_says_so_itself() {
    let server = Server::start([Reply::json(400, json!({"error": {"message": "m-1 does not support tools"}}))]).await;
    let error = chat(settings(&server.url)).probe(&NoSink).await.unwrap_err();
    assert!(matches!(error, ModelError::NoToolSupport { .. }), "{error:?}");
}

#[tokio::test]
async fn a_budget_for_thinking_is_not_cut() {
    let server = Server::start([Reply::json(401, "")]).await;
    let mut settings = settings(&server.url);
    messages(settings.clone()).probe(&NoSink).await.unwrap_err();
    settings.extra_body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": 10_000}));
    messages(settings).probe(&NoSink).await.unwrap_err();
    let limits: Vec<u64> = server.asked().iter().map(|asked| asked.body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(limits, [2048, 32_000]);
}

#[tokio::test]
async fn a_model_that_thought_until_the_limit_is_not_blamed() {
    let server = Server::start([answer(&json!({"content": null}), "length")]).await;
    chat(settings(&server.url)).probe(&NoSink).await.unwrap();
}

#[tokio::test]
async fn whoever_waits_for_it_is_told_why() {
    let server = Server::start([Reply::json(503, json!({"error": {"message": "busy"}})), called()]).await;
    let kept = Kept::default();
    chat(settings(&server.url)).probe(&kept).await.unwrap();
    let lines = kept.lines();
    assert!(lines[0].starts_with("retry 1 ") && lines[0].contains("busy"), "{lines:?}");
}

#[tokio::test]
async fn a_mailbox_is_not_asked() {
    let dir = tempfile::tempdir().unwrap();
    let settings = MailboxSettings::new(dir.path().join("box"));
    let client = Client::open(&ClientSettings::Mailbox(settings)).unwrap();
    assert_eq!(client.probe(&NoSink).await.unwrap(), Usage::default());
    assert_eq!(std::fs::read_dir(dir.path().join("box")).unwrap().count(), 0);
}
