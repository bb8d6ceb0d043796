//! The command that goes on with a run.

use std::path::Path;
use std::time::Duration;

use kernelwright_search::{BudgetKind, Graph, Move, Settings, Spend, StopReason, decide};

use crate::settings::show_duration;

/// Flags that the run does not record, as they were given. Without them it would go on with something else.
pub type Unrecorded = Vec<(&'static str, String)>;

/// `kernelwright resume` for a run in this folder. Where it is finished, every limit that holds is raised, or the command would do nothing.
pub fn command(dir: &Path, unrecorded: &Unrecorded, graph: &Graph) -> String {
    let mut words = vec!["kernelwright resume".to_owned(), shell(&dir.display().to_string())];
    words.extend(unrecorded.iter().map(|(flag, value)| format!("{flag} {}", shell(value))));
    if graph.finished.is_some() {
        words.extend(holding(graph).iter().map(|reason| raised(reason, &graph.spend)));
    }
    words.join(" ")
}

/// Every reason to stop, not only the first one.
fn holding(graph: &Graph) -> Vec<StopReason> {
    let mut reasons = Vec::new();
    let Some(mut settings) = graph.head().map(|head| head.settings.clone()) else { return reasons };
    while let Move::Stop(reason) = decide(&graph.clone().with_settings(settings.clone())) {
        lift(&mut settings, &reason);
        reasons.push(reason);
    }
    reasons
}

/// Takes the limit away.
fn lift(settings: &mut Settings, reason: &StopReason) {
    let (budget, stop) = (&mut settings.budget, &mut settings.stop);
    match reason {
        StopReason::BudgetSpent { budget: BudgetKind::Steps } => budget.steps = None,
        StopReason::BudgetSpent { budget: BudgetKind::Evaluations } => budget.evaluations = None,
        StopReason::BudgetSpent { budget: BudgetKind::Tokens } => budget.tokens = None,
        StopReason::BudgetSpent { budget: BudgetKind::Dollars } => budget.dollars = None,
        StopReason::BudgetSpent { budget: BudgetKind::Wall } => budget.wall = None,
        StopReason::Stalled { .. } => stop.stall_steps = None,
        StopReason::TargetReached { .. } => stop.target_speedup = None,
    }
}

/// The flag that leaves about as much to use as was used.
fn raised(reason: &StopReason, spend: &Spend) -> String {
    match reason {
        StopReason::BudgetSpent { budget: BudgetKind::Steps } => format!("--steps {}", spend.steps + 8),
        StopReason::BudgetSpent { budget: BudgetKind::Evaluations } => format!("--evaluations {}", (2 * spend.evaluations).max(1)),
        StopReason::BudgetSpent { budget: BudgetKind::Tokens } => format!("--tokens {}", (2 * spend.usage.total().0).max(1)),
        StopReason::BudgetSpent { budget: BudgetKind::Dollars } => {
            format!("--dollars {:.2}", (200.0 * spend.dollars.value()).ceil().max(1.0) / 100.0)
        }
        StopReason::BudgetSpent { budget: BudgetKind::Wall } => {
            format!("--wall {}", show_duration(Duration::from_secs((2.0 * spend.wall.seconds()).ceil().max(1.0) as u64)))
        }
        StopReason::Stalled { steps } => format!("--stall {}", steps + 4),
        StopReason::TargetReached { speedup } => format!("--target-speedup {:.1}", (12.0 * speedup).ceil() / 10.0),
    }
}

/// A word as the shell wants it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use kernelwright_protocol::Nanoseconds;
    use kernelwright_search::Record;
    use serde_json::{Value, json};

    use super::*;

    /// The command for a run with these settings after some steps of half a minute, 100 tokens and $0.103 each, which brought nothing.
    fn after(steps: u32, settings: &Value, last: Value) -> String {
        let mut all = json!({"budget": {}, "policy": {"kind": "greedy", "drafts": 1}, "inner_turns": 20, "baselines": ["eager"]});
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let hash = "a".repeat(64);
        let mut events =
            vec![json!({"type": "run_started", "run": "r", "problem": {"name": "p", "id": hash}, "target": "cpu", "settings": all})];
        for step in 1..=steps {
            let usage = json!({"input": 80, "cached": 0, "output": 20});
            events.push(json!({"type": "step_started", "step": step, "phase": "draft"}));
            events.push(json!({"type": "model_asked", "step": step, "turn": 1, "ask": step, "request_hash": hash}));
            events.push(json!({"type": "model_answered", "ask": step, "answer": {}, "usage": usage, "cost": 103_000}));
            events.push(json!({"type": "step_finished", "step": step}));
        }
        events.push(last);
        let mut graph = Graph::default();
        for (event, seq) in events.into_iter().zip(1..) {
            let event = serde_json::from_value(event).unwrap();
            let elapsed_ns = Nanoseconds::from_seconds(30.0 * f64::from(graph.spend.steps));
            graph.apply(&Record { v: 1, seq, at: String::new(), elapsed_ns, event }).unwrap();
        }
        command(Path::new("/runs/my run"), &Unrecorded::new(), &graph)
    }

    #[track_caller]
    fn check(settings: &Value, expect: &str) {
        let reason = json!({"kind": "budget_spent", "budget": "steps"});
        let finished = json!({"type": "run_finished", "outcome": "nothing_correct", "reason": reason});
        assert_eq!(after(5, settings, finished), format!("kernelwright resume '/runs/my run'{expect}"));
    }

    #[test]
    fn a_finished_run_gets_more_of_what_ended_it() {
        check(&json!({"budget": {"steps": 5}}), " --steps 13");
        check(&json!({"budget": {"tokens": 450}}), " --tokens 1000");
        check(&json!({"budget": {"dollars": 500_000}}), " --dollars 1.03");
        check(&json!({"budget": {"wall": 140_000_000_000_u64}}), " --wall 5m");
        check(&json!({"budget": {"evaluations": 0}}), " --evaluations 1");
        check(&json!({"stop": {"stall_steps": 4}}), " --stall 8");
    }

    #[test]
    fn every_limit_that_holds_is_raised() {
        check(&json!({"budget": {"steps": 5, "tokens": 500}, "stop": {"stall_steps": 3}}), " --steps 13 --tokens 1000 --stall 8");
        check(&json!({"budget": {"steps": 5, "tokens": 501}, "stop": {"stall_steps": 9}}), " --steps 13");
    }

    #[test]
    fn a_target_is_set_higher_than_what_was_reached() {
        assert_eq!(raised(&StopReason::TargetReached { speedup: 2.57 }, &Spend::default()), "--target-speedup 3.1");
    }

    #[test]
    fn a_run_that_is_not_finished_goes_on_as_it_is() {
        let paused = json!({"type": "run_paused", "reason": "HTTP 503"});
        assert_eq!(after(5, &json!({"budget": {"steps": 5}}), paused), "kernelwright resume '/runs/my run'");
    }

    #[test]
    fn what_is_not_recorded_is_said_again() {
        let unrecorded = vec![("--evaluator", "python3 'my evaluator.py'".to_owned()), ("--threads", "2".to_owned())];
        let said = command(Path::new("run"), &unrecorded, &Graph::default());
        assert_eq!(said, r"kernelwright resume run --evaluator 'python3 '\''my evaluator.py'\''' --threads 2");
    }

    #[test]
    fn words_are_quoted_where_the_shell_would_read_them() {
        assert_eq!((shell("a/b-1.py").as_str(), shell("it's $HOME").as_str(), shell("").as_str()), ("a/b-1.py", r"'it'\''s $HOME'", "''"));
    }
}
