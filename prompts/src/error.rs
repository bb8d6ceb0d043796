//! What can be wrong with a template.

use std::io;
use std::path::PathBuf;

/// A prompt could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The user's folder of templates, or a file in it, cannot be read.
    #[error("cannot read the templates in {}: {source}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A template is not well-formed.
    #[error("{origin}:{line}: {reason}")]
    Syntax {
        /// The template's file, or its name when it is built in.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A template speaks of something that its context does not have.
    #[error("{origin}:{line}: there is no `{variable}` in the context of this template")]
    Missing {
        /// The template's file, or its name when it is built in.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// What is not there.
        variable: String,
    },
    /// A template is well-formed and cannot be rendered.
    #[error("{origin}:{line}: cannot be rendered: {reason}")]
    Render {
        /// The template's file, or its name when it is built in.
        origin: String,
        /// The line, counted from 1.
        line: usize,
        /// Why.
        reason: String,
    },
}

impl PromptError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "check `paths.prompts` in the settings; without it the built-in templates are used",
            Self::Missing { .. } => "compare with the built-in template of the same name: it may have changed since yours was copied",
            Self::Syntax { .. } | Self::Render { .. } => "correct the template, or remove it to use the built-in one of the same name",
        }
    }
}
