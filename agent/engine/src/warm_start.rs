//! The beginning of a run that is not the first of its kind: kernels of earlier runs, judged anew.

use kernelwright_protocol::ProblemId;
use kernelwright_search::{Event, Move, Seed, StepId, choose_seeds, decide};

use crate::archive::{earlier_runs, kernel};
use crate::error::EngineError;
use crate::session::{Flow, Session};

impl Session<'_> {
    /// Looks for kernels to begin with, once in a run, and evaluates them. After a kill it goes on where it was.
    pub(crate) async fn warm_start(&mut self) -> Flow<()> {
        let limit = self.head()?.settings.seeds as usize;
        // A run that has taken steps began without, perhaps in an earlier version.
        if limit == 0 || (self.graph.warm_start.is_none() && !self.graph.steps().is_empty()) {
            return Ok(());
        }
        if self.graph.warm_start.is_none() {
            self.look_back(limit)?;
        }
        let seeds = self.graph.warm_start.as_ref().map(|warm| warm.seeds.clone()).unwrap_or_default();
        for seed in seeds {
            self.go_on()?;
            // The first may be all that was asked for, or all that may be spent.
            if self.graph.verdict(&seed.candidate).is_none() && matches!(decide(&self.graph), Move::Stop(_)) {
                break;
            }
            self.take_seed(seed).await?;
        }
        Ok(())
    }

    /// Chooses among what earlier runs found, and keeps the kernels in this run's own folder before the choice is recorded.
    fn look_back(&mut self, limit: usize) -> Result<(), EngineError> {
        let Some(subject) = self.subject()? else { return Ok(()) };
        let Some(runs_dir) = self.store.dir().parent().map(std::path::Path::to_path_buf) else { return Ok(()) };
        let earlier = earlier_runs(&runs_dir, &self.store.run_id(), &self.problem.source, subject.backend);
        let problem = ProblemId::of(&self.problem.source);
        let mut seeds = Vec::new();
        // More than are wanted, for those whose text is gone or was changed.
        for seed in choose_seeds(&problem, &subject, &earlier, limit * 2) {
            if seeds.len() == limit {
                break;
            }
            if let Some(source) = kernel(&runs_dir, &seed) {
                self.store.keep_candidate(&source)?;
                seeds.push(seed);
            }
        }
        self.record(Event::WarmStart { runs: u32::try_from(earlier.len()).unwrap_or(u32::MAX), seeds })
    }

    /// Evaluates a kernel of an earlier run and makes it a node, whatever its verdict: a wrong one is material.
    async fn take_seed(&mut self, seed: Seed) -> Flow<()> {
        let draft = self.draft_of(&seed.candidate)?;
        if self.graph.verdict(&draft.id).is_none()
            && let Err(reason) = self.evaluate(StepId::WARM_START, &draft).await?
        {
            self.remark(format!("the kernel of {} could not be evaluated: {reason}", seed.run));
        }
        let known = self.graph.seed_nodes().any(|node| node.candidate == seed.candidate);
        let Some(verdict) = self.graph.verdict(&draft.id).filter(|_| !known) else { return Ok(()) };
        let event = Event::NodeAdded {
            node: self.graph.next_node(),
            parent: None,
            step: StepId::WARM_START,
            candidate: seed.candidate,
            fitness: verdict.fitness(),
            status: verdict.verdict.status().to_owned(),
            summary: seed.summary,
        };
        self.record(event)?;
        Ok(self.keep_results()?)
    }
}
