//! One HTTP endpoint: a body goes out, a draft of an answer comes back, and every failure gets its kind.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    Fault, HeaderSource, HostedSettings, MissingKey, ModelError, Patience, Piece, Secret, TextSink, Transfer,
    address::Address,
    refusal::{self, Asked, Meaning, Refusal},
    retry::{Backoff, Next, chance, retry_after},
    secret::{Mask, Shape, is_secret_name},
    sse::Decoder,
    wire::{Broken, Draft, Flow, Wire},
};

/// No answer is longer than this; a server that sends more is not sending an answer.
const LONGEST_BODY: usize = 64 << 20;

/// Of an error page, no more than this is read.
const LONGEST_ERROR: usize = 1 << 20;

/// A place where a model answers.
#[derive(Debug)]
pub(crate) struct Endpoint {
    http: reqwest::Client,
    address: Address,
    headers: HeaderMap,
    mask: Mask,
    wire: Wire,
    model: String,
    transfer: Transfer,
}

/// A failed attempt.
enum Failure {
    Final(ModelError),
    Passing { fault: Fault, retry_after: Option<Duration> },
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::Final(error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Passing { fault, retry_after: None }
    }
}

impl Endpoint {
    /// Reads keys and puts the headers together. Nothing is sent.
    pub(crate) fn open(wire: Wire, settings: &HostedSettings) -> Result<Self, ModelError> {
        let base = settings.base_url.as_deref().unwrap_or(wire.home());
        let address = Address::complete(base, wire.suffix())?;
        let is_home = Address::complete(wire.home(), wire.suffix()).is_ok_and(|home| home.url.host() == address.url.host());
        let mut headers = HeaderMap::from_iter(wire.fixed_headers());
        let mut secrets = Vec::new();
        let no_key = |missing| ModelError::NoKey { url: address.shown.clone(), missing };
        if let Some(key) = find_key(wire, settings, is_home).map_err(no_key)? {
            let (name, value) = wire.key_header(&key);
            headers.insert(name.clone(), header_value(name.as_str(), &Secret::new(value))?);
            secrets.push(key);
        }
        for (name, source) in &settings.headers {
            let header = HeaderName::try_from(name.as_str())
                .map_err(|_| ModelError::BadHeader { name: name.clone(), reason: "the name is not allowed".to_owned() })?;
            let (value, is_secret) = match source {
                HeaderSource::Plain(text) => (Secret::new(text.as_str()), is_secret_name(name)),
                HeaderSource::Secret(source) => (source.read(Shape::Line).map_err(no_key)?, true),
            };
            let mut sent = header_value(name, &value)?;
            sent.set_sensitive(is_secret);
            headers.insert(header, sent);
            if is_secret {
                // A server may echo `Bearer KEY` without the first word.
                secrets.extend(value.expose().split_whitespace().filter(|word| word.len() > 8).map(Secret::new));
                secrets.push(value);
            }
        }
        if !secrets.is_empty() && address.is_readable_by_others() {
            tracing::warn!(url = address.shown, "the key travels without encryption to another machine");
        }
        let http = http_client(&address, &settings.patience)?;
        Ok(Self { http, address, headers, mask: Mask::new(secrets), wire, model: settings.model.clone(), transfer: settings.transfer })
    }

    /// The address, for messages.
    pub(crate) fn url(&self) -> &str {
        &self.address.shown
    }

    /// The whole address, for the record: what a server wants in its query is needed to find it again.
    pub(crate) fn whole_url(&self) -> &str {
        self.address.url.as_str()
    }

    /// Whether this is the provider's own server.
    pub(crate) fn is_home(&self) -> bool {
        Address::complete(self.wire.home(), self.wire.suffix()).is_ok_and(|home| home.url.host() == self.address.url.host())
    }

