//! Verdicts a minute.

use std::time::Instant;

use crate::candidates::{Language, Problem};
use crate::{Bench, Failure, row, seconds};

/// Candidates given at once.
const CANDIDATES: usize = 64;

pub async fn measure(bench: &Bench) -> Result<(), Failure> {
    let language = Language::of(bench.backend())[0];
    // The first verdict on a problem measures its baselines.
    bench.verdict(Problem::of(bench.backend()), language.variant(5000)).await?;
    let started = Instant::now();
    let verdicts = (0..CANDIDATES).map(|number| bench.verdict(Problem::of(bench.backend()), language.variant(6000 + number)));
    for verdict in futures_util::future::join_all(verdicts).await {
        verdict?;
    }
    let wall = started.elapsed();
    row(["throughput", "verdicts", "time", "a minute", "goal"]);
    let rate = format!("{:.1}", CANDIDATES as f64 / wall.as_secs_f64() * 60.0);
    row([language.title(), &CANDIDATES.to_string(), &seconds(wall), &rate, "60 on one H200"]);
    Ok(())
}
