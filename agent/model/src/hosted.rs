//! A model behind HTTP.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    Answer, HostedSettings, LimitField, ModelError, Patience, Request, TextSink, ToolChoice, Usage,
    endpoint::Endpoint,
    prices::Prices,
    probe,
    wire::{Field, Style, Wire},
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
            usage_chunk: Field::Sent,
            tool_choice: Field::Sent,
            extra_body: settings.extra_body.clone(),
        };
        Ok(Self {
            wire,
            endpoint,
            max_output_tokens: settings.max_output_tokens,
            temperature: settings.temperature,
            patience: settings.patience,
            prices: Prices::new(settings.prices.clone(), &settings.model),
            style: Mutex::new(style),
        })
    }

    pub(crate) async fn ask(&self, request: &Request, sink: &dyn TextSink) -> Result<Answer, ModelError> {
        self.ask_with(request, &self.patience, sink).await
    }

    /// Finds out whether this model can be used, see [`crate::Client::probe`].
    pub(crate) async fn probe(&self, sink: &dyn TextSink) -> Result<Usage, ModelError> {
        let patience = Patience { outage: self.patience.outage.min(PROBE_PATIENCE), ..self.patience };
        // A budget for thinking has to fit into the limit, so with one the limit of the settings must do.
        let has_budget = self.style().extra_body.contains_key("thinking");
        let limit = self.max_output_tokens.or((!has_budget).then_some(probe::LIMIT));
        let ask = async |choice| self.ask_with(&probe::question(choice, limit), &patience, sink).await;
        let answer = match ask(ToolChoice::Required).await {
            // Models that call tools but cannot be made to have many words for it.
            Err(ModelError::NoToolSupport { .. } | ModelError::Rejected { .. }) => ask(ToolChoice::Auto).await?,
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
                Err(error) => match adapted(&style, &request, &error) {
                    Some(wanted) => {
                        tracing::debug!(url = self.endpoint.url(), %error, "the server wants another form of request");
                        *self.style.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
                    }
                    None => return Err(error),
                },
            }
        }
    }

    fn style(&self) -> Style {
        self.style.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn cost(&self, usage: &Usage, model: &str) -> Option<f64> {
        self.prices.find(model)?.cost(usage)
    }

    pub(crate) fn has_price(&self) -> bool {
        self.prices.has_asked()
    }

    pub(crate) fn describe(&self) -> Value {
        json!({"provider": self.wire.name(), "model": self.style().model, "url": self.endpoint.whole_url()})
    }
}

/// The style after a refusal that says what the server wants instead. Each change is made once, so changing comes to an end.
fn adapted(refused: &Style, request: &Request, error: &ModelError) -> Option<Style> {
    let style = refused.clone();
    match error {
        ModelError::NoToolChoice { .. } if request.tool_choice == ToolChoice::Required && refused.tool_choice == Field::Sent => {
            Some(Style { tool_choice: Field::Refused, ..style })
        }
        ModelError::Rejected { message, .. } if message.contains("stream_options") && refused.usage_chunk == Field::Sent => {
            Some(Style { usage_chunk: Field::Refused, ..style })
        }
        ModelError::Rejected { message, .. } if message.contains("max_completion_tokens") && refused.limit_field == LimitField::Auto => {
            Some(Style { limit_field: LimitField::MaxCompletionTokens, ..style })
        }
        _ => None,
    }
}
