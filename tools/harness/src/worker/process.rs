//! A worker as a process group: started, stopped, continued, ended and reaped as a whole.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, pidfd_open, waitid,
    waitpgid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

/// How long a group may take to stop. A process inside a driver call stops when that call returns.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// How long it is waited for until the group may run for a moment and is stopped once more; twice as long each time.
const STOP_AGAIN: Duration = Duration::from_millis(20);
const MOMENT: Duration = Duration::from_millis(2);

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It left by itself, with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => f.write_str(name),
                None => write!(f, "signal {number}"),
            },
        }
    }
}

/// The names people know, for the signals that end programs.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGSEGV => "SIGSEGV (invalid memory access)",
        libc::SIGBUS => "SIGBUS (invalid memory access)",
        libc::SIGFPE => "SIGFPE (arithmetic error)",
        libc::SIGILL => "SIGILL (illegal instruction)",
        libc::SIGABRT => "SIGABRT (aborted)",
        libc::SIGKILL => "SIGKILL (killed, perhaps for memory)",
        libc::SIGTERM => "SIGTERM (terminated)",
        libc::SIGXCPU => "SIGXCPU (processor time limit)",
        libc::SIGXFSZ => "SIGXFSZ (file size limit)",
        libc::SIGSYS => "SIGSYS (forbidden system call)",
        _ => return None,
    })
}

/// A worker could not be stopped.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// It was already gone.
    #[error("the worker is gone")]
    Gone,
    /// It did not stop in time.
    #[error("the worker did not stop within {} s", STOP_LIMIT.as_secs())]
    Running,
}

/// Prepares this process to supervise: orphans of workers come to it, and no worker of the same user can look into it.
pub fn supervise() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

type Order = (Command, oneshot::Sender<io::Result<Pid>>);

/// The thread that starts every worker. A parent-death signal follows the *thread* that started the child, so this must be one
/// that lives as long as the process.
fn launcher() -> &'static mpsc::Sender<Order> {
    static LAUNCHER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    LAUNCHER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                let started = command.spawn().and_then(|child| {
                    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::Error::other("the child has no process id"))
                });
                // Nobody waits any more: the child must not stay.
                if let Err(Ok(orphan)) = answer.send(started) {
                    let _ = rustix::process::kill_process(orphan, Signal::KILL);
                    let _ = waitid(WaitId::Pid(orphan), WaitIdOptions::EXITED);
                }
            }
        });
        sender
    })
}

/// A process group led by a child of ours, started or come to us as an orphan. Dropping it kills and reaps all of it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    exit: AsyncFd<OwnedFd>,
    reaped: bool,
}

impl Group {
    /// Starts `command`, which must make itself a group leader.
    pub(super) async fn start(command: Command) -> io::Result<Self> {
        let (sender, answer) = oneshot::channel();
        let lost = || io::Error::other("the launcher thread is gone");
        launcher().send((command, sender)).map_err(|_| lost())?;
        let leader = answer.await.map_err(|_| lost())??;
        watch(leader).map(|exit| Self { leader, exit, reaped: false }).inspect_err(|_| end(leader))
    }

