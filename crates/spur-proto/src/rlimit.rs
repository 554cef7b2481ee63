//! The limits of a shell that go along with its jobs, as the kernel knows them.

use nix::sys::resource::Resource;

/// Every limit that `spur_core::rlimit` names.
pub const RESOURCES: &[(&str, Resource)] = &[
    ("AS", Resource::RLIMIT_AS),
    ("CORE", Resource::RLIMIT_CORE),
    ("CPU", Resource::RLIMIT_CPU),
    ("DATA", Resource::RLIMIT_DATA),
    ("FSIZE", Resource::RLIMIT_FSIZE),
    ("MEMLOCK", Resource::RLIMIT_MEMLOCK),
    ("NOFILE", Resource::RLIMIT_NOFILE),
    ("NPROC", Resource::RLIMIT_NPROC),
    ("RSS", Resource::RLIMIT_RSS),
    ("STACK", Resource::RLIMIT_STACK),
];

#[cfg(test)]
mod tests {
    #[test]
    fn every_name_means_something_to_the_kernel() {
        let names: Vec<&str> = super::RESOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, spur_core::rlimit::NAMES);
    }
}
