//! Evaluates the example kernels of the built-in packs on one target: `pack_examples [--target cpu|cuda|cuda:N] [--binary PATH] [--all] [--time]
//! [PART OF A NAME ...]`. `--all` takes those without evidence for such a target as well, `--time` measures what is to be written down. Ends with
//! 1 where one is not correct.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::path::PathBuf;
use std::process::ExitCode;

use kernelwright_protocol::Target;
use kernelwright_tests::examples::{Choice, Judge, Question, examples};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let (mut target, mut binary, mut choice, mut question) = (Target::CPU, None::<PathBuf>, Choice::Proven, Question::Correctness);
    let mut names: Vec<String> = vec![];
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--target" => target = value()?.parse()?,
            "--binary" => binary = Some(value()?.into()),
            "--all" => choice = Choice::All,
            "--time" => question = Question::Time,
            _ => names.push(word),
        }
    }
    let cache = tempfile::tempdir()?;
    let judge =
        Judge::new(binary.unwrap_or_else(kernelwright_tests::sibling), kernelwright_tests::python(), cache.path(), target, question);
    let (mut judged, mut wrong) = (0, 0);
    for example in examples(target.backend, choice)? {
        if names.is_empty() || names.iter().any(|name| example.id.contains(name.as_str())) {
            let outcome = judge.judge(&example).await;
            println!("{outcome}");
            judged += 1;
            wrong += usize::from(!outcome.is_correct);
        }
    }
    println!("{judged} examples on {target}, {wrong} of them not correct");
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
