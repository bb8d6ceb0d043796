//! What one run leaves for the next: kernels to begin with, and lessons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kernelwright_engine::{Activity, End, Outcome, Overrides, Run, report};
use kernelwright_protocol::ContentHash;
use kernelwright_search::{Event, NodeId, Phase, Record, RunOutcome, StopReason};
use serde_json::{Value, json};

use crate::bench::{Bench, HowOften, Watcher, attempt, essence, finish};
use crate::resume::cut;
use crate::run::two_steps;

/// A run on a problem like that of another bench, with its runs and its lessons.
fn second(first: &Bench, answers: &[Value], problem: &str) -> Bench {
    let mut bench = Bench::new(answers).with_lessons(&lessons(first));
    bench.request.problem.source = problem.into();
    bench.request.runs_dir.clone_from(&first.request.runs_dir);
    bench.request.seeds = 2;
    bench
}

fn lessons(bench: &Bench) -> PathBuf {
    bench.folder.path().join("lessons")
}

/// A finished run of two steps that leaves a kernel three times as fast as the baseline, and lessons.
async fn first() -> (Bench, Outcome) {
    let bench = Bench::new(&two_steps());
    let lessons = lessons(&bench);
    let bench = bench.with_lessons(&lessons);
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    (bench, outcome)
}

/// A problem with the same operators as the bench's, and another text.
const SIMILAR: &str = "# torch.diag(A) @ B, larger\n";

fn recorded(records: &[Record]) -> Vec<String> {
    let lesson = |record: &Record| match &record.event {
        Event::LessonRecorded { lesson, .. } => Some(lesson.clone()),
        _ => None,
    };
    records.iter().filter_map(lesson).collect()
}

