//! How a graph takes in events.

use kernelwright_protocol::Nanoseconds;

use super::{Attempt, Call, Graph, Node, Note, OpenStep, Profiled, Returned, RunHead, Standing, StepRecord, Turn, WarmStart};
use crate::{Event, Record, StepId};

/// The events do not fit together: the log is not one run's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// An event is missing, doubled or out of order.
    #[error("event {found} follows event {last}")]
    Gap {
        /// The last number in order.
        last: u64,
        /// The number that came instead of the next one.
        found: u64,
    },
    /// The first event is not the start of a run.
    #[error("event 1 does not start a run")]
    NoStart,
    /// An event speaks of a step, question or call that is not open.
    #[error("event {seq} belongs to nothing that is open at that point")]
    Stray {
        /// Which event.
        seq: u64,
    },
}

impl Graph {
    /// Folds a whole run.
    pub fn fold<'a>(records: impl IntoIterator<Item = &'a Record>) -> Result<Self, GraphError> {
        let mut graph = Self::default();
        for record in records {
            graph.apply(record)?;
        }
        Ok(graph)
    }

    /// Takes in the next event.
    pub fn apply(&mut self, record: &Record) -> Result<(), GraphError> {
        if record.seq != self.last_seq + 1 {
            return Err(GraphError::Gap { last: self.last_seq, found: record.seq });
        }
        if self.head.is_none() && !matches!(record.event, Event::RunStarted { .. }) {
            return Err(GraphError::NoStart);
        }
        self.last_seq = record.seq;
        if matches!(record.event, Event::ProfileTaken { .. } | Event::ProfileFailed { .. }) {
            // Nothing else happens between asking for a profile and its answer.
            self.profiling += Nanoseconds(record.elapsed_ns.0.saturating_sub(self.spend.wall.0));
        }
        self.spend.wall = record.elapsed_ns;
        self.take(record).ok_or(GraphError::Stray { seq: record.seq })
    }

    /// `None` for an event that belongs to nothing open.
    fn take(&mut self, record: &Record) -> Option<()> {
        match record.event.clone() {
            Event::RunStarted { run, problem, target, settings, versions } => {
                self.head = Some(RunHead { run, problem, target, settings, started: record.at.clone(), versions });
            }
            Event::ModelProbed { usage, cost } => {
                self.probed = true;
                self.spend.used(usage, cost);
            }
            Event::TargetDescribed { description } => self.target = Some(*description),
            Event::BaselineMeasured { report } => self.baseline = Some(*report),
            Event::ProfileTaken { node, profile } => {
                self.profiles.insert(node, Profiled::Taken(profile));
            }
            Event::ProfileFailed { node, reason } => {
                self.profiles.insert(node, Profiled::Failed(reason));
            }
            Event::StepStarted { step, parent, phase } => {
                self.steps.push(StepRecord { id: step, parent, phase, turns: 0, node: None });
                self.open = Some(OpenStep { id: step, parent, phase, turns: vec![], node: None });
            }
            Event::ModelAsked { ask, request_hash, .. } => {
                self.asks += 1;
                self.open.as_mut()?.turns.push(Turn { ask, request_hash, answer: None, calls: vec![], nudge: None });
            }
            Event::ModelAnswered { ask, answer, usage, cost } => {
                self.spend.used(usage, cost);
                self.spend.answers += 1;
                self.steps.last_mut()?.turns += 1;
                self.open_turn(|turn| turn.ask == ask)?.answer = Some(answer);
            }
            Event::ModelNudged { text, .. } => self.open_turn(|_| true)?.nudge = Some(text),
            Event::ToolCalled { index, call_id, tool, arguments, .. } => {
                self.open_turn(|_| true)?.calls.push(Call { index, call_id, tool, arguments, returned: None });
            }
            Event::ToolReturned { index, text, is_error, structured, .. } => {
                let call = self.open_turn(|_| true)?.calls.iter_mut().find(|call| call.index == index)?;
                call.returned = Some(Returned { text, is_error, structured });
            }
            Event::CandidateEvaluated { step, candidate, evaluation } => {
                self.spend.evaluations += 1;
                self.spend.evaluating += evaluation.wall_ns;
                let standing = Standing::of(&evaluation);
                if standing > self.best().map_or(Standing::Wrong, |best| Standing::of(&best.evaluation)) {
                    self.best = Some(self.attempts.len());
                    self.best_since = if step == StepId::WARM_START { 0 } else { self.spend.steps + 1 };
                }
                self.verdicts.insert(candidate.clone(), self.attempts.len());
                self.attempts.push(Attempt { seq: record.seq, step, candidate, evaluation: *evaluation });
            }
            Event::NoteTaken { step, text } => self.notes.push(Note { step, text }),
            Event::NodeAdded { node, parent, step, candidate, fitness, status, summary } => {
                if step != StepId::WARM_START {
                    self.open.as_mut()?.node = Some(node);
                }
                self.nodes.push(Node { id: node, parent, step, candidate, fitness, status, summary });
            }
            Event::StepFinished { node, .. } => {
                self.open.take()?;
                self.steps.last_mut()?.node = node;
                self.spend.steps += 1;
            }
            Event::WarmStart { runs, seeds } => self.warm_start = Some(WarmStart { runs, seeds }),
            Event::LessonsShown { step, lessons } => {
                self.shown.insert(step, lessons);
            }
            Event::LessonRecorded { candidate, .. } => {
                self.taught.insert(candidate);
            }
            Event::LessonsRated { step, .. } => {
                self.rated.insert(step);
            }
            Event::RunPaused { reason } => self.paused = Some(reason),
            Event::RunResumed { settings } => {
                self.head.as_mut()?.settings = settings;
                (self.paused, self.finished) = (None, None);
            }
            Event::RunFinished { outcome, reason } => self.finished = Some((outcome, reason)),
            Event::ToolServerStarted { server, version } => {
                self.head.as_mut()?.versions.insert(server, version);
            }
            Event::ToolServerRestarted { .. } | Event::Unknown => {}
        }
        Some(())
    }

    fn open_turn(&mut self, is_it: impl Fn(&Turn) -> bool) -> Option<&mut Turn> {
        self.open.as_mut()?.turns.last_mut().filter(|turn| is_it(turn))
    }
}
