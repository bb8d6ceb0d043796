//! Ctrl-C and SIGTERM, in levels: finish what is being evaluated and save; end the tool servers; leave at once.

use kernelwright_engine::StopToken;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Announcer;

/// "File size limit exceeded", by its number on Linux.
const SIGXFSZ: std::ffi::c_int = 25;

/// Watches for signals as long as the runtime lives.
pub fn watch(stop: StopToken, announcer: Announcer) -> Result<(), Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // A file that outgrows `ulimit -f` is to be an error where it is written, which is reported like a full disk, and not the end of the
    // process. Once watched, the signal does nothing else.
    drop(signal(SignalKind::from_raw(SIGXFSZ))?);
    tokio::spawn(async move {
        let mut level = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
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
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
