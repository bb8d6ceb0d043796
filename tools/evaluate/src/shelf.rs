//! What is kept between evaluations: loaded problems per target.

use std::time::Duration;

use kernelwright_protocol::ProblemId;

use crate::problem::Problem;

/// How many problems stay loaded per target. Each holds its inputs, its state and a compiled baseline.
const PROBLEMS: usize = 2;

/// How long workers are kept without work.
pub(crate) const IDLE: Duration = Duration::from_secs(600);

/// What a loaded problem depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) problem: ProblemId,
    pub(crate) tf32: bool,
}

/// The loaded problems of one target, the most recently used last. Holding its lock is having the target to oneself.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    problems: Vec<(Key, Problem)>,
}

impl Shelf {
    /// Takes a problem out. Whoever is cancelled while using it drops it, and with it a worker in an unknown state.
    pub(crate) fn take(&mut self, key: &Key) -> Option<Problem> {
        let position = self.problems.iter().position(|(known, _)| known == key)?;
        Some(self.problems.remove(position).1)
    }

    /// Puts a problem back, in the place of the one that was not used for longest.
    pub(crate) fn put(&mut self, key: Key, problem: Problem) {
        if self.problems.len() >= PROBLEMS {
            self.problems.remove(0);
        }
        self.problems.push((key, problem));
    }

    /// Whether problems beside this one stay loaded, with memory of the target.
    pub(crate) fn holds_others(&self, key: &Key) -> bool {
        self.problems.iter().any(|(known, _)| known != key)
    }

    /// Ends every problem, and waits until their memory is free.
    pub(crate) async fn end_all(&mut self) {
        for (_, problem) in self.problems.drain(..) {
            problem.end().await;
        }
    }

    /// Makes room before another problem is loaded.
    pub(crate) async fn make_room(&mut self) {
        if self.problems.len() >= PROBLEMS {
            self.problems.remove(0).1.end().await;
        }
    }

    /// Has those that wait here give back memory that they only keep for their next evaluation.
    pub(crate) async fn rest(&mut self) {
        for (_, problem) in &mut self.problems {
            problem.rest().await;
        }
    }

    /// Ends every worker.
    pub(crate) fn clear(&mut self) {
        self.problems.clear();
    }
}
