//! What a run has used up: steps, evaluations, tokens, money and time.

use kernelwright_protocol::{Dollars, Nanoseconds, Tokens};
use serde::{Deserialize, Serialize};

/// Tokens of one model answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached or not.
    pub input: Tokens,
    /// Of those, tokens the provider read from its cache.
    #[serde(default)]
    pub cached: Tokens,
    /// Tokens of the answer, thinking included.
    pub output: Tokens,
}

impl Usage {
    /// Input plus output.
    #[must_use]
    pub fn total(self) -> Tokens {
        self.input + self.output
    }
}

/// Everything spent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Steps that came to their end.
    pub steps: u32,
    /// Answers the model gave, without the probe's.
    pub answers: u32,
    /// Candidates that were evaluated; asking for a known verdict costs nothing.
    pub evaluations: u32,
    /// Tokens, summed over all answers.
    pub usage: Usage,
    /// Money, over the answers whose price is known.
    pub dollars: Dollars,
    /// Answers, the probe's among them, whose price is not known; `dollars` is a lower bound when there are any.
    pub unpriced: u32,
    /// Wall time of the evaluations, as the evaluate server reports it.
    pub evaluating: Nanoseconds,
    /// Time the run was active, all its sessions added up.
    pub wall: Nanoseconds,
}

impl Spend {
    /// Takes in an answer of the probe or of a step.
    pub(crate) fn used(&mut self, usage: Usage, cost: Option<Dollars>) {
        self.usage.input += usage.input;
        self.usage.cached += usage.cached;
        self.usage.output += usage.output;
        match cost {
            Some(cost) => self.dollars += cost,
            None => self.unpriced += 1,
        }
    }
}
