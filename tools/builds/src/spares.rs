//! Builders that are there before anything is known to build: forking one takes as long as much of what it does.

use kernelwright_harness::{LaunchError, Worker, sandbox};
use kernelwright_protocol::Target;
use tokio::sync::Mutex;

use super::Yard;

/// One for a CUDA source, and one for the library.
const MOST: usize = 2;

/// A yard with some builders in stock.
#[derive(Debug)]
pub(super) struct Spares<'a, Y> {
    yard: &'a Y,
    process: sandbox::Limits,
    ready: Mutex<Vec<Worker>>,
}

impl<'a, Y: Yard> Spares<'a, Y> {
    /// None in stock yet; what is asked for with other limits never is.
    pub(super) fn of(yard: &'a Y, process: sandbox::Limits) -> Self {
        Self { yard, process, ready: Mutex::default() }
    }

    /// Has them started. One that does not start is met by who needs it.
    pub(super) async fn stock(&self) {
        for _ in 0..MOST {
            let Ok(worker) = self.yard.builder(self.process).await else { return };
            self.ready.lock().await.push(worker);
        }
    }

    /// Ends those that nobody has taken.
    pub(super) async fn end(self) {
        for worker in self.ready.into_inner() {
            worker.end().await;
        }
    }
}

impl<Y: Yard> Yard for Spares<'_, Y> {
    async fn builder(&self, process: sandbox::Limits) -> Result<Worker, LaunchError> {
        let ready = if process == self.process { self.ready.lock().await.pop() } else { None };
        match ready {
            Some(worker) => Ok(worker),
            None => self.yard.builder(process).await,
        }
    }

    async fn trusted(&self, target: Target) -> Result<Worker, LaunchError> {
        self.yard.trusted(target).await
    }
}
