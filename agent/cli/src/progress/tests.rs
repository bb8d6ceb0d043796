use kernelwright_engine::Activity;
use kernelwright_protocol::Nanoseconds;
use kernelwright_search::{Event, Graph, Record};
use serde_json::{Value, json};

use super::region::{Region, clock};
use super::{Line, compose, lines};
use crate::printer::{Printer, Tone, Verbosity};

fn correct(speedup: f64) -> Value {
    json!({
        "problem": "p".repeat(64), "candidate": "c".repeat(64), "target": "cpu", "status": "correct", "error_over_tolerance": 0.02,
        "trials": {"ran": ["problem's distribution", "scaled x100"], "timed_calls_verified": 4},
        "speedup": speedup, "speedup_low": speedup - 0.1, "speedup_high": speedup + 0.1, "candidate_ns": 21_700_000, "candidate_spread": 0.01,
        "baseline": "eager", "baselines": [{"kind": "eager", "time_ns": 67_800_000}, {"kind": "compile", "not_measured": {"reason": "no compiler"}}],
        "pairs": 9, "calls_per_batch": 2, "build_ns": 1, "first_call_ns": 1, "findings": [], "sandbox": {"active": []}, "wall_ns": 5_000_000_000_u64,
    })
}

fn broken() -> Value {
    json!({
        "problem": "p".repeat(64), "candidate": "b".repeat(64), "target": "cpu", "status": "build_failed", "phase": "import",
        "summary": "RuntimeError: g++ failed:\n<stdin>:9:5: error: expected ';'", "findings": [], "sandbox": {"active": []}, "wall_ns": 400_000_000,
    })
}

/// A short run: a candidate that does not build, one that is correct, a better one in the next step, an outage, a server that died.
fn events() -> Vec<Value> {
    let usage = json!({"input": 9_000, "cached": 0, "output": 1_200});
    let settings =
        json!({"budget": {"steps": 2}, "policy": {"kind": "greedy", "drafts": 1}, "inner_turns": 20, "baselines": ["eager", "compile"]});
    let hash = |letter: &str| letter.repeat(64);
    let ask =
        |step: u32, turn: u32, ask: u32| json!({"type": "model_asked", "step": step, "turn": turn, "ask": ask, "request_hash": hash("f")});
    let answer = |ask: u32| json!({"type": "model_answered", "ask": ask, "answer": {}, "usage": usage, "cost": 120_000});
    vec![
        json!({"type": "run_started", "run": "softmax-20260101-120000-abcd", "problem": {"name": "softmax", "id": hash("a")}, "target": "cpu", "settings": settings}),
        json!({"type": "target_described", "description": {"target": "cpu", "name": "AMD EPYC", "arch": "x86_64-avx512", "facts": [], "software": []}}),
        json!({"type": "baseline_measured", "report": {"problem": hash("a"), "target": "cpu", "inputs": [], "outputs": [],
            "baselines": [{"kind": "eager", "time_ns": 67_800_000}, {"kind": "compile", "not_measured": {"reason": "no compiler\ndetails"}}],
            "findings": [{"rule": "degenerate_problem", "severity": "warning", "message": "the output does not depend on the input"}]}}),
        json!({"type": "step_started", "step": 1, "phase": "draft"}),
        ask(1, 1, 1),
        answer(1),
        json!({"type": "tool_called", "step": 1, "turn": 1, "index": 0, "call_id": "x", "tool": "evaluate_kernel", "arguments": {}}),
        json!({"type": "candidate_evaluated", "step": 1, "candidate": hash("b"), "evaluation": broken()}),
        json!({"type": "candidate_evaluated", "step": 1, "candidate": hash("c"), "evaluation": correct(2.5)}),
        json!({"type": "note_taken", "step": 1, "text": "Unrolling\nbrought nothing."}),
        json!({"type": "node_added", "node": 1, "step": 1, "candidate": hash("c"), "fitness": 2.5, "status": "correct", "summary": "One pass per row. ".repeat(12)}),
        json!({"type": "step_finished", "step": 1, "node": 1}),
        json!({"type": "step_started", "step": 2, "parent": 1, "phase": "expand"}),
        json!({"type": "tool_server_restarted", "server": "profile", "reason": "died"}),
        json!({"type": "candidate_evaluated", "step": 2, "candidate": hash("d"), "evaluation": correct(3.25)}),
        json!({"type": "step_finished", "step": 2}),
        json!({"type": "run_finished", "outcome": "improved", "reason": {"kind": "budget_spent", "budget": "steps"}}),
    ]
}

fn records() -> Vec<Record> {
    let record = |(index, event): (usize, Value)| Record {
        v: 1,
        seq: index as u64 + 1,
        at: "2026-01-01T12:00:00Z".into(),
        elapsed_ns: Nanoseconds::from_seconds(20.5 * index as f64),
        event: serde_json::from_value::<Event>(event).unwrap(),
    };
    events().into_iter().enumerate().map(record).collect()
}

