//! Runs that were cut off, anywhere, and go on.

use std::path::{Path, PathBuf};

use kernelwright_engine::{Activity, End, EngineError, Overrides};
use kernelwright_model::{ClientSettings, MailboxSettings, Price};
use kernelwright_protocol::Dollars;
use kernelwright_search::{Budget, Event, NodeId, StopReason};

use crate::bench::{Bench, Watcher, attempt, essence, finish};
use crate::run::two_steps;

/// A copy of a run as a kill right after some event leaves it: only what was written by then.
pub fn cut(run: &Path, to: &Path, events: usize, torn: &str) -> PathBuf {
    let copy = to.join(format!("{}-{events}", run.file_name().unwrap().to_string_lossy()));
    for folder in ["", "candidates", "requests", "logs"] {
        std::fs::create_dir_all(copy.join(folder)).unwrap();
        for entry in std::fs::read_dir(run.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && !["best.py", "report.md"].contains(&path.file_name().unwrap().to_str().unwrap()) {
                std::fs::copy(&path, copy.join(folder).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let log = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
    let kept: String = log.split_inclusive('\n').take(events).collect();
    std::fs::write(copy.join("events.jsonl"), kept + torn).unwrap();
    copy
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cut_off_after_any_event_comes_to_the_same_end() {
    let bench = Bench::new(&two_steps());
    let mut watcher = Watcher::default();
    let whole = bench.optimize(&mut watcher).await.unwrap();
    let expected = essence(&whole.dir);
    let best = std::fs::read_to_string(whole.dir.join("best.py")).unwrap();
    let total = watcher.records.len();
    assert!(total > 30, "{total} events");
    for events in 1..=total {
        let other = Bench::new(&two_steps());
        let copy = cut(&whole.dir, other.folder.path(), events, "");
        other.resume(&copy, Overrides::default(), &mut Watcher::default()).await.unwrap();
        assert_eq!(essence(&copy), expected, "cut after event {events}: {:?}", watcher.records[events - 1].event);
        assert_eq!(std::fs::read_to_string(copy.join("best.py")).unwrap(), best);
        let decided = |record: &&kernelwright_search::Record| matches!(record.event, Event::CandidateEvaluated { .. });
        let before = watcher.records[..events].iter().filter(decided).count();
        assert_eq!(other.evaluated().len(), 4 - before, "cut after event {events}: only what has no verdict is evaluated");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_last_line_is_cut_off_and_said() {
    let bench = Bench::new(&two_steps());
    let whole = bench.optimize(&mut Watcher::default()).await.unwrap();
    let copy = cut(&whole.dir, bench.folder.path(), 12, "{\"v\":1,\"seq\":13,\"at\":\"20");
    let mut watcher = Watcher::default();
    bench.resume(&copy, Overrides::default(), &mut watcher).await.unwrap();
    assert_eq!(essence(&copy), essence(&whole.dir));
    let said =
        watcher.activities.iter().any(|activity| matches!(activity, Activity::Remark { text } if text.contains("24 bytes were cut off")));
    assert!(said, "{:?}", watcher.activities);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_has_saved_its_evaluation_and_goes_on() {
    let mut bench = Bench::new(&two_steps());
    let file = bench.folder.path().join("fast.py");
    bench.request.output = Some(file.clone());
    let mut watcher = Watcher {
        stop_when: Some(|event| matches!(event, Event::ToolCalled { tool, .. } if tool == "evaluate_kernel")),
        ..Watcher::default()
    };
    let stopped = bench.optimize(&mut watcher).await.unwrap();
    assert_eq!(stopped.end, End::Interrupted);
    assert_eq!(stopped.spend.evaluations, 1, "the evaluation under way was finished");
    let mut watcher = Watcher::default();
    let outcome = bench.resume(&stopped.dir, Overrides::default(), &mut watcher).await.unwrap();
    assert_eq!(outcome.best.unwrap().node, Some(NodeId(2)));
    assert_eq!(bench.evaluated().len(), 4);
    assert_eq!(std::fs::read_to_string(file).unwrap(), std::fs::read_to_string(stopped.dir.join("best.py")).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_while_it_prepares_begins_nothing_more() {
    type When = fn(&Event) -> bool;
    let stops: [(When, &str); 3] = [
        (|event| matches!(event, Event::TargetDescribed { .. }), "describe_target"),
        (|event| matches!(event, Event::BaselineMeasured { .. }), "measure_baseline"),
        (|event| matches!(event, Event::ProfileTaken { node: Some(_), .. }), "profile_kernel"),
    ];
    for (stop, last) in stops {
        let bench = Bench::new(&two_steps());
        let stopped = bench.optimize(&mut Watcher { stop_when: Some(stop), ..Watcher::default() }).await.unwrap();
        assert_eq!(stopped.end, End::Interrupted, "{last}");
        let calls = bench.calls();
        assert!(calls.last().unwrap().starts_with(last), "{calls:?}");
        let outcome = bench.resume(&stopped.dir, Overrides::default(), &mut Watcher::default()).await.unwrap();
        assert_eq!(outcome.best.unwrap().node, Some(NodeId(2)), "{last}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lower_target_ends_the_open_step_before_another_answer() {
    let bench = Bench::new(&two_steps());
    let mut watcher = Watcher {
        stop_when: Some(|event| matches!(event, Event::CandidateEvaluated { evaluation, .. } if evaluation.sure_speedup().is_some())),
        ..Watcher::default()
    };
    let stopped = bench.optimize(&mut watcher).await.unwrap();
    let overrides = Overrides { target_speedup: Some(1.2), ..Overrides::default() };
    let outcome = bench.resume(&stopped.dir, overrides, &mut Watcher::default()).await.unwrap();
    assert!(matches!(outcome.end, End::Finished(StopReason::TargetReached { .. })), "{:?}", outcome.end);
    assert_eq!((outcome.spend.answers, outcome.best.unwrap().node), (stopped.spend.answers, Some(NodeId(1))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_run_stays_as_it_is_until_it_gets_a_new_budget() {
    let mut answers = two_steps();
    answers.extend([attempt("# speedup: 4.0\n"), finish("vectorised")]);
    let bench = Bench::new(&answers);
    let done = bench.optimize(&mut Watcher::default()).await.unwrap();
    let mut watcher = Watcher::default();
    let same = bench.resume(&done.dir, Overrides::default(), &mut watcher).await.unwrap();
    assert_eq!((same.end, watcher.records.len()), (done.end, 0));
    let mut watcher = Watcher::default();
    let overrides = Overrides { stall_steps: Some(9), ..Overrides::default() };
    bench.resume(&done.dir, overrides, &mut watcher).await.unwrap();
    let holds = |activity: &Activity| matches!(activity, Activity::Remark { text } if text == "the run stays finished: the budget of steps is spent");
    assert!(watcher.activities.iter().any(holds), "{:?}", watcher.activities);
    let overrides = Overrides { budget: Budget { steps: Some(3), ..Budget::default() }, ..Overrides::default() };
    let more = bench.resume(&done.dir, overrides, &mut Watcher::default()).await.unwrap();
    assert_eq!((more.spend.steps, more.best.unwrap().node), (3, Some(NodeId(3))));
}

/// A mailbox whose answers cost this, per million tokens.
fn mailbox(folder: &Path, price: Option<f64>) -> ClientSettings {
    let price = price.map(|price| Price { input: price, cached_input: None, cache_write: None, output: price, up_to_input: None });
    let prices = price.map(|price| ("house".to_owned(), price)).into_iter().collect();
    ClientSettings::Mailbox(MailboxSettings { model: Some("house".into()), prices, ..MailboxSettings::new(folder.join("box")) })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_in_dollars_needs_a_price_of_the_model_that_is_asked_now() {
    let mut bench = Bench::new(&[]);
    let in_dollars = || Budget { dollars: Some(Dollars::new(5.0)), ..Budget::default() };
    let overrides = || Overrides { budget: in_dollars(), ..Overrides::default() };
    bench.request.setup.model = mailbox(bench.folder.path(), None);
    let run = bench.optimize(&mut Watcher::default()).await.unwrap().dir;
    std::fs::write(bench.folder.path().join("box/0001.reply.json"), r#"{"content": "Let me think."}"#).unwrap();
    bench.resume(&run, Overrides::default(), &mut Watcher::default()).await.unwrap();

    let error = bench.resume(&run, overrides(), &mut Watcher::default()).await.unwrap_err();
    assert!(matches!(&error, EngineError::UnknownPrice { model } if model == "house"), "{error:?}");
    bench.request.budget = in_dollars();
    let error = bench.optimize(&mut Watcher::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::UnknownPrice { .. }), "{error:?}");

    bench.request.setup.model = mailbox(bench.folder.path(), Some(2.0));
    let mut watcher = Watcher::default();
    let outcome = bench.resume(&run, overrides(), &mut watcher).await.unwrap();
    assert!(matches!(outcome.end, End::Suspended { .. }), "{:?}", outcome.end);
    let said =
        watcher.activities.iter().any(|activity| matches!(activity, Activity::Remark { text } if text.contains("does not count them")));
    assert!(said, "{:?}", watcher.activities);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_is_probed_before_it_takes_the_place_of_the_old_one() {
    let mut bench = Bench::new(&[]);
    bench.request.setup.model = mailbox(bench.folder.path(), None);
    let run = bench.optimize(&mut Watcher::default()).await.unwrap().dir;
    let probes = async |bench: &Bench| {
        let mut watcher = Watcher::default();
        bench.resume(&run, Overrides::default(), &mut watcher).await.unwrap();
        watcher.records.iter().filter(|record| matches!(record.event, Event::ModelProbed { .. })).count()
    };
    assert_eq!(probes(&bench).await, 0, "it is the same one");
    let other = Bench::new(&two_steps());
    assert_eq!(probes(&other).await, 1);
}
