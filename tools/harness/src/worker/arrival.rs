//! An answer that is watched for without sleeping, and its worker stopped as soon as it is there.
//!
//! Whoever sleeps hears of an answer late, the later the more others have the processors, and until it is stopped a worker that has answered can go on
//! working. So the thread that sees the answer stops the worker itself, and sees it stand still.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::ProcessorTime;

/// The longest message whose arrival is watched: any socket holds as much.
const WATCHED_LIMIT: u64 = 16 << 10;

/// How long it is waited here for a worker to stand still: longer takes one that is just starting a program, which has to go on for that.
const STANDS_STILL: Duration = Duration::from_millis(20);

/// How often it is looked at meanwhile: without keeping a processor busy that the worker's threads may have to wait for.
const LOOK: Duration = Duration::from_micros(20);

/// What was seen of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When all of it was there.
    pub(super) at: Instant,
    /// When its worker was seen to stand still, where that was to be seen to.
    pub(super) stopped: Option<Instant>,
    /// What whoever watched waited for a processor itself.
    pub(super) denied: Duration,
}

/// Leave to stop a worker. It ends with whoever asked: after that the worker's number may be another's.
struct Leave(Arc<Mutex<bool>>);

impl Drop for Leave {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// Watches for the next message on a socket, and stops the group that `worker` leads when all of it is there. None where that takes longer than
/// `patience`, the other end is closed, or the message is none that could lie in the socket whole. Takes nothing out.
pub(super) async fn watch_for(socket: OwnedFd, patience: Duration, worker: Option<Pid>) -> Option<Arrival> {
    let until = Instant::now() + patience;
    let leave = Leave(Arc::new(Mutex::new(true)));
    let granted = Arc::clone(&leave.0);
    let watching = move || {
        let before = ProcessorTime::own();
        let at = arrival(&socket, until)?;
        let stopped = worker.filter(|&worker| stop(worker, &granted)).and_then(stands_still);
        let denied = before.zip(ProcessorTime::own()).map(|(before, now)| now.since(before).waited);
        Some(Arrival { at, stopped, denied: denied.unwrap_or_default() })
    };
    tokio::task::spawn_blocking(watching).await.ok()?
}

fn arrival(socket: &OwnedFd, until: Instant) -> Option<Instant> {
    let mut length = [0; 4];
    loop {
        match recv(socket, &mut length, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((4, _)) => {
                let whole = u64::from(u32::from_le_bytes(length)) + 4;
                if whole > WATCHED_LIMIT {
                    return None;
                }
                if rustix::io::ioctl_fionread(socket).ok()? >= whole {
                    return Some(Instant::now());
                }
            }
            Ok((0, _)) => return None,
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return None,
        }
        if Instant::now() > until {
            return None;
        }
        std::hint::spin_loop();
    }
}

/// Whether it was told to.
fn stop(worker: Pid, granted: &Mutex<bool>) -> bool {
    let granted = granted.lock().unwrap_or_else(PoisonError::into_inner);
    *granted && kill_process_group(worker, Signal::STOP).is_ok()
}

/// When a child was seen to stand still.
fn stands_still(worker: Pid) -> Option<Instant> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let began = Instant::now();
    while began.elapsed() < STANDS_STILL {
        match waitid(WaitId::Pid(worker), options) {
            Ok(Some(status)) => return status.stopped().then(Instant::now),
            Ok(None) | Err(Errno::INTR) => std::thread::sleep(LOOK),
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    fn pair() -> (OwnedFd, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (OwnedFd::from(ours), theirs)
    }

    /// It works without an end, in a group of its own.
    fn busy() -> (Child, Pid) {
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).process_group(0).spawn().unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    fn state(pid: Pid) -> String {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1[..1].to_owned()
    }

    #[tokio::test]
    async fn a_message_has_arrived_when_all_of_it_has() {
        let (ours, mut theirs) = pair();
        let watch = |patience: u64| watch_for(ours.try_clone().unwrap(), Duration::from_millis(patience), None);
        theirs.write_all(b"\x02\x00\x00\x00{").unwrap();
        assert!(watch(20).await.is_none(), "its first bytes say nothing");
        let before = Instant::now();
        theirs.write_all(b"}").unwrap();
        assert!(watch(5_000).await.is_some_and(|arrival| arrival.at > before && arrival.stopped.is_none()));
        let (ours, theirs) = pair();
        drop(theirs);
        assert!(watch_for(ours, Duration::from_secs(5), None).await.is_none());
    }

    #[tokio::test]
    async fn who_has_answered_stands_still() {
        let (mut child, pid) = busy();
        let (ours, mut theirs) = pair();
        theirs.write_all(b"\x02\x00\x00\x00{").unwrap();
        assert!(watch_for(ours.try_clone().unwrap(), Duration::from_millis(20), Some(pid)).await.is_none());
        assert_ne!(state(pid), "T", "it has not answered yet");
        theirs.write_all(b"}").unwrap();
        let arrival = watch_for(ours, Duration::from_secs(5), Some(pid)).await.unwrap();
        // Told to at once, it may have to wait for a processor before it can.
        let began = Instant::now();
        while state(pid) != "T" && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (state, seen) = (state(pid), stands_still(pid));
        child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        assert_eq!(state, "T");
        assert!(seen.is_some() && arrival.stopped.is_none_or(|stopped| stopped > arrival.at), "{seen:?}, {arrival:?}");
        assert_eq!(stands_still(pid), None, "it is gone");
    }

    #[test]
    fn nobody_is_stopped_whose_asker_is_gone() {
        let (mut child, pid) = busy();
        let leave = Leave(Arc::new(Mutex::new(true)));
        let granted = Arc::clone(&leave.0);
        drop(leave);
        let told = stop(pid, &granted);
        child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        assert!(!told);
    }
}
