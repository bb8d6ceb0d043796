//! How a run is told to stop from outside, in two levels.

use tokio_util::sync::CancellationToken;

/// A handle that the engine watches; clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct StopToken {
    save: CancellationToken,
    abandon: CancellationToken,
}

impl StopToken {
    /// A handle that has not been used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// First level: let a running tool call finish, record it, and return. A question to the model is given up and asked again on resume.
    pub fn save_and_stop(&self) {
        self.save.cancel();
    }

    /// Second level: give up the running tool call as well and end the servers. What is on disk stays resumable.
    pub fn abandon(&self) {
        self.save.cancel();
        self.abandon.cancel();
    }

    /// Whether either level was asked for.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.save.is_cancelled()
    }

    /// Whether the second level was asked for.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.abandon.is_cancelled()
    }

    /// Waits for the first level.
    pub(crate) async fn stopping(&self) {
        self.save.cancelled().await;
    }

    /// Waits for the second level.
    pub async fn abandoned(&self) {
        self.abandon.cancelled().await;
    }
}
