//! The clock that leases are measured with.

use crate::agent::Millis;

/// Milliseconds since boot, those asleep included: a lease must not outlive a suspended laptop.
pub fn boot_time() -> Millis {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills in a value of our own; it cannot refuse a clock it has had since 2.6.39.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    Millis(time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on() {
        let before = boot_time();
        assert!(before > Millis(0));
        assert!(boot_time() >= before);
    }
}