    /// Takes charge of a process that others have forked for us: it leads a group, its parent has ended, and it is our child now.
    pub(super) fn adopt(leader: Pid) -> io::Result<Self> {
        // Fails for a process that is no child of ours, whose number might not be its own for long.
        waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG)?;
        watch(leader).map(|exit| Self { leader, exit, reaped: false }).inspect_err(|_| end(leader))
    }

    pub(super) fn leader(&self) -> Pid {
        self.leader
    }

    /// Waits until the leader has ended; it stays a zombie, so that its number is not given to another.
    pub(super) async fn exited(&self) -> Exit {
        let _ = self.exit.readable().await;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.leader), options) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
            },
            _ => Exit::Signal(libc::SIGKILL),
        }
    }

    /// Stops every process of the group and waits until the leader stands still.
    ///
    /// A thread that starts a program waits until that runs (`vfork`), and no signal but a deadly one reaches it meanwhile: where the child is stopped
    /// before that, both wait for each other. So what does not stop goes on for a moment.
    pub(super) async fn freeze(&self) -> Result<(), FreezeError> {
        let leader = self.leader;
        let began = Instant::now();
        let mut patience = STOP_AGAIN;
        loop {
            kill_process_group(leader, Signal::STOP).map_err(|_| FreezeError::Gone)?;
            // It takes microseconds, unless its threads have to wait for a processor: nobody here keeps one busy with looking.
            let waiting = tokio::task::spawn_blocking(move || stopped(leader));
            match tokio::time::timeout(patience, waiting).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(_) => return Err(FreezeError::Gone),
                Err(_) if began.elapsed() > STOP_LIMIT => return Err(FreezeError::Running),
                Err(_) => self.thaw(),
            }
            tokio::time::sleep(MOMENT).await;
            patience *= 2;
        }
    }

    /// Lets the group run again.
    pub(super) fn thaw(&self) {
        let _ = kill_process_group(self.leader, Signal::CONT);
    }

    /// Kills the group at once. What is left of it is reaped when this is dropped.
    pub(super) fn kill(&self) {
        kill(self.leader);
    }

    /// Kills the group and waits until nothing of it is left.
    pub(super) async fn end(mut self) {
        self.reaped = true;
        let leader = self.leader;
        let _ = tokio::task::spawn_blocking(move || end(leader)).await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.reaped {
            // The kill is immediate; a process with a device context takes its time to die, and nobody needs to wait for that.
            self.kill();
            let leader = self.leader;
            std::thread::spawn(move || end(leader));
        }
    }
}

/// Waits until a process stands still; false where it ends instead.
fn stopped(process: Pid) -> bool {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(process), options) {
            Err(rustix::io::Errno::INTR) => {}
            status => return status.is_ok_and(|status| status.is_some_and(|status| status.stopped())),
        }
    }
}

/// Something that becomes readable when the process ends.
fn watch(process: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    let pidfd = pidfd_open(process, PidfdFlags::empty())?;
    // SAFETY: an owned descriptor stays valid and the same for as long as it is owned.
    Ok(unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }?)
}

/// Kills a process that is not reaped yet with its group, which it may not have made.
fn kill(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
    let _ = kill_process(leader, Signal::KILL);
}

/// Kills the group and reaps its members: the leader, and the orphans that came to us because of [`supervise`].
fn end(leader: Pid) {
    kill(leader);
    // Orphans first, while the leader's unreaped entry still keeps the group's number from being reused.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = waitid(WaitId::Pid(leader), options);
    let _ = kill_process_group(leader, Signal::KILL);
    while let Ok(Some(_)) = waitpgid(leader, WaitOptions::empty()) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", script]);
        command
    }

    #[tokio::test]
    async fn exits_are_told_apart() {
        let ended = Group::start(shell("exit 7")).await.unwrap();
        assert_eq!(ended.exited().await, Exit::Code(7));
        let ended = Group::start(shell("kill -SEGV $$")).await.unwrap();
        assert_eq!(ended.exited().await.to_string(), "SIGSEGV (invalid memory access)");
    }

    #[tokio::test]
    async fn a_frozen_group_stands_still_until_thawed() {
        let group = Group::start(shell("while :; do :; done")).await.unwrap();
        // `setsid` has to make the group before it can be signalled.
        while group.freeze().await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let stat = |pid: Pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        assert!(stat(group.leader()).contains(") T "), "{}", stat(group.leader()));
        group.thaw();
        group.freeze().await.unwrap();
        group.thaw();
        let leader = group.leader();
        group.end().await;
        assert!(!std::path::Path::new(&format!("/proc/{leader}")).exists());
    }

    #[tokio::test]
    async fn a_group_that_starts_programs_stands_still_as_well() {
        let group = Group::start(shell("while :; do /bin/true; done")).await.unwrap();
        while group.freeze().await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..100 {
            group.thaw();
            tokio::time::sleep(Duration::from_millis(1)).await;
            let frozen = tokio::time::timeout(Duration::from_secs(5), group.freeze()).await;
            assert!(matches!(frozen, Ok(Ok(()))), "{frozen:?}");
        }
        group.end().await;
    }
}
