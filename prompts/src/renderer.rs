//! The built-in templates, the user's over them, and rendering without forgiveness.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};

use crate::{Context, PromptError};

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// Every template, read and parsed.
#[derive(Debug)]
pub struct Prompts {
    environment: Environment<'static>,
    folder: Option<PathBuf>,
    overridden: BTreeSet<String>,
}

impl Prompts {
    /// Reads the built-in templates and, where a folder is named, the `.md` files in it, which come first.
    pub fn new(folder: Option<&Path>) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(syntax());
        // Costs time only when an error arises, and then tells which variable was missing.
        environment.set_debug(true);
        // Prompts are plain text, whatever a file's name ends in.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let mut prompts = Self { environment, folder: folder.map(Path::to_path_buf), overridden: BTreeSet::new() };
        if let Some(folder) = folder {
            for (name, text) in read_folder(folder)? {
                prompts.overridden.insert(name.clone());
                prompts.add(name, text)?;
            }
        }
        for (name, text) in Self::built_in() {
            if !prompts.overridden.contains(name) {
                prompts.add(name.to_owned(), text.to_owned())?;
            }
        }
        Ok(prompts)
    }

    /// The built-in templates: file name and text.
    pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUILT_IN.files().filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?)))
    }

    /// The names of the user's templates, those that replace a built-in one and those that are only included.
    pub fn overridden(&self) -> impl Iterator<Item = &str> {
        self.overridden.iter().map(String::as_str)
    }

    /// Renders the template that belongs to this context. The text ends without a line break.
    pub fn render<C: Context>(&self, context: &C) -> Result<String, PromptError> {
        let template = self.environment.get_template(C::TEMPLATE).map_err(|error| self.failure(&error))?;
        let text = template.render(Serde(context)).map_err(|error| self.failure(&error))?;
        Ok(text.trim_end().to_owned())
    }

    fn add(&mut self, name: String, text: String) -> Result<(), PromptError> {
        self.environment.add_template_owned(name, text).map_err(|error| self.failure(&error))
    }

    /// An error in an included template is reported there, not at the `include`.
    fn failure(&self, error: &minijinja::Error) -> PromptError {
        let mut error = error;
        while let Some(inner) = error.source().and_then(|source| source.downcast_ref::<minijinja::Error>()) {
            error = inner;
        }
        let name = error.name().unwrap_or("template");
        let origin = match &self.folder {
            Some(folder) if self.overridden.contains(name) => folder.join(name).display().to_string(),
            _ => name.to_owned(),
        };
        let line = error.line().unwrap_or(1);
        let reason = error.detail().map_or_else(|| error.kind().to_string(), ToOwned::to_owned);
        match error.kind() {
            ErrorKind::SyntaxError => PromptError::Syntax { origin, line, reason },
            ErrorKind::UndefinedError => PromptError::Missing { origin, line, variable: variable(error, reason) },
            _ => PromptError::Render { origin, line, reason },
        }
    }
}

/// Tags on lines of their own leave no trace.
fn syntax() -> SyntaxConfig {
    // Fails for conflicting delimiters only; these are the usual ones.
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default()
}

/// The expression that came to nothing, as it stands in the template; the library's own words where it does not say.
fn variable(error: &minijinja::Error, reason: String) -> String {
    let expression = error.range().and_then(|range| error.template_source()?.get(range).map(str::trim));
    expression.filter(|text| !text.is_empty() && !text.contains('\n')).map_or(reason, ToOwned::to_owned)
}

fn read_folder(folder: &Path) -> Result<Vec<(String, String)>, PromptError> {
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |source| PromptError::Unreadable { path, source }
    };
    let mut templates = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).filter(|name| Path::new(name).extension().is_some_and(|e| e == "md"));
        if let Some(name) = name {
            templates.push((name.to_owned(), fs::read_to_string(&path).map_err(unreadable(&path))?));
        }
    }
    Ok(templates)
}
