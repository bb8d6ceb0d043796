//! What the operator should be told: the part of the graph that bears on its step.

use kernelwright_protocol::CandidateId;

use crate::{Attempt, Graph, Node, NodeId, Note, Profiled, Standing, StepId};

/// How much is told, in items. A model's window is not the graph's business; the engine may cut further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// Ancestors, the nearest.
    pub ancestors: usize,
    /// Failed attempts, the newest.
    pub failures: usize,
    /// Other nodes, the best.
    pub others: usize,
    /// Notes, the newest.
    pub notes: usize,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self { ancestors: 6, failures: 4, others: 4, notes: 16 }
    }
}

/// The part of a graph that bears on one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Context<'a> {
    /// Where the step starts from.
    pub parent: Option<&'a Node>,
    /// The parent's ancestors, the eldest first, without the parent.
    pub ancestors: Vec<&'a Node>,
    /// The newest attempts that were not correct, the oldest first.
    pub failures: Vec<&'a Attempt>,
    /// The best nodes outside the lineage: what was tried elsewhere.
    pub others: Vec<&'a Node>,
    /// What the model wrote down, the oldest first.
    pub notes: Vec<&'a Note>,
    /// Of a draft: the kernels of earlier runs, which are not correct here or there would be no draft.
    pub seeds: Vec<&'a Node>,
    /// The best node of the run; none for a draft.
    pub best: Option<&'a Node>,
    /// Where the parent's time goes, or the problem's for a draft.
    pub profile: Option<&'a Profiled>,
}

impl<'a> Context<'a> {
    /// Selects for a step from `parent`.
    ///
    /// A draft is told what failed and what was learnt, but not how earlier kernels were made: drafts are to differ.
    #[must_use]
    pub fn select(graph: &'a Graph, parent: Option<NodeId>, limits: ContextLimits) -> Self {
        let mut lineage = parent.map(|id| graph.lineage(id)).unwrap_or_default();
        let of_lineage = |candidate: &CandidateId| lineage.iter().any(|node| node.candidate == *candidate);
        let failures = graph
            .attempts()
            .iter()
            .filter(|attempt| Standing::of(&attempt.evaluation) == Standing::Wrong && !of_lineage(&attempt.candidate))
            // Nobody tried those: they are shown on their own or not at all.
            .filter(|attempt| attempt.step != StepId::WARM_START)
            .collect();
        let mut others: Vec<&Node> = match parent {
            Some(_) => graph.nodes().iter().filter(|node| !of_lineage(&node.candidate)).collect(),
            None => vec![],
        };
        // Stable, so that equals stay in the order of their numbers.
        others.sort_by(|a, b| graph.standing(b).partial_cmp(&graph.standing(a)).unwrap_or(std::cmp::Ordering::Equal));
        others.truncate(limits.others);
        let parent_node = lineage.pop();
        Self {
            parent: parent_node,
            ancestors: newest(lineage, limits.ancestors),
            failures: newest(failures, limits.failures),
            others,
            notes: newest(graph.notes().iter().collect(), limits.notes),
            seeds: if parent.is_none() { graph.seed_nodes().collect() } else { vec![] },
            best: parent.and_then(|_| graph.best_node()),
            profile: graph.profile(parent),
        }
    }
}

fn newest<T>(mut items: Vec<T>, limit: usize) -> Vec<T> {
    items.drain(..items.len().saturating_sub(limit));
    items
}
