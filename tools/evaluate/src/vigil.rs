//! How the answers that are timed are waited for.
//!
//! Whoever is awake sees them at once, if it has a processor. Where others want that too, it has used up its turn when the answer comes, and waits for the
//! next one: who has slept is let in sooner.

use std::time::Duration;

use kernelwright_harness::Watch;
use kernelwright_protocol::Backend;

/// With this many processors, one can be kept awake while a batch runs.
const SPARE: usize = 4;

/// What whoever is awake may wait for a processor, in any case and as a share of a batch, and in how many batches it may be more.
const SLACK: Duration = Duration::from_micros(500);
const SHARE: f64 = 0.05;
const MOST: u32 = 2;

/// How one candidate's answers are waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vigil {
    watch: Watch,
    denials: u32,
}

impl Vigil {
    /// Where kernels run on a GPU, processors do not.
    pub(crate) fn on(backend: Backend) -> Self {
        let spare = std::thread::available_parallelism().is_ok_and(|processors| processors.get() >= SPARE);
        Self { watch: if spare && backend == Backend::Cuda { Watch::Awake } else { Watch::Asleep }, denials: 0 }
    }

    /// For the next answer.
    pub(crate) fn watch(self) -> Watch {
        self.watch
    }

    /// Notes what it waited for a processor itself in a batch that took `wall`.
    pub(crate) fn note(&mut self, denied: Duration, wall: Duration) {
        self.denials += u32::from(denied > SLACK.max(wall.mul_f64(SHARE)));
        if self.denials > MOST {
            self.watch = Watch::Asleep;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_kept_from_it_does_not_stay_awake() {
        let mut vigil = Vigil { watch: Watch::Awake, denials: 0 };
        let mut after = |denied: u64, wall: u64| {
            vigil.note(Duration::from_micros(denied), Duration::from_micros(wall));
            vigil.watch()
        };
        let turns = [(0, 20_000), (3_000, 20_000), (400, 400), (1_000, 20_000), (9_000, 20_000)].map(|(denied, wall)| after(denied, wall));
        assert_eq!(turns, [Watch::Awake; 5]);
        assert_eq!(after(2_000, 20_000), Watch::Asleep);
        assert_eq!(Vigil::on(Backend::Cpu).watch(), Watch::Asleep);
    }
}