    /// Sends a body until an answer comes or patience ends.
    pub(crate) async fn converse(&self, body: &Value, patience: &Patience, sink: &dyn TextSink) -> Result<Draft, ModelError> {
        let mut backoff = Backoff::new(*patience);
        loop {
            let attempt = timeout(patience.attempt, self.attempt(body, patience, sink)).await;
            let (fault, asked) = match attempt {
                Ok(Ok(draft)) => return Ok(draft),
                Ok(Err(Failure::Final(error))) => return Err(error),
                Ok(Err(Failure::Passing { fault, retry_after })) => (fault, retry_after),
                Err(_) => (Fault::TooLong { after: patience.attempt }, None),
            };
            tracing::debug!(url = self.url(), %fault, "the model gave no answer");
            match backoff.after_failure(std::time::Instant::now(), asked, chance()) {
                Next::Wait(delay) => {
                    sink.take(Piece::Retry { failed: backoff.failed(), delay, reason: &fault.to_string() });
                    tokio::time::sleep(delay).await;
                }
                Next::GiveUp { waited } => {
                    let url = self.url().to_owned();
                    return Err(ModelError::Outage { url, attempts: backoff.failed(), waited, last: fault, retry_after: asked });
                }
            }
        }
    }

    async fn attempt(&self, body: &Value, patience: &Patience, sink: &dyn TextSink) -> Result<Draft, Failure> {
        // A whole answer keeps silent until it is complete.
        let idle = if self.transfer == Transfer::Whole { patience.attempt } else { patience.idle };
        let request = self.http.post(self.address.url.clone()).headers(self.headers.clone()).json(body);
        let response = match timeout(idle, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.no_response(error)),
            Err(_) => return Err(Fault::Idle { after: idle }.into()),
        };
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("an unknown place");
            let to = refusal::shorten(&self.mask.apply(to));
            return Err(refusal::wrong_url(self.url(), &format!("HTTP {}: it points to {to}", status.as_u16())).into());
        }
        if !status.is_success() {
            return Err(self.refused(status, response, idle).await);
        }
        let is_stream = header(&response, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/event-stream"));
        if is_stream { self.read_stream(response, idle, sink).await } else { self.read_whole(response, idle, sink).await }
    }

    async fn read_stream(&self, mut response: Response, idle: Duration, sink: &dyn TextSink) -> Result<Draft, Failure> {
        let mut assembly = self.wire.assembly();
        let mut decoder = Decoder::default();
        let mut length = 0;
        let cut = loop {
            let chunk = match timeout(idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break "the stream ended before the answer did".to_owned(),
                Ok(Err(error)) => break self.reason(error),
                Err(_) => return Err(Fault::Idle { after: idle }.into()),
            };
            length += chunk.len();
            if length > LONGEST_BODY {
                return Err(self.too_long());
            }
            for event in decoder.feed(&chunk) {
                if assembly.event(&event, sink).map_err(|broken| self.broken(broken, ""))? == Flow::Done {
                    return assembly.finish(Flow::Done).map_err(|broken| self.broken(broken, "the stream ended without an answer"));
                }
            }
        };
        let mut ended = Flow::More;
        if let Some(event) = decoder.end() {
            // Half an event is no more than a sign that the stream was cut.
            match assembly.event(&event, sink) {
                Err(Broken::Garbled(_)) => {}
                other => ended = other.map_err(|broken| self.broken(broken, ""))?,
            }
        }
        // An answer whose reason to stop has come is complete, whatever was lost after it.
        assembly.finish(ended).map_err(|broken| self.broken(broken, &cut))
    }

    async fn read_whole(&self, response: Response, idle: Duration, sink: &dyn TextSink) -> Result<Draft, Failure> {
        let body = self.read(response, idle, LONGEST_BODY).await?;
        let text = body.trim_ascii();
        if text.is_empty() {
            return Err(Fault::Garbled { reason: "it is empty".to_owned() }.into());
        }
        if refusal::is_html(text) {
            let page = refusal::html_title(&String::from_utf8_lossy(text));
            return Err(refusal::wrong_url(self.url(), &self.mask.apply(&page)).into());
        }
        let mut assembly = self.wire.assembly();
        // Some servers stream under another content type.
        if text.starts_with(b"data:") || text.starts_with(b"event:") || text.starts_with(b":") {
            let mut decoder = Decoder::default();
            let mut events = decoder.feed(&body);
            events.extend(decoder.end());
            let mut ended = Flow::More;
            for event in events {
                ended = assembly.event(&event, sink).map_err(|broken| self.broken(broken, ""))?;
            }
            return assembly.finish(ended).map_err(|broken| self.broken(broken, "the stream ended before the answer did"));
        }
        let value = serde_json::from_slice(text).map_err(|error| Fault::Garbled { reason: format!("it is not JSON: {error}") })?;
        assembly.whole(value, sink).map_err(|broken| self.broken(broken, ""))?;
        assembly.finish(Flow::Done).map_err(|broken| self.broken(broken, ""))
    }

    async fn read(&self, mut response: Response, idle: Duration, longest: usize) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            match timeout(idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > longest => return Err(self.too_long()),
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => return Ok(body),
                Ok(Err(error)) => return Err(Fault::Cut { reason: self.reason(error) }.into()),
                Err(_) => return Err(Fault::Idle { after: idle }.into()),
            }
        }
    }

    async fn refused(&self, status: StatusCode, response: Response, idle: Duration) -> Failure {
        let retry_after = retry_after(response.headers(), Timestamp::now());
        // The status says enough where the explanation is cut or endless.
        let body = self.read(response, idle, LONGEST_ERROR).await.unwrap_or_default();
        match Refusal::from_body(status.as_u16(), &body, &self.mask).meaning(self.asked()) {
            Meaning::Final(error) => Failure::Final(error),
            Meaning::Passing(fault) => Failure::Passing { fault, retry_after },
        }
    }

    /// Why no response came at all.
    fn no_response(&self, error: reqwest::Error) -> Failure {
        let is_connect = error.is_connect();
        let reason = self.reason(error);
        let words = reason.to_lowercase();
        if is_connect && (words.contains("certificate") || words.contains("unknownissuer")) {
            return ModelError::Untrusted { url: self.url().to_owned(), reason }.into();
        }
        if is_connect { Fault::Connect { reason }.into() } else { Fault::Cut { reason }.into() }
    }

    fn broken(&self, broken: Broken, cut: &str) -> Failure {
        match broken {
            Broken::Error(value) => match Refusal::from_json(&value, &self.mask).meaning(self.asked()) {
                Meaning::Final(error) => error.into(),
                Meaning::Passing(Fault::Status { message, .. }) => Fault::InStream { message }.into(),
                Meaning::Passing(fault) => fault.into(),
            },
            Broken::Garbled(reason) => Fault::Garbled { reason: self.mask.apply(&reason) }.into(),
            Broken::Unfinished => Fault::Cut { reason: cut.to_owned() }.into(),
        }
    }

    fn too_long(&self) -> Failure {
        Fault::Garbled { reason: format!("{} sent more than any answer can be", self.url()) }.into()
    }

    fn asked(&self) -> Asked<'_> {
        Asked { url: self.url(), model: &self.model }
    }

    /// The innermost words of a transport error, which say what happened; the outer ones only say where.
    fn reason(&self, error: reqwest::Error) -> String {
        let error = error.without_url();
        let mut innermost: &dyn std::error::Error = &error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        refusal::shorten(&self.mask.apply(&innermost.to_string()))
    }
}

