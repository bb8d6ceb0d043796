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
const REPLAYED: &str = "Nsight Compute replays launches one by one, by default at the base clock and with emptied caches: its times compare with \
                        each other, not with times taken without it.";
const NO_DURATIONS: &str = "The file has no durations (`gpu__time_duration.sum`): times and shares are 0 because they were not measured.";
const FROM_A_FILE: &str = "The file does not say how many calls of the module it covers: all its launches count as one call.";
