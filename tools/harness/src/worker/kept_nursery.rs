//! A nursery that is started when a worker is first needed, and started again where it has ended.
//!
//! A worker starts when its work does. What is kept ready is one forked process that does not know yet what it will be: it is made right after
//! the last one was given away, while nothing is measured.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::Mutex;

use super::{Launch, LaunchError, Nursery, Worker};

/// How long a fork may take: the machine may be out of memory for a while, but there is always the other way.
const FORK: Duration = Duration::from_secs(30);

/// How many launchers a nursery builds at most: each stays in its memory.
const LAUNCHERS: usize = 64;

/// One nursery, where there is one.
#[derive(Debug, Default)]
pub struct KeptNursery(Mutex<State>);

/// A running nursery, and the types of arguments for which it was asked for launchers.
#[derive(Debug)]
struct Running {
    nursery: Nursery,
    launchers: HashSet<Vec<String>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Empty,
    Running(Box<Running>),
    /// This Python cannot be forked, for a reason that stays.
    Unable(String),
}

impl KeptNursery {
    /// Forks a worker, by a nursery that is started where there is none, at most for `limit`. The reason, where that cannot be had.
    ///
    /// A call that is given up halfway loses the nursery.
    pub async fn fork<'a>(
        &self,
        nursery: impl Fn() -> Result<Launch<'a>, LaunchError>,
        worker: impl Fn() -> Result<Launch<'a>, LaunchError>,
        limit: Duration,
    ) -> Result<Worker, String> {
        let mut state = self.0.lock().await;
        if let State::Unable(reason) = &*state {
            return Err(reason.clone());
        }
        let say = |error: LaunchError| error.to_string();
        if let State::Running(mut running) = std::mem::take(&mut *state)
            && let Ok(forked) = running.nursery.launch(worker().map_err(say)?, FORK).await
        {
            *state = State::Running(running);
            return Ok(forked);
        }
        // None was there, or it has ended since: one that has only just started deserves no second try.
        let mut started = match Nursery::start(nursery().map_err(say)?, limit).await {
            Ok(started) => started,
            Err(LaunchError::Refused(refusal)) if refusal.kind == "not_forkable" => {
                *state = State::Unable(refusal.message.clone());
                return Err(refusal.message);
            }
            Err(error) => return Err(error.to_string()),
        };
        let forked = started.launch(worker().map_err(say)?, FORK).await.map_err(say)?;
        *state = State::Running(Box::new(Running { nursery: started, launchers: HashSet::new() }));
        Ok(forked)
    }

    /// Forks ahead for the next worker.
    pub async fn prepare(&self) {
        let mut state = self.0.lock().await;
        if let State::Running(running) = &mut *state
            && running.nursery.prepare(FORK).await.is_err()
        {
            *state = State::Empty;
        }
    }

    /// Has the launchers built that a worker had to build by itself: the next candidates' kernels often take arguments of the same types.
    pub async fn learn(&self, launchers: Vec<Vec<String>>) {
        let mut state = self.0.lock().await;
        for types in launchers {
            let State::Running(running) = &mut *state else { return };
            if running.launchers.len() >= LAUNCHERS || !running.launchers.insert(types.clone()) {
                continue;
            }
            if running.nursery.build_launcher(&types, FORK).await.is_err() {
                *state = State::Empty;
            }
        }
    }

    /// Ends it, unless it is forking.
    pub fn clear(&self) {
        if let Ok(mut state) = self.0.try_lock()
            && matches!(*state, State::Running(_))
        {
            *state = State::Empty;
        }
    }
}
