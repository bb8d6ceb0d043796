//! Has compute-sanitizer look at kernels with a planted mistake that their outputs do not show, and at honest ones.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use kernelwright_evaluate::{EvaluateRequest, Evaluator, Options, Settings};
use kernelwright_protocol::{CheckOutcome, DeepCheck, Evaluation, SanitizerTool, Target, ToolCheck};
use kernelwright_tests::Executable;

type Failure = Box<dyn std::error::Error>;

/// A candidate, and the tool that has to find something in it.
struct Case {
    name: &'static str,
    problem: &'static str,
    candidate: &'static str,
    found_by: Option<SanitizerTool>,
}

const AFFINE: &str = include_str!("problems/affine.py");
const CENTRED: &str = include_str!("problems/centred.py");

const CASES: [Case; 7] = [
    Case { name: "honest_triton", problem: CENTRED, candidate: include_str!("candidates/honest_triton.py"), found_by: None },
    Case { name: "honest_cuda", problem: CENTRED, candidate: include_str!("candidates/honest_cuda.py"), found_by: None },
    Case {
        name: "past_the_end",
        problem: AFFINE,
        candidate: include_str!("candidates/past_the_end.py"),
        found_by: Some(SanitizerTool::Memcheck),
    },
    Case {
        name: "forged_summary",
        problem: AFFINE,
        candidate: include_str!("candidates/forged_summary.py"),
        found_by: Some(SanitizerTool::Memcheck),
    },
    Case { name: "race", problem: AFFINE, candidate: include_str!("candidates/race.py"), found_by: Some(SanitizerTool::Racecheck) },
    Case {
        name: "two_barriers",
        problem: AFFINE,
        candidate: include_str!("candidates/two_barriers.py"),
        found_by: Some(SanitizerTool::Synccheck),
    },
    Case {
        name: "uninitialized",
        problem: AFFINE,
        candidate: include_str!("candidates/uninitialized.py"),
        found_by: Some(SanitizerTool::Initcheck),
    },
];

impl Case {
    /// What is wrong with the evaluation, if anything is.
    fn objection(&self, evaluation: &Evaluation) -> Option<String> {
        let status = evaluation.verdict.status();
        let Some(DeepCheck { tools, .. }) = &evaluation.deep_check else { return Some(format!("{status}, and no deep check")) };
        let is_as_planted = |check: &ToolCheck| match (&check.outcome, self.found_by == Some(check.tool)) {
            (CheckOutcome::Clean, found) => !found,
            (CheckOutcome::Errors(_), found) => found && check.tool != SanitizerTool::Initcheck,
            (CheckOutcome::Warnings(_), found) => found && check.tool == SanitizerTool::Initcheck,
            (CheckOutcome::NotMeasured { .. }, _) => false,
        };
        if let Some(check) = tools.iter().find(|check| !is_as_planted(check)) {
            return Some(check.to_string());
        }
        let decides = self.found_by.is_some_and(|tool| tool != SanitizerTool::Initcheck);
        let expected = if decides { "faulted" } else { "correct" };
        (status != expected).then(|| format!("{status} in place of {expected}"))
    }
}

/// Have compute-sanitizer look at kernels with a planted mistake and at honest ones
///
/// Ends with 1 where a tool misses its mistake, or reports something in an honest kernel.
#[derive(Parser)]
struct Arguments {
    /// cuda or cuda:N
    #[arg(long, default_value = "cuda:0")]
    target: Target,
    #[command(flatten)]
    executable: Executable,
    /// Print everything that the tools report
    #[arg(long)]
    verbose: bool,
    /// Only kernels whose name has one of these parts
    #[arg(value_name = "PART")]
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let Arguments { target, executable, verbose, names } = Arguments::parse();
    let cache = tempfile::tempdir()?;
    let helper = executable.path();
    let settings = Settings { python: Some(kernelwright_tests::python()), cache_dir: cache.path().to_path_buf(), ..Settings::new(helper) };
    let evaluator = Evaluator::new(settings);
    let (mut ran, mut wrong) = (0, 0);
    for case in CASES {
        if !names.is_empty() && !names.iter().any(|name| case.name.contains(name.as_str())) {
            continue;
        }
        let started = Instant::now();
        let trials = NonZeroU32::new(2).ok_or("no trials")?;
        let request = EvaluateRequest {
            problem_source: case.problem.to_owned(),
            problem_name: "problem.py".to_owned(),
            candidate_source: case.candidate.to_owned(),
            target,
            options: Options { trials, measure: false, deep_check: true, ..Options::default() },
        };
        let evaluation = evaluator.evaluate(&request, &|_| {}).await;
        let objection = match &evaluation {
            Ok(evaluation) => case.objection(evaluation),
            Err(error) => Some(format!("no verdict: {error}")),
        };
        ran += 1;
        wrong += usize::from(objection.is_some());
        let mark = if objection.is_some() { "WRONG" } else { "ok" };
        println!("{mark:<5} {:>5.1} s  {:<18} {}", started.elapsed().as_secs_f64(), case.name, objection.clone().unwrap_or_default());
        if let Ok(evaluation) = evaluation
            && (verbose || objection.is_some())
        {
            print_all(&evaluation);
        }
    }
    println!("{ran} kernels on {target}, {wrong} of them not as planted");
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_all(evaluation: &Evaluation) {
    println!("      {:?}", evaluation.verdict);
    for check in evaluation.deep_check.iter().flat_map(|check| &check.tools) {
        println!("      {} ({})", check.to_string().replace('\n', "\n      "), check.wall_ns);
    }
}
