//! Which timed calls are verified: chosen after their batch has run, so that no call can be known to be safe.

use std::time::Duration;

use crate::draws::random_below;
use crate::late::Late;

/// What verifying timed calls may cost, counted in runs of the reference: more calls are verified where that is cheap.
const VERIFY_BUDGET: Duration = Duration::from_secs(3);

/// The fewest and the most timed calls that are verified.
const VERIFIED: std::ops::RangeInclusive<u32> = 2..=72;

/// Where no more calls than this can be verified, the reference is slow, and fewer calls get their inputs late.
const QUICK: u32 = 16;

/// How much of a batch is verified at once: this many calls, and outputs of this many bytes.
const VERIFIED_AT_ONCE: usize = 6;
const VERIFIED_BYTES: u64 = 256 << 20;

/// Which batch of a session it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchNumber {
    pub(crate) pair: usize,
    /// How many pairs there may be from this one on.
    pub(crate) left: usize,
}

/// Which timed calls are verified.
pub(crate) struct Checks {
    /// How many have been.
    pub(crate) done: u32,
    /// How many may be.
    most: u32,
    /// How many of the first batch; of others half as many.
    at_once: usize,
    /// The pairs before which new inputs are drawn that the candidate has not seen, and for how many calls of a batch where they cannot be for
    /// all: where the reference is quick, the first pair and two others.
    pub(crate) late: Vec<usize>,
    pub(crate) late_calls: usize,
    /// The largest error of a verified call, as a share of what is allowed.
    pub(crate) error_over_tolerance: f64,
    /// How many batches said that all their calls had begun and went on all the same.
    pub(crate) claims: u32,
    /// The same since the last batch in which calls did get other inputs, those included that have an excuse.
    pub(crate) in_a_row: u32,
}

impl Checks {
    /// As many as the budget allows, where one takes about four runs of the reference, the comparison included.
    pub(crate) fn within(reference_ns: u64, bytes_per_call: u64, pairs: usize) -> Self {
        let each = Duration::from_nanos(reference_ns.saturating_mul(4)).as_secs_f64().max(1e-6);
        let most = ((VERIFY_BUDGET.as_secs_f64() / each) as u32).clamp(*VERIFIED.start(), *VERIFIED.end());
        let fitting = usize::try_from(VERIFIED_BYTES / bytes_per_call.max(1)).unwrap_or(usize::MAX);
        let at_once = fitting.clamp(2, VERIFIED_AT_ONCE);
        let (late, late_calls) =
            if most < QUICK { (vec![0], 1) } else { (vec![0, 1 + random_below(pairs - 1), 1 + random_below(pairs - 1)], at_once) };
        Self { done: 0, most, at_once, late, late_calls, error_over_tolerance: 0.0, claims: 0, in_a_row: 0 }
    }

    /// Counts a call that was verified.
    pub(crate) fn note(&mut self, error_over_tolerance: f64) {
        self.error_over_tolerance = self.error_over_tolerance.max(error_over_tolerance);
        self.done += 1;
    }

    /// There are more pairs than was meant, from this one to that: as many calls again may be verified, and new inputs are drawn for one.
    pub(crate) fn go_on(&mut self, from: usize, to: usize) {
        self.most += self.done.max(*VERIFIED.start());
        self.late.push(from + random_below(to - from));
    }

    /// The calls of this batch to verify, chosen after it has run, by number: those with late inputs, the last one, and others, as far as
    /// their outputs were not overwritten. The first batch always and the later ones as long as that can be afforded for each; otherwise as many
    /// of them as can be, by chance.
    pub(crate) fn choose(&self, lasting: &[bool], late: &Late, turn: BatchNumber) -> Vec<usize> {
        let mut others: Vec<usize> = (0..lasting.len()).filter(|&call| lasting[call] && late.unknown != Some(call)).collect();
        let at_once = if turn.pair == 0 { self.at_once } else { self.at_once.div_ceil(2) };
        let affordable = self.most.saturating_sub(self.done) as usize;
        // Beyond what can be afforded, batches are still looked at by chance: a candidate must not know that nobody does.
        let wanted = turn.pair == 0 || random_below(3) > 0 || random_below(at_once * turn.left) < affordable;
        let Some(last) = others.pop().filter(|_| wanted || !late.calls.is_empty()) else { return vec![] };
        let mut chosen = vec![last];
        chosen.extend(late.calls.iter().filter(|&&call| call != last && lasting[call]));
        others.retain(|call| !chosen.contains(call));
        // At least one that had its inputs early as well.
        let enough = at_once.max(chosen.len() + usize::from(self.late_calls > 1 && !late.calls.is_empty()));
        while chosen.len() < enough && !others.is_empty() {
            chosen.push(others.swap_remove(random_below(others.len())));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(pair: usize) -> BatchNumber {
        BatchNumber { pair, left: 21 - pair }
    }

    #[test]
    fn slow_references_are_verified_less_often() {
        let most = |milliseconds: u64| Checks::within(milliseconds * 1_000_000, 1, 6).most;
        assert_eq!((most(0), most(50), most(60_000)), (72, 15, 2));
        assert_eq!([1, 100 << 20, 1 << 30].map(|bytes| Checks::within(0, bytes, 6).at_once), [6, 2, 2]);
    }

    #[test]
    fn the_last_call_of_the_first_batch_is_always_verified() {
        let checks = Checks::within(0, 100 << 20, 6);
        let chosen = checks.choose(&[true; 5], &Late::default(), turn(0));
        assert_eq!((chosen.len(), chosen[0]), (2, 4));
        assert_ne!(chosen[1], 4);
        assert_eq!(checks.choose(&[true], &Late::default(), turn(0)), [0]);
        assert_eq!(checks.choose(&[false, false, true], &Late::default(), turn(0)), [2], "what was overwritten cannot be verified");
    }

    #[test]
    fn pairs_beyond_those_that_were_meant_are_verified_as_well() {
        let mut checks = Checks { done: 33, ..Checks::within(0, 1, 6) };
        checks.go_on(10, 30);
        for pair in 10..30 {
            checks.done = 33 + 3 * (pair as u32 - 10);
            let chosen = checks.choose(&[true; 50], &Late::default(), BatchNumber { pair, left: 30 - pair });
            assert_eq!(chosen.len(), 3, "{pair}");
        }
        assert!((10..30).contains(checks.late.last().unwrap()));
    }

    #[test]
    fn every_batch_is_verified_where_that_is_cheap() {
        for pair in 1..21 {
            let done = 6 + 3 * (pair as u32 - 1);
            assert_eq!(Checks { done, ..Checks::within(0, 1, 6) }.choose(&[true; 50], &Late::default(), turn(pair)).len(), 3, "{pair}");
        }
    }

    #[test]
    fn a_call_with_late_inputs_is_always_verified() {
        let checks = Checks { done: 99, ..Checks::within(0, 100 << 20, 6) };
        assert_eq!(checks.choose(&[true; 5], &Late { calls: vec![1], unknown: None }, turn(3))[..2], [4, 1]);
        let others = || (0..200).map(|_| checks.choose(&[true; 5], &Late::default(), turn(3)).len());
        assert!(
            others().any(|verified| verified == 0) && others().any(|verified| verified > 0),
            "nobody can know whether a batch is looked at"
        );
        assert_eq!(Checks::within(0, 100 << 20, 6).choose(&[true; 2], &Late { calls: vec![], unknown: Some(1) }, turn(0)), [0]);
    }
}
