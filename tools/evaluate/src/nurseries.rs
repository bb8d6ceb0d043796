//! The nurseries that workers are forked from: one for each way in which Triton can be imported, started when it is first needed.
//!
//! A worker starts when its evaluation does. What is kept ready is one forked process that does not know yet what it will be: it is made
//! right after the last one was given away, while candidates are built and nothing is measured.

use std::collections::HashSet;
use std::time::Duration;

use kernelwright_harness::{Launch, LaunchError, Nursery, Worker};
use tokio::sync::Mutex;

use crate::workshop::TritonMode;

/// How long a fork may take: the machine may be out of memory for a while, but there is always the other way.
const FORK: Duration = Duration::from_secs(30);

/// How many launchers a nursery builds at most: each stays in its memory.
const LAUNCHERS: usize = 64;

/// One nursery for each mode of Triton.
#[derive(Debug, Default)]
pub(crate) struct Nurseries {
    compiled: Mutex<Slot>,
    interpreted: Mutex<Slot>,
}

/// A running nursery, and the types of arguments for which it was asked for launchers.
#[derive(Debug)]
struct Running {
    nursery: Nursery,
    launchers: HashSet<Vec<String>>,
}

#[derive(Debug, Default)]
enum Slot {
    #[default]
    Empty,
    Running(Box<Running>),
    /// This Python cannot be forked, for a reason that stays.
    Unable(String),
}

impl Nurseries {
    /// Forks a worker, by a nursery that is started where there is none, at most for `limit`. The reason, where that cannot be had.
    pub(crate) async fn fork<'a>(
        &self,
        triton: TritonMode,
        nursery: impl Fn() -> Result<Launch<'a>, LaunchError>,
        worker: impl Fn() -> Result<Launch<'a>, LaunchError>,
        limit: Duration,
    ) -> Result<Worker, String> {
        let mut slot = self.slot(triton).lock().await;
        if let Slot::Unable(reason) = &*slot {
            return Err(reason.clone());
        }
        let say = |error: LaunchError| error.to_string();
        if let Slot::Running(mut running) = std::mem::take(&mut *slot)
            && let Ok(forked) = running.nursery.launch(worker().map_err(say)?, FORK).await
        {
            *slot = Slot::Running(running);
            return Ok(forked);
        }
        // None was there, or it has ended since: one that has only just started deserves no second try.
        let mut started = match Nursery::start(nursery().map_err(say)?, limit).await {
            Ok(started) => started,
            Err(LaunchError::Refused(refusal)) if refusal.kind == "not_forkable" => {
                *slot = Slot::Unable(refusal.message.clone());
                return Err(refusal.message);
            }
            Err(error) => return Err(error.to_string()),
        };
        let forked = started.launch(worker().map_err(say)?, FORK).await.map_err(say)?;
        *slot = Slot::Running(Box::new(Running { nursery: started, launchers: HashSet::new() }));
        Ok(forked)
    }

    /// Forks ahead for the next worker.
    pub(crate) async fn prepare(&self, triton: TritonMode) {
        let mut slot = self.slot(triton).lock().await;
        if let Slot::Running(running) = &mut *slot
            && running.nursery.prepare(FORK).await.is_err()
        {
            *slot = Slot::Empty;
        }
    }

    /// Has the launchers built that a worker had to build by itself: the next candidates' kernels often take arguments of the same types.
    pub(crate) async fn learn(&self, triton: TritonMode, launchers: Vec<Vec<String>>) {
        let mut slot = self.slot(triton).lock().await;
        for types in launchers {
            let Slot::Running(running) = &mut *slot else { return };
            if running.launchers.len() >= LAUNCHERS || !running.launchers.insert(types.clone()) {
                continue;
            }
            if running.nursery.build_launcher(&types, FORK).await.is_err() {
                *slot = Slot::Empty;
            }
        }
    }

    /// Ends the nurseries that are not forking.
    pub(crate) fn clear(&self) {
        for slot in [&self.compiled, &self.interpreted] {
            if let Ok(mut slot) = slot.try_lock() {
                *slot = Slot::Empty;
            }
        }
    }

    fn slot(&self, triton: TritonMode) -> &Mutex<Slot> {
        match triton {
            TritonMode::Compiled => &self.compiled,
            TritonMode::Interpreted => &self.interpreted,
        }
    }
}
