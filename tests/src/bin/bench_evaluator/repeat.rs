//! How well a speedup repeats: the same kernel in evaluations of its own.

use kernelwright_protocol::Verdict;
use kernelwright_tests::figures::row;
use kernelwright_tests::softmax::{Language, Problem};

use crate::{Bench, Failure};

const TIMES: usize = 10;

pub async fn measure(bench: &Bench) -> Result<(), Failure> {
    row(["repeatability", "speedup", "low", "high", "equal kernels measured as"]);
    let language = Language::of(bench.backend())[0];
    let mut speedups = Vec::new();
    for number in 0..TIMES {
        let evaluation = bench.verdict(Problem::of(bench.backend()), language.variant(7000)).await?;
        let Verdict::Correct(correct) = &evaluation.verdict else { continue };
        let Some(timing) = &correct.timing else { continue };
        let figure = |value: f64| format!("{value:.3}");
        let control =
            timing.control.map_or_else(|| "too few pairs".to_owned(), |c| format!("{:.3} ({:.3} to {:.3})", c.ratio, c.low, c.high));
        let title = format!("evaluation {} of {TIMES}", number + 1);
        row([&title, &figure(timing.speedup), &figure(timing.speedup_low), &figure(timing.speedup_high), &control]);
        speedups.push(timing.speedup);
    }
    let (least, most) = speedups.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &speedup| (least.min(speedup), most.max(speedup)));
    row(["largest over smallest", &format!("{:.3}", most / least), "", "", "goal 1.03 on an H200, 1.06 on shared processors"]);
    Ok(())
}
