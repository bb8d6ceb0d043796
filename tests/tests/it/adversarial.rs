//! Every CPU case of the adversarial suite through one evaluator; all wrong verdicts are reported at the end.

use kernelwright_protocol::{Backend, Target};
use kernelwright_tests::adversarial::{Bench, Kind, Table, cases};

#[tokio::test(flavor = "multi_thread")]
async fn no_cheat_is_accepted_and_nothing_honest_is_refused() {
    let cache = tempfile::tempdir().unwrap();
    let bench = Bench::new(kernelwright_tests::binary(), kernelwright_tests::python(), cache.path(), Target::CPU);
    let mut outcomes = Vec::new();
    for case in cases(&kernelwright_tests::repository().join("tests/adversarial/cases"), Backend::Cpu).unwrap() {
        outcomes.push(bench.judge(case).await);
    }
    assert!(outcomes.iter().all(|outcome| outcome.wrong.is_none()), "\n{}", Table(&outcomes));
}

#[test]
fn the_suite_is_as_large_as_it_claims() {
    let folder = kernelwright_tests::repository().join("tests/adversarial/cases");
    for backend in [Backend::Cpu, Backend::Cuda] {
        let cases = cases(&folder, backend).unwrap();
        let honest = cases.iter().filter(|case| case.kind == Kind::Honest).count();
        assert!(honest >= 25 && cases.len() - honest >= 60, "{backend:?}: {} honest of {}", honest, cases.len());
    }
}
