//! The TOML at the head of an entry (between `+++`) and of an example (the same, behind `# `).

use kernelwright_protocol::{Bottleneck, EntryKind, Phase};
use serde::Deserialize;

use crate::pack::Evidence;
use crate::problem::Fault;

/// The keys of the front matter, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrontMatter {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) kind: Option<EntryKind>,
    #[serde(default)]
    pub(crate) languages: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) architectures: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) bottleneck: Option<Bottleneck>,
    #[serde(default)]
    pub(crate) phase: Option<Phase>,
    #[serde(default)]
    pub(crate) sources: Vec<String>,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(default)]
    pub(crate) problem: Option<String>,
    #[serde(default)]
    pub(crate) evidence: Vec<Evidence>,
    #[serde(default)]
    pub(crate) lesson: Option<toml::Table>,
}

/// Which way the front matter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Bare TOML between `+++`.
    Markdown,
    /// TOML in comments between `# +++`.
    Python,
}

impl Style {
    fn fence(self) -> &'static str {
        match self {
            Self::Markdown => "+++",
            Self::Python => "# +++",
        }
    }

    /// The TOML of one line.
    fn content(self, line: &str) -> &str {
        match self {
            Self::Markdown => line,
            Self::Python => line.strip_prefix('#').map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest)),
        }
    }
}

/// A fault and the line of the file it is on.
pub(crate) type Placed = (Option<u32>, Fault);

/// Splits a file into front matter and the line on which the rest begins, counted from 1.
pub(crate) fn split(text: &str, style: Style) -> Result<(FrontMatter, u32), Placed> {
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some(style.fence()) {
        return Err((Some(1), Fault::NoFrontMatter(style.fence())));
    }
    let mut toml = String::new();
    for (line, number) in lines.zip(2..) {
        if line.trim_end() == style.fence() {
            let front = parse(&toml, 1)?;
            return Ok((front, number + 1));
        }
        toml.push_str(style.content(line));
        toml.push('\n');
    }
    Err((Some(1), Fault::FrontMatterOpen(style.fence())))
}

/// Reads TOML that begins after `offset` lines of its file.
pub(crate) fn parse<T: for<'de> Deserialize<'de>>(toml: &str, offset: u32) -> Result<T, Placed> {
    toml::from_str(toml).map_err(|error| {
        let line = error.span().map(|span| {
            let before = toml.get(..span.start).unwrap_or(toml).matches('\n').count();
            offset + 1 + u32::try_from(before).unwrap_or(u32::MAX - offset - 1)
        });
        (line, Fault::Form(error.message().to_owned()))
    })
}
