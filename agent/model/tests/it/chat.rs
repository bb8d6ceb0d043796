//! Chat completions, as `OpenAI` and the many servers that follow it speak them.

use kernelwright_model::{Arguments, Counted, Finish, LimitField, Message, ToolChoice, Transfer};
use serde_json::{Value, json};

use crate::{
    Kept, SOMEWHERE, ask, calls, chat, follow_up, question,
    server::{End, Reply, Server},
    settings,
};

const TEXT_THEN_CALLS: &str = include_str!("bodies/chat_text_then_calls.sse");
const REASONING: &str = include_str!("bodies/chat_reasoning.sse");

/// A whole answer with one message.
fn whole(message: &Value, finish: &str) -> Reply {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    Reply::json(200, json!({"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}))
}

#[tokio::test]
async fn a_stream_means_the_same_wherever_it_is_cut() {
    for piece in [1, 2, 3, 7, 64, 1000, usize::MAX] {
        let server = Server::start([Reply::stream(TEXT_THEN_CALLS, piece)]).await;
        let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
        assert_eq!(answer.text.as_deref(), Some("Größe 4096 × 4096: ich messe 日本 🚀"), "in pieces of {piece}");
        assert_eq!(
            calls(&answer.calls),
            [r#"call_a evaluate {"object":{"code":"x = 'é'\n"}}"#, r#"call_b search {"object":{"query":"tiling"}}"#],
            "in pieces of {piece}"
        );
        assert_eq!(answer.finish, Finish::ToolCalls);
        assert_eq!(answer.model, "m-1-2026-01-01");
        assert_eq!((answer.usage.input, answer.usage.output, answer.usage.cached_input), (1200, 80, Some(1024)));
        assert_eq!(answer.usage.counted, Counted::ByProvider);
    }
}

#[tokio::test]
async fn windows_line_ends_and_a_wrong_content_type_do_not_matter() {
    let body = TEXT_THEN_CALLS.replace('\n', "\r\n");
    let server = Server::start([Reply::stream(&body, 5), Reply::json(200, TEXT_THEN_CALLS)]).await;
    let client = chat(settings(&server.url));
    let first = ask(&client, &question()).await.unwrap();
    assert_eq!(first, ask(&client, &question()).await.unwrap());
}

#[tokio::test]
async fn pieces_are_shown_as_they_come() {
    let server = Server::start([Reply::stream(TEXT_THEN_CALLS, 11)]).await;
    let kept = Kept::default();
    chat(settings(&server.url)).ask(&question(), SOMEWHERE, &kept).await.unwrap();
    assert_eq!(kept.lines(), ["text Größe 4096 × 4096: ", "text ich messe 日本 🚀", "call evaluate", "call search"]);
}

#[tokio::test]
async fn a_conversation_goes_out_in_the_wire_format() {
    let server = Server::start([Reply::stream(TEXT_THEN_CALLS, 100)]).await;
    let client = chat(settings(&server.url));
    let first = question();
    let mut second = follow_up(&first, &ask(&client, &first).await.unwrap());
    second.tool_choice = ToolChoice::Required;
    second.max_output_tokens = Some(500);
    second.temperature = Some(0.5);
    ask(&client, &second).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked[0].path, "/v1/chat/completions");
    let tools = json!([{"type": "function", "function": {
        "name": "evaluate",
        "description": "Evaluates a candidate.",
        "parameters": {"type": "object", "properties": {"code": {"type": "string"}}},
    }}]);
    let system = json!({"role": "system", "content": "Be brief."});
    let user = json!({"role": "user", "content": "Make it faster."});
    assert_eq!(
        asked[0].body,
        json!({"model": "m-1", "messages": [system, user], "tools": tools, "stream": true, "stream_options": {"include_usage": true}})
    );
    assert_eq!(
        asked[1].body,
        json!({
            "model": "m-1",
            "messages": [
                system,
                user,
                {"role": "assistant", "content": "Größe 4096 × 4096: ich messe 日本 🚀", "tool_calls": [
                    {"id": "call_a", "type": "function", "function": {"name": "evaluate", "arguments": "{\"code\":\"x = 'é'\\n\"}"}},
                    {"id": "call_b", "type": "function", "function": {"name": "search", "arguments": "{\"query\":\"tiling\"}"}},
                ]},
                {"role": "tool", "tool_call_id": "call_a", "content": "result of evaluate"},
                {"role": "tool", "tool_call_id": "call_b", "content": "result of search"},
            ],
            "tools": tools,
            "tool_choice": "required",
            "max_tokens": 500,
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn a_whole_answer_is_read_as_well() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "evaluate", "arguments": "{\"code\":\"a\"}"}},
        {"id": "c2", "type": "function", "function": {"name": "evaluate", "arguments": {"code": "b"}}},
    ]});
    let server = Server::start([whole(&message, "stop")]).await;
    let mut settings = settings(&server.url);
    settings.transfer = Transfer::Whole;
    settings.extra_body.insert("reasoning_effort".to_owned(), "high".into());
    let answer = ask(&chat(settings), &question()).await.unwrap();
    assert_eq!(calls(&answer.calls), [r#"c1 evaluate {"object":{"code":"a"}}"#, r#"c2 evaluate {"object":{"code":"b"}}"#]);
    assert_eq!((answer.text, answer.finish), (None, Finish::ToolCalls));
    let body = &server.asked()[0].body;
    assert_eq!((&body["stream"], &body["reasoning_effort"]), (&Value::Null, &json!("high")));
}

#[tokio::test]
async fn a_server_that_ignores_streaming_is_understood() {
    let server = Server::start([whole(&json!({"content": "done"}), "stop")]).await;
    let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
    assert_eq!((answer.text.as_deref(), answer.finish), (Some("done"), Finish::Stop));
}

#[tokio::test]
async fn malformed_arguments_survive_and_go_back_as_an_object() {
    let message = json!({"tool_calls": [{"id": "c1", "function": {"name": "evaluate", "arguments": "{code: 1}"}}]});
    let server = Server::start([whole(&message, "tool_calls")]).await;
    let client = chat(settings(&server.url));
    let answer = ask(&client, &question()).await.unwrap();
    let Arguments::Malformed { text, reason } = &answer.calls[0].arguments else { panic!("{answer:?}") };
    assert_eq!(text, "{code: 1}");
    assert_eq!(reason, "the arguments are not valid JSON: key must be a string at line 1 column 2");
    ask(&client, &follow_up(&question(), &answer)).await.unwrap();
    let sent = &server.asked()[1].body["messages"][2]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(sent, r#"{"malformed_arguments":"{code: 1}"}"#);
}

#[tokio::test]
async fn a_call_cut_off_by_the_length_limit_is_malformed() {
    let message = json!({"content": "a", "tool_calls": [{"id": "c1", "function": {"name": "evaluate", "arguments": "{\"code\": \"imp"}}]});
    let server = Server::start([whole(&message, "length")]).await;
    let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
    assert_eq!(answer.finish, Finish::Length);
    let Arguments::Malformed { reason, .. } = &answer.calls[0].arguments else { panic!("{answer:?}") };
    assert_eq!(reason, "the answer reached its length limit before the arguments were complete");
}

#[tokio::test]
async fn calls_get_ids_of_their_own() {
    let call = |id: &str| json!({"id": id, "function": {"name": "evaluate", "arguments": "{}"}});
    let message = json!({"tool_calls": [call(""), call("call_0"), call("call_0")]});
    let server = Server::start([whole(&message, "tool_calls")]).await;
    let client = chat(settings(&server.url));
    let first = ask(&client, &question()).await.unwrap();
    let second = ask(&client, &follow_up(&question(), &first)).await.unwrap();
    let mut ids: Vec<&str> = first.calls.iter().chain(&second.calls).map(|call| call.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "{ids:?}");
}

#[tokio::test]
async fn parallel_calls_without_proper_indices_are_told_apart() {
    let chunk = |call: Value| format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [call]}}]}));
    let begin = |index: Option<u32>, id: &str| {
        chunk(json!({"index": index, "id": id, "function": {"name": "evaluate", "arguments": "{\"code\":"}}))
    };
    let more = |index: Option<u32>, text: &str| chunk(json!({"index": index, "function": {"arguments": text}}));
    for index in [None, Some(0)] {
        let body = [begin(index, "a"), more(index, "\"1\"}"), begin(index, "b"), more(index, "\"2\"}")].concat();
        let server = Server::start([Reply::stream(&(body + "data: [DONE]\n\n"), 50)]).await;
        let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
        assert_eq!(
            calls(&answer.calls),
            [r#"a evaluate {"object":{"code":"1"}}"#, r#"b evaluate {"object":{"code":"2"}}"#],
            "index {index:?}"
        );
    }
}

