//! Keys reach the server and nobody else.

use std::collections::BTreeMap;

use kernelwright_model::{Client, ClientSettings, HeaderSource, HostedSettings, KeySource, ModelError};
use serde_json::json;

use crate::{
    ask, chat, messages, question,
    server::{Reply, Server},
    settings,
};

const KEY: &str = "sk-test-4f9a8b7c6d5e4f3a2b1c";

fn with_key(url: &str, dir: &tempfile::TempDir) -> HostedSettings {
    let path = dir.path().join("key");
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    HostedSettings { key: Some(KeySource::File(path)), ..settings(url) }
}

#[tokio::test]
async fn each_provider_gets_the_key_in_its_header() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start([Reply::json(401, "")]).await;
    ask(&chat(with_key(&server.url, &dir)), &question()).await.unwrap_err();
    ask(&messages(with_key(&server.url, &dir)), &question()).await.unwrap_err();
    let asked = server.asked();
    assert_eq!(asked[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(asked[1].headers["x-api-key"], KEY);
    assert!(asked[1].headers.get("authorization").is_none());
}

#[tokio::test]
async fn extra_headers_are_sent_and_may_replace_ours() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("header");
    std::fs::write(&path, format!("Basic {KEY}")).unwrap();
    let server = Server::start([Reply::json(401, "")]).await;
    let mut settings = with_key(&server.url, &dir);
    settings.headers = BTreeMap::from([
        ("X-Team".to_owned(), HeaderSource::Plain("kernels".to_owned())),
        ("Authorization".to_owned(), HeaderSource::Secret(KeySource::File(path))),
    ]);
    ask(&chat(settings), &question()).await.unwrap_err();
    let headers = &server.asked()[0].headers;
    assert_eq!((&headers["x-team"], &headers["authorization"]), (&"kernels".parse().unwrap(), &format!("Basic {KEY}").parse().unwrap()));
    assert_eq!(headers.get_all("authorization").iter().count(), 1);
}

#[tokio::test]
async fn no_server_gets_a_key_that_was_not_named_for_it() {
    let server = Server::start([Reply::json(401, "")]).await;
    ask(&chat(settings(&server.url)), &question()).await.unwrap_err();
    assert!(server.asked()[0].headers.get("authorization").is_none());
}

/// Whatever a server does with the key, no message shows it.
#[tokio::test]
async fn a_key_that_a_server_echoes_is_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let starred = format!("{}***************{}", &KEY[..8], &KEY[KEY.len() - 4..]);
    let replies = [
        Reply::json(401, json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}})),
        Reply::json(401, json!({"error": {"message": format!("Incorrect API key provided: {starred}.")}})),
        Reply::json(403, json!({"detail": {"headers": {"authorization": format!("Bearer {KEY}")}}})),
        Reply::json(400, format!("bad request: authorization: Bearer {KEY}")),
        Reply::json(500, format!("{} {KEY}", "x".repeat(590))),
        Reply::html(404, &format!("<title>No page for {KEY}</title>")),
        Reply::json(302, "").with_header("location", format!("https://elsewhere.example/?key={KEY}")),
        Reply::json(200, json!({"error": {"message": KEY}})),
        Reply::stream(&format!("data: {{\"error\": {{\"message\": \"{KEY}\"}}}}\n\n"), 10),
        Reply::stream(&format!("data: \"{KEY}\" {KEY}\n\n"), 10),
        Reply::json(200, json!({"choices": KEY})),
    ];
    for reply in replies {
        let server = Server::start([reply.clone()]).await;
        let mut settings = with_key(&server.url, &dir);
        settings.headers.insert("X-Session-Token".to_owned(), HeaderSource::Plain("tok-in-the-clear-0123".to_owned()));
        for client in [chat(settings.clone()), messages(settings.clone())] {
            let error = ask(&client, &question()).await.unwrap_err();
            let shown = format!("{error} {error:?} {} {client:?} {} {settings:?}", error.hint(), client.describe());
            for secret in [KEY, "4f9a8b7c", "4f3a2b1c", "tok-in-the-clear", &starred] {
                assert!(!shown.contains(secret), "{secret} in {shown}");
            }
        }
    }
}

#[test]
fn a_missing_key_names_where_it_was_looked_for() {
    let open = |key| Client::open(&ClientSettings::OpenAi(HostedSettings { key: Some(key), ..HostedSettings::new("m-1") })).unwrap_err();
    let error = open(KeySource::Env("KERNELWRIGHT_TEST_NO_SUCH_KEY".to_owned()));
    assert_eq!(
        error.to_string(),
        "the key for https://api.openai.com/v1/chat/completions is missing: the environment variable KERNELWRIGHT_TEST_NO_SUCH_KEY is not set"
    );
    assert!(error.hint().starts_with("export KERNELWRIGHT_TEST_NO_SUCH_KEY=..."), "{}", error.hint());
    let error = open(KeySource::File("/nonexistent/key".into()));
    assert!(error.to_string().ends_with("the file /nonexistent/key holds no key: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn what_is_recorded_of_an_address_leads_there_again() {
    let described = |base: &str| {
        let settings = HostedSettings { base_url: Some(base.to_owned()), ..HostedSettings::new("m-1") };
        Client::open(&ClientSettings::OpenAi(settings)).unwrap().describe()["url"].as_str().unwrap().to_owned()
    };
    let url = described("https://x.example/openai/deployments/kernels?api-version=2026-01-01");
    assert_eq!(url, "https://x.example/openai/deployments/kernels/chat/completions?api-version=2026-01-01");
    assert_eq!(described(&url), url);
}

#[test]
fn a_header_that_cannot_be_sent_is_named_without_its_value() {
    let mut settings = settings("http://127.0.0.1:9");
    settings.headers.insert("X-Token".to_owned(), HeaderSource::Plain("a\nb".to_owned()));
    let error = Client::open(&ClientSettings::OpenAi(settings)).unwrap_err();
    assert!(matches!(&error, ModelError::BadHeader { name, .. } if name == "X-Token"), "{error:?}");
    assert!(!format!("{error:?}").contains("a\\nb"));
}

#[test]
fn settings_are_read_from_a_file() {
    let text = r#"
        provider = "openai"
        model = "m-1"
        base_url = "http://127.0.0.1:8801/v1"
        key = { env = "DESK_KEY" }
        transfer = "whole"
        limit_field = "max_completion_tokens"
        headers = { X-Team = "kernels", Api-Key = { file = "/run/secrets/key" } }
        patience = { idle = 2.5 }
        extra_body = { reasoning_effort = "high" }
        prices = { m-1 = { input = 1, output = 2 } }
    "#;
    let ClientSettings::OpenAi(settings) = toml::from_str(text).unwrap() else { panic!("another provider") };
    assert_eq!(settings.key, Some(KeySource::Env("DESK_KEY".to_owned())));
    assert_eq!(settings.headers["Api-Key"], HeaderSource::Secret(KeySource::File("/run/secrets/key".into())));
    assert_eq!(settings.patience.idle.as_millis(), 2500);
    assert!(toml::from_str::<ClientSettings>("provider = \"openai\"\nmodel = \"m\"\nkeys = \"k\"").is_err());
    assert!(toml::from_str::<ClientSettings>("provider = \"openai\"\nmodel = \"m\"\nkey = \"sk-in-the-clear\"").is_err());
}
