//! The wall time of one verdict.

use std::path::Path;
use std::time::Duration;

use kernelwright_protocol::{Evaluation, Verdict};
use kernelwright_tests::figures::{self, median, row, seconds};
use kernelwright_tests::softmax::{Language, Problem};

use crate::{Bench, Failure, kernelbench};

/// Verdicts before those that count: baselines, caches, a nursery.
const WARMUP: usize = 2;

/// Verdicts on kernels of which nothing was built before.
const COLD: usize = 5;

/// Verdicts of KernelBench's evaluator: each takes much longer.
const THEIRS: usize = 3;

pub async fn measure(bench: &Bench, times: usize, kernelbench: Option<&Path>) -> Result<(), Failure> {
    row(["wall time of one verdict", "median", "least", "most", "goal, remarks"]);
    for &language in Language::of(bench.backend()) {
        let mut walls = Vec::new();
        let mut besides = Vec::new();
        let mut first = None;
        for number in 0..WARMUP + times {
            let evaluation = bench.verdict(Problem::of(bench.backend()), language.variant(number)).await?;
            let wall = Duration::from_nanos(evaluation.wall_ns.0);
            first.get_or_insert(wall);
            if number >= WARMUP {
                walls.push(wall);
                besides.push(wall.saturating_sub(in_kernels(&evaluation)));
            }
        }
        let goal = match language {
            Language::Triton => "1.0 s",
            Language::Cuda => "1.5 s where only the kernel's body has changed",
            Language::Cpp => "",
        };
        figures::times(language.title(), &walls, goal);
        if language == Language::Cpp {
            figures::times("  beside the time of the kernels", &besides, "0.6 s");
        }
        let mut cold = Vec::new();
        for candidate in (0..COLD).map_while(|number| language.unlike(number)) {
            let evaluation = bench.verdict(Problem::of(bench.backend()), candidate).await?;
            cold.push(Duration::from_nanos(evaluation.wall_ns.0));
        }
        if !cold.is_empty() {
            figures::times("  cold", &cold, "4 s");
        }
        if let Some(first) = first {
            row(["  the first one, with everything it loads", &seconds(first), "", "", "reference, baselines, imports"]);
        }
        let Some((folder, theirs)) = kernelbench.zip(language.backend_of_kernelbench()) else { continue };
        let mut their_walls = Vec::new();
        for number in 0..THEIRS {
            their_walls.push(kernelbench::verdict(folder, theirs, Problem::Large.source(), &language.variant(1000 + number))?);
        }
        figures::times("  KernelBench's evaluator", &their_walls, "");
        if let Some((ours, theirs)) = median(&walls).zip(median(&their_walls)) {
            let ratio = format!("{:.1}x", theirs.as_secs_f64() / ours.as_secs_f64());
            row(["  ratio", &ratio, "", "", if language == Language::Triton { "5x" } else { "8x" }]);
        }
    }
    Ok(())
}

/// What the timed batches themselves took, both sides.
fn in_kernels(evaluation: &Evaluation) -> Duration {
    let Verdict::Correct(correct) = &evaluation.verdict else { return Duration::ZERO };
    correct.timing.as_ref().and_then(|timing| timing.batches_ns).map_or(Duration::ZERO, |time| Duration::from_nanos(time.0))
}
