//! What a thread has had of processors.

use std::path::Path;
use std::time::Duration;

/// Time on processors, and in front of them: the first two figures of a thread's `schedstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// On one.
    pub ran: Duration,
    /// Ready to run, while others had them.
    pub waited: Duration,
}

impl ProcessorTime {
    /// Up to now, of a thread's entry below `/proc`; none where the system does not say, or the thread has ended.
    #[must_use]
    pub fn of(thread: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        let mut figures = text.split_whitespace().map(|figure| figure.parse().map(Duration::from_nanos));
        match (figures.next(), figures.next()) {
            (Some(Ok(ran)), Some(Ok(waited))) => Some(Self { ran, waited }),
            _ => None,
        }
    }

    /// Up to now, of the thread that asks.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::of(Path::new("/proc/thread-self"))
    }

    /// What was added since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self { ran: self.ran.saturating_sub(before.ran), waited: self.waited.saturating_sub(before.waited) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn who_works_has_had_a_processor() {
        let before = ProcessorTime::own().unwrap();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        let since = ProcessorTime::own().unwrap().since(before);
        let (had, took) = (since.ran + since.waited, began.elapsed());
        assert!(had > took / 2 && had < took + Duration::from_millis(20), "{since:?} of {took:?}");
        assert_eq!(ProcessorTime::of(Path::new("/proc/0")), None);
    }
}
