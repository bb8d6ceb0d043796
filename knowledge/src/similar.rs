//! Whether two texts say nearly the same: how many runs of words they share.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Words in a run: fewer are shared by chance, more are broken by a small change.
const RUN: usize = 5;

/// Runs below which a text is too short to be called a copy.
const MIN_RUNS: usize = 20;

/// From which share on a text is one.
const SHARE: f64 = 0.6;

/// The runs of words of a text.
pub(crate) struct Shingles(HashSet<u64>);

impl Shingles {
    pub(crate) fn of(text: &str) -> Self {
        let words: Vec<String> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        let hash = |run: &[String]| {
            let mut hasher = DefaultHasher::new();
            run.hash(&mut hasher);
            hasher.finish()
        };
        Self(words.windows(RUN).map(hash).collect())
    }

    /// Forgets what is in another text as well.
    pub(crate) fn leave_out(&mut self, other: &Self) {
        self.0.retain(|run| !other.0.contains(run));
    }

    /// How much of the shorter text is in the other, in percent, if that makes it a copy.
    pub(crate) fn shared(&self, other: &Self) -> Option<u32> {
        let shorter = self.0.len().min(other.0.len());
        let share = self.0.intersection(&other.0).count() as f64 / shorter.max(1) as f64;
        (shorter >= MIN_RUNS && share >= SHARE).then_some((share * 100.0) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_from_texts_on_one_subject() {
        let text = "Tiles of sixteen by sixteen halves are loaded by one instruction when the row stride is a multiple of sixteen bytes, and otherwise \
                    by two, which halves the bandwidth that a kernel reaches. Pad rows to such a stride.";
        let changed = text.replace("sixteen bytes", "32 bytes");
        let other = "Tiles are sixteen by sixteen. The matrix unit takes them from registers, four to an instruction, and gives back one of single precision, \
                     so a kernel keeps four accumulators to fill the pipeline of the unit at all times.";
        let shared = |a: &str, b: &str| Shingles::of(a).shared(&Shingles::of(b));
        assert!(shared(text, &changed).is_some_and(|percent| percent > 80));
        assert_eq!(shared(text, other), None);
        assert_eq!(shared("Pad rows.", "Pad rows."), None, "too short to say");
    }
}
