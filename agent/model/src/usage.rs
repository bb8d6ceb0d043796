//! Tokens of one answer.

use serde::{Deserialize, Serialize};

/// Bytes of English text or code per token, roughly; used only where a server does not count.
const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request: read from a cache, written to one, or neither.
    pub input: u64,
    /// Tokens of the answer, thinking included.
    pub output: u64,
    /// Of `input`, tokens that the provider read from its cache; absent when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Of `input`, tokens that the provider wrote to its cache, where it bills them apart; absent when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_written: Option<u64>,
    /// Who counted.
    #[serde(default)]
    pub counted: Counted,
}

/// Who counted tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// The provider: what it bills.
    #[default]
    ByProvider,
    /// We did, from the length of the text, because the server did not say. Good for budgets, not for bills.
    Estimated,
}

impl Usage {
    /// Guesses from lengths in bytes.
    pub(crate) fn estimate(request_bytes: usize, answer_bytes: usize) -> Self {
        Self {
            input: (request_bytes as u64).div_ceil(BYTES_PER_TOKEN),
            output: (answer_bytes as u64).div_ceil(BYTES_PER_TOKEN),
            cached_input: None,
            cache_written: None,
            counted: Counted::Estimated,
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| (a.is_some() || b.is_some()).then(|| a.unwrap_or(0) + b.unwrap_or(0));
        self.input += other.input;
        self.output += other.output;
        self.cached_input = sum(self.cached_input, other.cached_input);
        self.cache_written = sum(self.cache_written, other.cache_written);
        if other.counted == Counted::Estimated {
            self.counted = Counted::Estimated;
        }
    }
}
