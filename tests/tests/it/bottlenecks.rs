//! The planted bottlenecks and the well-tuned kernels, judged by what profilers said of them on an H200 and on an H100.

use std::collections::BTreeSet;

use kernelwright_protocol::ProfilerKind;
use kernelwright_tests::bottlenecks::{Captures, Expected, Tally, cases, folder, judge_captures};

/// Cases of which a profiler's output is kept, by device. A case without one is not judged here, so that these numbers say how much the tests
/// below prove.
const CAPTURED: [(&str, ProfilerKind, usize); 3] =
    [("h200", ProfilerKind::Ncu, 24), ("h200", ProfilerKind::Proton, 24), ("h100", ProfilerKind::Ncu, 24)];

#[test]
fn the_suite_is_as_large_as_it_claims() {
    let cases = cases(&folder()).unwrap();
    let planted: Vec<_> = cases.iter().filter(|case| case.is_planted()).collect();
    let distinct: BTreeSet<_> = planted.iter().map(|case| format!("{:?}", case.expected)).collect();
    assert_eq!((planted.len(), distinct.len(), cases.len() - planted.len()), (12, 12, 12));
    // A case is called by its cause, so that a line of the table says both.
    for case in planted {
        let Expected::First { cause, .. } = case.expected else { unreachable!("it is planted") };
        assert_eq!(case.name, format!("planted/{}", cause.to_string().replace(' ', "_")));
    }
}

#[tokio::test]
async fn what_a_profiler_said_leads_to_the_planted_cause_and_to_none_in_well_tuned_kernels() {
    let mut wrong = Vec::new();
    for (device, profiler, captured) in CAPTURED {
        let cache = tempfile::tempdir().unwrap();
        let captures = Captures::open(&folder().join("captures").join(device)).unwrap();
        let (outcomes, missing) = judge_captures(&captures, profiler, cases(&folder()).unwrap(), cache.path()).await.unwrap();
        let missing: Vec<_> = missing.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(outcomes.len(), captured, "no {profiler} capture on {device} of: {}", missing.join(", "));
        if !Tally::of(&outcomes).is_good() {
            wrong.extend(outcomes.iter().filter(|outcome| outcome.wrong.is_some()).map(|outcome| format!("{device}: {outcome}")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
