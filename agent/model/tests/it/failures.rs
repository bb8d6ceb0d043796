//! Everything that can be wrong with a server, and what becomes of it.

use std::time::Duration;

use kernelwright_model::{ModelError, Patience, Transfer};
use serde_json::json;

use crate::{
    Kept, SOMEWHERE, ask, chat, messages, patience, question,
    server::{End, Reply, Server},
    settings,
};

const GOOD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const BEGUN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"do\"}}]}\n\n";

fn good() -> Reply {
    Reply::stream(GOOD, usize::MAX)
}

/// Patience with a limit that a test waits for.
fn hasty(patience: Patience) -> Patience {
    Patience { outage: Duration::ZERO, ..patience }
}

/// Asks a server that gives this reply for ever, and compares the error as a person sees it, `URL` standing for the server's address.
async fn check(reply: Reply, expect: &str, hint: &str) {
    let server = Server::start([reply]).await;
    let error = ask(&chat(settings(&server.url)), &question()).await.unwrap_err();
    assert_eq!(error.to_string().replace(&server.url, "URL"), expect);
    assert!(error.hint().contains(hint), "{:?} has no {hint:?}", error.hint());
    assert_eq!(server.asked().len(), 1, "trying again was pointless");
}

/// Asks a server that fails in this way first and is well then.
async fn check_passes(failing: Reply, reason: &str) {
    let server = Server::start([failing, good()]).await;
    let mut settings = settings(&server.url);
    settings.patience = Patience { outage: Duration::from_secs(60), ..patience() };
    let kept = Kept::default();
    let answer = chat(settings).ask(&question(), SOMEWHERE, &kept).await.unwrap();
    assert_eq!(answer.text.as_deref(), Some("done"));
    let lines = kept.lines();
    let retries: Vec<&String> = lines.iter().filter(|line| line.starts_with("retry")).collect();
    assert_eq!(retries, [&format!("retry 1 {reason}")]);
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let limited = json!({"error": {"message": "Slow down", "code": "rate_limit_exceeded"}});
    check_passes(Reply::json(429, &limited).with_header("retry-after", "0"), "HTTP 429: Slow down").await;
    check_passes(Reply::json(429, &limited).with_header("retry-after-ms", "3"), "HTTP 429: Slow down").await;
    check_passes(
        Reply::json(529, json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
        "HTTP 529: Overloaded",
    )
    .await;
    check_passes(Reply::html(502, "<html><title>Bad Gateway</title></html>"), "HTTP 502: a web page, \"Bad Gateway\"").await;
    check_passes(Reply::json(500, ""), "HTTP 500: no explanation").await;
    check_passes(Reply::json(408, "late"), "HTTP 408: late").await;
    check_passes(Reply::json(409, "conflict"), "HTTP 409: conflict").await;
    check_passes(Reply::json(200, ""), "the answer is not understood: it is empty").await;
    check_passes(
        Reply::json(200, "{\"choices\":"),
        "the answer is not understood: it is not JSON: EOF while parsing a value at line 1 column 11",
    )
    .await;
    check_passes(Reply::json(200, "{}"), "the answer is not understood: it has no choices[0]").await;
    check_passes(
        Reply::stream("data: {oops\n\n", 4),
        "the answer is not understood: an event is not JSON: key must be a string at line 1 column 2",
    )
    .await;
}

#[tokio::test]
async fn a_stream_that_is_cut_is_tried_again() {
    let ended = "the connection was cut: the stream ended before the answer did";
    check_passes(Reply::stream(BEGUN, 10), ended).await;
    check_passes(Reply::stream("", 10), ended).await;
    // Half an event.
    check_passes(Reply::stream(&format!("{BEGUN}{}", &GOOD[..40]), 10), ended).await;
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_middle_is_tried_again() {
    let server = Server::start([Reply::stream(BEGUN, 10).ending(End::Cut), good()]).await;
    let kept = Kept::default();
    let answer = chat(settings(&server.url)).ask(&question(), SOMEWHERE, &kept).await.unwrap();
    assert_eq!(answer.text.as_deref(), Some("done"));
    assert!(kept.lines().iter().any(|line| line.starts_with("retry 1 the connection was cut: ")));
}

#[tokio::test]
async fn an_error_inside_a_stream_is_what_it_would_be_outside() {
    let broken = |error: serde_json::Value| Reply::stream(&format!("{BEGUN}data: {error}\n\n"), 20);
    check_passes(broken(json!({"error": {"message": "upstream is gone", "code": 502}})), "the server broke off: upstream is gone").await;
    check_passes(Reply::json(200, json!({"error": {"message": "busy"}})), "the server broke off: busy").await;
    check(
        broken(json!({"error": {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}})),
        "the conversation is too long for m-1 at URL/v1/chat/completions: maximum context length is 10 tokens",
        "fewer turns",
    )
    .await;
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let server = Server::start([Reply::stream(overloaded, 20)]).await;
    let error = ask(&messages(settings(&server.url)), &question()).await.unwrap_err();
    assert!(error.to_string().ends_with("the last time: the server broke off: Overloaded"), "{error}");
}

#[tokio::test]
async fn a_server_that_stays_broken_is_an_outage() {
    let server = Server::start([Reply::json(500, json!({"error": {"message": "on fire"}}))]).await;
    let error = ask(&chat(settings(&server.url)), &question()).await.unwrap_err();
    let ModelError::Outage { attempts, .. } = &error else { panic!("{error:?}") };
    assert!(*attempts > 1);
    assert_eq!(*attempts as usize, server.asked().len());
    assert_eq!(
        error.to_string(),
        format!("{}/v1/chat/completions gave no answer in {attempts} attempts, the last time: HTTP 500: on fire", server.url)
    );
    assert_eq!(error.hint(), "resume the run when the server is well again; nothing is lost");
}

#[tokio::test]
async fn a_wish_beyond_patience_ends_it_at_once() {
    let server = Server::start([Reply::json(429, "later").with_header("retry-after", "3600")]).await;
    let error = ask(&chat(settings(&server.url)), &question()).await.unwrap_err();
    assert!(matches!(&error, ModelError::Outage { attempts: 1, retry_after: Some(delay), .. } if delay.as_secs() == 3600), "{error:?}");
    assert!(error.hint().contains("3600 s"), "{}", error.hint());
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    for reply in [Reply::stream(BEGUN, 10), Reply::stream("", 10), Reply::json(500, "slow")] {
        let server = Server::start([reply.ending(End::Silence)]).await;
        let mut settings = settings(&server.url);
        settings.patience = Patience { idle: Duration::from_millis(30), ..hasty(patience()) };
        let error = ask(&chat(settings), &question()).await.unwrap_err();
        assert!(matches!(error, ModelError::Outage { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_never_comes_to_an_end_is_not_waited_for() {
    let server = Server::start([Reply::json(200, "{").ending(End::Silence)]).await;
    let mut settings = settings(&server.url);
    settings.transfer = Transfer::Whole;
    settings.patience = Patience { attempt: Duration::from_millis(30), ..hasty(patience()) };
    let error = ask(&chat(settings), &question()).await.unwrap_err();
    assert!(matches!(error, ModelError::Outage { .. }), "{error:?}");
}

#[tokio::test]
async fn nobody_at_the_address_is_an_outage() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = ask(&chat(settings(&url)), &question()).await.unwrap_err();
    assert!(error.to_string().ends_with("the last time: no connection: Connection refused (os error 111)"), "{error}");
    assert!(error.hint().contains("check the address"), "{}", error.hint());
}

#[tokio::test]
async fn what_does_not_pass_says_what_to_do() {
    check(
        Reply::json(401, json!({"error": {"message": "Incorrect API key provided"}})),
        "URL/v1/chat/completions refused the key (HTTP 401): Incorrect API key provided",
        "complete, not expired",
    )
    .await;
    check(
        Reply::json(404, json!({"error": {"message": "The model `m-1` does not exist", "code": "model_not_found"}})),
        "URL/v1/chat/completions has no model \"m-1\": The model `m-1` does not exist",
        "GET /models",
    )
    .await;
    check(
        Reply::json(400, json!({"error": {"message": "m-1 does not support tools"}})),
        "m-1 at URL/v1/chat/completions does not call functions: m-1 does not support tools",
        "--enable-auto-tool-choice",
    )
    .await;
    check(
        Reply::json(402, json!({"error": {"message": "Insufficient Balance"}})),
        "the account at URL/v1/chat/completions has no credit: Insufficient Balance",
        "add credit",
    )
    .await;
    check(
        Reply::json(422, json!({"error": {"message": "temperature must be 1"}})),
        "URL/v1/chat/completions refused the request (HTTP 422): temperature must be 1",
        "the server's own words",
    )
    .await;
}

#[tokio::test]
async fn a_page_for_people_is_a_wrong_address() {
    let page = "<!DOCTYPE html><html><head><title>Welcome</title></head></html>";
    let expect = |status: &str| format!("there is no model endpoint at URL/v1/chat/completions ({status}a web page, \"Welcome\")");
    check(Reply::html(404, page), &expect("HTTP 404: "), "check the address").await;
    check(Reply::html(200, page), &expect(""), "check the address").await;
    check(
        Reply::json(404, json!({"detail": "Not Found"})),
        "there is no model endpoint at URL/v1/chat/completions (HTTP 404: Not Found)",
        "may be under another path",
    )
    .await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let reply = Reply::json(307, "").with_header("location", "https://elsewhere.example/v1");
    check(
        reply,
        "there is no model endpoint at URL/v1/chat/completions (HTTP 307: it points to https://elsewhere.example/v1)",
        "check the address",
    )
    .await;
}
