//! Workers forked from a process that has imported torch and Triton, instead of started from nothing: milliseconds, not seconds.
//!
//! The forked process is nobody's child for a moment and then ours ([`supervise`](super::supervise) is what brings it here); from
//! then on it is a worker like any other. It waits for the one message that says what it is to become, confines itself as that
//! says, reports the layers and greets, as an executed worker does.
//!
//! What is read when torch or Triton is imported is the nursery's and the same for all its workers: `TRITON_INTERPRET`, the number of
//! threads, the processors, malloc's settings. A worker's own are its role, folders, log, limits and other variables.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::process::Pid;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::channel::Channel;
use super::process::Group;
use super::{AskError, Launch, LaunchError, Role, Worker};
use crate::sandbox::Plan;

/// A process that forks workers. It dies with the supervisor; its workers go on without it.
#[derive(Debug)]
pub struct Nursery {
    worker: Worker,
    next: Option<Forked>,
}

/// A process that does not know yet what it is to become.
#[derive(Debug)]
struct Forked {
    group: Group,
    channel: Channel,
}

impl Nursery {
    /// Starts one and waits until its imports are done, at most `limit`. The role of `launch` is [`Role::Nursery`].
    pub async fn start(launch: Launch<'_>, limit: Duration) -> Result<Self, LaunchError> {
        debug_assert_eq!(launch.role, Role::Nursery, "only this role forks");
        Ok(Self { worker: Worker::launch(launch, limit).await?, next: None })
    }

    /// Forks a worker, or takes the one that [`Self::prepare`] has forked, and waits until it is ready, at most `limit`. A confined one is
    /// then stopped.
    ///
    /// A call that is given up halfway may leave an answer behind that nobody has read, and so a nursery that is of no more use.
    pub async fn launch(&mut self, launch: Launch<'_>, limit: Duration) -> Result<Worker, LaunchError> {
        let Forked { group, mut channel } = match self.next.take() {
            Some(forked) => forked,
            None => self.fork(limit).await?,
        };
        let log = launch.log.open()?;
        let (plan, ruleset) = Plan::new(&launch.isolation(), group.leader());
        let fds: Vec<_> = std::iter::once(log.as_fd()).chain(ruleset.as_ref().map(AsFd::as_fd)).collect();
        let message = json!({
            "role": launch.role.as_str(),
            "folder": utf8(launch.scratch.path().as_os_str())?,
            "environment": environment(&launch)?,
            "plan": plan,
            "fds": fds.len(),
        });
        // Where the process has ended already, its greeting stays away, and that says how it ended.
        let _ = tokio::time::timeout(limit, channel.send(&message, &fds)).await;
        Worker::settle(group, channel, launch, limit).await
    }

    /// Forks the process of the next worker ahead of time: copying the nursery's page tables takes longer than all the rest. It waits, and
    /// is whatever the next launch asks for.
    pub async fn prepare(&mut self, limit: Duration) -> Result<(), LaunchError> {
        if self.next.is_none() {
            self.next = Some(self.fork(limit).await?);
        }
        Ok(())
    }

    /// Builds Triton's launcher for kernels with arguments of these types, so that workers forked from now on need not; whether it did.
    pub async fn build_launcher(&mut self, types: &[String], limit: Duration) -> Result<bool, AskError> {
        #[derive(Deserialize)]
        struct Answer {
            built: bool,
        }
        let reply = self.worker.ask("launcher", json!({"types": types}), &[], limit).await?;
        let built = Answer::deserialize(reply.ok).is_ok_and(|answer| answer.built);
        if built {
            // It was forked before.
            self.next = None;
        }
        Ok(built)
    }

    async fn fork(&mut self, limit: Duration) -> Result<Forked, LaunchError> {
        #[derive(Deserialize)]
        struct Named {
            pid: i32,
        }
        let (channel, theirs) = Channel::pair()?;
        let reply = self.worker.ask("fork", Value::Null, &[theirs.as_fd()], limit).await.map_err(LaunchError::Nursery)?;
        let pid = Named::deserialize(reply.ok).ok().and_then(|named| Pid::from_raw(named.pid));
        let pid = pid.ok_or_else(|| LaunchError::Nursery(AskError::Violation("no process was named".to_owned())))?;
        Ok(Forked { group: Group::adopt(pid)?, channel })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.worker.pid()
    }
}

fn environment(launch: &Launch<'_>) -> Result<Map<String, Value>, LaunchError> {
    launch.environment().into_iter().map(|(name, value)| Ok((utf8(&name)?, Value::String(utf8(&value)?)))).collect()
}

fn utf8(text: &std::ffi::OsStr) -> Result<String, LaunchError> {
    let text = text.to_str().ok_or_else(|| std::io::Error::other("a path or a variable is not UTF-8"))?;
    Ok(text.to_owned())
}
