//! How well a speedup repeats: the same kernel in evaluations of its own. And whether the baseline is as fast as users have it.

use std::time::Duration;

use kernelwright_protocol::{BaselineKind, Verdict};
use kernelwright_tests::figures::{median, row};
use kernelwright_tests::softmax::{Language, Problem};

use crate::{Bench, Failure, plain};

const TIMES: usize = 10;

pub async fn measure(bench: &Bench, threads: Option<usize>) -> Result<(), Failure> {
    row(["repeatability", "speedup", "low", "high", "equal kernels measured as"]);
    let language = Language::of(bench.backend())[0];
    let problem = Problem::of(bench.backend());
    let (mut speedups, mut eager) = (Vec::new(), Vec::new());
    for number in 0..TIMES {
        let evaluation = bench.verdict(problem, language.variant(7000)).await?;
        let Verdict::Correct(correct) = &evaluation.verdict else { continue };
        let Some(timing) = &correct.timing else { continue };
        let figure = |value: f64| format!("{value:.3}");
        let control =
            timing.control.map_or_else(|| "too few pairs".to_owned(), |c| format!("{:.3} ({:.3} to {:.3})", c.ratio, c.low, c.high));
        let title = format!("evaluation {} of {TIMES}", number + 1);
        row([&title, &figure(timing.speedup), &figure(timing.speedup_low), &figure(timing.speedup_high), &control]);
        speedups.push(timing.speedup);
        let of_eager = timing.baselines.iter().find(|baseline| baseline.kind == BaselineKind::Eager).and_then(|baseline| baseline.time_ns);
        eager.extend(of_eager.map(|time| Duration::from_nanos(time.0)));
    }
    let (least, most) = speedups.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &speedup| (least.min(speedup), most.max(speedup)));
    row(["largest over smallest", &format!("{:.3}", most / least), "", "", "goal 1.03 on an H200, 1.06 on shared processors"]);
    let Some(here) = median(&eager) else { return Ok(()) };
    let plain = plain::call(problem, bench.target, threads)?;
    let microseconds = |time: Duration| format!("{:.1} us", time.as_secs_f64() * 1e6);
    let ratio = format!("{:.2}x, the evaluator's calls over plain ones", here.as_secs_f64() / plain.as_secs_f64());
    row(["eager here, and in a process of its own", &microseconds(here), &microseconds(plain), "", &ratio]);
    Ok(())
}
