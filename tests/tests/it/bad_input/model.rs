//! Models that cannot be used, and models that make mistakes.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::post;
use serde_json::{Value, json};

use super::{Desk, error};
use crate::support::{Said, of_type, only_run, records};

/// A real HTTP server on a free port, with this router.
async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}

/// A server that has this status and body for every question under /v1, and a page for everything else.
async fn always(status: StatusCode, body: &'static str) -> String {
    let page = || async { (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "text/html")], "<html><h1>Not Found</h1></html>") };
    serve(Router::new().route("/v1/chat/completions", post(move || async move { (status, body) })).fallback(page)).await
}

/// Tries to begin a run with the model at this address. The address is called `HOST`.
async fn begin(host: &str, path: &str) -> (Desk, Said) {
    let desk = Desk::new();
    let mut command = desk.optimize("openai:some-model");
    command.args(["--base-url", &format!("{host}{path}")]).env("KERNELWRIGHT_MODEL_OUTAGE", "10ms");
    let (desk, mut said) = tokio::task::spawn_blocking(move || {
        let said = desk.said(&mut command);
        (desk, said)
    })
    .await
    .unwrap();
    said.stderr = said.stderr.replace(host, "HOST");
    assert!(!desk.path().join("runs").exists(), "nothing was begun: {said:?}");
    (desk, said)
}

#[test]
fn no_key() {
    let desk = Desk::new();
    let said = desk.said(desk.optimize("anthropic:some-model").args(["--api-key-env", "NO_SUCH_KEY"]));
    let error = error(&said, 22);
    assert!(error.ends_with("is missing: the environment variable NO_SUCH_KEY is not set\n  hint: export NO_SUCH_KEY=..., or name another variable or a file in the settings; keys are never written into settings\n"), "{error}");
    assert!(!desk.path().join("runs").exists(), "nothing is left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens_at_the_address() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (_, said) = begin(&format!("http://127.0.0.1:{port}"), "/v1").await;
    let error = error(&said, 31);
    assert!(error.starts_with("error: HOST/v1/chat/completions gave no answer in "), "{error}");
    assert!(error.contains("no connection: Connection refused") && error.contains("\n  hint: check the address, the network"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_is_the_wrong_one() {
    let host = always(StatusCode::OK, "{}").await;
    insta::assert_snapshot!(error(&begin(&host, "/api").await.1, 22), @r"
    error: there is no model endpoint at HOST/api/v1/chat/completions (HTTP 404: a web page)
      hint: check the address: the model's endpoint may be under another path, which can be given in full
    ");
    insta::assert_snapshot!(error(&begin("ftp://host", "/v1").await.1, 22), @r#"
    error: the model's address "HOST/v1" cannot be used: it must begin with http:// or https://
      hint: give the address up to and including the version, e.g. https://api.example.com/v1
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_calls_no_functions() {
    let host = always(StatusCode::BAD_REQUEST, r#"{"error": {"message": "some-model does not support tools"}}"#).await;
    insta::assert_snapshot!(error(&begin(&host, "/v1").await.1, 22), @r"
    error: some-model at HOST/v1/chat/completions does not call functions: some-model does not support tools
      hint: choose a model with function calling, or turn it on in the server (vLLM: --enable-auto-tool-choice --tool-call-parser ...; llama.cpp: --jinja)
    ");
    // Another way to have none: the question is answered in words.
    let words =
        r#"{"model": "some-model", "choices": [{"message": {"role": "assistant", "content": "I am ready."}, "finish_reason": "stop"}]}"#;
    let host = always(StatusCode::OK, words).await;
    let said = begin(&host, "/v1").await.1;
    let error = error(&said, 22);
    assert!(error.contains(r#"does not call functions: asked to call a tool, it wrote "I am ready.""#), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_refused() {
    let host = always(StatusCode::UNAUTHORIZED, r#"{"error": {"message": "invalid key"}}"#).await;
    // An address that is a host alone is enough: /v1 is where most servers have it.
    insta::assert_snapshot!(error(&begin(&host, "").await.1, 22), @r"
    error: HOST/v1/chat/completions refused the key (HTTP 401): invalid key
      hint: check that the key is complete, not expired, and belongs to this server
    ");
}

/// A model that passes the probe, then says these things, each a list of tool calls with their arguments as it wrote them.
async fn scripted(script: &'static [&'static [(&'static str, &'static str)]]) -> (String, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let answer = move |body: Bytes| async move {
        let request: Value = serde_json::from_slice(&body).unwrap();
        let tools = request["tools"].as_array().unwrap();
        let calls = if let [probe] = tools.as_slice() {
            vec![(probe["function"]["name"].as_str().unwrap().to_owned(), "{}")]
        } else {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            script[seen.len() - 1].iter().map(|&(name, arguments)| (name.to_owned(), arguments)).collect()
        };
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                json!({"id": format!("call-{index}"), "type": "function", "function": {"name": name, "arguments": arguments}})
            })
            .collect();
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        axum::Json(json!({"model": "some-model", "choices": [{"message": message, "finish_reason": "tool_calls"}]})).into_response()
    };
    (serve(Router::new().route("/v1/chat/completions", post(answer))).await, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_makes_mistakes_is_told_and_the_run_goes_on() {
    let (host, asked) = scripted(&[
        &[
            ("write_kernel", "{\"source\": \"import torch"),
            ("write_kernel", "[1, 2]"),
            ("write_kernel", "{\"text\": \"import torch\"}"),
            ("assemble_kernel", "{}"),
            ("search_knowledge", "{\"query\": 7}"),
            ("evaluate_kernel", "{}"),
        ],
        &[("finish_step", "{\"summary\": \"nothing came of it\"}")],
    ])
    .await;
    let desk = Desk::new();
    let mut command = desk.optimize("openai:some-model");
    command.args(["--base-url", &format!("{host}/v1")]).env("KERNELWRIGHT_MODEL_STREAM", "false");
    let (desk, said) = tokio::task::spawn_blocking(move || {
        let said = desk.said(&mut command);
        (desk, said)
    })
    .await
    .unwrap();
    assert_eq!(said.code, Some(23), "{said:?}");
    let records = records(&only_run(desk.path()));
    let told: Vec<&str> = of_type(&records, "tool_returned").iter().map(|record| record["text"].as_str().unwrap()).collect();
    let expected = [
        "error: the arguments are not valid JSON: ",
        "error: the arguments must be a JSON object, not an array. ",
        "error: write_kernel needs `source`, a string",
        "error: there is no tool `assemble_kernel`. The tools are: write_kernel, ",
        "error: ",
        "error: there is no draft yet; write one with write_kernel",
        "the step is over",
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{expected:?}: {told}");
    }
    assert!(told[0].ends_with("Nothing was done. Call write_kernel again with one JSON object."), "{}", told[0]);
    // The next question carries what was said, to the letter.
    let asked = asked.lock().unwrap();
    let results = asked[1]["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    assert_eq!(results.map(|message| message["content"].as_str().unwrap()).collect::<Vec<_>>(), told[..6]);
}
