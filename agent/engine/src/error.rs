//! What can go wrong in a run, in the words of somebody who has to do something about it.

use std::path::PathBuf;

use kernelwright_model::ModelError;
use kernelwright_prompts::PromptError;
use kernelwright_search::GraphError;

use crate::store::StoreError;

/// A run could not begin or go on. Whatever is on disk by then can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The problem is no problem: it does not load, has no `Model`, or cannot be run.
    #[error("the problem {} cannot be used: {reason}", path.display())]
    Problem {
        /// The file.
        path: PathBuf,
        /// What the evaluate server says.
        reason: String,
        /// What it says to do about it.
        fix: Option<String>,
    },
    /// A tool server is not there, or not to be relied on.
    #[error(transparent)]
    ToolServer(#[from] ToolServerError),
    /// A tool that the run cannot do without refused.
    #[error("{tool} of the tool server `{server}` failed: {reason}")]
    ToolRefused {
        /// Which server.
        server: String,
        /// Which tool.
        tool: String,
        /// What it says.
        reason: String,
        /// What it says to do about it.
        fix: Option<String>,
    },
    /// The model cannot be asked: key, address, name or abilities.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Somebody stopped it before there was a run.
    #[error("stopped before the run began; nothing was saved")]
    StoppedEarly,
    /// A budget in dollars was set and the model's price is not known.
    #[error("a budget in dollars was set, but the price of the model `{model}` is not known")]
    UnknownPrice {
        /// The model's name.
        model: String,
    },
    /// The run's folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A prompt template.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The log's lines are sound and do not fit together.
    #[error("the log of {} is not one run's log: {source}", dir.display())]
    Log {
        /// The run's folder.
        dir: PathBuf,
        /// What does not fit.
        source: GraphError,
    },
}

impl EngineError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Problem { fix: Some(fix), .. } | Self::ToolRefused { fix: Some(fix), .. } => fix.clone(),
            Self::Problem { .. } => {
                "a problem defines `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()`; run the file with python to see it fail"
                    .to_owned()
            }
            Self::ToolServer(error) => error.hint(),
            Self::ToolRefused { .. } => "`kernelwright doctor` checks Python, torch and the compilers".to_owned(),
            Self::Model(error) => error.hint(),
            Self::StoppedEarly => "start it again".to_owned(),
            Self::UnknownPrice { model } => {
                format!("set its price in the settings, [model.prices] {model:?} = {{ input = ..., output = ... }}; a new run can limit tokens instead")
            }
            Self::Store(error) => error.hint(),
            Self::Prompt(error) => error.hint().to_owned(),
            Self::Log { .. } => "the file was changed by hand or by another program; start a new run".to_owned(),
        }
    }
}

/// A tool server is not there, or not to be relied on.
#[derive(Debug, thiserror::Error)]
#[error("the tool server `{server}` {what}")]
pub struct ToolServerError {
    /// Which one.
    pub server: String,
    /// What it did.
    pub what: ServerFailure,
    /// Where it wrote its messages.
    pub log: PathBuf,
}

impl ToolServerError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        let log = self.log.display();
        match &self.what {
            ServerFailure::NotStarted { program, .. } => format!("is {} installed and executable?", program.display()),
            ServerFailure::NoHandshake { .. } | ServerFailure::Died { .. } => format!("its own messages are in {log}"),
            ServerFailure::Silent { .. } | ServerFailure::TooLong { .. } => {
                format!("its own messages are in {log}; raise its timeout if the work is really that slow")
            }
            ServerFailure::NoTool { .. } => "every server of the run has to be configured; see `kernelwright config show`".to_owned(),
            ServerFailure::NothingToLeaveOut { listed, .. } => {
                format!("`leave_out` of its section has to name some of {}", listed.join(", "))
            }
            ServerFailure::NotUnderstood { .. } => format!("agent and server may be of different versions; its own messages are in {log}"),
        }
    }
}

/// What a tool server did.
#[derive(Debug, thiserror::Error)]
pub enum ServerFailure {
    /// It could not be started.
    #[error("could not be started: {}: {source}", program.display())]
    NotStarted {
        /// The executable.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It started and did not speak MCP.
    #[error("does not answer as an MCP server: {reason}")]
    NoHandshake {
        /// What came instead.
        reason: String,
    },
    /// It ended or closed the connection during a call, twice.
    #[error("died during `{tool}`, and again after a restart")]
    Died {
        /// Which tool was called.
        tool: String,
    },
    /// It said nothing for too long, twice.
    #[error("said nothing for {seconds} s during `{tool}`, and again after a restart")]
    Silent {
        /// Which tool was called.
        tool: String,
        /// The limit.
        seconds: u64,
    },
    /// It took too long in all, twice.
    #[error("did not finish `{tool}` within {seconds} s, and again after a restart")]
    TooLong {
        /// Which tool was called.
        tool: String,
        /// The limit.
        seconds: u64,
    },
    /// No server lists a tool that the run needs.
    #[error("or any other lists no tool `{tool}`")]
    NoTool {
        /// The tool.
        tool: String,
    },
    /// It does not list a tool that the run was to do without.
    #[error("lists no tool `{tool}` that could be left out")]
    NothingToLeaveOut {
        /// The tool.
        tool: String,
        /// What it lists.
        listed: Vec<String>,
    },
    /// Its answer has not the agreed form.
    #[error("answered `{tool}` with something that is not understood: {reason}")]
    NotUnderstood {
        /// Which tool was called.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
}
