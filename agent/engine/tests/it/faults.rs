//! Tool servers that die, hang or talk nonsense, problems that are none, and folders that somebody else holds.

use std::time::Duration;

use kernelwright_engine::{Activity, End, EngineError, Launch, Overrides, ServerFailure, Store, StoreError, ToolServerError};
use kernelwright_search::{Event, RunOutcome};
use serde_json::json;

use crate::bench::{Bench, HowOften, Watcher, attempt, calls, finish, replies};
use crate::run::two_steps;

async fn failure_of(bench: &Bench) -> EngineError {
    bench.optimize(&mut Watcher::default()).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_once_is_started_again_and_asked_again() {
    let bench = Bench::new(&two_steps()).with_fault("die", "evaluate_kernel", HowOften::Once);
    let mut watcher = Watcher::default();
    let outcome = bench.optimize(&mut watcher).await.unwrap();
    assert_eq!((outcome.found, outcome.spend.evaluations), (RunOutcome::Improved, 4));
    let restarts: Vec<&Event> =
        watcher.records.iter().map(|record| &record.event).filter(|event| matches!(event, Event::ToolServerRestarted { .. })).collect();
    assert_eq!(restarts.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_dying_ends_the_session_and_the_run_can_go_on() {
    let bench = Bench::new(&two_steps()).with_fault("die", "evaluate_kernel", HowOften::Always);
    let error = failure_of(&bench).await;
    let EngineError::ToolServer(ToolServerError { what: ServerFailure::Died { .. }, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), "the tool server `scripted` died during `evaluate_kernel`, and again after a restart");
    assert!(error.hint().contains("logs/scripted.log"), "{}", error.hint());

    let run = Store::find_last(&bench.request.runs_dir).unwrap();
    let outcome = bench.without_fault().resume(&run, Overrides::default(), &mut Watcher::default()).await.unwrap();
    assert_eq!(outcome.found, RunOutcome::Improved);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_without_a_server_that_it_can_do_without() {
    for (kind, tool) in
        [("die", "profile_kernel"), ("garble", "profile_kernel"), ("die", "search_knowledge"), ("garble", "search_knowledge")]
    {
        let bench = Bench::new(&two_steps()).with_fault(kind, tool, HowOften::Always);
        let mut watcher = Watcher::default();
        let outcome = bench.optimize(&mut watcher).await.unwrap();
        assert_eq!((outcome.found, outcome.spend.evaluations), (RunOutcome::Improved, 4), "{kind} {tool}");
        let remarked = remarks(&watcher).iter().any(|text| text.contains(tool));
        let recorded = watcher.records.iter().any(|record| matches!(record.event, Event::ProfileFailed { .. }));
        assert!(remarked || recorded, "{kind} {tool}: {:?}", watcher.activities);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_that_the_run_can_do_without_is_given_up_for_this_call() {
    let mut bench = Bench::new(&two_steps()).with_fault("hang", "profile_kernel", HowOften::Always);
    bench.request.setup.servers[0].idle_timeout = Duration::from_millis(300);
    let mut watcher = Watcher::default();
    assert_eq!(bench.optimize(&mut watcher).await.unwrap().found, RunOutcome::Improved);
    let told = remarks(&watcher);
    let expected =
        "the tool server `scripted` said nothing for 0 s during `profile_kernel`, and again after a restart; the run goes on without it. ";
    assert!(told.iter().any(|text| text.starts_with(expected) && text.contains("logs/scripted.log")), "{told:?}");
    let restarts: Vec<&Event> =
        watcher.records.iter().map(|record| &record.event).filter(|event| matches!(event, Event::ToolServerRestarted { .. })).collect();
    let silent = |event: &&Event| matches!(event, Event::ToolServerRestarted { reason, .. } if reason.contains("said nothing"));
    assert!(restarts.iter().all(silent), "what was ended here did not die by itself: {restarts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_is_told_of_a_server_that_fails_under_its_call() {
    let answers = [attempt("# speedup: 1.5\n"), calls(&[("search_knowledge", json!({"query": "tiles"}))]), finish("tiles rows")];
    let mut bench = Bench::new(&answers).with_fault("die", "search_knowledge", HowOften::Always);
    bench.request.budget.steps = Some(1);
    let mut watcher = Watcher::default();
    let outcome = bench.optimize(&mut watcher).await.unwrap();
    assert_eq!((outcome.found, outcome.spend.answers), (RunOutcome::Improved, 3));
    let told = replies(&watcher).into_iter().find(|(tool, _)| tool == "search_knowledge").unwrap().1;
    assert_eq!(told, "error: the tool server `scripted` died during `search_knowledge`, and again after a restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn giving_up_does_not_wait_for_a_server_that_starts_again() {
    let mut bench = Bench::new(&two_steps()).with_fault("die", "measure_baseline", HowOften::Once);
    let died = bench.folder.path().join("marker");
    let Launch::Spawn { program, args, .. } = &mut bench.request.setup.servers[0].launch;
    let script = format!("if test -e {}; then sleep 50; fi; exec \"$0\" \"$@\"", died.display());
    args.splice(0..0, ["-c".to_owned(), script, program.to_string_lossy().into_owned()]);
    *program = "/bin/sh".into();
    let mut watcher = Watcher::default();
    let stop = watcher.stop.clone();
    let impatient = tokio::spawn(async move {
        while !died.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        stop.abandon();
    });
    let outcome = tokio::time::timeout(Duration::from_secs(30), bench.optimize(&mut watcher)).await.expect("it ends at once").unwrap();
    impatient.await.unwrap();
    assert_eq!(outcome.end, End::Interrupted);
    let starts = watcher.activities.iter().filter(|activity| matches!(activity, Activity::ServerStarting { .. })).count();
    assert_eq!(starts, 2, "it was starting again");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_does_not_wait_for_servers_that_start() {
    let mut bench = Bench::new(&two_steps());
    let well = bench.request.setup.servers[0].launch.clone();
    let started = bench.folder.path().join("started");
    let script = format!("touch {}; exec sleep 50", started.display());
    bench.request.setup.servers[0].launch = Launch::Spawn { program: "/bin/sh".into(), args: vec!["-c".into(), script], env: vec![] };
    let mut watcher = Watcher::default();
    let stop = watcher.stop.clone();
    let impatient = tokio::spawn(async move {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop.save_and_stop();
    });
    let outcome = tokio::time::timeout(Duration::from_secs(30), bench.optimize(&mut watcher)).await.expect("it ends at once").unwrap();
    impatient.await.unwrap();
    assert_eq!(outcome.end, End::Interrupted);
    let Some(Event::RunPaused { reason }) = watcher.records.last().map(|record| &record.event) else { panic!("{:?}", watcher.records) };
    assert_eq!(reason, "stopped by the user");

    bench.request.setup.servers[0].launch = well;
    let outcome = bench.resume(&outcome.dir, Overrides::default(), &mut Watcher::default()).await.unwrap();
    assert_eq!(outcome.found, RunOutcome::Improved);
}

fn remarks(watcher: &Watcher) -> Vec<&str> {
    let texts = watcher.activities.iter().filter_map(|activity| match activity {
        Activity::Remark { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_killed_and_replaced() {
    let mut bench = Bench::new(&two_steps()).with_fault("hang", "evaluate_kernel", HowOften::Always);
    bench.request.setup.servers[0].idle_timeout = Duration::from_millis(300);
    let error = failure_of(&bench).await;
    assert!(matches!(error, EngineError::ToolServer(ToolServerError { what: ServerFailure::Silent { .. }, .. })), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_from_a_server_is_an_error_with_its_name() {
    let bench = Bench::new(&two_steps()).with_fault("garble", "describe_target", HowOften::Always);
    let error = failure_of(&bench).await;
    assert!(
        error.to_string().starts_with("the tool server `scripted` answered `describe_target` with something that is not understood"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_named_with_its_path() {
    let mut bench = Bench::new(&two_steps());
    bench.request.setup.servers[0].launch = Launch::Spawn { program: "/nowhere/server".into(), args: vec![], env: vec![] };
    let error = failure_of(&bench).await;
    assert!(error.to_string().contains("/nowhere/server"), "{error}");

    bench.request.setup.servers[0].launch = Launch::Spawn { program: "/bin/true".into(), args: vec![], env: vec![] };
    let error = failure_of(&bench).await;
    assert!(matches!(error, EngineError::ToolServer(ToolServerError { what: ServerFailure::NoHandshake { .. }, .. })), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_problem_is_not_the_servers_fault() {
    let mut bench = Bench::new(&[finish("")]);
    bench.request.problem.source = "# invalid\n".into();
    let error = failure_of(&bench).await;
    assert_eq!(error.to_string(), "the problem scale.py cannot be used: there is no class Model");
    assert_eq!(error.hint(), "define one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_gone_is_no_matter_for_the_model() {
    let bench = Bench::new(&two_steps()).with_fault("unplug", "evaluate_kernel", HowOften::Always);
    let error = failure_of(&bench).await;
    assert_eq!(error.to_string(), "evaluate_kernel of the tool server `scripted` failed: no device cuda:1");
    assert_eq!(error.hint(), "use another machine");

    let run = Store::find_last(&bench.request.runs_dir).unwrap();
    let outcome = bench.without_fault().resume(&run, Overrides::default(), &mut Watcher::default()).await.unwrap();
    assert_eq!((outcome.found, outcome.spend.evaluations), (RunOutcome::Improved, 4), "the call that failed was made again");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_do_not_work_on_one_run() {
    let bench = Bench::new(&two_steps());
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    let held = Store::open(&outcome.dir).unwrap();
    let error = bench.resume(&outcome.dir, Overrides::default(), &mut Watcher::default()).await.unwrap_err();
    assert!(matches!(error, EngineError::Store(StoreError::Locked { .. })), "{error:?}");
    drop(held);
    bench.resume(&outcome.dir, Overrides::default(), &mut Watcher::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_that_is_too_short_leaves_a_run_that_can_go_on() {
    let bench = Bench::new(&two_steps()[..2]);
    let error = failure_of(&bench).await;
    assert!(matches!(error, EngineError::Model(_)), "{error:?}");
    let run = Store::find_last(&bench.request.runs_dir).unwrap();
    let longer = Bench::new(&two_steps());
    let outcome = longer.resume(&run, Overrides::default(), &mut Watcher::default()).await.unwrap();
    assert_eq!((outcome.found, outcome.spend.answers), (RunOutcome::Improved, 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_to_leave_out_that_the_server_does_not_have_is_an_error() {
    let mut bench = Bench::new(&two_steps());
    bench.request.setup.servers[0].leave_out = vec!["profile_kernels".into()];
    let error = failure_of(&bench).await;
    assert_eq!(error.to_string(), "the tool server `scripted` lists no tool `profile_kernels` that could be left out");
    assert!(error.hint().contains("profile_kernel, "), "{}", error.hint());
}
