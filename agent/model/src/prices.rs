//! What tokens cost. A price that is not known is unknown, never zero.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::Usage;

/// The prices this version knows; the file says where they are from.
const BUILT_IN: &str = include_str!("../prices.toml");

/// Dollars per million tokens of one model.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of the request that are in no cache.
    pub input: f64,
    /// Tokens read from the provider's cache; as `input` when absent.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Tokens written to the provider's cache; as `input` when absent.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Tokens of the answer.
    pub output: f64,
    /// The longest request, in tokens, this price holds for; providers ask more for longer ones.
    #[serde(default)]
    pub up_to_input: Option<u64>,
}

impl Price {
    /// Dollars for these tokens; `None` when the request is longer than the price holds for. Where writing to a cache has its price and
    /// the provider does not say how much was written, all that was not read counts as written: never too little.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        if self.up_to_input.is_some_and(|limit| usage.input > limit) {
            return None;
        }
        let cached = usage.cached_input.unwrap_or(0).min(usage.input);
        let rest = usage.input - cached;
        let unsaid = if self.cache_write.is_some() { rest } else { 0 };
        let written = usage.cache_written.unwrap_or(unsaid).min(rest);
        let fresh = rest - written;
        let millionths = fresh as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + written as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output as f64 * self.output;
        Some(millionths / 1e6)
    }
}

/// What one client's tokens cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prices {
    own: BTreeMap<String, Price>,
    asked: String,
}

impl Prices {
    /// The user's prices, and the model's name in the settings.
    pub(crate) fn new(own: BTreeMap<String, Price>, asked: &str) -> Self {
        Self { own, asked: asked.to_owned() }
    }

    /// The price of the model that answered. The user's table comes first, and may have it under the name in the settings, which servers
    /// resolve to names of their own.
    pub(crate) fn find(&self, answered: &str) -> Option<&Price> {
        lookup(&self.own, answered).or_else(|| lookup(&self.own, &self.asked)).or_else(|| lookup(&KNOWN, answered))
    }

    /// Whether there is a price for the name in the settings.
    pub(crate) fn has_asked(&self) -> bool {
        self.find(&self.asked).is_some()
    }
}

static KNOWN: LazyLock<BTreeMap<String, Price>> = LazyLock::new(|| match toml::from_str(BUILT_IN) {
    Ok(prices) => prices,
    // A test reads the file, so a broken one does not get this far; without it every price is unknown, which is what is true.
    Err(error) => {
        tracing::error!(%error, "the built-in prices cannot be read");
        BTreeMap::new()
    }
});

/// A name in the table stands for itself and its dated snapshots; not for every name that begins like it, because `x-pro` and `x-mini`
/// cost what they want.
fn lookup<'a>(table: &'a BTreeMap<String, Price>, model: &str) -> Option<&'a Price> {
    table.get(model).or_else(|| {
        let (_, price) = table.iter().find(|(name, _)| model.strip_prefix(name.as_str()).is_some_and(is_snapshot))?;
        Some(price)
    })
}

fn is_snapshot(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['-', '@']) else { return false };
    rest == "latest" || (rest.len() >= 6 && rest.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{BUILT_IN, Price, Prices};
    use crate::Usage;

    const PRICE: Price = Price { input: 2.0, cached_input: Some(0.5), cache_write: Some(2.5), output: 10.0, up_to_input: Some(2_000_000) };

    #[test]
    fn the_built_in_file_is_sound() {
        let table: BTreeMap<String, Price> = toml::from_str(BUILT_IN).unwrap();
        assert!(!table.is_empty());
        for (name, price) in table {
            assert!(price.input > 0.0 && price.output >= price.input, "{name}");
            assert!(price.cached_input.is_none_or(|cached| cached <= price.input), "{name}");
        }
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let usage =
            Usage { input: 1_000_000, output: 100_000, cached_input: Some(400_000), cache_written: Some(200_000), ..Usage::default() };
        assert_eq!(PRICE.cost(&usage), Some(0.8 + 0.2 + 0.5 + 1.0));
    }

    #[test]
    fn what_may_have_been_written_to_a_cache_is_charged_as_written() {
        let usage = Usage { input: 1_000_000, cached_input: Some(400_000), ..Usage::default() };
        assert_eq!(PRICE.cost(&usage), Some(0.2 + 1.5));
    }

    #[test]
    fn a_request_beyond_the_price_has_no_known_cost() {
        assert_eq!(PRICE.cost(&Usage { input: 2_000_001, ..Usage::default() }), None);
    }

    #[test]
    fn a_name_stands_for_its_snapshots_and_nothing_else() {
        let prices = Prices::new(BTreeMap::from([("m-1".to_owned(), PRICE)]), "");
        for known in ["m-1", "m-1-20260101", "m-1-2026-01-01", "m-1@20260101", "m-1-latest"] {
            assert!(prices.find(known).is_some(), "{known}");
        }
        for unknown in ["m-1-pro", "m-1-2", "m-1.5", "m", "vendor/m-1"] {
            assert!(prices.find(unknown).is_none(), "{unknown}");
        }
    }

    #[test]
    fn the_users_price_wins() {
        let own = Prices::new(BTreeMap::from([("claude-opus-5".to_owned(), PRICE)]), "claude-opus-5");
        assert_eq!(own.find("claude-opus-5"), Some(&PRICE));
        assert_eq!(own.find("the-gateways-name-for-it"), Some(&PRICE));
        assert_ne!(Prices::default().find("claude-opus-5"), Some(&PRICE));
    }
}
