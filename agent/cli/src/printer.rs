//! Where text goes: results to stdout, everything else to stderr, and quietly nowhere once the reader has left.
//!
//! Texts of candidates, problems and models come through here as well. Of control characters only line breaks, tabs and our own colours reach a
//! terminal: with others a text could move about on it and overwrite what was said of it.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Whether the process was started without a standard output. The standard library opens /dev/null in its place before `main`, where every result
/// would vanish without an error.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: the section holds pointers to functions of this form, which are called before `main`, while there is one thread. This one needs nothing that the
// standard library sets up.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

extern "C" fn look_at_stdout() {
    // SAFETY: the descriptor is only asked for; where there is none, that is the answer.
    let stdout = unsafe { BorrowedFd::borrow_raw(1) };
    let is_closed = stdout.try_clone_to_owned().is_err_and(|error| error.raw_os_error() == Some(EBADF));
    STDOUT_WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// "Bad file descriptor", by its number on Linux.
const EBADF: i32 = 9;

/// A role of text, not a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Bad,
    Careful,
    Strong,
    Faint,
}

impl Tone {
    const PAINTED: [Self; 5] = [Self::Good, Self::Bad, Self::Careful, Self::Strong, Self::Faint];

    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Good => AnsiColor::Green.on_default().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Careful => AnsiColor::Yellow.on_default(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
        }
    }
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
        quietly(write(&shown(&line.to_string(), self.colour && self.stdout_is_terminal)))
    }

    /// A text of somebody's, as it is, as a part of the result; on a terminal like any other.
    pub fn verbatim(self, text: &str) -> io::Result<()> {
        if self.stdout_is_terminal { self.result(text) } else { quietly(write(text)) }
    }

    /// A JSON value as a line of the result.
    pub fn json(self, value: &impl Serialize) -> io::Result<()> {
        quietly(self.try_json(value))
    }

    /// The same for callers who have something to save when nobody reads it any more.
    #[expect(clippy::unused_self, reason = "there is one way to print: through a printer")]
    pub fn try_json(self, value: &impl Serialize) -> io::Result<()> {
        write(&serde_json::to_string(value)?)
    }

    /// A line for people, unless they want quiet. A closed stderr is no reason to stop.
    pub fn say(self, line: impl fmt::Display) {
        if self.verbosity > Verbosity::Quiet {
            let _ = writeln!(io::stderr().lock(), "{}", self.shown_on_stderr(&line.to_string()));
        }
    }

    /// A line that even the quiet get.
    #[expect(clippy::unused_self, reason = "there is one way to print: through a printer")]
    pub fn error(self, text: impl fmt::Display) {
        let _ = writeln!(io::stderr().lock(), "{}", clean(&text.to_string()));
    }

    /// The text as `say` prints it, for who draws on the terminal.
    pub fn shown_on_stderr(self, text: &str) -> Cow<'_, str> {
        shown(text, self.colour && self.stderr_is_terminal)
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

fn write(line: &str) -> io::Result<()> {
    if STDOUT_WAS_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("the result cannot be printed: standard output is closed"));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn quietly(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(Exit::Unread.code().into()),
        other => other,
    }
}

fn paint(tone: Tone, text: &str, colour: bool) -> String {
    let text = clean(text);
    let style = tone.style();
    if colour && tone != Tone::Plain { format!("{style}{text}{style:#}") } else { text.into_owned() }
}

/// A text of somebody's without what a terminal would obey.
pub fn clean(text: &str) -> Cow<'_, str> {
    shown(text, false)
}

/// The same for a text in which our own colours may stand.
fn shown(text: &str, colour: bool) -> Cow<'_, str> {
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let styles = Tone::PAINTED.into_iter().filter(|_| colour).flat_map(|tone| [format!("{}", tone.style()), format!("{:#}", tone.style())]);
    let styles: Vec<String> = styles.collect();
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match styles.iter().find(|style| rest.starts_with(style.as_str())) {
            Some(style) => style.len(),
            None => first.len_utf8(),
        };
        match first {
            _ if taken > first.len_utf8() => kept.push_str(&rest[..taken]),
            // Half of a line break.
            '\r' if rest[taken..].starts_with('\n') => {}
            first if is_obeyed(first) => kept.push(char::REPLACEMENT_CHARACTER),
            first => kept.push(first),
        }
        rest = &rest[taken..];
    }
    Cow::Owned(kept)
}

/// So many of something.
pub fn counted(count: usize, what: &str) -> String {
    match (count, what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))) {
        (1, _) => format!("1 {what}"),
        (count, Some(stem)) => format!("{count} {stem}ies"),
        (count, None) => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_not_printed() {
        assert_eq!(clean("a line\n\tand another"), "a line\n\tand another");
        assert_eq!(clean("one\r\ntwo"), "one\ntwo");
        assert_eq!(clean("wrong\rcorrect, 99x"), "wrong\u{fffd}correct, 99x");
        assert_eq!(clean("\x1b[2J\u{9b}2J\x07\x7f\0"), "\u{fffd}[2J\u{fffd}2J\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn our_own_colours_are_printed_and_nothing_else_between_them() {
        let printer = Printer { colour: true, stderr_is_terminal: true, ..Printer::plain() };
        let painted = printer.on_stderr(Tone::Good, "fine\x1b[1A\x1b[0m");
        assert!(painted.starts_with("\x1b[") && painted.ends_with("fine\u{fffd}[1A\u{fffd}[0m\x1b[0m"), "{painted:?}");
        assert_eq!(printer.shown_on_stderr(&painted), painted);
        assert_eq!(printer.shown_on_stderr("\x1b[2J"), "\u{fffd}[2J");
        assert!(!Printer::plain().shown_on_stderr(&painted).contains('\x1b'), "where there are no colours, none are ours");
    }
}
