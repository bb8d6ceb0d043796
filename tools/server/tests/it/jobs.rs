//! Jobs: work outlasts the call that asked for it, equal requests share it, and nobody's work goes on for nobody.

use rmcp::model::{CallToolRequestParams, ClientRequest, ProtocolVersion, Request};
use rmcp::service::{PeerRequestOptions, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;

use crate::client::{Session, call};
use crate::eras::Listener;
use crate::http::Server;

/// Starts to build a hut and waits until that goes on; the job's id.
async fn hut(session: &mut Session, id: u32) -> String {
    let running = session.call(id, "build", &json!({"name": "a hut", "wait_s": 0})).await;
    assert_eq!(running["structuredContent"]["status"], "running", "{running}");
    running["structuredContent"]["job_id"].as_str().unwrap().to_owned()
}

async fn cancellations(session: &mut Session, id: u32) -> Value {
    session.call(id, "count", &json!({})).await["structuredContent"]["cancellations"].take()
}

/// Reads up to the progress of the call with this message.
async fn progress(session: &mut Session, message: &str) {
    while session.receive().await.unwrap()["params"]["message"] != message {}
}

#[tokio::test]
async fn a_call_that_has_waited_long_enough_says_how_to_go_on() {
    let mut session = Session::initialized().await;
    let mut running = session.call(1, "build", &json!({"name": "a hut", "wait_s": 0})).await["structuredContent"].take();
    let job_id = running["job_id"].take();
    // The work may or may not have said something yet.
    running["message"] = "building".into();
    insta::assert_snapshot!(running, @r#"{"status":"running","job_id":null,"message":"building","elapsed_s":0.0,"next":"call get_job with this job_id to wait for the result, or cancel_job to stop the work"}"#);

    let report = session.call(2, "get_job", &json!({"job_id": job_id, "wait_s": 0})).await["structuredContent"].take();
    assert_eq!((&report["status"], &report["tool"], &report["result"]), (&json!("running"), &json!("build"), &Value::Null));

    session.call(3, "allow", &json!({"builds": 1})).await;
    let report = session.call(4, "get_job", &json!({"job_id": job_id})).await["structuredContent"].take();
    assert_eq!((&report["status"], &report["result"]), (&json!("finished"), &json!({"name": "a hut", "number": 1})));
}

#[tokio::test]
async fn equal_requests_share_the_work_and_then_its_result() {
    let mut session = Session::initialized().await;
    session.send(&call(1, "build", &json!({"name": "a hut"}))).await;
    session.send(&call(2, "build", &json!({"name": "a hut"}))).await;
    progress(&mut session, "building a hut").await;
    session.call(3, "allow", &json!({"builds": 9})).await;
    for id in [4, 5] {
        let built = session.call(id, "build", &json!({"name": "a hut"})).await;
        assert_eq!(built["structuredContent"], json!({"name": "a hut", "number": 1}));
        assert_eq!(built["content"][0]["text"], r#"{"name":"a hut","number":1}"#);
    }
    let other = session.call(6, "build", &json!({"name": "a house"})).await;
    assert_eq!(other["structuredContent"]["number"], 2);
    let again = session.call(7, "build", &json!({"name": "a hut", "fresh": true})).await;
    assert_eq!(again["structuredContent"]["number"], 3);
}

#[tokio::test]
async fn what_failed_is_reported_as_the_tool_fails_and_tried_again() {
    let mut session = Session::initialized().await;
    let running = session.call(1, "build", &json!({"name": "a ruin", "wait_s": 0})).await["structuredContent"].take();
    session.call(2, "allow", &json!({"builds": 9})).await;
    let failed = session.call(3, "get_job", &json!({"job_id": running["job_id"]})).await;
    assert_eq!((&failed["isError"], &failed["_meta"]["kernelwright/error"]["code"]), (&json!(true), &json!("ruined")));
    let failed = session.call(4, "build", &json!({"name": "a ruin"})).await;
    assert_eq!(failed["_meta"]["kernelwright/error"]["code"], "ruined");
}

#[tokio::test]
async fn a_cancelled_job_has_ended_and_can_be_started_again() {
    let mut session = Session::initialized().await;
    let job_id = hut(&mut session, 1).await;
    let report = session.call(2, "cancel_job", &json!({"job_id": job_id})).await["structuredContent"].take();
    assert_eq!((&report["status"], &report["job_id"]), (&json!("cancelled"), &json!(job_id)));
    let report = session.call(3, "get_job", &json!({"job_id": job_id})).await["structuredContent"].take();
    assert_eq!(report["status"], "cancelled");
    assert_eq!(hut(&mut session, 4).await, job_id);
    session.call(5, "allow", &json!({"builds": 9})).await;
    let report = session.call(6, "get_job", &json!({"job_id": job_id})).await["structuredContent"].take();
    assert_eq!(report["result"]["name"], "a hut");
}

#[tokio::test]
async fn the_last_call_to_be_cancelled_ends_the_work() {
    let mut session = Session::initialized().await;
    session.send(&call(1, "build", &json!({"name": "a hut"}))).await;
    session.send(&call(2, "build", &json!({"name": "a hut"}))).await;
    progress(&mut session, "building a hut").await;
    let cancel = |id: u32| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    session.send(&cancel(1)).await;
    // Messages are read in order, so the first one is gone by now.
    assert_eq!(cancellations(&mut session, 3).await, 0);
    session.send(&cancel(2)).await;
    for id in 4.. {
        if cancellations(&mut session, id).await == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn an_unknown_job_is_explained() {
    let mut session = Session::initialized().await;
    let unknown = session.call(1, "get_job", &json!({"job_id": "job-0"})).await;
    assert_eq!(unknown["isError"], true);
    insta::assert_snapshot!(unknown["content"][0]["text"].as_str().unwrap(), @"
    error: unknown_job
    reason: there is no job `job-0`; jobs end with their server
    fix: call the tool again with the same arguments: that joins its job while it runs, and returns its result for an hour after
    ");
    let unknown = session.call(2, "cancel_job", &json!({"job_id": "job-0"})).await;
    assert_eq!(unknown["_meta"]["kernelwright/error"]["code"], "unknown_job");
    let malformed = session.call(3, "get_job", &json!({"id": "job-0"})).await;
    assert_eq!(malformed["_meta"]["kernelwright/error"]["code"], "invalid_arguments");
    let long = session.call(5, "get_job", &json!({"job_id": "x".repeat(1_000_000)})).await.to_string();
    assert!(long.len() < 2_000, "{} bytes", long.len());
    let patient = session.call(4, "build", &json!({"name": "a hut", "wait_s": 4000})).await;
    assert_eq!(patient["_meta"]["kernelwright/error"]["reason"], "`wait_s` is 4000");
}

#[tokio::test]
async fn jobs_end_with_the_client_on_stdio() {
    let mut session = Session::initialized().await;
    hut(&mut session, 1).await;
    session.stdin = None;
    while session.receive().await.is_some() {}
    assert!(session.child.wait().await.unwrap().success());
    let mut stderr = String::new();
    session.child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
    assert!(stderr.contains("build 1 was cancelled"), "{stderr}");
}

/// A client of the era without sessions, over HTTP.
async fn connect(server: &Server) -> (RunningService<RoleClient, Listener>, mpsc::UnboundedReceiver<String>) {
    // The client wants one even where nothing is encrypted; another test may have been here before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", server.addr));
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let (listener, told) = mpsc::unbounded_channel();
    let client = Listener(listener).serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle).await.unwrap();
    (client, told)
}

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

#[tokio::test]
async fn work_survives_a_broken_http_connection_and_is_joined_by_the_next() {
    let server = Server::start(None).await;
    let (client, mut told) = connect(&server).await;
    let request = ClientRequest::CallToolRequest(Request::new(params("build", &json!({"name": "a hut"}))));
    let pending = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
    while told.recv().await.unwrap() != "building a hut" {}
    drop(pending);
    client.cancel().await.unwrap();

    let (client, _told) = connect(&server).await;
    let allowed = client.call_tool(params("allow", &json!({"builds": 1}))).await.unwrap();
    assert_eq!(allowed.structured_content.unwrap()["cancellations"], 0);
    let built = client.call_tool(params("build", &json!({"name": "a hut"}))).await.unwrap();
    assert_eq!(built.structured_content.unwrap(), json!({"name": "a hut", "number": 1}));
}

/// A message of the era without sessions, from a client that knows tasks.
fn with_tasks(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn a_client_with_tasks_gets_a_task() {
    let mut session = Session::start();
    let mut id = 0;
    let mut ask = async |method: &str, params: Value| {
        id += 1;
        session.send(&with_tasks(id, method, params)).await;
        let answer = session.answer(id).await;
        if answer["error"].is_null() { answer["result"].clone() } else { answer["error"].clone() }
    };
    ask("server/discover", json!({})).await;
    let build = json!({"name": "build", "arguments": {"name": "a hut", "wait_s": 0}});
    let task = ask("tools/call", build.clone()).await;
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    let named = json!({"taskId": task["taskId"]});
    assert_eq!(ask("tasks/get", named.clone()).await["status"], "working");

    ask("tasks/cancel", named.clone()).await;
    while ask("tasks/get", named.clone()).await["status"] == "working" {}
    assert_eq!(ask("tasks/get", named.clone()).await["status"], "cancelled");

    let again = ask("tools/call", build).await;
    assert_eq!(again["taskId"], task["taskId"]);
    ask("tools/call", json!({"name": "allow", "arguments": {"builds": 9}})).await;
    while ask("tasks/get", named.clone()).await["status"] == "working" {}
    let done = ask("tasks/get", named).await;
    assert_eq!((&done["status"], &done["result"]["structuredContent"]["name"]), (&json!("completed"), &json!("a hut")));
    assert_eq!(ask("tasks/get", json!({"taskId": "job-0"})).await["message"], "there is no job `job-0`; jobs end with their server");
}

#[tokio::test]
async fn the_older_era_gets_no_task_even_if_it_asks_for_one() {
    let mut session = Session::start();
    let mut initialize = crate::client::initialize(0);
    initialize["params"]["capabilities"] = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    session.send(&initialize).await;
    session.answer(0).await;
    session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    hut(&mut session, 1).await;
}
