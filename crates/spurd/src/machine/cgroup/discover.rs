//! Which hierarchies are mounted, and where in each this process is.

use std::path::{Path, PathBuf};

use super::Controller;

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// What it controls; none is said of version 2, whose groups tell themselves.
    pub(super) controllers: Option<Vec<Controller>>,
    /// Its topmost visible group.
    pub(super) top: PathBuf,
    /// The group this process is in.
    pub(super) own: PathBuf,
}

/// Reads `/proc/self/mountinfo` and `/proc/self/cgroup`. Hierarchies without anything for us, and those
/// in which our group cannot be seen, are left out.
pub(super) fn hierarchies(mounts: &str, membership: &str) -> Vec<Hierarchy> {
    mounts.lines().filter_map(|line| hierarchy(line, membership)).collect()
}

fn hierarchy(mount: &str, membership: &str) -> Option<Hierarchy> {
    let (place, kind) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, top) = (unescape(place.next()?), unescape(place.next()?));
    let mut kind = kind.split(' ');
    let controllers = match kind.next()? {
        "cgroup2" => None,
        "cgroup" => {
            let options = kind.nth(1)?;
            let known = options.split(',').filter_map(Controller::parse);
            let known: Vec<Controller> = known.filter(|it| *it != Controller::Cpu).collect();
            Some(known).filter(|known| !known.is_empty())?.into()
        }
        _ => return None,
    };
    let own = membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (names, path) = (fields.next()?, fields.next()?);
        let is_this = match &controllers {
            None => names.is_empty(),
            Some(known) => known.iter().any(|it| names.split(',').any(|name| name == it.name())),
        };
        is_this.then_some(path)
    })?;
    let below = Path::new(own).strip_prefix(&root).ok()?;
    let own = if below.as_os_str().is_empty() { top.clone() } else { top.join(below) };
    Some(Hierarchy { controllers, top, own })
}

/// Mount points have blanks and backslashes written as three octal digits.
fn unescape(path: &str) -> PathBuf {
    let mut plain = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        match after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    PathBuf::from(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(controllers: Option<&[Controller]>, top: &str, own: &str) -> Hierarchy {
        Hierarchy {
            controllers: controllers.map(<[Controller]>::to_vec),
            top: PathBuf::from(top),
            own: PathBuf::from(own),
        }
    }

    #[test]
    fn version_2_alone() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n\
                      31 24 0:27 / /proc rw - proc proc rw\n";
        let found = hierarchies(mounts, "0::/system.slice/spurd.service\n");
        let own = "/sys/fs/cgroup/system.slice/spurd.service";
        assert_eq!(found, [at(None, "/sys/fs/cgroup", own)]);
    }

    #[test]
    fn both_versions_side_by_side() {
        let mounts = "\
            33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
            34 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            35 32 0:31 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
            36 32 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "3:memory:/a b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/x\n";
        assert_eq!(
            hierarchies(mounts, own),
            [
                at(
                    Some(&[Controller::Memory]),
                    "/sys/fs/cgroup/memory",
                    "/sys/fs/cgroup/memory/a b"
                ),
                at(None, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/x"),
            ]
        );
    }

    #[test]
    fn a_container_sees_its_own_part() {
        let mounts = "30 24 0:26 /docker/ab /sys/fs/c\\040g rw - cgroup cgroup rw,pids\n";
        let inside = hierarchies(mounts, "5:pids:/docker/ab/c\n");
        assert_eq!(inside, [at(Some(&[Controller::Pids]), "/sys/fs/c g", "/sys/fs/c g/c")]);
        assert_eq!(hierarchies(mounts, "5:pids:/elsewhere\n"), []);
    }
}
