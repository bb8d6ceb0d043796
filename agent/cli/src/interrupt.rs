//! Ctrl-C, SIGTERM and SIGHUP, in levels: finish what is being evaluated and save; end the tool servers; leave at once.

use kernelwright_engine::StopToken;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Announcer;

/// "File size limit exceeded", by its number on Linux.
const SIGXFSZ: std::ffi::c_int = 25;

/// What ends a run before its time.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None where it is ignored, as `nohup` has it: whoever asked for that wants the work to go on.
    hangup: Option<Signal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// By a person or a supervisor.
    Stop,
    /// The terminal is gone.
    Hangup,
}

impl Signals {
    fn watched() -> Result<Self, Failure> {
        let hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup })
    }

    async fn next(&mut self) -> Asked {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.terminate.recv() => Asked::Stop,
            _ = hangup => Asked::Hangup,
        }
    }
}

fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, SignalKind::hangup()))
}

/// Of the form `SigIgn:\t0000000000001001`.
fn is_ignored(status: &str, kind: SignalKind) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}

/// Watches for signals as long as the runtime lives.
pub fn watch(stop: StopToken, announcer: Announcer) -> Result<(), Failure> {
    let mut signals = Signals::watched()?;
    // A file that outgrows `ulimit -f` is to be an error where it is written, which is reported like a full disk, and not the end of the
    // process. Once watched, the signal does nothing else.
    drop(signal(SignalKind::from_raw(SIGXFSZ))?);
    tokio::spawn(async move {
        let mut level = 0;
        loop {
            // The shell and the kernel both tell of a terminal that is gone, which is no second wish.
            if signals.next().await == Asked::Hangup && level > 0 {
                continue;
            }
            level += 1;
            match level {
                1 => {
                    announcer.stopping("stopping: finishing the current evaluation, then saving (Ctrl-C again ends at once)");
                    stop.save_and_stop();
                }
                2 => {
                    announcer.stopping("ending the tool servers");
                    stop.abandon();
                }
                _ => std::process::exit(Exit::Interrupted.code().into()),
            }
        }
    });
    Ok(())
}

/// Completes at the first signal, for work that has nothing to save.
pub async fn signalled() -> Result<(), Failure> {
    Signals::watched()?.next().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_told_from_the_status_of_the_process() {
        let ignored = |mask: &str| is_ignored(&format!("Name:\tx\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n"), SignalKind::hangup());
        assert!(ignored("0000000000001001"));
        assert!(!ignored("0000000000001000"));
        assert!(!is_ignored("", SignalKind::hangup()));
    }
}
