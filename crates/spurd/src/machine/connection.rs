//! Hands an open connection from one process to another, with some bytes about it.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

/// Sends a descriptor, and `about` after its length.
pub fn give(to: &mut UnixStream, connection: BorrowedFd<'_>, about: &[u8]) -> io::Result<()> {
    let length = (about.len() as u32).to_le_bytes();
    let fds = [connection.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&fds)];
    let sent = sendmsg::<()>(
        to.as_raw_fd(),
        &[IoSlice::new(&length)],
        &rights,
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    if sent != length.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    to.write_all(about)
}

/// Takes what [`give`] sent. Blocks until it is there.
pub fn take(from: &mut UnixStream) -> io::Result<(OwnedFd, Vec<u8>)> {
    let mut length = [0; 4];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let connection = {
        let mut buffers = [IoSliceMut::new(&mut length)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_WAITALL;
        let message = recvmsg::<()>(from.as_raw_fd(), &mut buffers, Some(&mut space), flags)?;
        let mut found = None;
        for control in message.cmsgs()? {
            let ControlMessageOwned::ScmRights(fds) = control else { continue };
            for fd in fds {
                // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
                found = Some(unsafe { OwnedFd::from_raw_fd(fd) });
            }
        }
        if message.bytes != 4 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        found.ok_or(io::ErrorKind::InvalidData)?
    };
    let length = u32::from_le_bytes(length) as usize;
    if length > spur_proto::step_io::MAX_PAYLOAD {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut about = vec![0; length];
    from.read_exact(&mut about)?;
    Ok((connection, about))
}

/// Whether nobody on this machine listens there.
pub fn is_free(port: u16) -> bool {
    let bound = std::net::TcpListener::bind((std::net::Ipv4Addr::UNSPECIFIED, port));
    !matches!(bound, Err(error) if error.kind() == std::io::ErrorKind::AddrInUse)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_connection_that_was_handed_over_still_works() {
        let (mut giver, mut taker) = UnixStream::pair().expect("a pair");
        let (mut far, near) = UnixStream::pair().expect("a pair");
        give(&mut giver, near.as_fd(), b"about it").expect("is given");
        drop(near);
        let (taken, about) = take(&mut taker).expect("is taken");
        assert_eq!(about, b"about it");
        UnixStream::from(taken).write_all(b"hello").expect("writes");
        let mut heard = String::new();
        far.read_to_string(&mut heard).expect("reads");
        assert_eq!(heard, "hello");
    }
}
