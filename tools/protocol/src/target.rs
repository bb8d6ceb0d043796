//! Where a kernel runs: a backend and, for accelerators, which device of the machine.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The kind of hardware a kernel is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The host's processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// One place to run kernels, written `cpu`, `cuda:1`, or `cuda` for any of the machine's GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The kind of hardware.
    pub backend: Backend,
    /// The device's ordinal on this machine; absent for `cpu`, and where any device will do.
    pub device: Option<u16>,
}

impl Target {
    /// The host's processor.
    pub const CPU: Self = Self { backend: Backend::Cpu, device: None };

    /// The GPU with this ordinal.
    #[must_use]
    pub fn cuda(device: u16) -> Self {
        Self { backend: Backend::Cuda, device: Some(device) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.backend, self.device) {
            (Backend::Cpu, _) => f.write_str("cpu"),
            (Backend::Cuda, None) => f.write_str("cuda"),
            (Backend::Cuda, Some(device)) => write!(f, "cuda:{device}"),
        }
    }
}

/// The text names no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetParseError(String);

impl fmt::Display for TargetParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no target: use cpu, cuda or cuda:N", self.0)
    }
}

impl std::error::Error for TargetParseError {}

impl FromStr for Target {
    type Err = TargetParseError;

    fn from_str(text: &str) -> Result<Self, TargetParseError> {
        let refuse = || TargetParseError(text.to_owned());
        match text.split_once(':') {
            None if text == "cpu" => Ok(Self::CPU),
            None if text == "cuda" => Ok(Self { backend: Backend::Cuda, device: None }),
            Some(("cuda", ordinal)) => ordinal.parse().map(Self::cuda).map_err(|_| refuse()),
            _ => Err(refuse()),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Target {
    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "description": "Where to run: cpu, cuda:N, or cuda for any GPU"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_back_as_written() {
        for text in ["cpu", "cuda", "cuda:0", "cuda:3"] {
            assert_eq!(text.parse::<Target>().map(|t| t.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("tpu".parse::<Target>().map_err(|e| e.to_string()), Err("`tpu` is no target: use cpu, cuda or cuda:N".to_owned()));
    }
}
