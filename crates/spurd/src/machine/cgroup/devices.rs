//! Device files by their numbers, as groups allow and deny them.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// A device file, by whatever name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Device {
    /// A block device rather than a character device.
    pub block: bool,
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl Device {
    /// Looks at a file. None if it is no device.
    pub fn of(path: &Path) -> io::Result<Option<Device>> {
        let found = std::fs::metadata(path)?;
        let kind = found.file_type();
        let number = found.rdev();
        let device = Device {
            block: kind.is_block_device(),
            major: libc::major(number),
            minor: libc::minor(number),
        };
        Ok((kind.is_block_device() || kind.is_char_device()).then_some(device))
    }

    /// Whether it is one of those that programs take for granted: `/dev/null` and its like, and terminals.
    pub fn is_everybodys(&self) -> bool {
        !self.block && matches!((self.major, self.minor), (1, 3 | 5 | 7 | 8 | 9) | (5, 0..=2))
    }

    /// As version 1 writes it, with all that can be done to it.
    pub(super) fn line(&self) -> String {
        let kind = if self.block { 'b' } else { 'c' };
        format!("{kind} {}:{} rwm", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_by_its_numbers() {
        let null = Device::of(Path::new("/dev/null")).expect("is there").expect("is a device");
        assert_eq!(null, Device { block: false, major: 1, minor: 3 });
        assert_eq!(null.line(), "c 1:3 rwm");
        assert!(null.is_everybodys());
        assert!(!Device { major: 226, ..null }.is_everybodys());
        assert_eq!(Device::of(Path::new("/")).expect("is there"), None);
    }
}
