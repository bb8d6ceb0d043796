//! Units as types, so that a time is never added to a size and every figure prints the same way everywhere.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duration in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nanoseconds(pub u64);

impl Nanoseconds {
    /// Rounds a duration in seconds; negative and non-finite values become zero.
    #[must_use]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1e9).round() as u64)
    }

    /// The duration in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<std::time::Duration> for Nanoseconds {
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Three significant digits in the unit a reader expects: `712 ns`, `18.4 us`, `17.7 ms`, `2.31 s`.
impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match ns {
            n if n < 1e3 => return write!(f, "{} ns", self.0),
            n if n < 1e6 => (n / 1e3, "us"),
            n if n < 1e9 => (n / 1e6, "ms"),
            n => (n / 1e9, "s"),
        };
        write!(f, "{} {unit}", three_digits(value))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// Binary units, as memory sizes are quoted: `96.0 KiB`, `64.0 MiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{} {}", three_digits(value), UNITS[unit])
    }
}

/// A number of model tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 10_000 => write!(f, "{n} tokens"),
            n if n < 1_000_000 => write!(f, "{}k tokens", three_digits(n as f64 / 1e3)),
            n => write!(f, "{}M tokens", three_digits(n as f64 / 1e6)),
        }
    }
}

/// An amount of money in US dollars, kept in whole micro-dollars so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Dollars {
    micro: u64,
}

impl Dollars {
    /// From a figure such as `0.25`; negative and non-finite values become zero.
    #[must_use]
    pub fn new(dollars: f64) -> Self {
        Self { micro: (dollars.max(0.0) * 1e6).round() as u64 }
    }

    /// The amount as a floating-point figure.
    #[must_use]
    pub fn value(self) -> f64 {
        self.micro as f64 / 1e6
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.micro > 0 && self.micro < 10_000 { write!(f, "${:.4}", self.value()) } else { write!(f, "${:.2}", self.value()) }
    }
}

macro_rules! additive {
    ($($unit:ident . $field:tt),*) => {$(
        impl Add for $unit {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $field: self.$field.saturating_add(other.$field) }
            }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::default(), Add::add)
            }
        }
    )*};
}
additive!(Nanoseconds.0, Bytes.0, Tokens.0, Dollars.micro);

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_print_with_three_digits_and_their_unit() {
        let shown: Vec<String> = [712, 18_440, 17_700_000, 2_310_000_000].map(|n| Nanoseconds(n).to_string()).to_vec();
        assert_eq!(shown, ["712 ns", "18.4 us", "17.7 ms", "2.31 s"]);
        assert_eq!(Bytes(98_304).to_string(), "96.0 KiB");
        assert_eq!(Tokens(123_456).to_string(), "123k tokens");
        assert_eq!(Dollars::new(1.5).to_string(), "$1.50");
        assert_eq!(Dollars::new(0.0012).to_string(), "$0.0012");
    }

    #[test]
    fn money_adds_up_exactly() {
        let total: Dollars = std::iter::repeat_n(Dollars::new(0.1), 10).sum();
        assert_eq!(total, Dollars::new(1.0));
    }
}
