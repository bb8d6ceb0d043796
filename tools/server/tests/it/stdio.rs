//! stdio: messages, failures, progress, cancellation and the end.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::{Session, fixture, initialize};

#[tokio::test]
async fn a_session_opens_and_lists_tidy_tools_in_order() {
    let mut session = Session::start();
    session.send(&initialize(1)).await;
    let opened = session.answer(1).await;
    assert_eq!(opened["result"]["serverInfo"]["name"], "fixture");
    assert_eq!(opened["result"]["instructions"], "A server for tests.");
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    session.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    let listed = session.answer(2).await["result"].take();
    let tools: Vec<rmcp::model::Tool> = serde_json::from_value(listed["tools"].clone()).unwrap();
    assert_eq!(
        tools.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(),
        ["allow", "build", "cancel_job", "count", "divide", "get_job", "work"]
    );
    assert_eq!(kernelwright_server::lint("fixture", &tools), Vec::<String>::new());
}

#[tokio::test]
async fn success_is_structured_and_repeated_as_text() {
    let mut session = Session::initialized().await;
    let result = session.call(1, "divide", &json!({"dividend": 7, "divisor": 2})).await;
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"], json!({"quotient": 3}));
    assert_eq!(result["content"][0]["text"], r#"{"quotient":3}"#);
}

#[tokio::test]
async fn failures_say_code_reason_and_fix_in_their_text() {
    let mut session = Session::initialized().await;
    let result = session.call(1, "divide", &json!({"dividend": 7, "divisor": 0})).await;
    assert_eq!(result["isError"], true);
    let parts = json!({"code": "division_by_zero", "reason": "7 / 0 has no value", "fix": "give a divisor above 0"});
    assert_eq!(result["_meta"]["kernelwright/error"], parts);
    assert_eq!(result.get("structuredContent"), None);
    insta::assert_snapshot!(result["content"][0]["text"].as_str().unwrap(), @"
    error: division_by_zero
    reason: 7 / 0 has no value
    fix: give a divisor above 0
    ");
}

#[tokio::test]
async fn malformed_arguments_are_answered_with_the_right_ones() {
    let mut session = Session::initialized().await;
    let result = session.call(1, "divide", &json!({"dividend": 7, "divider": 1})).await;
    assert_eq!(result["isError"], true);
    insta::assert_snapshot!(result["content"][0]["text"].as_str().unwrap(), @"
    error: invalid_arguments
    reason: there is no argument `divider`; `divisor` is missing
    fix: call divide with: dividend (integer, required), divisor (integer, required)
    ");
}

#[tokio::test]
async fn a_whole_number_is_an_integer_however_it_is_written() {
    let mut session = Session::initialized().await;
    let result = session.call(1, "divide", &json!({"dividend": 7.0, "divisor": 2})).await;
    assert_eq!(result["structuredContent"], json!({"quotient": 3}));
    let result = session.call(2, "divide", &json!({"dividend": "7", "divisor": -2})).await;
    let reason = "`dividend` is a string and has to be an integer; `divisor` is -2 and has to be at least 0";
    assert_eq!(result["_meta"]["kernelwright/error"]["reason"], reason);
    let result = session.call(3, "divide", &json!({"dividend": 5_000_000_000_u64, "divisor": 1})).await;
    let reason = "invalid value: integer `5000000000`, expected an integer";
    assert_eq!(result["_meta"]["kernelwright/error"]["reason"], reason);
}

#[tokio::test]
async fn malformed_requests_are_told_what_is_wrong() {
    let mut session = Session::initialized().await;
    let mut refused = async |id: u32, method: &str, params: serde_json::Value| {
        session.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        session.answer(id).await["error"].take()
    };
    for (id, method, params, message) in [
        (1, "tools/call", json!({"name": "get_job", "arguments": [1]}), "`arguments` of tools/call is an array and has to be an object"),
        (2, "tools/call", json!({"name": "get_job", "arguments": "{}"}), "`arguments` of tools/call is a string and has to be an object"),
        (3, "tools/call", json!({"arguments": {}}), "tools/call needs `name`, a string"),
        (4, "tasks/get", json!({}), "tasks/get needs `taskId`, a string"),
        (
            5,
            "tools/call",
            json!({"name": "multiply"}),
            "there is no tool `multiply`; there are allow, build, cancel_job, count, divide, get_job, work",
        ),
    ] {
        assert_eq!(refused(id, method, params).await, json!({"code": -32602, "message": message}));
    }
    assert_eq!(refused(6, "tools/break", json!({})).await["code"], -32601);
    // This server has no resources.
    assert_eq!(refused(7, "resources/read", json!({})).await["code"], -32601);
}

#[tokio::test]
async fn progress_arrives_and_cancelling_reaches_the_tool() {
    let mut session = Session::initialized().await;
    session.send(&crate::client::call(1, "work", &json!({}))).await;
    let progress = session.receive().await.unwrap();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "token 1");
    assert_eq!(progress["params"]["message"], "working");

    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    for id in 2.. {
        if session.call(id, "count", &json!({})).await["structuredContent"]["cancellations"] == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn the_end_of_stdin_ends_the_server() {
    let mut session = Session::initialized().await;
    session.stdin = None;
    assert_eq!(session.receive().await, None);
    assert!(session.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn the_end_of_stdin_lets_short_calls_answer_and_ends_long_ones() {
    let mut session = Session::initialized().await;
    session.send(&crate::client::call(1, "work", &json!({}))).await;
    session.send(&crate::client::call(2, "divide", &json!({"dividend": 8, "divisor": 2}))).await;
    session.stdin = None;
    assert_eq!(session.answer(2).await["result"]["structuredContent"]["quotient"], 4);
    while session.receive().await.is_some() {}
    assert!(session.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn nothing_at_all_on_stdin_is_no_error() {
    let mut session = Session::start();
    session.stdin = None;
    assert!(session.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn sigterm_ends_the_server_in_the_middle_of_a_call() {
    let mut session = Session::initialized().await;
    session.send(&crate::client::call(1, "work", &json!({}))).await;
    session.receive().await.unwrap();
    terminate(&session.child).await;
    assert!(session.child.wait().await.unwrap().success());
}

/// Hosts on Node give their servers sockets, not pipes, and keep them open while they send SIGTERM.
#[tokio::test]
async fn sigterm_ends_a_server_that_reads_a_socket() {
    let (host, server) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut child = fixture().arg("stdio").stdin(std::process::Stdio::from(std::os::fd::OwnedFd::from(server))).spawn().unwrap();
    std::io::Write::write_all(&mut &host, format!("{}\n", initialize(1)).as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(stdout.next_line().await.unwrap().unwrap().contains("serverInfo"));
    terminate(&child).await;
    assert!(child.wait().await.unwrap().success());
}

async fn terminate(child: &Child) {
    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.unwrap().success());
}