/// The key to send: the one that was named, or the provider's usual one at the provider's own address. No other server is sent a key that
/// nobody named for it.
fn find_key(wire: Wire, settings: &HostedSettings, is_home: bool) -> Result<Option<Secret>, MissingKey> {
    let usual = crate::KeySource::Env(wire.usual_variable().to_owned());
    match &settings.key {
        Some(source) => source.read(Shape::Word).map(Some),
        None if is_home && !settings.headers.keys().any(|name| is_secret_name(name)) => usual.read(Shape::Word).map(Some),
        None => Ok(None),
    }
}

fn http_client(address: &Address, patience: &Patience) -> Result<reqwest::Client, ModelError> {
    // Certificates are checked against the system's roots whatever the provider; this fails only when there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("kernelwright/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(patience.connect)
        // A redirect would carry the key to a server that nobody named.
        .redirect(redirect::Policy::none());
    if address.is_loopback() {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ModelError::BadAddress { url: address.shown.clone(), reason: error.to_string() })
}

fn header_value(name: &str, value: &Secret) -> Result<HeaderValue, ModelError> {
    let mut header = HeaderValue::from_str(value.expose())
        .map_err(|_| ModelError::BadHeader { name: name.to_owned(), reason: "the value is not one line of visible ASCII".to_owned() })?;
    header.set_sensitive(true);
    Ok(header)
}

fn header<'a>(response: &'a Response, name: &HeaderName) -> Option<&'a str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}