/// What goes to a stderr that is no terminal.
fn plain(verbosity: Verbosity) -> String {
    let mut printer = Printer::plain();
    printer.verbosity = verbosity;
    let mut graph = Graph::default();
    let mut text = Vec::new();
    for record in records() {
        let before = graph.best().map(|best| best.candidate.clone());
        graph.apply(&record).unwrap();
        let improved = graph.best().map(|best| &best.candidate) != before.as_ref();
        if let Some(line) = lines::of_event(&record.event, &graph, improved) {
            text.extend(compose(printer, &line, &clock(record.elapsed_ns)));
        }
    }
    text.join("\n")
}

#[test]
fn without_a_terminal_every_event_is_a_plain_line() {
    insta::assert_snapshot!(plain(Verbosity::Normal), @r"
    0:00  problem softmax on cpu; budget: 2 of 2 steps
    0:20  target: AMD EPYC (x86_64-avx512)
    0:41  to beat: eager 67.8 ms, torch.compile not measured (no compiler)
          remark: the output does not depend on the input
    1:01  step 1: a first kernel
    2:23  candidate bbbbbbbbbb: does not build: RuntimeError: g++ failed: <stdin>:9:5: error: expected ';'
    2:44  candidate cccccccccc: correct, 2.50x (2.40 to 2.60), 21.7 ms against eager 67.8 ms - the best so far
    3:04  note: Unrolling brought nothing.
    3:25  kernel 1: One pass per row. One pass per row. One pass per row. One pass per row. One pass per row. One pass per row. One pass per row. One pass per row. One pass per row...
    4:06  step 2: from kernel 1 (2.50x)
    4:26  tool server profile was started again: died
    4:47  candidate dddddddddd: correct, 3.25x (3.15 to 3.35), 21.7 ms against eager 67.8 ms - the best so far
    5:07  step 2 evaluated nothing
    5:28  finished: the budget of steps is spent
    ");
}

#[test]
fn more_is_said_to_the_verbose_and_nothing_to_the_quiet() {
    assert!(plain(Verbosity::Verbose).contains("the model calls evaluate_kernel"));
    assert_eq!(plain(Verbosity::Quiet), "");
}

#[test]
fn on_a_terminal_a_few_lines_say_what_is_going_on() {
    let mut region = Region::new();
    let mut graph = Graph::default();
    // Without its clock, which runs by itself.
    let shown = |region: &Region| region.lines(0, 60, None).join("\n");
    insta::assert_snapshot!(shown(&region), @r"
    | starting
      nothing correct yet
    ");
    for record in records().into_iter().take(7) {
        graph.apply(&record).unwrap();
        region.event(&record, &graph);
    }
    region.activity(&Activity::ToolProgress {
        server: "evaluate".into(),
        tool: "evaluate_kernel".into(),
        message: "timing pair 3 of 15".into(),
    });
    insta::assert_snapshot!(shown(&region), @r"
    | step 1 of 2: evaluate_kernel: timing pair 3 of 15
      nothing correct yet
      0 evaluations, 10.2k tokens, $0.12
    ");
    for record in records().into_iter().skip(7).take(8) {
        graph.apply(&record).unwrap();
        region.event(&record, &graph);
    }
    region.activity(&Activity::ModelStreaming { characters: 1234 });
    region.stopping = Some("stopping: finishing the current evaluation, then saving (Ctrl-C again ends at once)".into());
    insta::assert_snapshot!(shown(&region), @r"
    | step 2 of 2, from kernel 1: the model writes (1234 charact
      best 3.25x (3.15 to 3.35), 21.7 ms
      3 evaluations, 10.2k tokens, $0.12
      stopping: finishing the current evaluation, then saving (C
    ");
}

#[test]
fn somebodys_text_does_not_move_about_on_the_terminal() {
    let mut region = Region::new();
    region.activity(&Activity::ToolProgress {
        server: "evaluate".into(),
        tool: "evaluate_kernel".into(),
        message: "built\x1b[3A\nbest 99x\r\ttimed".into(),
    });
    let shown = region.lines(0, 79, None);
    assert_eq!(shown[0], "| evaluate_kernel: built\u{fffd}[3A best 99x\u{fffd} timed");
    let line = Line { text: "note: \x1b[2Jone\ntwo\u{9b}1A".into(), tone: Tone::Plain, from: Verbosity::Normal };
    assert_eq!(compose(Printer::plain(), &line, "0:01"), ["    0:01  note: \u{fffd}[2Jone", "          two\u{fffd}1A"]);
}

#[test]
fn times_look_like_a_clock() {
    let shown = [7.4, 754.0, 3723.0].map(|seconds| clock(Nanoseconds::from_seconds(seconds)));
    assert_eq!(shown, ["0:07", "12:34", "1:02:03"]);
}
