//! When to try again, and when to give up.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::Patience;

/// The delays between the attempts of one question.
#[derive(Debug)]
pub(crate) struct Backoff {
    patience: Patience,
    failed: u32,
    first_failure: Option<Instant>,
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Try again after this delay.
    Wait(Duration),
    /// Patience is at its end.
    GiveUp {
        /// How long ago the first attempt failed.
        waited: Duration,
    },
}

impl Backoff {
    pub(crate) fn new(patience: Patience) -> Self {
        Self { patience, failed: 0, first_failure: None }
    }

    /// How many attempts have failed.
    pub(crate) fn failed(&self) -> u32 {
        self.failed
    }

    /// Counts a failure. `asked` is the delay the server wants; `chance`, between 0 and 1, shortens ours so that many clients that failed
    /// together do not come back together.
    pub(crate) fn after_failure(&mut self, now: Instant, asked: Option<Duration>, chance: f64) -> Next {
        let waited = now.duration_since(*self.first_failure.get_or_insert(now));
        let doubled = self.patience.first_delay.saturating_mul(1_u32.checked_shl(self.failed).unwrap_or(u32::MAX));
        let own = doubled.min(self.patience.longest_delay).mul_f64(1.0 - chance / 2.0);
        self.failed += 1;
        let delay = asked.map_or(own, |asked| asked.max(own));
        // Nobody is served by sleeping until a moment at which no attempt will be made.
        if waited + delay > self.patience.outage { Next::GiveUp { waited } } else { Next::Wait(delay) }
    }
}

/// A number between 0 and 1. Without randomness from the system all clients wait the same, which is no reason to fail.
pub(crate) fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |bits| f64::from(bits) / f64::from(u32::MAX))
}

/// How long a server wants to be left alone: milliseconds where it says so, else seconds or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1e3).ok();
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use jiff::Timestamp;
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::{Backoff, Next, retry_after};
    use crate::Patience;

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    fn patience() -> Patience {
        Patience { first_delay: seconds(1), longest_delay: seconds(8), outage: seconds(100), ..Patience::default() }
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let mut backoff = Backoff::new(patience());
        let now = Instant::now();
        let delays: Vec<Next> = (0..6).map(|_| backoff.after_failure(now, None, 0.0)).collect();
        assert_eq!(delays, [1, 2, 4, 8, 8, 8].map(|s| Next::Wait(seconds(s))));
        assert_eq!(backoff.failed(), 6);
    }

    #[test]
    fn chance_shortens_a_delay_by_up_to_half() {
        let first = |chance| Backoff::new(patience()).after_failure(Instant::now(), None, chance);
        assert_eq!(first(0.0), Next::Wait(seconds(1)));
        assert_eq!(first(1.0), Next::Wait(Duration::from_millis(500)));
    }

    #[test]
    fn the_servers_wish_is_followed_unless_patience_ends_before() {
        let now = Instant::now();
        assert_eq!(Backoff::new(patience()).after_failure(now, Some(seconds(30)), 0.0), Next::Wait(seconds(30)));
        assert_eq!(Backoff::new(patience()).after_failure(now, Some(seconds(101)), 0.0), Next::GiveUp { waited: Duration::ZERO });
    }

    #[test]
    fn patience_counts_from_the_first_failure() {
        let mut backoff = Backoff::new(patience());
        let now = Instant::now();
        assert_eq!(backoff.after_failure(now, None, 0.0), Next::Wait(seconds(1)));
        assert_eq!(backoff.after_failure(now + seconds(99), None, 0.0), Next::GiveUp { waited: seconds(99) });
    }

    #[track_caller]
    fn check(name: &'static str, value: &'static str, expect: Option<Duration>) {
        let now: Timestamp = "1994-11-06T08:49:00Z".parse().unwrap();
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        assert_eq!(retry_after(&headers, now), expect, "{name}: {value}");
    }

    #[test]
    fn every_form_of_retry_after() {
        check("retry-after", "7", Some(seconds(7)));
        check("retry-after", "0.5", Some(Duration::from_millis(500)));
        check("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(seconds(37)));
        check("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO));
        check("retry-after-ms", "250", Some(Duration::from_millis(250)));
        check("retry-after", "soon", None);
        check("retry-after", "-1", None);
        check("x-other", "7", None);
    }
}
