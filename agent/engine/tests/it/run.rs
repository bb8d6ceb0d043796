//! Whole runs.

use kernelwright_engine::{End, Overrides, Run, StopToken, Store, optimize, report};
use kernelwright_search::{BudgetKind, Event, NodeId, Phase, RunOutcome, StopReason};
use serde_json::json;

use crate::bench::{Bench, Watcher, attempt, calls, finish, replies};

/// A draft that is wrong, then right; then a step that makes it faster.
pub fn two_steps() -> Vec<serde_json::Value> {
    vec![
        attempt("# broken\n"),
        attempt("# speedup: 1.5\nx = 1\n"),
        calls(&[("take_note", json!({"text": "tiling gave 1.5x"})), ("finish_step", json!({"summary": "tiles rows"}))]),
        calls(&[("edit_kernel", json!({"old": "1.5", "new": "3.0"})), ("evaluate_kernel", json!({}))]),
        attempt("# wrong\n"),
        finish("fuses the two passes"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_finds_the_best_kernel_and_leaves_it_runnable() {
    let mut bench = Bench::new(&two_steps());
    let output = bench.folder.path().join("fast.py");
    bench.request.output = Some(output.clone());
    let mut watcher = Watcher::default();
    let outcome = bench.optimize(&mut watcher).await.unwrap();

    assert_eq!(outcome.end, End::Finished(StopReason::BudgetSpent { budget: BudgetKind::Steps }));
    assert_eq!(outcome.found, RunOutcome::Improved);
    let best = outcome.best.unwrap();
    assert_eq!((best.node, best.timing().map(|timing| timing.speedup)), (Some(NodeId(2)), Some(3.0)));
    assert_eq!(best.summary, "fuses the two passes");
    let text = "# speedup: 3.0\nx = 1\n";
    assert_eq!(std::fs::read_to_string(&best.path).unwrap(), text);
    assert_eq!(std::fs::read_to_string(output).unwrap(), text);

    let run = Run::load(&outcome.dir).unwrap();
    let steps: Vec<_> = run.graph.steps().iter().map(|step| (step.phase, step.parent, step.node)).collect();
    assert_eq!(steps, [(Phase::Draft, None, Some(NodeId(1))), (Phase::Expand, Some(NodeId(1)), Some(NodeId(2)))]);
    assert_eq!(run.graph.spend.evaluations, 4);
    assert_eq!(Store::read(&outcome.dir).unwrap(), watcher.records, "what is observed is what is on disk");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_cannot_be_written_is_said_once_and_the_run_goes_on() {
    let mut bench = Bench::new(&two_steps());
    let output = bench.folder.path().join("out/fast.py");
    bench.request.output = Some(output.clone());
    let mut watcher = Watcher::default();
    let outcome = bench.optimize(&mut watcher).await.unwrap();
    let best = outcome.best.unwrap();
    assert_eq!((outcome.found, best.node), (RunOutcome::Improved, Some(NodeId(2))));
    let text = std::fs::read_to_string(&best.path).unwrap();
    assert_eq!(text, "# speedup: 3.0\nx = 1\n");
    let path = output.to_str().unwrap();
    let remarks: Vec<_> = watcher.activities.iter().map(|activity| format!("{activity:?}")).filter(|text| text.contains(path)).collect();
    assert!(remarks.len() == 1 && remarks[0].contains("No such file") && remarks[0].contains("best.py"), "{remarks:?}");

    // With nothing else left to do, it is an error; with the folder there, it is mended.
    let overrides = Overrides { output: Some(output.clone()), ..Overrides::default() };
    let error = bench.resume(&outcome.dir, overrides.clone(), &mut Watcher::default()).await.unwrap_err();
    assert!(error.to_string().contains(path), "{error}");
    std::fs::create_dir(output.parent().unwrap()).unwrap();
    bench.resume(&outcome.dir, overrides, &mut Watcher::default()).await.unwrap();
    assert_eq!(std::fs::read_to_string(output).unwrap(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_is_evaluated_once() {
    let again = "# speedup: 1.5\n";
    let bench = Bench::new(&[attempt(again), calls(&[("evaluate_kernel", json!({}))]), finish("a"), attempt(again), finish("b")]);
    let mut watcher = Watcher::default();
    let outcome = bench.optimize(&mut watcher).await.unwrap();
    assert_eq!(bench.evaluated().len(), 1);
    assert_eq!(outcome.spend.evaluations, 1);
    assert_eq!(Run::load(&outcome.dir).unwrap().graph.nodes().len(), 1, "a step without a new verdict makes no node");
    let verdicts: Vec<_> = replies(&watcher).into_iter().filter(|(tool, _)| tool == "evaluate_kernel").map(|(_, text)| text).collect();
    assert!(verdicts[1].starts_with("unchanged since its last evaluation\ncandidate "), "{}", verdicts[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_was_written_and_not_evaluated_gets_its_verdict() {
    let mut bench = Bench::new(&[calls(&[("write_kernel", json!({"source": "# speedup: 2.0\n"}))])]);
    bench.request.inner_turns = 1;
    bench.request.budget.steps = Some(1);
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    assert_eq!(outcome.best.unwrap().node, Some(NodeId(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spent_budget_ends_the_run_between_answers() {
    let mut bench = Bench::new(&two_steps());
    bench.request.budget.tokens = Some(kernelwright_protocol::Tokens(200));
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    assert_eq!(outcome.end, End::Finished(StopReason::BudgetSpent { budget: BudgetKind::Tokens }));
    assert_eq!((outcome.spend.answers, outcome.spend.steps), (2, 1));
    assert_eq!(outcome.found, RunOutcome::Improved, "what was found until then counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_speedup_ends_the_run() {
    let reaches = [
        ("write_kernel", json!({"source": "# speedup: 3.0\n"})),
        ("evaluate_kernel", json!({})),
        ("write_kernel", json!({"source": "# speedup: 3.5\n"})),
        ("evaluate_kernel", json!({})),
    ];
    let mut bench = Bench::new(&[attempt("# speedup: 1.5\n"), calls(&reaches), attempt("# speedup: 4.0\n"), finish("tiles rows")]);
    bench.request.budget.steps = None;
    bench.request.stop_rules.target_speedup = Some(2.5);
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    assert!(matches!(outcome.end, End::Finished(StopReason::TargetReached { .. })), "{:?}", outcome.end);
    assert_eq!((outcome.spend.answers, outcome.spend.evaluations), (2, 2), "nothing is spent once the target is reached");
    assert_eq!(outcome.best.unwrap().node, Some(NodeId(1)), "the step is closed as any other");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_comes_before_the_first_step() {
    let bench = Bench::new(&two_steps());
    let mut watcher = Watcher::default();
    bench.optimize(&mut watcher).await.unwrap();
    let kinds: Vec<String> = watcher.records.iter().take(7).map(|record| kind(&record.event)).collect();
    let expected =
        ["run_started", "model_probed", "tool_server_started", "target_described", "baseline_measured", "profile_taken", "step_started"];
    assert_eq!(kinds, expected);
    let progress = watcher.activities.iter().any(|activity| format!("{activity:?}").contains("working on measure_baseline"));
    assert!(progress, "a tool's progress reaches whoever watches");
}

fn kind(event: &Event) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_says_what_was_found_and_how_sure_that_is() {
    let bench = Bench::new(&two_steps());
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    let text = report::render(&Run::load(&outcome.dir).unwrap());
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[time]");
    settings.add_filter(r"scale-\d{8}-\d{6}-[0-9a-f]{4}", "scale-[when]");
    settings.add_filter(r"time: \S+ \S+ active", "time: [wall] active");
    settings.add_filter(r"kernelwright \d+\.\d+\.\d+", "kernelwright [version]");
    settings.bind(|| insta::assert_snapshot!(text));
}

#[test]
fn a_run_can_be_given_to_any_thread() {
    fn is_send<T: Send>(_: T) {}
    let bench = Bench::new(&[]);
    let mut watcher = Watcher::default();
    is_send(optimize(bench.request.clone(), &mut watcher, StopToken::new()));
}
