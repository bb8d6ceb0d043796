//! Keys: where they come from, and how they are kept out of everything people and files see.
//!
//! The only module that reads environment variables. A key can be used ([`Secret::expose`]) and searched for ([`Mask`]), but not
//! printed, serialised or compared.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::MissingKey;

/// What stands in a text where a key was.
const REDACTED: &str = "[redacted]";

/// Parts of header names whose values are secret even when they stand in the settings in the clear.
const SECRET_NAMES: [&str; 6] = ["key", "token", "secret", "auth", "cookie", "password"];

/// A text that must not be shown.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Where a key is to be found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// In this environment variable.
    Env(String),
    /// In this file, alone.
    File(PathBuf),
}

/// What a secret may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A key: no white space inside.
    Word,
    /// A header's value, e.g. `Bearer ...`.
    Line,
}

impl KeySource {
    pub(crate) fn read(&self, shape: Shape) -> Result<Secret, MissingKey> {
        match self {
            Self::Env(variable) => from_env(variable, shape),
            Self::File(path) => from_file(path, shape),
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(variable) => write!(f, "environment variable {variable}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}

/// What an extra header says.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum HeaderSource {
    /// This.
    Plain(String),
    /// A secret from elsewhere.
    Secret(KeySource),
}

impl fmt::Debug for HeaderSource {
    /// Without the name it cannot be known whether a plain value is secret, so it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain(..)"),
            Self::Secret(source) => write!(f, "Secret({source:?})"),
        }
    }
}

/// Whether a header of this name carries a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

fn from_env(variable: &str, shape: Shape) -> Result<Secret, MissingKey> {
    let bad = |reason| MissingKey::BadVariable { variable: variable.to_owned(), reason };
    match std::env::var(variable) {
        Ok(text) => usable(&text, shape).map_err(bad),
        Err(std::env::VarError::NotPresent) => Err(MissingKey::Variable { variable: variable.to_owned() }),
        Err(std::env::VarError::NotUnicode(_)) => Err(bad("it is not ASCII")),
    }
}

fn from_file(path: &Path, shape: Shape) -> Result<Secret, MissingKey> {
    let bad = |reason: String| MissingKey::File { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    usable(&text, shape).map_err(|reason| bad(reason.to_owned()))
}

/// Keys are pasted, so surrounding white space is not meant; anything inside that no header can hold is a mistake better named here.
fn usable(text: &str, shape: Shape) -> Result<Secret, &'static str> {
    let text = text.trim();
    let is_space = |c: char| c.is_whitespace() && !(shape == Shape::Line && c == ' ');
    if text.is_empty() {
        Err("it is empty")
    } else if text.contains(is_space) {
        Err("it has white space inside")
    } else if !text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        Err("it is not ASCII")
    } else {
        Ok(Secret::new(text))
    }
}

/// Replaces known secrets in texts from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask {
    secrets: Vec<Secret>,
}

impl Mask {
    pub(crate) fn new(secrets: Vec<Secret>) -> Self {
        Self { secrets: secrets.into_iter().filter(|secret| !secret.expose().is_empty()).collect() }
    }

    /// The text without any secret, nor a part of one that a server left when it shortened or starred it.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.expose(), REDACTED);
        }
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(is_boundary) {
            let word = piece.trim_end_matches(is_boundary);
            if self.secrets.iter().any(|secret| is_part(word, secret.expose())) {
                out.push_str(REDACTED);
                out.push_str(&piece[word.len()..]);
            } else {
                out.push_str(piece);
            }
        }
        out
    }
}

fn is_boundary(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '(' | ')' | '<' | '>' | '{' | '}')
}

/// Whether a word shows enough of a secret to be told as one: its beginning, or its end behind stars or dots.
fn is_part(word: &str, secret: &str) -> bool {
    const SHOWN: usize = 6;
    const ENDING: usize = 4;
    if secret.len() < 2 * SHOWN || !secret.is_ascii() {
        return false;
    }
    let starred = word.contains("**") || word.contains("...") || word.contains('…');
    word.contains(&secret[..SHOWN])
        || word.contains(&secret[secret.len() - 2 * SHOWN..])
        || (starred && word.contains(&secret[secret.len() - ENDING..]))
}

#[cfg(test)]
mod tests {
    use super::{KeySource, Mask, Secret, Shape, is_secret_name};

    const KEY: &str = "sk-proj-Abc123def456GHI789jkl";

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(Mask::new(vec![Secret::new(KEY)]).apply(text), expect);
    }

    #[test]
    fn keys_and_what_is_left_of_them_are_masked() {
        check("nothing to hide", "nothing to hide");
        check(&format!("wrong key {KEY}."), "wrong key [redacted].");
        check(&format!(r#"{{"k":"{KEY}"}}"#), r#"{"k":"[redacted]"}"#);
        check("Incorrect API key provided: sk-proj-********************9jkl. See", "Incorrect API key provided: [redacted] See");
        check("key ********9jkl is not valid", "key [redacted] is not valid");
        check("Bearer sk-proj-Abc1 (shortened)", "Bearer [redacted] (shortened)");
        check("ends in 456GHI789jkl", "ends in [redacted]");
        check("a word with … and nothing else", "a word with … and nothing else");
    }

    #[test]
    fn a_short_secret_is_masked_only_as_a_whole() {
        assert_eq!(Mask::new(vec![Secret::new("desk")]).apply("the desk says: deskt"), "the [redacted] says: [redacted]t");
    }

    #[test]
    fn a_secret_cannot_be_printed() {
        let secret = Secret::new(KEY);
        assert_eq!(format!("{secret} {secret:?}"), "[redacted] [redacted]");
    }

    #[test]
    fn a_key_file_may_end_with_a_newline_and_holds_one_word() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let read = |content: &str| {
            std::fs::write(&path, content).unwrap();
            KeySource::File(path.clone()).read(Shape::Word).map(|secret| secret.expose().to_owned()).map_err(|error| error.to_string())
        };
        assert_eq!(read("abc\n").unwrap(), "abc");
        assert!(read("").unwrap_err().ends_with("holds no key: it is empty"));
        assert!(read("OPENAI_API_KEY = abc").unwrap_err().ends_with("holds no key: it has white space inside"));
    }

    #[test]
    fn names_of_secret_headers() {
        assert!(is_secret_name("X-Api-Key") && is_secret_name("Authorization") && is_secret_name("X-Session-Token"));
        assert!(!is_secret_name("X-Team"));
    }
}