#[tokio::test]
async fn thinking_is_shown_and_sent_back_to_the_model_that_thought_it() {
    let server = Server::start([Reply::stream(REASONING, 9)]).await;
    let client = chat(settings(&server.url));
    let kept = Kept::default();
    let answer = client.ask(&question(), SOMEWHERE, &kept).await.unwrap();
    assert_eq!(kept.lines(), ["thinking First ", "thinking think.", "call evaluate"]);
    assert_eq!((&answer.text, &answer.finish), (&None, &Finish::ToolCalls));
    assert_eq!(calls(&answer.calls), [r#"call_0 evaluate {"object":{}}"#]);
    let next = follow_up(&question(), &answer);
    ask(&client, &next).await.unwrap();
    let mut other = settings(&server.url);
    other.model = "m-2".to_owned();
    ask(&chat(other), &next).await.unwrap();
    let asked = server.asked();
    let sent = |index: usize| asked[index].body["messages"][2].clone();
    assert_eq!(sent(1)["reasoning_content"], "First think.");
    assert_eq!(sent(1)["tool_calls"][0]["extra_content"], json!({"google": {"thought_signature": "c2ln"}}));
    assert_eq!(sent(2).get("reasoning_content"), None);
    assert_eq!(sent(2)["tool_calls"][0].get("extra_content"), None);
}

#[tokio::test]
async fn thinking_blocks_in_pieces_go_back_whole() {
    let detail =
        |detail: Value| format!("data: {}\n\n", json!({"choices": [{"delta": {"reasoning": "t", "reasoning_details": [detail]}}]}));
    let body = [
        detail(json!({"type": "reasoning.text", "index": 0, "text": "one "})),
        detail(json!({"type": "reasoning.text", "index": 0, "text": "two", "signature": "s"})),
        format!(
            "data: {}\n\n",
            json!({"choices": [{"delta": {"tool_calls": [{"id": "a", "function": {"name": "evaluate"}}]}, "finish_reason": "tool_calls"}]})
        ),
    ];
    let server = Server::start([Reply::stream(&body.concat(), 40)]).await;
    let client = chat(settings(&server.url));
    let answer = ask(&client, &question()).await.unwrap();
    ask(&client, &follow_up(&question(), &answer)).await.unwrap();
    let sent = &server.asked()[1].body["messages"][2];
    assert_eq!(sent["reasoning_details"], json!([{"type": "reasoning.text", "index": 0, "text": "one two", "signature": "s"}]));
    assert_eq!(sent.get("reasoning"), None);
}

#[tokio::test]
async fn without_counts_from_the_server_tokens_are_guessed_and_said_to_be() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"twelve bytes\"},\"finish_reason\":\"stop\"}]}\n\n";
    let server = Server::start([Reply::stream(body, 30)]).await;
    let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
    assert_eq!((answer.usage.output, answer.usage.counted), (3, Counted::Estimated));
    assert!(answer.usage.input > 10, "{:?}", answer.usage);
    assert_eq!(answer.model, "m-1");
}

#[tokio::test]
async fn thinking_that_is_only_in_the_total_is_counted() {
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150});
    let body = json!({"choices": [{"message": {"content": "a"}}], "usage": usage});
    let server = Server::start([Reply::json(200, body)]).await;
    assert_eq!(ask(&chat(settings(&server.url)), &question()).await.unwrap().usage.output, 50);
}

