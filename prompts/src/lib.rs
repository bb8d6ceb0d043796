//! Prompt templates as files, their typed contexts and a strict renderer.
//!
//! The templates of `templates/` are embedded. A user's folder may hold files of the same names, which replace them one by one, and other
//! files which those include. The language is minijinja's; a variable that the context does not have is an error, never an empty string.
//!
//! The crate knows no model and no search graph: whoever asks for a prompt says what is known, in the words of [`context`](crate::Context).

mod context;
mod error;
mod renderer;

pub use context::{
    BaselineView, Context, DiagnosisView, FactView, FailureView, FloorView, Form, KernelTimeView, KernelView, LessonView, LineageView,
    NudgeContext, OperatorContext, PassageView, ProblemView, ProfileView, SeedView, SystemContext, TargetView,
};
pub use error::PromptError;
pub use renderer::Prompts;
