//! Where text goes: results to stdout, everything else to stderr, and quietly nowhere once the reader has left.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use crate::environment::Environment;
use crate::exit::Exit;

/// How much is said beside the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    Quiet,
    Normal,
    Verbose,
    Everything,
}

/// What the terminal is like.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    pub verbosity: Verbosity,
    /// Whether a person watches stderr.
    pub stderr_is_terminal: bool,
    /// Whether results and progress would mix on one screen.
    pub stdout_is_terminal: bool,
    colour: bool,
}

/// A role of text, not a colour.
#[derive(Clone, Copy, Debug)]
pub enum Tone {
    Plain,
    Good,
    Bad,
    Careful,
    Strong,
    Faint,
}

impl Printer {
    pub fn new(environment: &Environment, verbosity: Verbosity) -> Self {
        Self {
            verbosity,
            stderr_is_terminal: io::stderr().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            colour: environment.allows_colour(),
        }
    }

    /// For neither terminal nor colours.
    #[cfg(test)]
    pub fn plain() -> Self {
        Self { verbosity: Verbosity::Normal, stderr_is_terminal: false, stdout_is_terminal: false, colour: false }
    }

    /// A line of the result. Ends the process quietly when nobody reads it any more.
    pub fn result(self, line: impl fmt::Display) -> io::Result<()> {
        match self.try_result(line) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(Exit::Success.code().into()),
            other => other,
        }
    }

    /// A line of the result, for callers who have something to save when nobody reads it any more.
    #[expect(clippy::unused_self, reason = "there is one way to print: through a printer")]
    pub fn try_result(self, line: impl fmt::Display) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// A JSON value as a line of the result.
    pub fn json(self, value: &impl Serialize) -> io::Result<()> {
        self.result(serde_json::to_string(value)?)
    }

    /// A line for people, unless they want quiet. A closed stderr is no reason to stop.
    pub fn say(self, line: impl fmt::Display) {
        if self.verbosity > Verbosity::Quiet {
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }

    /// A line that even the quiet get.
    #[expect(clippy::unused_self, reason = "there is one way to print: through a printer")]
    pub fn error(self, text: impl fmt::Display) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Text in a tone, if stderr shows tones.
    pub fn on_stderr(self, tone: Tone, text: &str) -> String {
        paint(tone, text, self.colour && self.stderr_is_terminal)
    }

    /// Text in a tone, if stdout shows tones.
    pub fn on_stdout(self, tone: Tone, text: &str) -> String {
        paint(tone, text, self.colour && self.stdout_is_terminal)
    }
}

fn paint(tone: Tone, text: &str, colour: bool) -> String {
    let style = match tone {
        Tone::Plain => return text.to_owned(),
        Tone::Good => AnsiColor::Green.on_default().bold(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Careful => AnsiColor::Yellow.on_default(),
        Tone::Strong => Style::new().bold(),
        Tone::Faint => Style::new().dimmed(),
    };
    if colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// So many of something.
pub fn counted(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))) {
        (1, _) => format!("1 {what}"),
        (count, Some(stem)) => format!("{count} {stem}ies"),
        (count, None) => format!("{count} {what}s"),
    }
}
