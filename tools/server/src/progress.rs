//! Progress of a long call, towards a client that may lose patience or leave.
//!
//! Hosts give up on silent calls, some after a minute, and reset their clock on progress. A call therefore says what it does, and
//! while it does the same thing for long a heartbeat repeats it with the time gone by.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// When to speak.
#[derive(Clone, Copy, Debug)]
struct Cadence {
    /// The longest silence. Hosts that reset their clock on progress do so well above ten seconds.
    heartbeat: Duration,
    /// The shortest time between two notifications: more than a person reads, and not enough to load a host.
    breath: Duration,
}

const CADENCE: Cadence = Cadence { heartbeat: Duration::from_secs(5), breath: Duration::from_millis(200) };

/// The progress of one call. Notifications end when it is dropped; keep it as long as the work goes on.
///
/// The progress figure is seconds since the start, without a total. Nothing is sent to a client that did not ask for progress.
#[derive(Debug)]
pub struct Progress {
    message: watch::Sender<String>,
    cancelled: CancellationToken,
    #[expect(dead_code, reason = "reports until it is dropped")]
    reporter: Reporter,
}

/// Sends what is said to the client, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Reporter(#[expect(dead_code, reason = "reports until it is dropped")] Option<AbortOnDropHandle<()>>);

impl Reporter {
    fn start(context: &RequestContext<RoleServer>, messages: watch::Receiver<String>) -> Self {
        Self(context.meta.get_progress_token().map(|token| {
            let peer = context.peer.clone();
            AbortOnDropHandle::new(tokio::spawn(report(messages, CADENCE, move |seconds, message| {
                let peer = peer.clone();
                let notification = ProgressNotificationParam::new(token.clone(), seconds).with_message(message);
                async move { peer.notify_progress(notification).await.is_ok() }
            })))
        }))
    }
}

impl Progress {
    /// Begins to report on the request, with what is done first.
    pub fn start(context: &RequestContext<RoleServer>, message: impl Into<String>) -> Self {
        let (sender, receiver) = watch::channel(message.into());
        Self { message: sender, cancelled: context.ct.clone(), reporter: Reporter::start(context, receiver) }
    }

    /// Reports on the request what somebody else says, until the returned value is dropped.
    pub(crate) fn follow(context: &RequestContext<RoleServer>, messages: watch::Receiver<String>) -> Reporter {
        Reporter::start(context, messages)
    }

    /// Says what is being done now. Never waits; of messages in quick succession the last one is sent.
    pub fn say(&self, message: impl Into<String>) {
        let message = message.into();
        tracing::debug!(%message, "progress");
        self.message.send_replace(message);
    }

    /// Fires when the client has cancelled the request or is gone: stop the work, nobody reads the result.
    #[must_use]
    pub fn cancelled(&self) -> CancellationToken {
        self.cancelled.clone()
    }
}

/// Sends the first message at once, later ones at most one a breath, and repeats the last one at every heartbeat.
/// Ends when the call or the connection does.
async fn report<S, F>(mut messages: watch::Receiver<String>, cadence: Cadence, send: S)
where
    S: Fn(f64, String) -> F,
    F: Future<Output = bool>,
{
    let started = Instant::now();
    let mut last: Option<String> = None;
    loop {
        let message = messages.borrow_and_update().clone();
        let seconds = started.elapsed().as_secs_f64();
        // The same words again would look like a call that hangs.
        let text = if last.as_ref() == Some(&message) { format!("{message} ({seconds:.0} s so far)") } else { message.clone() };
        if !send(seconds, text).await {
            return;
        }
        last = Some(message);
        sleep(cadence.breath).await;
        if let Ok(Err(_)) = timeout(cadence.heartbeat, messages.changed()).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// Starts a reporter; what it sends comes out of the second channel.
    fn reporter(first: &str, cadence: Cadence) -> (watch::Sender<String>, mpsc::UnboundedReceiver<String>) {
        let (says, messages) = watch::channel(first.to_owned());
        let (told, hears) = mpsc::unbounded_channel();
        tokio::spawn(report(messages, cadence, move |_, message| {
            let sent = told.send(message).is_ok();
            async move { sent }
        }));
        (says, hears)
    }

    #[tokio::test]
    async fn a_long_step_is_repeated_with_its_time() {
        let often = Cadence { heartbeat: Duration::from_millis(1), breath: Duration::ZERO };
        let (_says, mut hears) = reporter("compiling", often);
        assert_eq!(hears.recv().await.as_deref(), Some("compiling"));
        assert_eq!(hears.recv().await.as_deref(), Some("compiling (0 s so far)"));
    }

    #[tokio::test]
    async fn of_quick_messages_the_last_is_sent() {
        let seldom = Cadence { heartbeat: Duration::from_secs(3_600), breath: Duration::from_millis(50) };
        let (says, mut hears) = reporter("compiling", seldom);
        assert_eq!(hears.recv().await.as_deref(), Some("compiling"));
        for trial in 1..=100 {
            says.send_replace(format!("trial {trial}"));
        }
        assert_eq!(hears.recv().await.as_deref(), Some("trial 100"));
        drop(says);
        assert_eq!(hears.recv().await, None);
    }
}
