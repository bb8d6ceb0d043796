//! The tools for lessons, beside those for packs.

use kernelwright_protocol::{LessonQuery, LessonUse, Lessons, NewLesson, RatedLessons, RecordedLesson};
use kernelwright_server::ToolFailure;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{tool, tool_router};

use super::error::LessonError;
use super::{DEFAULT_LIMIT, LessonBook};
use crate::server::{Knowledge, within};

#[tool_router(router = lesson_tools, vis = "pub(crate)")]
impl Knowledge {
    /// Keep what verdicts prove about a change to a kernel, for later work on similar problems. The change is quoted in your words; its effect
    /// is read from the verdicts that you point at, and refused where they prove nothing. The same change measured again adds to its lesson.
    #[tool(
        title = "Record a lesson",
        annotations(read_only_hint = false, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn record_lesson(&self, Parameters(new): Parameters<NewLesson>) -> Result<Json<RecordedLesson>, ToolFailure> {
        let recorded = self.in_book(move |book| book.record(&new)).await?;
        self.refreshed().await?;
        Ok(recorded)
    }

    /// Find what earlier runs proved on similar problems: changes with their measured effects, failures included. The most similar come
    /// first; lessons that helped before move up.
    #[tool(
        title = "Find lessons",
        annotations(read_only_hint = true, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn find_lessons(&self, Parameters(query): Parameters<LessonQuery>) -> Result<Json<Lessons>, ToolFailure> {
        let limit = within(query.limit, DEFAULT_LIMIT, LessonQuery::MOST)?;
        self.in_book(move |book| book.find(&query.subject, limit)).await
    }

    /// Say what became of a kernel that was written with lessons in view. Lessons are ranked by it.
    #[tool(
        title = "Rate lessons",
        annotations(read_only_hint = false, destructive_hint = false, idempotent_hint = true, open_world_hint = false)
    )]
    async fn rate_lessons(&self, Parameters(used): Parameters<LessonUse>) -> Result<Json<RatedLessons>, ToolFailure> {
        self.in_book(move |book| book.rate(&used)).await
    }

    /// Works with files on a thread that may block.
    async fn in_book<T, F>(&self, work: F) -> Result<Json<T>, ToolFailure>
    where
        T: Send + 'static,
        F: FnOnce(&LessonBook) -> Result<T, LessonError> + Send + 'static,
    {
        let book = self.lessons.clone();
        match tokio::task::spawn_blocking(move || work(&book)).await {
            Ok(answer) => Ok(Json(answer?)),
            Err(error) => Err(ToolFailure::new("internal", format!("the work on lessons died: {error}"), "ask again")),
        }
    }
}
