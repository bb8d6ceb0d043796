//! How many calls make a batch, and with which inputs.

use std::time::Duration;

use kernelwright_protocol::{Backend, Bytes};
use serde::Serialize;

use crate::draws::{random_below, random_u32};
use crate::problem::{BASE, Moves, Placed, Problem, Recipe};
use crate::request::Limits;

/// The most calls in one batch. Placing and naming calls takes time too, on a GPU four times as long as the calls. None is shorter there than its launch, so
/// that 250 of them last milliseconds; what disturbs launches lasts longer than that, and shorter batches see more of it in the same time.
fn most_calls(backend: Backend) -> usize {
    match backend {
        Backend::Cpu => 2000,
        Backend::Cuda => 250,
    }
}

/// How long a batch should last at least, so that clocks and channels do not matter beside it.
const SHORTEST: Duration = Duration::from_millis(10);

/// A batch has so many calls, unless it would last too long. On processors that other work shares, few calls are at the mercy of one of them. On GPUs beside
/// busy neighbours, models of many small kernels differed from themselves by up to a tenth in batches of five calls, and by two hundredths in these.
fn steady(backend: Backend) -> f64 {
    match backend {
        Backend::Cpu => 8.0,
        Backend::Cuda => 16.0,
    }
}

/// How long a batch should last at most.
const LONGEST: Duration = Duration::from_millis(40);

/// How long a batch of calls of `per_call` seconds should last.
pub(crate) fn wanted(backend: Backend, per_call: f64) -> Duration {
    Duration::from_secs_f64((steady(backend) * per_call).clamp(SHORTEST.as_secs_f64(), LONGEST.as_secs_f64()))
}

/// The most that a batch takes, inputs and outputs of one side: of more, writing the inputs of each one takes several times as long as its calls, and a batch
/// of half the length is about as exact. One call alone is not: so many may take more.
const MOST: u64 = 16 << 30;
const FEW: u64 = 4;

/// What batches may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Inputs and outputs of one call.
    pub(crate) bytes_per_call: u64,
    /// Inputs and outputs of a batch, on one side.
    pub(crate) memory: Bytes,
    pub(crate) backend: Backend,
}

impl Room {
    /// What one side's batches may use: a quarter of what has to do for both sides, their expected outputs and everything else.
    pub(crate) fn of_one_side(bytes_per_call: u64, limits: &Limits, problem: &Problem) -> Self {
        let memory = problem.facts.device_memory.unwrap_or(limits.memory.0);
        Self { bytes_per_call, memory: Self::within(memory / 4, bytes_per_call), backend: problem.setting.target.backend }
    }

    fn within(quarter: u64, bytes_per_call: u64) -> Bytes {
        let few = bytes_per_call.saturating_mul(FEW);
        let most = if few <= quarter { few.max(MOST) } else { MOST };
        Bytes(quarter.min(most))
    }

    /// How many calls fit; at least one.
    pub(crate) fn most(self) -> usize {
        usize::try_from(self.memory.0 / self.bytes_per_call.max(1)).unwrap_or(usize::MAX).clamp(1, most_calls(self.backend))
    }

    /// How many calls of `per_call` seconds make a batch of the wanted length.
    pub(crate) fn calls(self, wanted: Duration, per_call: f64) -> usize {
        let calls = (wanted.as_secs_f64() / per_call.max(1e-9)).ceil();
        (calls as usize).clamp(1, self.most())
    }
}

/// What the inputs and the outputs of a batch take on the host, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Footprint {
    inputs: u64,
    outputs: u64,
}

impl Footprint {
    /// More than this is not touched before it is known to be needed.
    const MOST: u64 = 512 << 20;

    /// Pages that a window is longer than what lies in it, at most.
    const AROUND: u64 = 2 * 4096;