/// The first request of every step.
fn requests(dir: &Path) -> String {
    let files = std::fs::read_dir(dir.join("requests")).unwrap();
    files.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_on_a_similar_problem_begins_with_the_best_kernel_and_needs_fewer_evaluations() {
    let (bench, found) = first().await;
    let mut warm = second(&bench, &two_steps(), SIMILAR);
    warm.request.stop_rules.target_speedup = Some(2.5);
    let mut answers = two_steps();
    // The step ends with the target, so that there is no summary but this.
    answers[3]["text"] = json!("fuses the two passes");
    let mut cold = second(&bench, &answers, SIMILAR);
    (cold.request.stop_rules.target_speedup, cold.request.seeds) = (Some(2.5), 0);
    let cold = cold.optimize(&mut Watcher::default()).await.unwrap();
    let mut watcher = Watcher::default();
    let outcome = warm.optimize(&mut watcher).await.unwrap();

    assert!(matches!(
        (&cold.end, &outcome.end),
        (End::Finished(StopReason::TargetReached { .. }), End::Finished(StopReason::TargetReached { .. }))
    ));
    assert_eq!((cold.spend.evaluations, outcome.spend.evaluations), (3, 1));
    assert_eq!((outcome.spend.steps, outcome.found), (0, RunOutcome::Improved));
    assert_eq!(outcome.best.as_ref().unwrap().summary, "fuses the two passes");
    let Some(Event::WarmStart { seeds, .. }) =
        watcher.records.iter().map(|record| &record.event).find(|event| matches!(event, Event::WarmStart { .. }))
    else {
        panic!("no warm start in {:?}", watcher.records)
    };
    assert!(seeds[0].run == found.run || seeds[0].run == cold.run, "{seeds:?}");
    assert_eq!((seeds.len(), seeds[0].why.as_str()), (1, "the same problem and architecture"), "both runs found the same kernel");
    let text = report::render(&Run::load(&outcome.dir).unwrap());
    assert!(text.contains("## With what it began") && text.contains(&seeds[0].run.0), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_run_goes_on_from_the_kernel_that_it_began_with() {
    let (bench, found) = first().await;
    let mut warm = second(&bench, &[attempt("# speedup: 4.0\n"), finish("vectors")], SIMILAR);
    warm.request.budget.steps = Some(1);
    let outcome = warm.optimize(&mut Watcher::default()).await.unwrap();
    let graph = Run::load(&outcome.dir).unwrap().graph;
    let steps: Vec<_> = graph.steps().iter().map(|step| (step.phase, step.parent, step.node)).collect();
    assert_eq!(steps, [(Phase::Expand, Some(NodeId(1)), Some(NodeId(2)))]);
    let said = requests(&outcome.dir);
    assert!(said.contains(&format!("It is the best kernel of run {} on scale", found.run)), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_kernel_that_is_wrong_here_is_shown_to_whoever_drafts() {
    let (bench, found) = first().await;
    let mut warm = second(&bench, &[attempt("# strict\n# speedup: 2.0\n"), finish("mended")], "# torch.diag(A) @ B # strict\n");
    warm.request.budget.steps = Some(1);
    let outcome = warm.optimize(&mut Watcher::default()).await.unwrap();
    assert_eq!((outcome.spend.evaluations, outcome.best.unwrap().node), (2, Some(NodeId(2))));
    let graph = Run::load(&outcome.dir).unwrap().graph;
    assert_eq!((graph.steps()[0].phase, graph.nodes()[0].status.as_str()), (Phase::Draft, "incorrect"));
    let said = requests(&outcome.dir);
    assert!(said.contains("# The best kernel of an earlier run: kernel 1") && said.contains(&found.run.0), "{said}");
    assert!(said.contains("# speedup: 3.0"), "its text is shown: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kernels_that_were_changed_since_or_are_about_something_else_are_not_begun_with() {
    let (bench, found) = first().await;
    let seeds = async |problem: &str| {
        let mut watcher = Watcher::default();
        second(&bench, &two_steps(), problem).optimize(&mut watcher).await.unwrap();
        watcher.records.iter().find_map(|record| match &record.event {
            Event::WarmStart { runs, seeds } => Some((*runs, seeds.len())),
            _ => None,
        })
    };
    assert_eq!(seeds("# torch.nn.functional.softmax(x)\n").await, Some((0, 0)));
    std::fs::write(
        found.dir.join("candidates").join(format!("{}.py", ContentHash::of("# speedup: 3.0\nx = 1\n").as_str())),
        "# speedup: 9\n",
    )
    .unwrap();
    assert_eq!(seeds(SIMILAR).await, Some((1, 0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_proved_is_told_to_the_next_and_its_use_is_told_back() {
    let (bench, found) = first().await;
    let records = kernelwright_engine::Store::read(&found.dir).unwrap();
    assert_eq!(recorded(&records).len(), 2, "one pass over the baseline, one over the other");
    let kept = std::fs::read_to_string(lessons(&bench)).unwrap();
    assert!(kept.contains("tiles rows") && kept.contains("fuses the two passes"), "{kept}");

    let mut next = second(&bench, &two_steps(), SIMILAR);
    next.request.seeds = 0;
    let mut watcher = Watcher::default();
    let outcome = next.optimize(&mut watcher).await.unwrap();
    let shown = watcher.records.iter().filter(|record| matches!(record.event, Event::LessonsShown { .. })).count();
    assert_eq!(shown, 2, "both steps are told");
    let said = requests(&outcome.dir);
    assert!(
        said.contains("# What earlier runs proved on similar problems") && said.contains("the same operators; helped 1 of 3 times"),
        "{said}"
    );
    let rated: Vec<bool> = watcher
        .records
        .iter()
        .filter_map(|record| match record.event {
            Event::LessonsRated { helped, .. } => Some(helped),
            _ => None,
        })
        .collect();
    assert_eq!(rated, [true, true]);
    let offered: Value = serde_json::from_str(
        &std::fs::read_to_string(outcome.dir.join("requests").read_dir().unwrap().next().unwrap().unwrap().path()).unwrap(),
    )
    .unwrap();
    assert!(!offered["tools"].to_string().contains("record_lesson"), "no model says what is proven: {}", offered["tools"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_run_that_is_cut_off_after_any_event_comes_to_the_same_end_and_teaches_once() {
    let (bench, found) = first().await;
    let answers = [attempt("# speedup: 4.5\n"), finish("vectors"), attempt("# wrong\n"), finish("half the bits")];
    let mut watcher = Watcher::default();
    let whole = second(&bench, &answers, SIMILAR).optimize(&mut watcher).await.unwrap();
    let expected = essence(&whole.dir);
    let taught: BTreeSet<String> = recorded(&watcher.records).into_iter().collect();
    assert_eq!(taught.len(), 3, "what it began with, what it made of it, and what failed");
    let total = watcher.records.len();
    for events in 1..=total {
        let other = second(&bench, &answers, SIMILAR);
        // Beside the run that was there when this one began, and no other.
        let runs = other.folder.path().join("runs");
        let earlier = cut(&found.dir, &runs, usize::MAX, "");
        std::fs::rename(earlier, runs.join(&found.run.0)).unwrap();
        let copy = cut(&whole.dir, &runs, events, "");
        other.resume(&copy, Overrides::default(), &mut Watcher::default()).await.unwrap();
        let records = kernelwright_engine::Store::read(&copy).unwrap();
        let again = recorded(&records);
        assert_eq!(again.len(), taught.len(), "cut after event {events}: {:?}", watcher.records[events - 1].event);
        assert_eq!(again.into_iter().collect::<BTreeSet<_>>(), taught);
        assert_eq!(essence(&copy), expected, "cut after event {events}: {:?}", watcher.records[events - 1].event);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_book_that_cannot_be_written_costs_a_remark_and_no_run() {
    let bench = Bench::new(&two_steps()).with_fault("garble", "record_lesson", HowOften::Always);
    let lessons = lessons(&bench);
    let mut watcher = Watcher::default();
    let outcome = bench.with_lessons(&lessons).optimize(&mut watcher).await.unwrap();
    assert_eq!(outcome.found, RunOutcome::Improved);
    assert!(matches!(outcome.end, End::Finished(_)));
    let said = watcher.activities.iter().any(|activity| matches!(activity, Activity::Remark { text } if text.contains("record_lesson")));
    assert!(said, "{:?}", watcher.activities);
}
