//! Open files passed from one process to another: what a user's process opened, its shepherd may write to;
//! what the agent opened, a shepherd takes over its line.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The two ends of a passage: for whoever takes, and for whoever gives.
pub fn passage() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socketpair(AddressFamily::Unix, SockType::Datagram, None, flags)?)
}

/// Passes an open file on.
pub fn give(passage: impl AsFd, file: impl AsFd) -> io::Result<()> {
    send(passage, b".", Some(file.as_fd()))
}

/// Takes the file that was passed, if it was.
pub fn take(passage: impl AsFd) -> io::Result<Option<OwnedFd>> {
    match receive(passage) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        received => received.map(|(_, file)| file),
    }
}

/// The longest message.
pub const LONGEST: usize = 256;

/// Sends a message of at most [`LONGEST`] bytes, and an open file with it.
pub fn send(line: impl AsFd, text: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let files: Vec<RawFd> = file.iter().map(AsRawFd::as_raw_fd).collect();
    let carried = [ControlMessage::ScmRights(&files)];
    let carried = if files.is_empty() { &carried[..0] } else { &carried[..] };
    let line = line.as_fd().as_raw_fd();
    sendmsg::<()>(line, &[IoSlice::new(text)], carried, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// The next message, with the file it carries; empty when nobody is at the other end any more.
pub fn receive(line: impl AsFd) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    receive_as(line, MsgFlags::empty())
}

fn receive_as(line: impl AsFd, how: MsgFlags) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut text = [0; LONGEST];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let (length, file) = loop {
        let mut slices = [IoSliceMut::new(&mut text)];
        let (line, flags) = (line.as_fd().as_raw_fd(), how | MsgFlags::MSG_CMSG_CLOEXEC);
        match recvmsg::<()>(line, &mut slices, Some(&mut space), flags) {
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(message) => {
                let file = message.cmsgs()?.find_map(|carried| match carried {
                    ControlMessageOwned::ScmRights(files) => files.first().copied(),
                    _ => None,
                });
                // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
                let file = file.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
                break (message.bytes, file);
            }
        }
    };
    Ok((text[..length].to_vec(), file))
}

/// An end of a line whose messages can be awaited.
pub struct Line(AsyncFd<OwnedFd>);

impl Line {
    /// Begins to listen.
    pub fn new(end: OwnedFd) -> io::Result<Line> {
        // SAFETY: the descriptor is owned, and always the same one.
        Ok(Line(unsafe { AsyncFd::register_with_interest(end, Interest::READABLE) }?))
    }

    /// As [`send`].
    pub fn send(&self, text: &[u8], file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        send(self.0.get_ref(), text, file)
    }

    /// Returns once there is a message, and whether it was one and not the end of the line.
    pub async fn hears(&self) -> io::Result<bool> {
        loop {
            let mut ready = self.0.readable().await?;
            match receive_as(self.0.get_ref(), MsgFlags::MSG_DONTWAIT) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                heard => return heard.map(|(text, _)| !text.is_empty()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};

    #[test]
    fn what_is_given_can_be_written_to() {
        let (taker, giver) = passage().expect("makes a passage");
        assert!(take(&taker).expect("looks").is_none(), "nothing was given yet");
        let mut file = tempfile::tempfile().expect("makes a file");
        give(&giver, &file).expect("gives");
        let taken = take(&taker).expect("takes").expect("is there");
        File::from(taken).write_all(b"hello").expect("writes");
        let mut text = String::new();
        file.rewind().expect("rewinds");
        file.read_to_string(&mut text).expect("reads");
        assert_eq!(text, "hello");
    }
}
