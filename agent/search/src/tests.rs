//! The search as a whole: events in, decisions out.

use kernelwright_protocol::{
    BaselineKind, CandidateId, ContentHash, Correct, Dollars, Evaluation, Fault, Nanoseconds, NotMeasured, Sandbox, Target, Timing, Tokens,
    Trials, Verdict,
};
use serde_json::{Map, Value, json};

use super::*;

mod learning;
mod profiling;

/// A run being written, event by event.
struct Log {
    records: Vec<Record>,
}

/// What an attempt came to.
#[derive(Clone, Copy)]
enum Came {
    Wrong,
    Untimed,
    Faster(f64),
}

impl Log {
    fn new(policy: Policy, budget: Budget, stop: StopRules) -> Self {
        let settings = Settings {
            budget,
            stop,
            policy,
            inner_turns: 20,
            seeds: 2,
            profile_share: None,
            baselines: vec![BaselineKind::Eager],
            evaluation: Map::new(),
            output: None,
            model: Value::Null,
        };
        let problem = ProblemName { name: "p".into(), id: ContentHash::of("p") };
        let mut log = Self { records: vec![] };
        log.add(Event::RunStarted { run: RunId("p-1".into()), problem, target: Target::CPU, settings, versions: [].into() });
        log
    }

    fn greedy(drafts: u32) -> Self {
        Self::new(Policy::Greedy { drafts }, Budget { steps: Some(100), ..Budget::default() }, StopRules::default())
    }

    fn add(&mut self, event: Event) {
        let seq = self.records.len() as u64 + 1;
        let at = format!("2026-01-01T00:00:{seq:02}Z");
        self.records.push(Record { v: FORMAT_VERSION, seq, at, elapsed_ns: Nanoseconds(seq * 1_000_000_000), event });
    }

    fn graph(&self) -> Graph {
        Graph::fold(&self.records).unwrap()
    }

    /// Takes the step that the policy wants, with these attempts.
    fn step(&mut self, attempts: &[(&str, Came)]) -> Option<NodeId> {
        let Move::Step { step, parent, phase } = decide(&self.graph()) else { panic!("the run is over") };
        self.add(Event::StepStarted { step, parent, phase });
        for (text, came) in attempts {
            let candidate = CandidateId::of(text);
            self.add(Event::CandidateEvaluated { step, evaluation: Box::new(evaluation(&candidate, *came)), candidate });
        }
        let graph = self.graph();
        let node = graph.best_attempt(step).map(|best| {
            let node = graph.next_node();
            let (candidate, fitness) = (best.candidate.clone(), best.evaluation.fitness());
            let status = best.evaluation.verdict.status().to_owned();
            self.add(Event::NodeAdded { node, parent, step, candidate, fitness, status, summary: String::new() });
            node
        });
        self.add(Event::StepFinished { step, node });
        node
    }

    fn next_parent(&self) -> Option<NodeId> {
        match decide(&self.graph()) {
            Move::Step { parent, .. } => parent,
            Move::Stop(reason) => panic!("{reason}"),
        }
    }
}

fn evaluation(candidate: &CandidateId, came: Came) -> Evaluation {
    let correct = |timing, not_measured| {
        Verdict::Correct(Box::new(Correct { trials: Trials::default(), error_over_tolerance: 0.1, timing, not_measured, sets: vec![] }))
    };
    let verdict = match came {
        Came::Wrong => Verdict::BuildFailed(Fault { phase: "import".into(), summary: "no".into(), diagnostics: String::new(), log: None }),
        Came::Untimed => correct(None, Some(NotMeasured { reason: "interpreter".into() })),
        Came::Faster(speedup) => correct(Some(timing(speedup)), None),
    };
    Evaluation {
        problem: ContentHash::of("p"),
        candidate: candidate.clone(),
        target: Target::CPU,
        verdict,
        findings: vec![],
        deep_check: None,
        sandbox: Sandbox::default(),
        wall_ns: Nanoseconds(1_000_000_000),
    }
}

fn timing(speedup: f64) -> Timing {
    Timing {
        speedup,
        speedup_low: speedup * 0.9,
        speedup_high: speedup * 1.1,
        candidate_ns: Nanoseconds(1),
        candidate_spread: 0.0,
        baseline: BaselineKind::Eager,
        baselines: vec![],
        pairs: 9,
        calls_per_batch: 1,
        batches_ns: None,
        control: None,
        device_state: None,
        build_ns: Nanoseconds(1),
        first_call_ns: Nanoseconds(1),
    }
}

