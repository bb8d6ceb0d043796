//! What earlier runs proved, told to this one; and what this one proves, kept for later ones.
//!
//! The knowledge server keeps lessons; a run goes on without one that does. Its tools for that are never offered to the model: lessons are
//! made of verdicts, by the agent, at the end of a run. All calls can be repeated, and an event follows each, so that a kill at any point
//! neither loses a lesson nor counts one twice.

use kernelwright_prompts::LessonView;
use kernelwright_protocol::{Evidence, LessonQuery, LessonUse, Lessons, NewLesson, RatedLessons, RecordedLesson, Subject};
use kernelwright_search::{Attempt, Event, StepId, improved, operators, worth_keeping};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::EngineError;
use crate::render;
use crate::session::{Flow, Session};
use crate::store::LOG;
use crate::toolbox::{FIND_LESSONS, RATE_LESSONS, RECORD_LESSON};

/// How many lessons a step is told.
const LESSONS: u32 = 4;

/// How much of each, in characters.
const LESSON_CHARACTERS: usize = 1_200;

impl Session<'_> {
    /// What the problem is about; nothing before target and baselines are known.
    pub(crate) fn subject(&self) -> Result<Option<Subject>, EngineError> {
        let (Some(target), Some(report)) = (&self.graph.target, &self.graph.baseline) else { return Ok(None) };
        Ok(Some(Subject {
            operators: operators(&self.problem.source),
            inputs: report.inputs.clone(),
            backend: self.head()?.target.backend,
            arch: target.arch.clone(),
        }))
    }

    /// What earlier runs proved on similar problems, recorded as shown to the open step. The subject is the same in every step, so it is asked
    /// once a session.
    pub(crate) async fn recall(&mut self) -> Flow<Vec<LessonView>> {
        if self.recalled.is_none() {
            let Some(subject) = self.subject()? else { return Ok(vec![]) };
            self.recalled = self.ask_book::<Lessons>(FIND_LESSONS, &LessonQuery { subject, limit: Some(LESSONS) }).await?;
        }
        let Some(found) = self.recalled.take() else { return Ok(vec![]) };
        let step = self.open()?.id;
        let names: Vec<String> = found.lessons.iter().map(|lesson| lesson.lesson.clone()).collect();
        // A session that was killed before the first question of the step has recorded them already.
        if self.graph.lessons_shown(step) != names {
            self.record(Event::LessonsShown { step, lessons: names })?;
        }
        let view = |lesson: &kernelwright_protocol::FoundLesson| LessonView {
            lesson: lesson.lesson.clone(),
            why: lesson.why.clone(),
            used: match lesson.shown {
                0 => None,
                shown => Some(format!("helped {} of {shown} times", lesson.helped)),
            },
            text: render::shorten(lesson.text.trim(), LESSON_CHARACTERS),
        };
        let views = found.lessons.iter().map(view).collect();
        self.recalled = Some(found);
        Ok(views)
    }

    /// Keeps what this run proves, and says what the lessons it was shown were good for.
    pub(crate) async fn teach(&mut self) -> Flow<()> {
        let unrated: Vec<(StepId, Vec<String>)> = self.graph.unrated_steps().map(|(step, lessons)| (step, lessons.to_vec())).collect();
        for (step, lessons) in unrated {
            let helped = improved(&self.graph, step);
            let used = LessonUse { lessons: lessons.clone(), run: self.store.run_id().0, step: step.0, helped };
            if self.ask_book::<RatedLessons>(RATE_LESSONS, &used).await?.is_some() {
                self.record(Event::LessonsRated { step, lessons, helped })?;
            }
        }
        for new in self.new_lessons()? {
            let (candidate, parent) = (new.verdict.candidate.clone(), new.parent.as_ref().map(|parent| parent.candidate.clone()));
            if let Some(RecordedLesson { lesson, effect, .. }) = self.ask_book(RECORD_LESSON, &new).await? {
                self.record(Event::LessonRecorded { lesson, candidate, parent, effect })?;
            }
        }
        Ok(())
    }

    fn new_lessons(&self) -> Result<Vec<NewLesson>, EngineError> {
        let Some(subject) = self.subject()? else { return Ok(vec![]) };
        let file = self.store.dir().join(LOG).to_string_lossy().into_owned();
        let evidence = |attempt: &Attempt| Evidence { file: file.clone(), event: Some(attempt.seq), candidate: attempt.candidate.clone() };
        let lesson = |change: &kernelwright_search::Change<'_>| NewLesson {
            change: change.words.to_owned(),
            problem: self.problem.name.clone(),
            subject: subject.clone(),
            run: self.store.run_id().0,
            verdict: evidence(change.after),
            parent: change.before.map(evidence),
        };
        Ok(worth_keeping(&self.graph).iter().map(lesson).collect())
    }

    /// Asks the server that keeps lessons. Nothing is worth less than a run: what goes wrong is remarked on and is no error.
    async fn ask_book<T: DeserializeOwned>(&mut self, tool: &'static str, arguments: &impl Serialize) -> Flow<Option<T>> {
        if self.tools.find(tool).is_none() {
            return Ok(None);
        }
        let arguments: Map<String, Value> = match serde_json::to_value(arguments) {
            Ok(Value::Object(arguments)) => arguments,
            _ => return Ok(None),
        };
        match self.consult(tool, arguments).await? {
            Ok(answer) => Ok(Some(answer)),
            Err(reason) => {
                self.remark(format!("{tool}: {reason}"));
                Ok(None)
            }
        }
    }
}
