//! What the examples of the built-in packs claim for a CPU is so.

use kernelwright_protocol::{Backend, Target};
use kernelwright_tests::examples::{Choice, Judge, Question, examples};

#[tokio::test(flavor = "multi_thread")]
async fn every_example_with_evidence_on_a_cpu_is_correct_there() {
    let cache = tempfile::tempdir().unwrap();
    let (binary, python) = (kernelwright_tests::binary(), kernelwright_tests::python());
    let judge = Judge::new(binary, python, cache.path(), Target::CPU, Question::Correctness);
    let examples = examples(Backend::Cpu, Choice::Proven).unwrap();
    assert!(examples.len() >= 5, "{} examples", examples.len());
    let mut wrong = Vec::new();
    for example in &examples {
        let outcome = judge.judge(example).await;
        if !outcome.is_correct {
            wrong.push(outcome.to_string());
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
