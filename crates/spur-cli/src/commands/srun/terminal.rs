//! Our own terminal, while a task has one too.

use std::os::fd::AsFd;

use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

/// The terminal passes everything on as it is typed, until this is dropped.
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Makes it so, if there is a terminal.
    pub fn make() -> Option<Raw> {
        let stdin = std::io::stdin();
        let before = tcgetattr(stdin.as_fd()).ok()?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(stdin.as_fd(), SetArg::TCSANOW, &raw).ok()?;
        Some(Raw { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin().as_fd(), SetArg::TCSADRAIN, &self.before);
    }
}

/// Rows and columns of the terminal.
#[allow(unsafe_code)]
pub fn size() -> Option<(u16, u16)> {
    // SAFETY: an all-zero size is a valid one, and the kernel writes only to it.
    unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let asked = libc::ioctl(libc::STDIN_FILENO, libc::TIOCGWINSZ, &raw mut size);
        (asked == 0).then_some((size.ws_row, size.ws_col))
    }
}
