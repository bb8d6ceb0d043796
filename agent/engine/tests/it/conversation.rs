//! What the model is told when it does something wrong.

use kernelwright_engine::Run;
use kernelwright_search::{Event, Policy};
use serde_json::json;

use crate::bench::{Bench, Watcher, attempt, calls, finish, replies, words};

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_answered_in_words_the_model_can_act_on() {
    let answers = [
        calls(&[
            ("evaluate_kernel", json!({})),
            ("edit_kernel", json!({"old": "a", "new": "b"})),
            ("make_coffee", json!({})),
            ("measure_baseline", json!({})),
            ("write_kernel", json!("{\"source\": \"x")),
            ("write_kernel", json!({"code": "x"})),
            ("read_kernel", json!({"node": 7})),
        ]),
        attempt("# speedup: 1.2\n"),
        finish("done"),
    ];
    let mut bench = Bench::new(&answers);
    bench.request.budget.steps = Some(1);

    let mut watcher = Watcher::default();
    bench.optimize(&mut watcher).await.unwrap();
    let told: Vec<String> = replies(&watcher).into_iter().take(7).map(|(tool, text)| format!("{tool}: {text}")).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    evaluate_kernel: error: there is no draft yet; write one with write_kernel
    edit_kernel: error: there is no draft yet; write one with write_kernel
    make_coffee: error: there is no tool `make_coffee`. The tools are: write_kernel, edit_kernel, read_kernel, take_note, finish_step, evaluate_kernel, profile_kernel, search_knowledge.
    measure_baseline: error: there is no tool `measure_baseline`. The tools are: write_kernel, edit_kernel, read_kernel, take_note, finish_step, evaluate_kernel, profile_kernel, search_knowledge.
    write_kernel: error: the arguments are not valid JSON: EOF. Nothing was done. Call write_kernel again with one JSON object.
    write_kernel: error: write_kernel needs `source`, a string
    read_kernel: error: there is no kernel 7; the run has 0
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_calls_no_tool_is_told_twice_and_then_the_step_ends() {
    let mut bench = Bench::new(&[words("I would tile it."), words("Really."), words("Yes.")]);
    bench.request.budget.steps = Some(1);
    let mut watcher = Watcher::default();
    let outcome = bench.optimize(&mut watcher).await.unwrap();
    let nudges = watcher.records.iter().filter(|record| matches!(record.event, Event::ModelNudged { .. })).count();
    assert_eq!((nudges, outcome.spend.steps), (2, 1));
    assert!(Run::load(&outcome.dir).unwrap().graph.nodes().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nudge_knows_whether_a_kernel_was_written_in_the_step() {
    let refused = calls(&[("write_kernel", json!("{\"source\": \"x"))]);
    let edited = calls(&[("edit_kernel", json!({"old": "1.5", "new": "2.0"}))]);
    let answers = [refused, words("So."), attempt("# speedup: 1.5\n"), finish("tiles rows"), edited, words("So."), finish("")];
    let mut watcher = Watcher::default();
    Bench::new(&answers).optimize(&mut watcher).await.unwrap();
    let nudges: Vec<&str> = watcher
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::ModelNudged { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(nudges.len(), 2);
    assert!(nudges[0].contains("No kernel has been written in this step."), "{}", nudges[0]);
    assert!(nudges[1].contains("The file you wrote has not been evaluated."), "{}", nudges[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_sees_the_servers_tools_without_what_the_run_decides() {
    let mut bench = Bench::new(&[finish("nothing")]);
    bench.request.budget.steps = Some(1);
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    let request = std::fs::read_dir(outcome.dir.join("requests")).unwrap().next().unwrap().unwrap().path();
    let request: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(request).unwrap()).unwrap();
    let tools: Vec<String> = request["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let properties: Vec<&String> = tool["parameters"]["properties"].as_object().unwrap().keys().collect();
            format!("{} {properties:?}", tool["name"].as_str().unwrap())
        })
        .collect();
    insta::assert_snapshot!(tools.join("\n"), @r#"
    write_kernel ["source"]
    edit_kernel ["old", "new"]
    read_kernel ["node"]
    take_note ["text"]
    finish_step ["summary"]
    evaluate_kernel []
    profile_kernel []
    search_knowledge ["query"]
    "#);
    let opening = request["messages"][0]["text"].as_str().unwrap();
    for fact in ["torch.diag(A) @ B", "Test CPU", "2.00 ms", "aten::mm", "about diag", "8.00 MiB"] {
        assert!(opening.contains(fact), "{fact} is missing from:\n{opening}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_not_told_how_earlier_kernels_were_made() {
    let answers = [attempt("# speedup: 1.5\n"), finish("tiles rows"), attempt("# speedup: 1.2\n"), finish("fuses")];
    let mut bench = Bench::new(&answers);
    bench.request.policy = Policy::Greedy { drafts: 2 };
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    assert_eq!(Run::load(&outcome.dir).unwrap().graph.nodes().len(), 2);
    for request in std::fs::read_dir(outcome.dir.join("requests")).unwrap() {
        let text = std::fs::read_to_string(request.unwrap().path()).unwrap();
        assert!(!text.contains("tiles rows") && !text.contains("# The best kernel so far"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_example_kernel_is_told_whole_and_once() {
    for (form, told, not_told) in [("whole", "the whole kernel", "the wrapper"), ("garbled", "the wrapper", "the whole kernel")] {
        let mut bench = Bench::new(&[finish("nothing")]).with_examples(form);
        bench.request.budget.steps = Some(1);
        let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
        let request = std::fs::read_dir(outcome.dir.join("requests")).unwrap().next().unwrap().unwrap().path();
        let request: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(request).unwrap()).unwrap();
        let opening = request["messages"][0]["text"].as_str().unwrap();
        assert_eq!(opening.matches(told).count(), 1, "{form}: {opening}");
        assert!(!opening.contains(not_told) && opening.contains("about diag"), "{form}: {opening}");
        assert_eq!(opening.contains("its imports"), form == "garbled", "{opening}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_left_out_is_called_by_nobody() {
    let mut bench = Bench::new(&[finish("nothing")]);
    bench.request.budget.steps = Some(1);
    bench.request.setup.servers[0].leave_out = vec!["profile_kernel".into()];
    let outcome = bench.optimize(&mut Watcher::default()).await.unwrap();
    let request = std::fs::read_dir(outcome.dir.join("requests")).unwrap().next().unwrap().unwrap().path();
    let request: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(request).unwrap()).unwrap();
    assert!(request["tools"].as_array().unwrap().iter().all(|tool| tool["name"] != "profile_kernel"));
    let calls = bench.calls();
    assert!(calls.iter().any(|call| call.starts_with("measure_baseline")), "{calls:?}");
    assert!(calls.iter().all(|call| !call.starts_with("profile_kernel")), "{calls:?}");
}
