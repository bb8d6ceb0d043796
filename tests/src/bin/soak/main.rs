//! Hundreds of evaluations by one server, every tenth of a candidate that crashes, hangs, wants all memory, writes where it must not or
//! forks without end: is every answer right, and is anything left behind?
//!
//! `make soak TARGET=cuda COUNT=500`. The server is a process of its own,
//! spoken to as a host does. What it holds is counted twice in the same state, with the same two problems loaded: once it has warmed
//! up, and at the end; and after it has ended nothing may be there that was not there before. Ends with 1 where an answer was wrong or
//! something is left.
//!
//! The counts of shared memory are those of the whole machine: other programs that make some meanwhile are found out as leaks.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod census;
mod plan;
mod server;
mod table;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use kernelwright_protocol::Target;
use kernelwright_tests::Executable;
use kernelwright_tests::adversarial::reading;

use census::{Census, System};
use plan::{Plan, Task};
use server::Server;

type Failure = Box<dyn std::error::Error>;

/// After how many evaluations the server has started all it keeps, at most.
const WARM_UP: usize = 50;

/// How long processes may take to end, and folders to go, after an answer.
const SETTLING: Duration = Duration::from_secs(30);

/// Run evaluations by one server, a tenth of them meant to harm it, and look for what is left (exit code 1 where something is)
#[derive(Parser)]
struct Arguments {
    /// cpu, cuda or cuda:N
    #[arg(long, default_value = "cpu")]
    target: Target,
    #[command(flatten)]
    executable: Executable,
    /// How many evaluations
    #[arg(long, default_value_t = 500, value_name = "N")]
    count: usize,
}

fn main() -> ExitCode {
    soak().unwrap_or_else(|failure| {
        println!("{failure}");
        ExitCode::FAILURE
    })
}

fn soak() -> Result<ExitCode, Failure> {
    let Arguments { target, executable, count } = Arguments::parse();
    // Whatever outlives the server comes to this process.
    kernelwright_harness::supervise();
    let plan = Plan::read(target)?;
    let binary = executable.path();
    let home = tempfile::tempdir()?;

    let before = System::count(target)?;
    let mut server = Server::start(&binary, home.path(), target)?;
    let mut wrong = 0;
    let warm_up = WARM_UP.min(count.div_ceil(2));
    let mut warm = None;
    let started = Instant::now();
    for number in 1..=count {
        wrong += usize::from(!evaluate(&mut server, &plan.task(number), number, count, home.path())?);
        if number == warm_up {
            warm = Some(settled(&mut server, &plan, home.path(), target, None)?);
        }
    }
    let evaluated = started.elapsed();
    let warm = warm.ok_or("nothing was evaluated")?;
    let end = settled(&mut server, &plan, home.path(), target, Some(&warm))?;
    let status = server.end()?;
    let after = until(|| System::count(target), |after| after.is_no_more_than(&before))?;
    let left = until(|| Ok(census::left_behind(home.path())), |left| left.processes == 0 && left.folders == 0)?;

    println!("\n{count} evaluations in {:.0} s, {wrong} wrong answers; the server ended with {status}\n", evaluated.as_secs_f64());
    let leaks = table::print(&table::Figures { before: &before, warm: &warm, end: &end, after: &after, left: &left, warm_up });
    let clean = wrong == 0 && leaks == 0 && status.success();
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Has one candidate evaluated, prints what is worth it, and says whether the answer was right.
fn evaluate(server: &mut Server, task: &Task<'_>, number: usize, count: usize, home: &std::path::Path) -> Result<bool, Failure> {
    let started = Instant::now();
    let evaluation = server.evaluate(task, number)?;
    let objection = task.case.objection(&evaluation);
    if objection.is_some() || task.disturbance.is_some() {
        let census = Census::of(server.pid(), home)?;
        let what = task.disturbance.unwrap_or("ordinary");
        println!(
            "{number:>5}/{count} {:>6.1} s  {what:<14} {}: {}",
            started.elapsed().as_secs_f64(),
            task.case.name,
            cut(&reading(&evaluation), 90)
        );
        println!("{:>14} {census}", "");
    }
    if let Some(objection) = &objection {
        println!("        WRONG: {objection}: {}", cut(&reading(&evaluation), 600));
    }
    Ok(objection.is_none())
}

/// What the server holds with the same problems loaded and nothing to do. Where there is something to compare with, it is given some time
/// to get there.
fn settled(
    server: &mut Server,
    plan: &Plan,
    home: &std::path::Path,
    target: Target,
    like: Option<&(Census, System)>,
) -> Result<(Census, System), Failure> {
    for task in plan.same_state() {
        let evaluation = server.evaluate(&task, 0)?;
        if let Some(objection) = task.case.objection(&evaluation) {
            return Err(format!("{}: {objection}: {}", task.case.name, reading(&evaluation)).into());
        }
    }
    let pid = server.pid();
    let enough = |census: &Census| match like {
        Some((like, _)) => census.is_no_more_than(like),
        None => false,
    };
    // Without anything to compare with: until two counts in a row are the same.
    let mut last: Option<Census> = None;
    let census = until(
        || Census::of(pid, home),
        |census| {
            let still = like.is_none() && last.as_ref().is_some_and(|last| last.is_no_more_than(census) && census.is_no_more_than(last));
            last = Some(census.clone());
            still || enough(census)
        },
    )?;
    let system = until(|| System::count(target), |system| like.is_none_or(|(_, like)| system.is_no_more_than(like)))?;
    Ok((census, system))
}

/// Counts until it is good, or has not been for long.
fn until<T>(count: impl Fn() -> Result<T, Failure>, mut good: impl FnMut(&T) -> bool) -> Result<T, Failure> {
    let started = Instant::now();
    loop {
        let counted = count()?;
        if good(&counted) || started.elapsed() > SETTLING {
            return Ok(counted);
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn cut(text: &str, most: usize) -> String {
    let line = text.replace('\n', " ");
    if line.chars().count() <= most { line } else { line.chars().take(most).chain("...".chars()).collect() }
}
