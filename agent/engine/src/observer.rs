//! What a run tells whoever watches it.

use std::time::Duration;

use kernelwright_search::{AskId, Record, StepId};

/// Watches a run. Calls come in order, from one task, and must not block for long.
pub trait Observer: Send {
    /// Something happened, and is on disk.
    fn event(&mut self, record: &Record);

    /// Something is going on; it is not recorded and may never be mentioned again.
    fn activity(&mut self, activity: &Activity);
}

/// Something transient.
#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    /// The run's folder is made or opened.
    RunOpened {
        /// The folder.
        dir: std::path::PathBuf,
    },
    /// A tool server is being started.
    ServerStarting {
        /// Which one.
        server: String,
    },
    /// A tool says how far it is.
    ToolProgress {
        /// Which server.
        server: String,
        /// Which tool.
        tool: String,
        /// What it says.
        message: String,
    },
    /// The model is asked and has not answered yet.
    ModelWaiting {
        /// Which question.
        ask: AskId,
        /// In which step; absent for the probe.
        step: Option<StepId>,
    },
    /// The model is writing.
    ModelStreaming {
        /// Characters so far.
        characters: usize,
    },
    /// The model could not answer and will be asked again.
    ModelRetry {
        /// Why.
        reason: String,
        /// After how long.
        wait: Duration,
    },
    /// Something that is worth a line and changes nothing, e.g. that a torn last line of the log was cut off.
    Remark {
        /// The line.
        text: String,
    },
}
