//! What a graph knows of other runs: kernels that they found, and lessons that they left.

use kernelwright_protocol::CandidateId;

use super::{Graph, Node, Standing};
use crate::{Seed, StepId};

impl Graph {
    /// Where a node comes from that no step made.
    #[must_use]
    pub fn seed(&self, node: &Node) -> Option<&Seed> {
        let seeds = &self.warm_start.as_ref().filter(|_| node.step == StepId::WARM_START)?.seeds;
        seeds.iter().find(|seed| seed.candidate == node.candidate)
    }

    /// The nodes that a warm start brought.
    pub fn seed_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.step == StepId::WARM_START)
    }

    /// The lessons that a step was shown.
    #[must_use]
    pub fn lessons_shown(&self, step: StepId) -> &[String] {
        self.shown.get(&step).map_or(&[], Vec::as_slice)
    }

    /// The finished steps that were shown lessons of which nobody knows yet what they were good for.
    pub fn unrated_steps(&self) -> impl Iterator<Item = (StepId, &[String])> {
        let finished = |step: &StepId| self.open.as_ref().is_none_or(|open| open.id != *step);
        let unrated = self.shown.iter().filter(move |(step, lessons)| !lessons.is_empty() && finished(step) && !self.rated.contains(step));
        unrated.map(|(step, lessons)| (*step, lessons.as_slice()))
    }

    /// Whether the change that led to this kernel is kept as a lesson.
    #[must_use]
    pub fn has_lesson(&self, candidate: &CandidateId) -> bool {
        self.taught.contains(candidate)
    }

    /// How many independent first kernels are due: none once a kernel of an earlier run is correct here, because that is the first kernel.
    #[must_use]
    pub fn drafts_due(&self, wanted: u32) -> u32 {
        if self.seed_nodes().any(|node| self.standing(node) != Standing::Wrong) { 0 } else { wanted }
    }
}
