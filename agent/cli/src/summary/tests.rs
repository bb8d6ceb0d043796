use kernelwright_protocol::{Dollars, Tokens};
use kernelwright_search::{BudgetKind, NodeId, RunId, StopReason, Usage};

use super::*;

fn best() -> Best {
    let evaluation = serde_json::from_value(json!({
        "problem": "p".repeat(64), "candidate": "c".repeat(64), "target": "cpu", "status": "correct", "error_over_tolerance": 0.02,
        "trials": {"ran": ["problem's distribution", "scaled x100"], "timed_calls_verified": 4},
        "speedup": 31.2, "speedup_low": 30.8, "speedup_high": 31.9, "candidate_ns": 21_700_000, "candidate_spread": 0.01,
        "baseline": "eager", "baselines": [{"kind": "eager", "time_ns": 678_000_000}, {"kind": "compile", "time_ns": 690_000_000}],
        "pairs": 9, "calls_per_batch": 2, "build_ns": 1, "first_call_ns": 1, "sandbox": {"active": []}, "wall_ns": 5,
        "findings": [{"rule": "below_floor", "severity": "warning", "message": "faster than memory allows"},
            {"rule": "first_call", "severity": "note", "message": "the first call took long"}],
    }));
    Best {
        node: Some(NodeId(3)),
        candidate: kernelwright_protocol::ContentHash::of("x"),
        evaluation: evaluation.unwrap(),
        path: "/runs/my run/best.py".into(),
        summary: "A diagonal times a matrix is a row scaling.\nOne pass instead of a product.".into(),
    }
}

fn outcome(end: End, found: RunOutcome, best: Option<Best>) -> Outcome {
    let spend = Spend {
        steps: 4,
        evaluations: 1,
        usage: Usage { input: Tokens(50_000), cached: Tokens(0), output: Tokens(4_000) },
        dollars: Dollars::new(0.31),
        wall: Nanoseconds::from_seconds(725.0),
        evaluating: Nanoseconds::from_seconds(61.0),
        ..Spend::default()
    };
    Outcome { run: RunId("diag-20260101-120000-abcd".into()), dir: "/runs/my run".into(), end, found, best, baseline: None, spend }
}

fn said(outcome: &Outcome) -> String {
    text(outcome, "kernelwright resume RUN --stall 8", Printer::plain())
}

#[test]
fn a_find_says_how_sure_it_is_why_it_is_faster_and_how_to_use_it() {
    let stalled = End::Finished(StopReason::Stalled { steps: 4 });
    let outcome = outcome(stalled, RunOutcome::Improved, Some(best()));
    assert_eq!(exit(&outcome), Exit::Success);
    insta::assert_snapshot!(said(&outcome), @r#"
    Found a verified kernel that is 31.20x as fast as eager; 4 steps in a row brought nothing better.

    How sure
      correct on 2 draws of inputs and in 4 timed calls; largest error 2.0 % of what is allowed
      31.20x, 95 % interval 30.80 to 31.90, from 9 pairs timed in turns
      21.7 ms per call against eager 678 ms, torch.compile 690 ms
      warning: faster than memory allows (below_floor)

    Why (in the model's words)
      A diagonal times a matrix is a row scaling.
      One pass instead of a product.

    How to use it
      /runs/my run/best.py
        import sys; sys.path.insert(0, "/runs/my run")
        from best import ModelNew  # takes the arguments of Model; load_state_dict() takes its weights

    What it took
      4 steps, 1 evaluation, 54.0k tokens, $0.31, 12m5s (1m1s of it evaluating)

    Next
      go on:     kernelwright resume RUN --stall 8
      report:    kernelwright report '/runs/my run'
      re-verify: kernelwright evaluate '/runs/my run'/problem.py '/runs/my run/best.py' --target cpu
    "#);
}

#[test]
fn nothing_is_said_of_trials_and_pairs_that_another_evaluator_does_not_name() {
    let mut best = best();
    let Verdict::Correct(correct) = &mut best.evaluation.verdict else { panic!("not correct") };
    correct.trials = kernelwright_protocol::Trials::default();
    correct.timing.as_mut().unwrap().pairs = 0;
    let said = said(&outcome(End::Finished(StopReason::Stalled { steps: 4 }), RunOutcome::Improved, Some(best)));
    assert!(said.contains("How sure\n  21.7 ms per call against eager 678 ms, torch.compile 690 ms\n  warning: "), "{said}");
}

#[test]
fn a_run_without_a_find_says_how_to_go_on() {
    let spent = End::Finished(StopReason::BudgetSpent { budget: BudgetKind::Steps });
    let outcome = outcome(spent, RunOutcome::NothingCorrect, None);
    assert_eq!(exit(&outcome), Exit::BudgetSpent);
    insta::assert_snapshot!(said(&outcome), @r"
    Found no correct kernel; the budget of steps is spent.

    What it took
      4 steps, 1 evaluation, 54.0k tokens, $0.31, 12m5s (1m1s of it evaluating)

    Next
      go on:     kernelwright resume RUN --stall 8
      report:    kernelwright report '/runs/my run'
    ");
}

#[test]
fn a_suspended_run_names_the_answers_it_waits_for() {
    let suspended = End::Suspended { waiting: vec!["/box/0001.reply.json".into()] };
    let outcome = outcome(suspended, RunOutcome::NotImproved, Some(best()));
    assert_eq!(exit(&outcome), Exit::Suspended);
    let said = said(&outcome);
    assert!(
        said.starts_with(
            "Suspended: waiting for 1 answer in the mailbox. Found a correct kernel that is not faster for sure: 31.20x so far."
        )
    );
    assert!(said.contains("  answer as  /box/0001.reply.json\n  go on:     kernelwright resume RUN --stall 8\n"), "{said}");
}

#[test]
fn the_other_ends_have_their_codes() {
    let code = |end: End, found: RunOutcome| exit(&outcome(end, found, None));
    let finished = || End::Finished(StopReason::TargetReached { speedup: 2.0 });
    assert_eq!(code(finished(), RunOutcome::NotImproved), Exit::NoImprovement);
    assert_eq!(code(End::Interrupted, RunOutcome::Improved), Exit::Interrupted);
    assert_eq!(code(End::Paused { reason: "HTTP 503".into() }, RunOutcome::Improved), Exit::Paused);
}

#[test]
fn programs_get_the_same_as_one_object() {
    let summary = json(&outcome(End::Finished(StopReason::Stalled { steps: 4 }), RunOutcome::Improved, Some(best())));
    let field = |path: &str| summary.pointer(path).cloned().unwrap_or_default();
    assert_eq!((field("/type"), field("/exit_code"), field("/end")), (json!("summary"), json!(0), json!("finished")));
    assert_eq!(
        (field("/speedup"), field("/best/path"), field("/outcome")),
        (json!(31.2), json!("/runs/my run/best.py"), json!("improved"))
    );
}
