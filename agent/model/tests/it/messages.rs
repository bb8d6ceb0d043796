//! Anthropic's messages.

use std::collections::BTreeMap;

use kernelwright_model::{Arguments, Finish, Message, Price, ToolCall, ToolChoice, Transfer};
use serde_json::{Value, json};

use crate::{
    Kept, SOMEWHERE, ask, calls, chat, follow_up, messages, question,
    server::{Reply, Server},
    settings,
};

const THINKING_THEN_CALLS: &str = include_str!("bodies/messages_thinking_then_calls.sse");

#[tokio::test]
async fn a_stream_means_the_same_wherever_it_is_cut() {
    for piece in [1, 2, 3, 7, 64, 1000, usize::MAX] {
        let server = Server::start([Reply::stream(THINKING_THEN_CALLS, piece)]).await;
        let answer = ask(&messages(settings(&server.url)), &question()).await.unwrap();
        assert_eq!(answer.text.as_deref(), Some("Je vérifie les deux."), "in pieces of {piece}");
        assert_eq!(
            calls(&answer.calls),
            [r#"toolu_01 evaluate {"object":{"code":"return d * B"}}"#, r#"toolu_02 describe_target {"object":{}}"#]
        );
        assert_eq!((answer.finish, answer.model.as_str()), (Finish::ToolCalls, "claude-opus-5-5"));
        let usage = answer.usage;
        assert_eq!((usage.input, usage.output, usage.cached_input, usage.cache_written), (2312, 145, Some(2000), Some(300)));
    }
}

#[tokio::test]
async fn thinking_is_shown() {
    let server = Server::start([Reply::stream(THINKING_THEN_CALLS, 13)]).await;
    let kept = Kept::default();
    messages(settings(&server.url)).ask(&question(), SOMEWHERE, &kept).await.unwrap();
    assert_eq!(
        kept.lines(),
        [
            "thinking The diagonal scales ",
            "thinking rows – no matmul.",
            "text Je vérifie ",
            "text les deux.",
            "call evaluate",
            "call describe_target",
        ]
    );
}

#[tokio::test]
async fn a_conversation_goes_out_in_the_wire_format() {
    let server = Server::start([Reply::stream(THINKING_THEN_CALLS, 100)]).await;
    let client = messages(settings(&server.url));
    let first = question();
    let answer = ask(&client, &first).await.unwrap();
    let mut second = follow_up(&first, &answer);
    second.messages.push(Message::User { text: "Go on.".to_owned() });
    second.tool_choice = ToolChoice::Required;
    second.max_output_tokens = Some(500);
    ask(&client, &second).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[0].path, "/v1/messages");
    assert_eq!(asked[0].headers["anthropic-version"], "2023-06-01");
    let mark = json!({"type": "ephemeral"});
    let system = json!([{"type": "text", "text": "Be brief.", "cache_control": mark}]);
    let tools = json!([{
        "name": "evaluate",
        "description": "Evaluates a candidate.",
        "input_schema": {"type": "object", "properties": {"code": {"type": "string"}}},
    }]);
    assert_eq!(
        asked[0].body,
        json!({
            "model": "m-1",
            "max_tokens": 32000,
            "system": system,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Make it faster.", "cache_control": mark}]}],
            "tools": tools,
            "stream": true,
        })
    );
    assert_eq!(
        asked[1].body,
        json!({
            "model": "m-1",
            "max_tokens": 500,
            "system": system,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Make it faster."}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "The diagonal scales rows – no matmul.", "signature": "EqQBCgIYAhIM"},
                    {"type": "redacted_thinking", "data": "b3BhcXVl"},
                    {"type": "text", "text": "Je vérifie les deux."},
                    {"type": "tool_use", "id": "toolu_01", "name": "evaluate", "input": {"code": "return d * B"}},
                    {"type": "tool_use", "id": "toolu_02", "name": "describe_target", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_01", "content": "result of evaluate"},
                    {"type": "tool_result", "tool_use_id": "toolu_02", "content": "result of describe_target"},
                    {"type": "text", "text": "Go on.", "cache_control": mark},
                ]},
            ],
            "tools": tools,
            "tool_choice": {"type": "any"},
            "stream": true,
        })
    );
}

