//! What Nsight Compute writes: its own report, and the tables it prints.

mod container;
pub(super) mod csv;
mod labels;
mod lines;
mod messages;
pub(super) mod metrics;
pub(super) mod report;
mod source;
pub(super) mod stalls;
mod units;
mod wire;

pub(super) use container::MAGIC;

/// The metric that says how long a launch took.
const DURATION: &str = "gpu__time_duration.sum";

/// What no report of this profiler knows.
const REPLAYED: &str = "Nsight Compute replays launches one by one, with emptied caches and, unless it is told otherwise, at the base clock: its \
                        times compare with each other, not with times taken without it.";
const NO_DURATIONS: &str = "The file has no durations (`gpu__time_duration.sum`): times and shares are 0 because they were not measured.";