    /// That of a batch of so many calls, each with so many bytes in so many inputs and so many bytes in all, with something to spare for a candidate that
    /// is quicker; none where it is large.
    pub(crate) fn like(calls: usize, (bytes, windows): (u64, usize), with_outputs: u64) -> Option<Self> {
        let calls = calls as u64 + calls as u64 / 8;
        let inputs = calls * (bytes + windows as u64 * Self::AROUND);
        let footprint = Self { inputs, outputs: calls * with_outputs.saturating_sub(bytes) };
        (footprint.inputs + footprint.outputs <= Self::MOST).then_some(footprint)
    }
}

/// Hands out calls with inputs that nobody has seen before.
#[derive(Debug)]
pub(crate) struct Calls {
    next: u32,
    scales: bool,
    rolls: bool,
}

impl Calls {
    /// Calls of this problem.
    pub(crate) fn of(problem: &Problem) -> Self {
        Self::scaled(problem.may_scale(), problem.moves() != Moves::None && !problem.has_structure())
    }

    fn scaled(scales: bool, rolls: bool) -> Self {
        // Above the entries that trials use.
        Self { next: BASE + 1000, scales, rolls }
    }

    /// Calls under fresh names, with random recipes.
    pub(crate) fn fresh(&mut self, count: usize) -> Vec<Placed> {
        (0..count)
            .map(|_| {
                let entry = self.next;
                self.next += 1;
                // Three decimals are exact enough in any floating type. Never above 1: what takes probabilities, or angles of cosines, takes smaller
                // ones as well, and refuses larger ones.
                let scale = if self.scales { 0.5 + random_below(501) as f64 / 1000.0 } else { 1.0 };
                Placed { entry, base: BASE, recipe: Recipe::Changed { scale, roll: if self.rolls { random_u32() % 4096 } else { 0 } } }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_long_enough_where_memory_allows() {
        let room = Room { bytes_per_call: 1 << 20, memory: Bytes(64 << 20), backend: Backend::Cpu };
        let wanted = Duration::from_millis(20);
        assert_eq!(room.calls(wanted, 1e-3), 20);
        assert_eq!(room.calls(wanted, 1e-5), 64);
        assert_eq!(room.calls(wanted, 3.0), 1);
        assert_eq!(Room { bytes_per_call: 1 << 30, ..room }.most(), 1);
        assert_eq!(Room { bytes_per_call: 0, ..room }.calls(wanted, 0.0), 2000);
        assert_eq!(Room { bytes_per_call: 0, backend: Backend::Cuda, ..room }.calls(wanted, 0.0), 250);
    }

    #[test]
    fn slow_calls_make_longer_batches() {
        let wanted = |backend: Backend| [1e-6, 1e-3, 3e-3, 1.0].map(|per_call| wanted(backend, per_call).as_millis());
        assert_eq!(wanted(Backend::Cpu), [10, 10, 24, 40]);
        assert_eq!(wanted(Backend::Cuda), [10, 16, 40, 40]);
    }

    #[test]
    fn a_few_large_calls_may_take_more_than_many_small_ones() {
        let within = |gibibytes: u64| Room::within(35 << 30, gibibytes << 30).0 >> 30;
        assert_eq!([1, 5, 8, 9].map(within), [16, 20, 32, 16]);
        assert_eq!(Room::within(8 << 30, 1 << 30).0 >> 30, 8);
    }

    #[test]
    fn memory_is_touched_ahead_where_it_is_little() {
        let footprint = Footprint::like(400, (256 << 10, 1), 512 << 10).unwrap();
        assert_eq!((footprint.inputs, footprint.outputs), (450 * ((256 << 10) + 8192), 450 * (256 << 10)));
        assert!(Footprint::like(5, (64 << 20, 1), 128 << 20).is_none());
    }

    #[test]
    fn no_two_calls_share_a_name() {
        let mut calls = Calls::scaled(true, true);
        let (first, second) = (calls.fresh(3), calls.fresh(2));
        assert_eq!(first.last().map(|call| call.entry + 1), second.first().map(|call| call.entry));
        assert!(first.iter().all(|call| matches!(call.recipe, Recipe::Changed { scale, .. } if (0.5..=1.0).contains(&scale))));
    }
}