#[tokio::test]
async fn what_is_lost_after_the_reason_to_stop_is_not_missed() {
    let end = TEXT_THEN_CALLS
        .find("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"model\":\"m-1-2026-01-01\",\"choices\":[]")
        .unwrap();
    let server = Server::start([Reply::stream(&TEXT_THEN_CALLS[..end + 40], 100).ending(End::Cut)]).await;
    let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
    assert_eq!((answer.calls.len(), answer.usage.counted), (2, Counted::Estimated));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_does_not_know_the_usage_chunk_is_asked_without() {
    let refusal = Reply::json(400, json!({"error": {"message": "Unrecognized request argument supplied: stream_options"}}));
    let server = Server::start([refusal, Reply::stream(TEXT_THEN_CALLS, 100)]).await;
    let client = chat(settings(&server.url));
    ask(&client, &question()).await.unwrap();
    ask(&client, &question()).await.unwrap();
    let with: Vec<bool> = server.asked().iter().map(|asked| asked.body.get("stream_options").is_some()).collect();
    assert_eq!(with, [true, false, false]);
}

#[tokio::test]
async fn the_name_of_the_length_limit_is_the_servers() {
    let refusal = json!({"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "code": "unsupported_parameter"}});
    let server = Server::start([Reply::json(400, refusal), Reply::stream(TEXT_THEN_CALLS, 100)]).await;
    let mut settings = settings(&server.url);
    settings.max_output_tokens = Some(900);
    ask(&chat(settings.clone()), &question()).await.unwrap();
    settings.limit_field = LimitField::MaxCompletionTokens;
    ask(&chat(settings), &question()).await.unwrap();
    let sent: Vec<Vec<u64>> = server
        .asked()
        .iter()
        .map(|asked| ["max_tokens", "max_completion_tokens"].iter().map(|name| asked.body[*name].as_u64().unwrap_or(0)).collect())
        .collect();
    assert_eq!(sent, [[900, 0], [0, 900], [0, 900]]);
}

#[tokio::test]
async fn a_refusal_is_told_from_an_answer() {
    let server = Server::start([whole(&json!({"content": null, "refusal": "I cannot."}), "stop")]).await;
    let answer = ask(&chat(settings(&server.url)), &question()).await.unwrap();
    assert_eq!((answer.text.as_deref(), answer.finish), (Some("I cannot."), Finish::Refused));
}

#[tokio::test]
async fn an_empty_assistant_message_can_be_sent() {
    let server = Server::start([whole(&json!({"content": "ok"}), "stop")]).await;
    let mut request = question();
    request.messages.push(Message::Assistant { text: None, calls: Vec::new(), carry: None });
    request.messages.push(Message::User { text: "Go on.".to_owned() });
    ask(&chat(settings(&server.url)), &request).await.unwrap();
    assert_eq!(server.asked()[0].body["messages"][2], json!({"role": "assistant", "content": ""}));
}
