//! What a run has to teach: which of its verified changes are worth keeping for other runs.
//!
//! A change is an edge of the graph: a kernel made from another, told in the model's words. It is worth keeping when the verdicts prove
//! something about it ([`Proof::of`]): the steps on the way to the best kernel, and a few failures that somebody else would try as well.

use kernelwright_protocol::{Effect, Proof, Verdict};

use crate::{Attempt, Graph, Node, StepId};

/// Lessons that one run gives in all; of these, improvements as long as there are any, and at least a place or two for failures.
const MOST: usize = 5;
const MOST_IMPROVEMENTS: usize = 3;

/// A change and what verdicts prove about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change<'a> {
    /// What was done, in the model's words.
    pub words: &'a str,
    /// The verdict on the kernel after it.
    pub after: &'a Attempt,
    /// The verdict on the kernel before it; absent for one made from nothing.
    pub before: Option<&'a Attempt>,
    /// What the two prove.
    pub proof: Proof,
}

/// The changes of a run that are worth keeping and are not kept yet, the most useful first.
#[must_use]
pub fn worth_keeping(graph: &Graph) -> Vec<Change<'_>> {
    let path: Vec<&Node> = graph.best_node().map(|best| graph.lineage(best.id)).unwrap_or_default();
    let mut improvements: Vec<Change<'_>> =
        path.iter().filter_map(|node| change(graph, node)).filter(|change| change.proof.effect == Effect::Faster).collect();
    improvements.sort_by(|a, b| gain(&b.proof).total_cmp(&gain(&a.proof)));
    let mut failures: Vec<Change<'_>> = graph.nodes().iter().filter_map(|node| change(graph, node)).filter(is_instructive).collect();
    // What is wrong teaches more than what is slower; the latest were tried with the most knowledge.
    failures.reverse();
    failures.sort_by_key(|change| change.proof.effect != Effect::Wrong);
    improvements.truncate(MOST_IMPROVEMENTS.max(MOST.saturating_sub(failures.len())));
    failures.truncate(MOST - improvements.len());
    let mut kept: Vec<Change<'_>> = improvements.into_iter().chain(failures).collect();
    kept.retain(|change| !graph.has_lesson(&change.after.candidate));
    kept
}

/// Whether what was written with lessons in view improved for sure: on the kernel it was made from, or on the baseline.
#[must_use]
pub fn improved(graph: &Graph, step: StepId) -> bool {
    let Some(attempt) = graph.best_attempt(step) else { return false };
    let record = graph.steps().iter().find(|record| record.id == step);
    let parent = record.and_then(|record| graph.node(record.parent?)).and_then(|node| graph.verdict(&node.candidate));
    Proof::of(&attempt.evaluation, parent).is_some_and(|proof| proof.effect == Effect::Faster)
}

/// The edge that ends in a node, where the verdicts prove anything and somebody said what was done.
fn change<'a>(graph: &'a Graph, node: &'a Node) -> Option<Change<'a>> {
    let words = node.summary.trim();
    let after = graph.attempt(&node.candidate)?;
    let before = node.parent.and_then(|parent| graph.node(parent)).and_then(|parent| graph.attempt(&parent.candidate));
    let proof = Proof::of(&after.evaluation, before.map(|before| &before.evaluation))?;
    (!words.is_empty()).then_some(Change { words, after, before, proof })
}

/// A slip that the compiler or the interpreter finds teaches nobody anything.
fn is_instructive(change: &Change<'_>) -> bool {
    match change.proof.effect {
        Effect::Faster => false,
        Effect::Slower => true,
        Effect::Wrong => !matches!(change.after.evaluation.verdict, Verdict::BuildFailed(_)),
    }
}

fn gain(proof: &Proof) -> f64 {
    proof.over_parent.or(proof.over_baseline).map_or(0.0, |ratio| ratio.low)
}
