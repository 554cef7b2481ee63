//! Open files passed from one process to another: what a user's process opened, its shepherd may write to.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};

/// The two ends of a passage: for whoever takes, and for whoever gives.
pub fn passage() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    Ok(socketpair(AddressFamily::Unix, SockType::Datagram, None, flags)?)
}

/// Passes an open file on.
pub fn give(passage: impl AsFd, file: impl AsFd) -> io::Result<()> {
    let files = [file.as_fd().as_raw_fd()];
    let carried = [ControlMessage::ScmRights(&files)];
    let passage = passage.as_fd().as_raw_fd();
    sendmsg::<()>(passage, &[IoSlice::new(b".")], &carried, MsgFlags::empty(), None)?;
    Ok(())
}

/// Takes the file that was passed, if it was.
pub fn take(passage: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let passage = passage.as_fd().as_raw_fd();
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = match recvmsg::<()>(passage, &mut slices, Some(&mut space), flags) {
        Ok(message) => message,
        Err(Errno::EAGAIN) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    for carried in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(files) = carried {
            // SAFETY: the kernel has just made these descriptors for us, and nobody else knows them.
            let mut files = files.iter().map(|file| unsafe { OwnedFd::from_raw_fd(*file) });
            return Ok(files.next());
        }
    }
    Ok(None)
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
