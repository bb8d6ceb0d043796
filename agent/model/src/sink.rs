//! Where the pieces of an answer go while it is still being written. Progress only: the answer itself comes when it is complete.

use std::time::Duration;

/// Something that happened while a model answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece<'a> {
    /// The model wrote this, after what it wrote before.
    Text(&'a str),
    /// The model thought this, where the provider shows it.
    Thinking(&'a str),
    /// The model begins to call this tool.
    Call(&'a str),
    /// The attempt failed and everything said so far is void; the question is put again after the delay.
    Retry {
        /// How many attempts have failed.
        failed: u32,
        /// How long until the next.
        delay: Duration,
        /// What was wrong, in a sentence.
        reason: &'a str,
    },
}

/// Takes pieces as they come.
pub trait TextSink: Send + Sync {
    /// Called in order, from the task that asks; it must not block.
    fn take(&self, piece: Piece<'_>);
}

/// Takes no notice.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

impl TextSink for NoSink {
    fn take(&self, _: Piece<'_>) {}
}
