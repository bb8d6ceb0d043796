//! One setting's value: what it may be, and how it is read from a file, a variable or a flag.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words.
    Choices(&'static [&'static str]),
    /// A path; relative to the file that names it, else to the current folder.
    Path,
    /// Several paths.
    Paths,
    /// A whole number, at least 1.
    Count,
    /// A number above 0.
    Number,
    /// Yes or no.
    Flag,
    /// A time span.
    Duration,
    /// A table of the settings file; nowhere else.
    Table,
}

/// What a setting is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    Count(u64),
    Number(f64),
    Flag(bool),
    Duration(Duration),
    Table(toml::Table),
}

/// Where paths begin.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// The folder of the file that names them, else the current one.
    pub folder: &'a Path,
    /// What `~` stands for.
    pub home: Option<&'a Path>,
}

impl Base<'_> {
    /// The path that a text names. `~` is put in here because no shell does it in a file or behind a flag's `=`.
    pub fn path(self, text: &str) -> PathBuf {
        match (text.strip_prefix('~'), self.home) {
            (Some(""), Some(home)) => home.to_path_buf(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => self.folder.join(text),
        }
    }
}

impl Kind {
    /// What is expected, for messages.
    pub fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Choices(words) => format!("some of {}", words.join(", ")),
            Self::Path => "a path".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Count => "a whole number of 1 or more".to_owned(),
            Self::Number => "a number above 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Duration => "a time such as 90s, 15m or 1h30m".to_owned(),
            Self::Table => "a table".to_owned(),
        }
    }

    /// Reads what a flag or a variable says; `None` when it is not of this kind.
    pub fn read_text(self, text: &str, base: Base<'_>) -> Option<Value> {
        let text = text.trim();
        match self {
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Choices(_) => self.read_list(text.split(',').map(|word| word.trim().to_owned()).collect(), base),
            Self::Path => Some(Value::Path(base.path(text))),
            Self::Paths => Some(Value::Paths(text.split(':').filter(|path| !path.is_empty()).map(|path| base.path(path)).collect())),
            Self::Count => text.parse().ok().filter(|&n: &u64| n > 0).map(Value::Count),
            Self::Number => text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0).map(Value::Number),
            Self::Flag => text.parse().ok().map(Value::Flag),
            Self::Duration => parse_duration(text).map(Value::Duration),
            Self::Table => None,
        }
    }

    /// Reads what a settings file says.
    pub fn read_toml(self, value: &toml::Value, base: Base<'_>) -> Option<Value> {
        use toml::Value as Toml;
        match (self, value) {
            (Self::Table, Toml::Table(table)) => Some(Value::Table(table.clone())),
            (Self::Choices(_) | Self::Paths, Toml::Array(items)) => {
                let words: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                self.read_list(words?, base)
            }
            (Self::Text | Self::Choice(_) | Self::Path | Self::Duration, Toml::String(text)) => self.read_text(text, base),
            (Self::Count | Self::Number | Self::Duration, Toml::Integer(number)) => self.read_text(&number.to_string(), base),
            (Self::Number, Toml::Float(number)) => self.read_text(&number.to_string(), base),
            (Self::Flag, Toml::Boolean(flag)) => Some(Value::Flag(*flag)),
            _ => None,
        }
    }

    fn read_list(self, items: Vec<String>, base: Base<'_>) -> Option<Value> {
        match self {
            Self::Choices(words) => {
                let known = !items.is_empty() && items.iter().all(|item| words.contains(&item.as_str()));
                known.then_some(Value::List(items))
            }
            Self::Paths => Some(Value::Paths(items.iter().map(|item| base.path(item)).collect())),
            _ => None,
        }
    }
}

/// As it would be written on the command line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::List(words) => f.write_str(&words.join(",")),
            Self::Path(path) => path.display().fmt(f),
            Self::Paths(paths) => f.write_str(&paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(":")),
            Self::Count(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Duration(duration) => f.write_str(&show_duration(*duration)),
            // See `to_toml`.
            Self::Table(table) => write!(f, "{{{}}}", table.keys().map(String::as_str).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl Value {
    /// As a settings file would say it. Of a table only the members' names: it may hold headers, and headers may be keys.
    pub fn to_toml(&self) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        match self {
            Self::Text(text) => quoted(text),
            Self::Path(path) => quoted(&path.display().to_string()),
            Self::Duration(duration) => quoted(&show_duration(*duration)),
            Self::List(words) => toml::Value::from(words.clone()).to_string(),
            Self::Paths(paths) => toml::Value::from(paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()).to_string(),
            Self::Count(_) | Self::Number(_) | Self::Flag(_) | Self::Table(_) => self.to_string(),
        }
    }

    /// The same for programs.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::List(words) => json!(words),
            Self::Paths(paths) => json!(paths),
            Self::Count(number) => json!(number),
            Self::Number(number) => json!(number),
            Self::Flag(flag) => json!(flag),
            Self::Table(table) => json!(table.keys().collect::<Vec<_>>()),
            Self::Text(_) | Self::Path(_) | Self::Duration(_) => json!(self.to_string()),
        }
    }
}

/// Reads `90`, `90s`, `15m`, `1h30m` or `500ms`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let seconds = |unit: u64| number.checked_mul(unit).map(Duration::from_secs);
        let part = match &rest[..unit] {
            "ms" => Some(Duration::from_millis(number)),
            "s" => seconds(1),
            "m" => seconds(60),
            "h" => seconds(3600),
            "d" => seconds(86_400),
            _ => None,
        }?;
        total = total.checked_add(part)?;
        rest = &rest[unit..];
    }
    (!total.is_zero()).then_some(total)
}

/// The form that [`parse_duration`] reads, in the largest units that fit.
pub fn show_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    for (unit, name) in [(3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")] {
        if rest >= unit {
            parts.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_as_shown() {
        for (text, seconds, shown) in
            [("90", 90.0, "1m30s"), ("90s", 90.0, "1m30s"), ("15m", 900.0, "15m"), ("1h30m", 5400.0, "1h30m"), ("0.5", 0.5, "500ms")]
        {
            let duration = parse_duration(text).unwrap();
            assert_eq!((duration.as_secs_f64(), show_duration(duration).as_str()), (seconds, shown));
            assert_eq!(parse_duration(shown), Some(duration));
        }
        for wrong in ["", "0", "-1", "5 m", "m5", "5x", "1h30", "inf"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }
}