#[test]
fn the_same_events_give_the_same_decisions_through_json_and_in_any_portions() {
    let mut log = Log::greedy(2);
    log.step(&[("a", Came::Wrong), ("b", Came::Faster(1.2))]);
    log.step(&[("c", Came::Faster(1.4))]);
    log.step(&[("d", Came::Untimed)]);
    let lines: Vec<String> = log.records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let read: Vec<Record> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, log.records);
    for length in 1..=read.len() {
        let mut portions = Graph::fold(&read[..length / 2]).unwrap();
        for record in &read[length / 2..length] {
            portions.apply(record).unwrap();
        }
        let whole = Graph::fold(&log.records[..length]).unwrap();
        assert_eq!(decide(&portions), decide(&whole), "after event {length}");
        let select = |graph| format!("{:?}", Context::select(graph, None, ContextLimits::default()));
        assert_eq!(select(&portions), select(&whole));
    }
}

#[test]
fn drafts_come_first_and_know_no_parent_then_the_best_kernel_is_expanded() {
    let mut log = Log::greedy(3);
    for (text, speedup) in [("a", 1.1), ("b", 1.5), ("c", 1.3)] {
        assert_eq!(log.next_parent(), None);
        log.step(&[(text, Came::Faster(speedup))]);
    }
    assert_eq!(log.next_parent(), Some(NodeId(2)));
    log.step(&[("d", Came::Faster(1.2))]);
    assert_eq!(log.next_parent(), Some(NodeId(2)), "a worse child does not become the parent");
    log.step(&[("e", Came::Faster(2.0))]);
    assert_eq!(log.next_parent(), Some(NodeId(5)));
    assert_eq!(log.graph().lineage(NodeId(5)).iter().map(|node| node.id.0).collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn a_wrong_kernel_is_worked_on_once_and_then_a_fresh_one_is_drafted() {
    let mut log = Log::greedy(1);
    log.step(&[("a", Came::Wrong)]);
    assert_eq!(log.next_parent(), Some(NodeId(1)));
    log.step(&[]);
    assert_eq!(log.next_parent(), Some(NodeId(1)), "nothing came of the first try");
    log.step(&[("b", Came::Wrong)]);
    assert_eq!(log.next_parent(), Some(NodeId(2)), "the child is the newest");
    log.step(&[("c", Came::Untimed)]);
    assert_eq!(log.next_parent(), Some(NodeId(3)), "correct without a time beats wrong");
}

#[test]
fn a_node_is_the_best_evaluated_attempt_of_its_step() {
    let mut log = Log::greedy(1);
    log.step(&[("a", Came::Wrong), ("b", Came::Faster(0.8)), ("c", Came::Untimed), ("d", Came::Faster(0.7)), ("e", Came::Wrong)]);
    assert_eq!(log.graph().nodes()[0].candidate, CandidateId::of("b"));
    log.step(&[("f", Came::Wrong), ("g", Came::Wrong)]);
    assert_eq!(log.graph().nodes()[1].candidate, CandidateId::of("g"), "among wrong ones, the last");
    assert_eq!(log.step(&[]), None);
}

#[test]
fn a_noisy_measurement_does_not_beat_a_sure_one() {
    let at = |speedup, speedup_low| {
        let timing = Timing { speedup_low, ..timing(speedup) };
        let correct =
            Correct { trials: Trials::default(), error_over_tolerance: 0.1, timing: Some(timing), not_measured: None, sets: vec![] };
        Standing::of(&Evaluation { verdict: Verdict::Correct(Box::new(correct)), ..evaluation(&ContentHash::of("c"), Came::Wrong) })
    };
    assert!(at(2.5, 2.1) > at(2.7, 1.0));
}

#[test]
fn the_outcome_promises_no_more_than_the_interval() {
    let outcome = |came| {
        let mut log = Log::greedy(1);
        log.step(&[("a", came)]);
        log.graph().outcome()
    };
    assert_eq!(outcome(Came::Faster(1.2)), RunOutcome::Improved);
    assert_eq!(outcome(Came::Faster(1.05)), RunOutcome::NotImproved, "the interval reaches below 1");
    assert_eq!(outcome(Came::Untimed), RunOutcome::NotImproved);
    assert_eq!(outcome(Came::Wrong), RunOutcome::NothingCorrect);
}

#[test]
fn runs_stop_at_their_limits_and_rules() {
    let stop = |budget: Budget, rules: StopRules| {
        let mut log = Log::new(Policy::Greedy { drafts: 1 }, budget, rules);
        let (usage, cost) = (Usage { input: Tokens(900), output: Tokens(100), ..Usage::default() }, Some(Dollars::new(0.5)));
        log.add(Event::ModelProbed { usage, cost });
        for text in ["a", "b", "c", "d"] {
            if let Move::Stop(reason) = decide(&log.graph()) {
                return Some((reason, log.graph().spend.steps));
            }
            log.step(&[(text, Came::Faster(2.0))]);
        }
        None
    };
    let (none, free) = (StopRules::default(), Budget::default());
    let spent = |budget| Some(StopReason::BudgetSpent { budget });
    let of = |found: Option<(StopReason, u32)>| found.map(|(reason, _)| reason);
    assert_eq!(of(stop(Budget { steps: Some(2), ..free.clone() }, none.clone())), spent(BudgetKind::Steps));
    assert_eq!(of(stop(Budget { evaluations: Some(3), ..free.clone() }, none.clone())), spent(BudgetKind::Evaluations));
    assert_eq!(of(stop(Budget { tokens: Some(Tokens(1000)), ..free.clone() }, none.clone())), spent(BudgetKind::Tokens));
    assert_eq!(of(stop(Budget { dollars: Some(Dollars::new(0.5)), ..free.clone() }, none.clone())), spent(BudgetKind::Dollars));
    assert_eq!(of(stop(Budget { wall: Some(Nanoseconds(5_000_000_000)), ..free.clone() }, none.clone())), spent(BudgetKind::Wall));
    let stalled = stop(free.clone(), StopRules { stall_steps: Some(2), ..none.clone() });
    assert_eq!(stalled, Some((StopReason::Stalled { steps: 2 }, 3)), "the first step brought something, the next two did not");
    let mut drafting = Log::new(Policy::Greedy { drafts: 3 }, free.clone(), StopRules { stall_steps: Some(1), ..none.clone() });
    for text in ["a", "b", "c"] {
        drafting.step(&[(text, Came::Faster(2.0))]);
    }
    assert_eq!(drafting.next_parent(), Some(NodeId(1)), "drafts that bring nothing better are no stall");
    let reached = stop(free.clone(), StopRules { target_speedup: Some(1.8), ..none.clone() });
    assert_eq!(reached, Some((StopReason::TargetReached { speedup: 1.8 }, 1)));
    assert_eq!(stop(free, none), None);
}

#[test]
fn an_operator_is_told_of_its_lineage_and_of_what_failed_elsewhere() {
    let mut log = Log::greedy(2);
    log.step(&[("a", Came::Faster(1.1))]);
    log.step(&[("bad", Came::Wrong), ("b", Came::Faster(1.5))]);
    log.step(&[("c", Came::Faster(2.0))]);
    let graph = log.graph();
    let context = Context::select(&graph, Some(NodeId(3)), ContextLimits::default());
    let numbers = |nodes: &[&Node]| nodes.iter().map(|node| node.id.0).collect::<Vec<_>>();
    assert_eq!((context.parent.map(|node| node.id.0), numbers(&context.ancestors), numbers(&context.others)), (Some(3), vec![2], vec![1]));
    assert_eq!(context.failures.iter().map(|failed| &failed.candidate).collect::<Vec<_>>(), [&CandidateId::of("bad")]);
    let draft = Context::select(&graph, None, ContextLimits::default());
    assert!(draft.best.is_none() && draft.others.is_empty() && draft.ancestors.is_empty(), "drafts are to differ");
}

#[test]
fn unknown_events_and_fields_are_passed_over() {
    let mut log = Log::greedy(1);
    let line = json!({"v": 1, "seq": 2, "at": "2026-01-01T00:00:02Z", "elapsed_ns": 5, "type": "moon_phase", "phase": "full"});
    log.records.push(serde_json::from_value(line).unwrap());
    let line =
        json!({"v": 1, "seq": 3, "at": "2026-01-01T00:00:03Z", "elapsed_ns": 6, "type": "run_paused", "reason": "r", "mood": "calm"});
    log.records.push(serde_json::from_value(line).unwrap());
    assert_eq!(log.graph().paused.as_deref(), Some("r"));
}

#[test]
fn events_that_do_not_fit_together_are_refused() {
    let log = Log::greedy(1);
    let pause = |seq| {
        let event = Event::RunPaused { reason: String::new() };
        Record { v: 1, seq, at: String::new(), elapsed_ns: Nanoseconds(0), event }
    };
    assert_eq!(Graph::fold(&[pause(1)]).err(), Some(GraphError::NoStart));
    assert_eq!(Graph::fold(&[log.records[0].clone(), pause(3)]).err(), Some(GraphError::Gap { last: 1, found: 3 }));
    let event = Event::StepFinished { step: StepId(1), node: None };
    let stray = Record { event, ..pause(2) };
    assert_eq!(Graph::fold(&[log.records[0].clone(), stray]).err(), Some(GraphError::Stray { seq: 2 }));
}

#[test]
fn what_is_left_of_a_budget_is_said_in_phrases() {
    let budget = Budget { steps: Some(8), tokens: Some(Tokens(100_000)), dollars: Some(Dollars::new(2.0)), ..Budget::default() };
    let spend =
        Spend { steps: 5, usage: Usage { input: Tokens(40_000), ..Usage::default() }, dollars: Dollars::new(0.75), ..Spend::default() };
    assert_eq!(budget.left(&spend), ["3 of 8 steps", "60.0k tokens of 100k tokens", "$1.25 of $2.00"]);
}
