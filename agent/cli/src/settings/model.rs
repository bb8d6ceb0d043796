//! The `[model]` section as the model crate wants it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kernelwright_model::{
    ClientSettings, HeaderSource, HostedSettings, KeySource, LimitField, MailboxSettings, Patience, Price, ReplaySettings, Transfer,
};
use serde::de::DeserializeOwned;

use super::layers::{Layers, Setting};
use super::{Settings, SettingsError, Value};

impl Settings {
    /// How the model is reached.
    pub fn model(&self) -> Result<ClientSettings, SettingsError> {
        let layers = &self.layers;
        let Some(provider) = layers.text("model.provider") else { return Err(nobody_answers(layers.text("model.name"))) };
        match provider {
            "openai" => Ok(ClientSettings::OpenAi(layers.hosted()?)),
            "anthropic" => Ok(ClientSettings::Anthropic(layers.hosted()?)),
            "replay" => Ok(ClientSettings::Replay(ReplaySettings { path: layers.model_path()? })),
            _ => Ok(ClientSettings::Mailbox(MailboxSettings {
                dir: layers.model_path()?,
                model: layers.text("model.name").map(str::to_owned),
                extra_body: layers.table("model.extra_body")?.unwrap_or_default(),
                prices: layers.prices()?,
            })),
        }
    }

    /// What the model is called in messages: provider and name, or folder.
    pub fn model_name(&self) -> Option<String> {
        let provider = self.layers.text("model.provider")?;
        let path = self.layers.get("model.path").map(|path| path.value.to_string());
        let name = match provider {
            "openai" | "anthropic" => self.layers.text("model.name").map(str::to_owned),
            _ => path,
        };
        Some(format!("{provider}:{}", name.unwrap_or_default()))
    }

    /// Where the key is looked for, and whether it is there. `None` when the model needs none or the choice is the provider's own.
    pub fn key_source(&self) -> Option<KeySource> {
        self.layers.key()
    }
}

/// Why there is no model, though one may be named.
fn nobody_answers(name: Option<&str>) -> SettingsError {
    match name {
        Some(_) => SettingsError::Missing {
            what: "a model is named, but not who answers",
            hint: "write openai:, anthropic:, replay: or mailbox: before it, or set [model] provider",
        },
        None => SettingsError::Missing {
            what: "no model is configured",
            hint: "pass --model openai:NAME or anthropic:NAME, or set [model] provider and name; `--model mailbox:FOLDER` works without network",
        },
    }
}

impl Layers {
    fn hosted(&self) -> Result<HostedSettings, SettingsError> {
        let model = self.text("model.name").filter(|name| !name.trim().is_empty()).ok_or(SettingsError::Missing {
            what: "a provider is configured, but no model's name",
            hint: "set [model] name, or pass --model openai:NAME or anthropic:NAME",
        })?;
        let limit = Patience::default();
        Ok(HostedSettings {
            base_url: self.text("model.base_url").map(str::to_owned),
            key: self.key(),
            headers: self.headers()?,
            transfer: if self.flag("model.stream") { Transfer::Streamed } else { Transfer::Whole },
            limit_field: match self.text("model.limit_field") {
                Some("max_tokens") => LimitField::MaxTokens,
                Some("max_completion_tokens") => LimitField::MaxCompletionTokens,
                _ => LimitField::Auto,
            },
            max_output_tokens: self.small("model.max_output_tokens")?,
            temperature: self.number("model.temperature"),
            extra_body: self.table("model.extra_body")?.unwrap_or_default(),
            patience: Patience {
                idle: self.duration("model.idle_timeout").unwrap_or(limit.idle),
                outage: self.duration("model.outage").unwrap_or(limit.outage),
                ..limit
            },
            prices: self.prices()?,
            ..HostedSettings::new(model)
        })
    }

    fn key(&self) -> Option<KeySource> {
        // The stronger layer wins; a variable and a file of the same layer would be two answers to one question, and the variable wins.
        let variable = self.text("model.api_key_env").map(|name| KeySource::Env(name.to_owned()));
        variable.or_else(|| self.get("model.api_key_file").and_then(super::path).map(KeySource::File))
    }

    fn model_path(&self) -> Result<PathBuf, SettingsError> {
        self.get("model.path").and_then(super::path).ok_or(SettingsError::Missing {
            what: "the model's provider needs a path, and none is configured",
            hint: "pass --model replay:PATH or mailbox:FOLDER, or set [model] path",
        })
    }

    fn prices(&self) -> Result<BTreeMap<String, Price>, SettingsError> {
        Ok(self.table("model.prices")?.unwrap_or_default())
    }

    /// Files of headers are named relative to the settings file, like any other path in it.
    fn headers(&self) -> Result<BTreeMap<String, HeaderSource>, SettingsError> {
        let mut headers: BTreeMap<String, HeaderSource> = self.table("model.headers")?.unwrap_or_default();
        let Some(setting) = self.get("model.headers") else { return Ok(headers) };
        for header in headers.values_mut() {
            if let HeaderSource::Secret(KeySource::File(file)) = header {
                *file = self.path_in(setting, &file.to_string_lossy());
            }
        }
        Ok(headers)
    }

    fn table<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, SettingsError> {
        let Some(Setting { value: Value::Table(table), origin }) = self.get(name) else { return Ok(None) };
        let unfit = |error: toml::de::Error| SettingsError::Unfit {
            origin: origin.clone(),
            name: name.to_owned(),
            reason: error.message().to_owned(),
        };
        table.clone().try_into().map(Some).map_err(unfit)
    }
}
