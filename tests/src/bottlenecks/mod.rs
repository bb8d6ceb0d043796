//! Kernels with one bottleneck each, and well-tuned ones: what a profile says of them has to be the bottleneck, and nothing.
//!
//! A case is one candidate file below `tests/bottlenecks/planted` or `well_tuned`, whose first comment lines say what is wrong with it and what a
//! profile has to tell (see [`Case`]); problems are in `tests/bottlenecks/problems`. The same judgement runs over captures that were kept
//! (`tests/bottlenecks/captures`, a folder for each device, written by `capture.py` or by `bottlenecks --record`) as a test on any machine, and
//! as a program with the real profilers (`make test-gpu`).

mod captures;
mod case;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernelwright_profile::{ProfileError, ProfileRequest, Profiles, Settings};
use kernelwright_protocol::{Profile, ProfilerKind, Target};

pub use captures::{CaptureError, Captures, record};
pub use case::{Case, Expected, cases};

/// What became of a case.
#[derive(Debug)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// What the profile says, in a line.
    pub reading: String,
    /// What is wrong with it; absent where it is what was expected.
    pub wrong: Option<String>,
    /// Wall time.
    pub wall: Duration,
}

impl Outcome {
    fn of(case: Case, profile: Result<Profile, String>, started: Instant) -> Self {
        let (reading, wrong) = match profile {
            Ok(profile) => (reading(&profile), case.objection(&profile)),
            Err(error) => (format!("no profile: {error}"), Some("no profile".to_owned())),
        };
        Self { case, reading, wrong, wall: started.elapsed() }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.wrong.is_some() { "WRONG" } else { "ok" };
        write!(f, "{mark:<5} {:>5.1} s  {:<28} {}", self.wall.as_secs_f64(), self.case.name, self.reading)?;
        self.wrong.iter().try_for_each(|wrong| write!(f, "; {wrong}"))
    }
}

/// How many are wrong, of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Planted bottlenecks.
    pub planted: usize,
    /// Those of which another one, or none, was told first.
    pub missed: usize,
    /// Well-tuned kernels.
    pub well_tuned: usize,
    /// Those of which a bottleneck was told.
    pub alarmed: usize,
}

impl Tally {
    /// Counts.
    #[must_use]
    pub fn of(outcomes: &[Outcome]) -> Self {
        let count = |planted: bool, wrong: bool| {
            outcomes.iter().filter(|one| one.case.is_planted() == planted && (!wrong || one.wrong.is_some())).count()
        };
        Self { planted: count(true, false), missed: count(true, true), well_tuned: count(false, false), alarmed: count(false, true) }
    }

    /// Whether no more is wrong than may be: of twelve planted ones one, of well-tuned ones none.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.missed <= self.planted / 12 && self.alarmed == 0
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { planted, missed, well_tuned, alarmed } = self;
        write!(
            f,
            "{} of {planted} planted bottlenecks told first; false alarms at {alarmed} of {well_tuned} well-tuned kernels",
            planted - missed
        )
    }
}

/// Where the files of cases are.
#[must_use]
pub fn folder() -> PathBuf {
    crate::repository().join("tests/bottlenecks")
}

/// The real profilers, one for all cases, so that the target is described once.
#[derive(Debug)]
pub struct Bench {
    profiles: Profiles,
    target: Target,
    profiler: Option<ProfilerKind>,
    record: Option<PathBuf>,
}

impl Bench {
    /// Profiles with one profiler, or with the best that works; `record`: the folder that keeps what the profiler wrote.
    #[must_use]
    pub fn new(settings: Settings, target: Target, profiler: Option<ProfilerKind>, record: Option<PathBuf>) -> Self {
        Self { profiles: Profiles::new(settings), target, profiler, record }
    }

    /// Profiles one case and compares what is told with what was expected.
    pub async fn judge(&self, case: Case) -> Outcome {
        let started = Instant::now();
        let profile = self.profile(&case).await;
        Outcome::of(case, profile, started)
    }

    async fn profile(&self, case: &Case) -> Result<Profile, String> {
        let request = ProfileRequest { profiler: self.profiler, ..case.request(self.target) };
        let told = |error: ProfileError| format!("{error}. {}", error.hint());
        let (taken, target) = self.profiles.take(&request, &|_| {}).await.map_err(told)?;
        if let Some(folder) = &self.record {
            record(folder, case, &taken, target.as_ref()).map_err(|error| error.to_string())?;
        }
        self.profiles.conclude(&request, taken, target.as_ref()).await.map_err(told)
    }
}

/// Judges all captures of a folder, by one profiler. Cases without one are the second part of the answer.
pub async fn judge_captures(
    captures: &Captures,
    profiler: ProfilerKind,
    cases: Vec<Case>,
    cache: &Path,
) -> Result<(Vec<Outcome>, Vec<Case>), CaptureError> {
    // Nothing is run, so that there is no program to name.
    let server = Profiles::new(Settings { cache_dir: cache.to_path_buf(), ..Settings::new(PathBuf::new()) });
    let (mut outcomes, mut missing) = (Vec::new(), Vec::new());
    for case in cases {
        let started = Instant::now();
        match captures.read(&case, profiler)? {
            Some((taken, target)) => {
                let profile = server.conclude(&case.request(target.target), taken, Some(&target)).await;
                outcomes.push(Outcome::of(case, profile.map_err(|error| error.to_string()), started));
            }
            None => missing.push(case),
        }
    }
    Ok((outcomes, missing))
}

/// The first causes with what is at stake, and the distance from the floor.
fn reading(profile: &Profile) -> String {
    let cause = |diagnosis: &kernelwright_protocol::Diagnosis| format!("{} {:.0} %", diagnosis.cause, 100.0 * diagnosis.at_stake);
    let causes: Vec<String> = profile.diagnoses.iter().take(3).map(cause).collect();
    let causes = if causes.is_empty() { "nothing".to_owned() } else { causes.join(", ") };
    let distance = profile
        .headroom
        .as_ref()
        .map_or_else(String::new, |headroom| format!(", {:.2} of the {} floor", headroom.ratio, headroom.bound_by));
    format!("{}: {causes}{distance}", profile.profiler)
}