#[tokio::test]
async fn thinking_stays_with_the_model_and_provider_that_thought_it() {
    let server = Server::start([Reply::stream(THINKING_THEN_CALLS, 100)]).await;
    let answer = ask(&messages(settings(&server.url)), &question()).await.unwrap();
    // What is recorded must be enough to go on with.
    let answer = serde_json::from_str(&serde_json::to_string(&answer).unwrap()).unwrap();
    let next = follow_up(&question(), &answer);
    let mut other = settings(&server.url);
    other.model = "m-2".to_owned();
    ask(&messages(other), &next).await.unwrap();
    let kinds = |body: &Value| -> Vec<String> {
        let blocks = body["messages"][1]["content"].as_array().unwrap();
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&server.asked()[1].body), ["text", "tool_use", "tool_use"]);

    let server = Server::start([Reply::json(200, json!({"choices": [{"message": {"content": "ok"}}]}))]).await;
    ask(&chat(settings(&server.url)), &next).await.unwrap();
    let sent = server.asked()[0].body["messages"][2].clone();
    let mut names: Vec<&String> = sent.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["content", "role", "tool_calls"]);
}

#[tokio::test]
async fn a_conversation_from_another_server_is_made_acceptable() {
    let server = Server::start([Reply::stream(THINKING_THEN_CALLS, 100)]).await;
    let mut request = question();
    request.messages.push(Message::Assistant {
        text: Some(" \n".to_owned()),
        calls: vec![ToolCall { id: "functions.evaluate:0".to_owned(), name: "evaluate".to_owned(), arguments: Arguments::parse("{oops") }],
        carry: Some(json!({"provider": "openai", "model": "m-1", "message": {"reasoning_content": "hm"}})),
    });
    request.messages.push(Message::ToolResult { call_id: "functions.evaluate:0".to_owned(), text: "no JSON".to_owned(), is_error: true });
    ask(&messages(settings(&server.url)), &request).await.unwrap();
    let sent = &server.asked()[0].body["messages"];
    assert_eq!(
        sent[1]["content"],
        json!([{"type": "tool_use", "id": "functions_evaluate_0", "name": "evaluate", "input": {"malformed_arguments": "{oops"}}])
    );
    assert_eq!((&sent[2]["content"][0]["tool_use_id"], &sent[2]["content"][0]["is_error"]), (&json!("functions_evaluate_0"), &json!(true)));
}

#[tokio::test]
async fn a_whole_answer_is_read_as_well() {
    let body = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "tool_use", "id": "toolu_1", "name": "evaluate", "input": {"code": "a"}},
        ],
        "stop_reason": "tool_use", "usage": {"input_tokens": 7, "output_tokens": 3},
    });
    let server = Server::start([Reply::json(200, body)]).await;
    let mut settings = settings(&server.url);
    settings.transfer = Transfer::Whole;
    let client = messages(settings);
    let answer = ask(&client, &question()).await.unwrap();
    assert_eq!(calls(&answer.calls), [r#"toolu_1 evaluate {"object":{"code":"a"}}"#]);
    assert_eq!((answer.usage.input, answer.usage.output, answer.usage.cached_input), (7, 3, None));
    ask(&client, &follow_up(&question(), &answer)).await.unwrap();
    assert_eq!(server.asked()[1].body["messages"][1]["content"][0], json!({"type": "thinking", "thinking": "hm", "signature": "sig"}));
}

#[tokio::test]
async fn money_is_counted_by_kind_of_token_or_not_at_all() {
    let server = Server::start([Reply::stream(THINKING_THEN_CALLS, 100)]).await;
    let client = messages(settings(&server.url));
    let answer = ask(&client, &question()).await.unwrap();
    let dollars = client.cost(&answer.usage, &answer.model).unwrap();
    assert!((dollars - (12.0 * 4.0 + 2000.0 * 0.2 + 300.0 * 5.0 + 145.0 * 20.0) / 1e6).abs() < 1e-12, "{dollars}");
    assert_eq!(client.cost(&answer.usage, "a-model-of-our-own"), None);

    let mut settings = settings(&server.url);
    let price = Price { input: 1.0, cached_input: None, cache_write: None, output: 2.0, up_to_input: None };
    settings.prices = BTreeMap::from([("a-model-of-our-own".to_owned(), price)]);
    assert_eq!(messages(settings).cost(&answer.usage, "a-model-of-our-own"), Some((2312.0 + 290.0) / 1e6));
}
