//! Framed JSON over a socketpair, with descriptors beside it.
//!
//! A message is a 4-byte little-endian length and that many bytes of JSON. The other end may be hostile: lengths are bounded,
//! descriptors nobody asked for are closed, and nothing here blocks.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType, recvmsg, sendmsg, socketpair,
};
use serde_json::Value;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The longest message either side may send.
pub(crate) const MESSAGE_LIMIT: usize = 16 << 20;

/// Descriptors that one message can carry.
const DESCRIPTOR_LIMIT: usize = 4;

/// What can go wrong between two messages.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    /// The other end is closed.
    #[error("the worker closed its channel")]
    Closed,
    /// A message to be sent is longer than any may be.
    #[error("a message of {0} bytes is too long")]
    TooLong(usize),
    /// What arrived is no message.
    #[error("{0}")]
    Malformed(String),
    /// The operating system refused.
    #[error("the channel failed: {0}")]
    Io(#[from] io::Error),
}

/// One message as it arrived.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) value: Value,
    pub(crate) fds: Vec<OwnedFd>,
}

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: AsyncFd<OwnedFd>,
    received: Vec<u8>,
    fds: Vec<OwnedFd>,
}

impl Channel {
    /// A channel and the end to give to the worker.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self::over(ours)?, theirs))
    }

    /// A channel over a socket that does not block.
    fn over(socket: OwnedFd) -> io::Result<Self> {
        // SAFETY: an owned descriptor stays valid and the same for as long as it is owned.
        let socket = unsafe { AsyncFd::register(socket) }?;
        Ok(Self { socket, received: Vec::new(), fds: Vec::new() })
    }

    /// Sends one message with its descriptors.
    pub(crate) async fn send(&mut self, value: &Value, fds: &[BorrowedFd<'_>]) -> Result<(), ChannelError> {
        let text = serde_json::to_vec(value).map_err(|error| ChannelError::Malformed(error.to_string()))?;
        if text.len() > MESSAGE_LIMIT {
            return Err(ChannelError::TooLong(text.len()));
        }
        let mut frame = (text.len() as u32).to_le_bytes().to_vec();
        frame.extend(text);
        let mut sent = 0;
        while sent < frame.len() {
            let pass: &[BorrowedFd<'_>] = if sent == 0 { fds } else { &[] };
            sent += self.socket.async_io(Interest::WRITABLE, |socket| send_part(socket, &frame[sent..], pass)).await?;
        }
        Ok(())
    }

    /// Receives one message. Safe to cancel: what had arrived is kept.
    pub(crate) async fn receive(&mut self) -> Result<Message, ChannelError> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            let (bytes, fds) = self.socket.async_io(Interest::READABLE, receive_part).await?;
            if bytes.is_empty() {
                return Err(ChannelError::Closed);
            }
            self.received.extend(bytes);
            self.fds.extend(fds);
            self.fds.truncate(DESCRIPTOR_LIMIT);
        }
    }

    /// The socket once more, to watch it.
    pub(crate) fn socket(&self) -> io::Result<OwnedFd> {
        self.socket.get_ref().try_clone()
    }

    /// Whether something lies here that nobody has asked for.
    pub(crate) fn has_leftovers(&self) -> bool {
        !self.received.is_empty()
    }

    fn take(&mut self) -> Result<Option<Message>, ChannelError> {
        let Some((length, rest)) = self.received.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > MESSAGE_LIMIT {
            return Err(ChannelError::Malformed(format!("a message of {length} bytes was announced")));
        }
        let Some(text) = rest.get(..length) else { return Ok(None) };
        let value = serde_json::from_slice(text).map_err(|error| ChannelError::Malformed(format!("a message is no JSON: {error}")));
        self.received.drain(..4 + length);
        Ok(Some(Message { value: value?, fds: std::mem::take(&mut self.fds) }))
    }
}

fn send_part(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

fn receive_part(socket: &OwnedFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut buffer = vec![0; 64 << 10];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_LIMIT))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    buffer.truncate(received.bytes);
    Ok((buffer, fds))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn messages_arrive_whole_with_their_descriptors() {
        let (mut ours, theirs) = Channel::pair().unwrap();
        rustix::io::ioctl_fionbio(&theirs, true).unwrap();
        let mut other = Channel::over(theirs).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        let long = json!({"text": "x".repeat(1 << 20)});
        let pass = [file.as_fd()];
        let (sent, first) = tokio::join!(ours.send(&long, &pass), other.receive());
        sent.unwrap();
        let first = first.unwrap();
        assert_eq!((first.value, first.fds.len()), (long, 1));
        ours.send(&json!(1), &[]).await.unwrap();
        ours.send(&json!(2), &[]).await.unwrap();
        assert_eq!(other.receive().await.unwrap().value, json!(1));
        assert!(other.has_leftovers());
        assert_eq!(other.receive().await.unwrap().value, json!(2));
        drop(ours);
        assert!(matches!(other.receive().await, Err(ChannelError::Closed)));
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        for bytes in [&b"\xff\xff\xff\xff"[..], b"\x03\x00\x00\x00{no"] {
            let (mut ours, theirs) = Channel::pair().unwrap();
            let mut theirs = UnixStream::from(theirs);
            theirs.write_all(bytes).unwrap();
            assert!(matches!(ours.receive().await, Err(ChannelError::Malformed(_))));
            let mut nothing = [0; 1];
            theirs.set_nonblocking(true).unwrap();
            assert!(theirs.read(&mut nothing).is_err());
        }
    }
}
