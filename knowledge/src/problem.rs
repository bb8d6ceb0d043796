//! What can be wrong with a pack, each with its place.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// One thing wrong with a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the user would open it.
    pub path: String,
    /// The line, counted from 1, where there is one.
    pub line: Option<u32>,
    /// What is wrong there.
    pub fault: Fault,
}

impl Problem {
    /// The same problem of a pack that lies elsewhere.
    pub(crate) fn moved(mut self, from: &str, to: &str) -> Self {
        let elsewhere = |path: &mut String| {
            if let Some(inside) = path.strip_prefix(from) {
                *path = format!("{to}{inside}");
            }
        };
        elsewhere(&mut self.path);
        if let Fault::NearDuplicate { other, .. } = &mut self.fault {
            elsewhere(other);
        }
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.fault),
            None => write!(f, "{}: {}", self.path, self.fault),
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The file is larger than any text a pack may hold.
    #[error("{bytes} bytes are more than a pack's file may have ({limit})")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// The file is no text.
    #[error("not UTF-8, at byte {byte}")]
    NotUtf8 {
        /// The first wrong byte's place in the file, counted from 0.
        byte: usize,
    },
    /// The manifest or the front matter cannot be read as TOML of the right form.
    #[error("{0}")]
    Form(String),
    /// The front matter is missing.
    #[error("no front matter: the first line has to be `{0}`")]
    NoFrontMatter(&'static str),
    /// The front matter does not end.
    #[error("the front matter is not closed with a line `{0}`")]
    FrontMatterOpen(&'static str),
    /// An identifier that is none.
    #[error("`{0}` is no name: use lower-case letters, digits and `-`, beginning with a letter or digit")]
    Name(String),
    /// The id of a pack that everyone has.
    #[error("`{0}` is the id of a built-in pack, beside which this one cannot be installed: choose another")]
    BuiltInId(String),
    /// A platform name that is none.
    #[error("`{0}` is no platform name: use lower-case letters, digits, `_`, `-` and `.`")]
    Platform(String),
    /// Two files claim the same name.
    #[error("the name `{name}` is taken by {other}")]
    DuplicateName {
        /// The name.
        name: String,
        /// The other file.
        other: String,
    },
    /// Two entries have the same title.
    #[error("the title is that of {0}")]
    DuplicateTitle(String),
    /// The title is empty or does not fit a line.
    #[error("the title has {0} characters; 1 to 100 are allowed")]
    Title(usize),
    /// No source is given.
    #[error("no source: say where the facts come from")]
    NoSource,
    /// A source that leads nowhere.
    #[error("`{0}` is no source: give an https:// address, a document with its chapter or section, or a file of the pack's documents/")]
    Source(String),
    /// A tag that the pack does not know.
    #[error("the tag `{0}` is not listed in pack.toml")]
    Tag(String),
    /// Nothing to read.
    #[error("no text")]
    Empty,
    /// Too much to read.
    #[error("{characters} characters; at most {limit} are allowed: split it")]
    TooLong {
        /// How many there are.
        characters: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A code block that swallows the rest of the entry.
    #[error("the code fence is never closed")]
    FenceOpen,
    /// The title once more.
    #[error("a first-level heading: the title is the heading, begin with `##`")]
    TopHeading,
    /// The example cannot be Python.
    #[error("no valid Python: {0}")]
    Python(&'static str),
    /// Only examples are kernels, and `kind` is not theirs to say.
    #[error("an example says no kind: it is an example")]
    ExampleKind,
    /// A document has no front matter, and what has one is none.
    #[error("an entry is no document: texts without front matter lie in documents/")]
    DocumentKind,
    /// Two texts say the same.
    #[error("says nearly the same as {other}: {percent} % of it; keep one of them")]
    NearDuplicate {
        /// The other file.
        other: String,
        /// How much of the shorter one is in the other.
        percent: u32,
    },
    /// Something is still to be written.
    #[error("still to be filled in")]
    Placeholder,
    /// An example that the evaluator cannot take.
    #[error("no class `ModelNew`: an example is what the evaluator runs")]
    NoModelNew,
    /// An example that solves nothing.
    #[error("no problem: say which file of problems/ the kernel solves")]
    NoProblem,
    /// An example that nobody tried.
    #[error("no evidence: say what was found by running or compiling it")]
    NoEvidence,
    /// A problem that is not there.
    #[error("there is no {0} in the pack")]
    DanglingProblem(String),
    /// A problem file that the evaluator cannot take.
    #[error("a problem defines `Model`, `get_inputs` and `get_init_inputs`; `{0}` is missing")]
    ProblemForm(&'static str),
    /// A problem that no example solves.
    #[error("no example solves it")]
    UnusedProblem,
    /// Only examples solve problems.
    #[error("only an example has a problem")]
    ProblemOfText,
    /// A kernel in Markdown is no example.
    #[error("an example is a Python file in examples/")]
    MarkdownExample,
    /// A document that cannot be read.
    #[error("{0}")]
    Document(String),
    /// What was measured belongs to lessons, and to nothing else.
    #[error("an entry of kind `lesson` has a [lesson] table, and no other entry has")]
    LessonTable,
    /// The pack has no manifest or no content.
    #[error("a pack without entries and documents")]
    NoEntries,
}

/// A folder cannot be used as a pack.
#[derive(Debug, Error)]
pub enum PackError {
    /// The system refused.
    #[error("cannot read {path}")]
    Io {
        /// What was read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no pack.
    #[error("no pack.toml in {0} or in a folder directly below it")]
    NoPack(PathBuf),
    /// Files that cannot be understood.
    #[error("the pack {root} cannot be read:{}", listed(problems))]
    Broken {
        /// The pack's folder.
        root: String,
        /// Why not.
        problems: Vec<Problem>,
    },
}

impl PackError {
    /// The same error of a pack that lies elsewhere.
    pub(crate) fn moved(self, from: &str, to: &str) -> Self {
        match self {
            Self::Broken { problems, .. } => {
                Self::Broken { root: to.to_owned(), problems: problems.into_iter().map(|problem| problem.moved(from, to)).collect() }
            }
            other => other,
        }
    }

    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path and its permissions",
            Self::NoPack(_) => "name the folder that holds pack.toml",
            Self::Broken { .. } => {
                "correct the lines named; `kernelwright knowledge new NAME` writes a pack of the right form to compare with"
            }
        }
    }
}

/// The first problems, for a message that still fits a screen.
fn listed(problems: &[Problem]) -> String {
    const SHOWN: usize = 5;
    let mut lines: Vec<String> = problems.iter().take(SHOWN).map(|problem| format!("\n  {problem}")).collect();
    if problems.len() > SHOWN {
        lines.push(format!("\n  and {} more", problems.len() - SHOWN));
    }
    lines.concat()
}
