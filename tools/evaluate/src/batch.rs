//! How many calls make a batch, and with which inputs.

use std::time::Duration;

use kernelwright_protocol::Bytes;

use crate::draws::{random_below, random_u32};
use crate::problem::{BASE, Placed, Recipe};

/// The most calls in one batch: placing and naming them costs time too.
const CALLS: usize = 2000;

/// How long a batch should last, so that clocks and channels do not matter beside it.
pub(crate) const WANTED: Duration = Duration::from_millis(10);

/// What batches may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Inputs and outputs of one call.
    pub(crate) bytes_per_call: u64,
    /// Inputs and outputs of a batch, on one side.
    pub(crate) memory: Bytes,
}

impl Room {
    /// How many calls fit; at least one.
    pub(crate) fn most(self) -> usize {
        usize::try_from(self.memory.0 / self.bytes_per_call.max(1)).unwrap_or(usize::MAX).clamp(1, CALLS)
    }

    /// How many calls of `per_call` seconds make a batch of the wanted length.
    pub(crate) fn calls(self, wanted: Duration, per_call: f64) -> usize {
        let calls = (wanted.as_secs_f64() / per_call.max(1e-9)).ceil();
        (calls as usize).clamp(1, self.most())
    }
}

/// Hands out calls with inputs that nobody has seen before.
#[derive(Debug)]
pub(crate) struct Calls {
    next: u32,
}

impl Calls {
    pub(crate) fn new() -> Self {
        // Above the entries that trials use.
        Self { next: BASE + 1000 }
    }

    /// Calls under fresh names, with random recipes.
    pub(crate) fn fresh(&mut self, count: usize) -> Vec<Placed> {
        (0..count)
            .map(|_| {
                let entry = self.next;
                self.next += 1;
                // Three decimals are exact enough in any floating type, and the scale stays near 1: within what the problem expects.
                let scale = 0.5 + random_below(1001) as f64 / 1000.0;
                Placed { entry, base: BASE, recipe: Recipe::Changed { scale, roll: random_u32() % 4096 } }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_long_enough_where_memory_allows() {
        let room = Room { bytes_per_call: 1 << 20, memory: Bytes(64 << 20) };
        let wanted = Duration::from_millis(20);
        assert_eq!(room.calls(wanted, 1e-3), 20);
        assert_eq!(room.calls(wanted, 1e-5), 64);
        assert_eq!(room.calls(wanted, 3.0), 1);
        assert_eq!(Room { bytes_per_call: 1 << 30, ..room }.most(), 1);
        assert_eq!(Room { bytes_per_call: 0, ..room }.calls(wanted, 0.0), CALLS);
    }

    #[test]
    fn no_two_calls_share_a_name() {
        let mut calls = Calls::new();
        let (first, second) = (calls.fresh(3), calls.fresh(2));
        assert_eq!(first.last().map(|call| call.entry + 1), second.first().map(|call| call.entry));
        assert!(first.iter().all(|call| matches!(call.recipe, Recipe::Changed { scale, .. } if (0.5..=1.5).contains(&scale))));
    }
}
