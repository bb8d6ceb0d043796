//! A model behind HTTP.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Answer, HostedSettings, LimitField, ModelError, NoSink, Patience, Request, TextSink, ToolChoice, Usage,
    endpoint::Endpoint,
    prices::Prices,
    probe,
    wire::{Style, UsageChunk, Wire},
};

/// How long a probe bears a failing server: long enough for a hiccup, short enough for somebody who waits for the run to begin.
const PROBE_PATIENCE: Duration = Duration::from_secs(30);

/// A model behind HTTP.
#[derive(Debug)]
pub struct Hosted {
    wire: Wire,
    endpoint: Endpoint,
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    patience: Patience,
    prices: Prices,
    /// How bodies are written; changes when the server turns out to want another form.
    style: Mutex<Style>,
}

impl Hosted {
    pub(crate) fn open(wire: Wire, settings: &HostedSettings) -> Result<Self, ModelError> {
        let endpoint = Endpoint::open(wire, settings)?;
        let limit_field = match settings.limit_field {
            LimitField::Auto if endpoint.is_home() => LimitField::MaxCompletionTokens,
            other => other,
        };
        let style = Style {
            model: settings.model.clone(),
            transfer: settings.transfer,
            limit_field,
            usage_chunk: UsageChunk::Asked,
            extra_body: settings.extra_body.clone(),
        };
        Ok(Self {
            wire,
            endpoint,
            max_output_tokens: settings.max_output_tokens,
            temperature: settings.temperature,
            patience: settings.patience,
            prices: Prices::new(settings.prices.clone()),
            style: Mutex::new(style),
        })
    }

    pub(crate) async fn ask(&self, request: &Request, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        self.ask_with(request, &self.patience, sink).await
    }

    /// Finds out whether this model can be used, see [`crate::Client::probe`].
    pub(crate) async fn probe(&self) -> Result<Usage, ModelError> {
        let patience = Patience { outage: self.patience.outage.min(PROBE_PATIENCE), ..self.patience };
        let answer = match self.ask_with(&probe::question(ToolChoice::Required), &patience, &NoSink).await {
            // Not every model that calls tools can be made to.
            Err(ModelError::NoToolChoice { .. }) => self.ask_with(&probe::question(ToolChoice::Auto), &patience, &NoSink).await?,
            other => other?,
        };
        probe::judge(&answer, self.endpoint.url())
    }

    async fn ask_with(&self, request: &Request, patience: &Patience, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        let mut request = request.clone();
        request.max_output_tokens = request.max_output_tokens.or(self.max_output_tokens);
        request.temperature = request.temperature.or(self.temperature);
        loop {
            let style = self.style();
            match self.endpoint.converse(&self.wire.body(&request, &style), patience, sink).await {
                Ok(draft) => return Ok(draft.into_answer(&request, &style.model)),
                Err(ModelError::Rejected { message, .. }) if self.adapt(&style, &message) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn style(&self) -> Style {
        self.style.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the style after a refusal that says what the server wants instead. Each change is made once, so this comes to an end.
    fn adapt(&self, refused: &Style, message: &str) -> bool {
        let mut wanted = refused.clone();
        if message.contains("stream_options") && refused.usage_chunk == UsageChunk::Asked {
            wanted.usage_chunk = UsageChunk::Refused;
        } else if message.contains("max_completion_tokens") && refused.limit_field == LimitField::Auto {
            wanted.limit_field = LimitField::MaxCompletionTokens;
        } else {
            return false;
        }
        tracing::debug!(url = self.endpoint.url(), message, "the server wants another form of request");
        *self.style.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
        true
    }

    pub(crate) fn cost(&self, usage: &Usage, model: &str) -> Option<f64> {
        self.prices.find(model)?.cost(usage)
    }

    pub(crate) fn describe(&self) -> Value {
        json!({"provider": self.wire.name(), "model": self.style().model, "url": self.endpoint.url()})
    }
}
