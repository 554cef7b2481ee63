//! Ends a daemon that hangs, so that whoever looks after it starts it anew; and tells systemd that it is well, where
//! systemd asks (`WatchdogSec=`).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(1);

/// So many looks in a row without a sign of life. Looks are counted, not seconds: a machine that slept, or a daemon that
/// was stopped for a while, is no reason.
const MOST: u32 = 60;

/// Watches over this process for as long as it lives. `ask` comes back when whatever matters has done some work.
pub fn start<F: Future<Output = ()> + Send>(
    name: &'static str,
    ask: impl Fn() -> F + Send + 'static,
) -> std::io::Result<()> {
    let pulse = Arc::new(AtomicU64::new(0));
    let beats = pulse.clone();
    tokio::spawn(async move {
        loop {
            ask().await;
            beats.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(EVERY).await;
        }
    });
    let manager = Manager::of_this_process();
    let watch = move || {
        let mut looks = Looks::default();
        loop {
            match looks.at(pulse.load(Ordering::Relaxed)) {
                Seen::First => manager.tell("READY=1\nWATCHDOG=1"),
                Seen::Alive => manager.tell("WATCHDOG=1"),
                Seen::Silent => {}
                Seen::Hung => {
                    eprintln!("{name}: error: it has not come to anything for {MOST} s: stopping");
                    std::process::abort();
                }
            }
            thread::sleep(EVERY);
        }
    };
    thread::Builder::new().name("watchdog".to_string()).spawn(watch).map(drop)
}

/// What a look shows.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    First,
    Alive,
    Silent,
    Hung,
}

#[derive(Default)]
struct Looks {
    last: u64,
    silent: u32,
}

impl Looks {
    fn at(&mut self, beats: u64) -> Seen {
        if beats == self.last {
            self.silent += 1;
            return if self.silent >= MOST { Seen::Hung } else { Seen::Silent };
        }
        self.silent = 0;
        match std::mem::replace(&mut self.last, beats) {
            0 => Seen::First,
            _ => Seen::Alive,
        }
    }
}

/// Where systemd listens, if it started this process and wants to know.
struct Manager(Option<(UnixDatagram, SocketAddr)>);

impl Manager {
    fn of_this_process() -> Manager {
        let said = std::env::var("NOTIFY_SOCKET").ok();
        Manager(said.and_then(|said| {
            let address = match said.strip_prefix('@') {
                Some(name) => SocketAddr::from_abstract_name(name),
                None => SocketAddr::from_pathname(&said),
            };
            Some((UnixDatagram::unbound().ok()?, address.ok()?))
        }))
    }

    fn tell(&self, words: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(words.as_bytes(), address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shows_no_sign_of_life_for_long_is_given_up() {
        let mut looks = Looks::default();
        assert_eq!(looks.at(0), Seen::Silent);
        assert_eq!(looks.at(1), Seen::First);
        assert_eq!(looks.at(2), Seen::Alive);
        for _ in 1..MOST {
            assert_eq!(looks.at(2), Seen::Silent);
        }
        assert_eq!(looks.at(3), Seen::Alive);
        for _ in 1..MOST {
            assert_eq!(looks.at(3), Seen::Silent);
        }
        assert_eq!(looks.at(3), Seen::Hung);
    }

    #[test]
    fn systemd_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notify");
        let hears = UnixDatagram::bind(&path).expect("listens");
        let address = SocketAddr::from_pathname(&path).expect("a path");
        let manager = Manager(Some((UnixDatagram::unbound().expect("a socket"), address)));
        manager.tell("WATCHDOG=1");
        let mut bytes = [0; 64];
        let count = hears.recv(&mut bytes).expect("is heard");
        assert_eq!(&bytes[..count], b"WATCHDOG=1");
    }
}
