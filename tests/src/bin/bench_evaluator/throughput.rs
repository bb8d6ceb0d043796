//! Verdicts a minute, over candidates for two problems of which a quarter is wrong, raises or does not build.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use kernelwright_protocol::{Backend, Target};
use kernelwright_tests::figures::{row, seconds};
use kernelwright_tests::softmax::{Flaw, Language, Problem};

use crate::{Bench, Failure};

/// Candidates for each device before a round, at once: it has both problems loaded after them, and their baselines measured.
const WARMUP: usize = 8;

/// The rounds: one after another, all at once, and all at once on every GPU where the target names none. The same candidates each time but
/// for a number in them, so that all is compiled anew, and their verdicts compared.
pub async fn measure(bench: &Bench, candidates: usize) -> Result<(), Failure> {
    let any = bench.target.backend == Backend::Cuda && bench.target.device.is_none();
    let one = if any { Target::cuda(0) } else { bench.target };
    row(["throughput", "verdicts", "time", "a minute", "goal"]);
    warm_up(bench, one, 5000).await?;
    let started = Instant::now();
    let mut serial = Vec::new();
    for number in 0..candidates {
        serial.push(verdict(bench, one, 6000, number).await?);
    }
    let one_by_one = print("one after another", candidates, started.elapsed(), "");
    let at_once = round(bench, one, 7000, &serial).await?;
    let together = print("at once", candidates, at_once, "60 on one H200");
    row(["  faster", &format!("{:.2}x", together / one_by_one), "", "", ""]);
    if any {
        warm_up(bench, bench.target, 8000).await?;
        let everywhere = print("at once, on any GPU", candidates, round(bench, bench.target, 9000, &serial).await?, "");
        row(["  over one GPU", &format!("{:.2}x", everywhere / together), "", "", "1.8x on two"]);
    }
    Ok(())
}

async fn warm_up(bench: &Bench, target: Target, base: usize) -> Result<(), Failure> {
    let devices = bench.evaluator.devices(target);
    let candidates = devices.iter().zip(0..).flat_map(|(&device, at)| (0..WARMUP).map(move |number| (device, base + at * 100, number)));
    for verdict in join_all(candidates.map(|(device, base, number)| verdict(bench, device, base, number))).await {
        verdict?;
    }
    Ok(())
}

/// All at once; an error where one has another verdict than by itself.
async fn round(bench: &Bench, target: Target, base: usize, serial: &[&str]) -> Result<Duration, Failure> {
    let started = Instant::now();
    let verdicts = join_all((0..serial.len()).map(|number| verdict(bench, target, base, number))).await;
    let wall = started.elapsed();
    for (number, (verdict, &alone)) in verdicts.into_iter().zip(serial).enumerate() {
        let verdict = verdict?;
        if verdict != alone {
            return Err(format!("candidate {number} is {alone} by itself and {verdict} among others").into());
        }
    }
    Ok(wall)
}

/// The verdict on one of a round's candidates; an error where it is not what its flaw comes to.
async fn verdict(bench: &Bench, target: Target, base: usize, number: usize) -> Result<&'static str, Failure> {
    let problem = if number.is_multiple_of(2) { Problem::of(bench.backend()) } else { Problem::Small };
    let flaw = match number % 16 {
        3 | 8 => Flaw::Wrong,
        6 => Flaw::Raises,
        13 => Flaw::DoesNotBuild,
        _ => Flaw::None,
    };
    let evaluation = bench.judge(problem, Language::of(bench.backend())[0].flawed(base + number, flaw), target).await?;
    match evaluation.verdict.status() {
        status if flaw.statuses().contains(&status) => Ok(status),
        _ => Err(serde_json::to_string_pretty(&evaluation)?.into()),
    }
}

fn print(how: &str, verdicts: usize, wall: Duration, goal: &str) -> f64 {
    let rate = verdicts as f64 / wall.as_secs_f64() * 60.0;
    row([how, &verdicts.to_string(), &seconds(wall), &format!("{rate:.1}"), goal]);
    rate
}
