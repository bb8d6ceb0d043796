//! Knowledge packs: looking things up in them, and having some of one's own.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use kernelwright_protocol::{Bottleneck, EntryKind, Phase};

use super::{examples, put};
use crate::settings::Flags;

#[derive(Debug, Args)]
pub struct Knowledge {
    #[command(subcommand)]
    pub verb: KnowledgeVerb,
    /// Where installed packs lie [default: $XDG_DATA_HOME/kernelwright/packs]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub home: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum KnowledgeVerb {
    /// Print the passages that fit a query best
    #[command(after_long_help = examples::KNOWLEDGE_SEARCH_EXAMPLES)]
    Search(Search),
    /// Print an entry or a document
    Read {
        /// Its id, as `search` prints it: PACK/ENTRY or PACK/PATH
        entry: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the packs: built in, installed, and in folders that the settings name
    List {
        /// Print one JSON object per pack
        #[arg(long)]
        json: bool,
    },
    /// Install a pack, or documents as a pack
    #[command(after_long_help = examples::KNOWLEDGE_ADD_EXAMPLES)]
    Add(Add),
    /// Fetch an installed pack again from where it came from
    Update {
        /// The pack's id; all that can be fetched when none is given
        id: Option<String>,
        /// Print one JSON object per pack
        #[arg(long)]
        json: bool,
    },
    /// Take an installed pack away
    Remove {
        /// The pack's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Begin a pack of your own: a folder to fill in
    #[command(after_long_help = examples::KNOWLEDGE_NEW_EXAMPLES)]
    New(New),
    /// Say what is wrong with packs before they are published
    #[command(after_long_help = examples::KNOWLEDGE_CHECK_EXAMPLES)]
    Check {
        /// Folders: each a pack or a folder of packs
        #[arg(required_unless_present = "built_in")]
        paths: Vec<PathBuf>,
        /// Check the packs inside this executable
        #[arg(long)]
        built_in: bool,
        /// Print one JSON object per problem
        #[arg(long)]
        json: bool,
    },
    /// Write a pack as an archive that others can add
    Export {
        /// The pack's id: an installed or a built-in one
        id: String,
        /// The archive to write, a .tar.gz that is not there yet
        #[arg(value_parser = tar_gz, value_hint = clap::ValueHint::FilePath)]
        archive: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure retrieval on questions whose answers are known, beside tantivy's defaults
    #[command(after_long_help = examples::KNOWLEDGE_EVAL_EXAMPLES)]
    Eval {
        /// Questions, one JSON object per line: kind, question, gold = [{path, start_line, end_line}]
        #[arg(long, value_name = "FILE")]
        questions: PathBuf,
        /// Search only this pack
        #[arg(long, value_name = "ID")]
        pack: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the lessons that runs have kept, and forget some of them
    #[command(after_long_help = examples::KNOWLEDGE_LESSONS_EXAMPLES)]
    Lessons(Lessons),
    /// Bring the index up to date now instead of at the next question
    Index {
        /// The pack's id; all packs when none is given
        id: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct Search {
    /// Words, identifiers or an error message
    #[arg(required = true)]
    pub query: Vec<String>,
    /// Only what is in this pack
    #[arg(long, value_name = "ID")]
    pub pack: Option<String>,
    /// Only entries of this kind
    #[arg(long, value_name = "NAME", value_parser = kind())]
    pub kind: Option<EntryKind>,
    /// Only entries about this bottleneck
    #[arg(long, value_name = "NAME", value_parser = bottleneck())]
    pub bottleneck: Option<Bottleneck>,
    /// Only entries for this part of the work
    #[arg(long, value_name = "NAME", value_parser = phase())]
    pub phase: Option<Phase>,
    /// Only what holds for this vendor, e.g. nvidia
    #[arg(long)]
    pub vendor: Option<String>,
    /// Only what holds for this architecture, e.g. sm_90
    #[arg(long)]
    pub arch: Option<String>,
    /// Only what holds for this language, e.g. triton
    #[arg(long)]
    pub language: Option<String>,
    /// At most so many passages
    #[arg(short = 'n', long, default_value_t = 5, value_name = "N")]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Lessons {
    /// Only those that no run has measured or used for so long, e.g. 90d or 12h
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<String>,
    /// Only those that were shown before kernels were written, none of which improved
    #[arg(long)]
    pub never_helped: bool,
    /// Only those in this pack
    #[arg(long, value_name = "ID")]
    pub pack: Option<String>,
    /// Forget the lessons that are listed; without --yes, nothing is removed yet
    #[arg(long)]
    pub prune: bool,
    /// Remove them
    #[arg(long, requires = "prune")]
    pub yes: bool,
    /// Print one JSON object per lesson
    #[arg(long)]
    pub json: bool,
}

/// A parser of one of some words, which `--help` and the shell then know.
fn one_of<T: Copy + Send + Sync + 'static>(all: &'static [T], word: fn(T) -> &'static str) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|value| word(*value)).collect::<Vec<_>>())
        .try_map(move |name: String| all.iter().copied().find(|value| word(*value) == name).ok_or("no such word"))
}

/// Whoever adds it later goes by its name.
fn tar_gz(name: &str) -> Result<PathBuf, String> {
    if name.ends_with(".tar.gz") { Ok(name.into()) } else { Err("archives are written as .tar.gz".to_owned()) }
}

fn kind() -> impl TypedValueParser<Value = EntryKind> {
    one_of(&EntryKind::ALL, EntryKind::as_str)
}

fn bottleneck() -> impl TypedValueParser<Value = Bottleneck> {
    one_of(&Bottleneck::ALL, Bottleneck::as_str)
}

fn phase() -> impl TypedValueParser<Value = Phase> {
    one_of(&Phase::ALL, Phase::as_str)
}

/// What documents, or the entries of a new pack, hold for.
#[derive(Debug, Args)]
pub struct PackLabels {
    /// The vendor they hold for, e.g. nvidia; any when left out
    #[arg(long, value_name = "NAME")]
    pub vendor: Option<String>,
    /// The architectures they hold for, with commas, e.g. sm_90,sm_100
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub arch: Vec<String>,
    /// The languages they hold for, with commas, e.g. triton,cuda
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub language: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Add {
    /// A folder, an archive (zip, tar, tar.gz), one document, or a git address
    pub source: String,
    /// The pack's id; without it, what its pack.toml says, or one made of the source's name
    #[arg(long)]
    pub id: Option<String>,
    #[command(flatten)]
    pub labels: PackLabels,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct New {
    /// The pack's id, which is its folder's name: lower-case letters, digits and hyphens
    pub name: String,
    #[command(flatten)]
    pub labels: PackLabels,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Knowledge {
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        put(&mut flags, "paths.packs", "--home", self.home.as_ref());
        flags
    }
}

impl KnowledgeVerb {
    /// Whether stdout is for a program.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Search(Search { json, .. })
            | Self::Add(Add { json, .. })
            | Self::New(New { json, .. })
            | Self::Read { json, .. }
            | Self::List { json }
            | Self::Update { json, .. }
            | Self::Remove { json, .. }
            | Self::Check { json, .. }
            | Self::Export { json, .. }
            | Self::Eval { json, .. }
            | Self::Lessons(Lessons { json, .. })
            | Self::Index { json, .. } => *json,
        }
    }
}
