//! NVIDIA's management library, if this machine has it: the one source that tells which GPUs are linked.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

/// How many links lead from each of these devices to each other one, -1 to itself. None without library.
pub fn links(buses: &[&str]) -> Option<Vec<Vec<i64>>> {
    let library = Library::open()?;
    let ends: Vec<BTreeMap<String, i64>> =
        buses.iter().map(|bus| library.far_ends(bus)).collect::<Option<_>>()?;
    Some(counted(buses, &ends))
}

/// A link leads to another GPU, or to a switch that leads on to all who share it.
fn counted(buses: &[&str], ends: &[BTreeMap<String, i64>]) -> Vec<Vec<i64>> {
    let is_gpu = |end: &String| buses.contains(&end.as_str());
    let between = |from: usize, to: usize| -> i64 {
        if from == to {
            return -1;
        }
        let direct = ends[from].get(buses[to]).copied().unwrap_or(0);
        let switched = ends[from]
            .iter()
            .filter(|(end, _)| !is_gpu(end))
            .map(|(end, links)| ends[to].get(end).map_or(0, |theirs| *links.min(theirs)));
        direct + switched.sum::<i64>()
    };
    (0..buses.len()).map(|from| (0..buses.len()).map(|to| between(from, to)).collect()).collect()
}

type Handle = *mut c_void;
type Init = unsafe extern "C" fn() -> c_int;
type ByBus = unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int;
type LinkState = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int;
type FarEnd = unsafe extern "C" fn(Handle, c_uint, *mut PciInfo) -> c_int;

#[repr(C)]
struct PciInfo {
    legacy_bus: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    device_id: c_uint,
    subsystem_id: c_uint,
    bus_id: [c_char; 32],
}

struct Library {
    by_bus: ByBus,
    link_state: LinkState,
    far_end: FarEnd,
}

/// No GPU so far has more.
const MOST_LINKS: c_uint = 18;

impl Library {
    fn open() -> Option<Library> {
        // SAFETY: the library is the driver's own and stays loaded until the end; each function is looked
        // up by its name and has the type that the library's public header gives it.
        unsafe {
            let library = libc::dlopen(c"libnvidia-ml.so.1".as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                return None;
            }
            let find = |name: &CStr| {
                let found = libc::dlsym(library, name.as_ptr());
                (!found.is_null()).then_some(found)
            };
            let init: Init = std::mem::transmute(find(c"nvmlInit_v2")?);
            let by_bus: ByBus = std::mem::transmute(find(c"nvmlDeviceGetHandleByPciBusId_v2")?);
            let link_state: LinkState = std::mem::transmute(find(c"nvmlDeviceGetNvLinkState")?);
            let far_end: FarEnd =
                std::mem::transmute(find(c"nvmlDeviceGetNvLinkRemotePciInfo_v2")?);
            (init() == 0).then_some(Library { by_bus, link_state, far_end })
        }
    }

    /// Where the links of a device lead, and how many to each.
    fn far_ends(&self, bus: &str) -> Option<BTreeMap<String, i64>> {
        let bus = CString::new(bus).ok()?;
        let mut handle: Handle = std::ptr::null_mut();
        let mut ends = BTreeMap::new();
        // SAFETY: the library fills in values of our own, and the handle is one that it gave.
        unsafe {
            if (self.by_bus)(bus.as_ptr(), &raw mut handle) != 0 {
                return None;
            }
            for link in 0..MOST_LINKS {
                let mut active: c_uint = 0;
                let known = (self.link_state)(handle, link, &raw mut active) == 0;
                if !known || active == 0 {
                    continue;
                }
                let mut info: PciInfo = std::mem::zeroed();
                if (self.far_end)(handle, link, &raw mut info) == 0 {
                    let end = format!("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
                    *ends.entry(end).or_insert(0) += 1;
                }
            }
        }
        Some(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_lead_to_all_who_share_them() {
        let ends = |list: &[(&str, i64)]| -> BTreeMap<String, i64> {
            list.iter().map(|(end, links)| ((*end).to_string(), *links)).collect()
        };
        let switched = [ends(&[("s1", 9), ("s2", 9)]), ends(&[("s1", 9), ("s2", 9)]), ends(&[])];
        let expected = [vec![-1, 18, 0], vec![18, -1, 0], vec![0, 0, -1]];
        assert_eq!(counted(&["a", "b", "c"], &switched), expected);
        let direct = [ends(&[("b", 4)]), ends(&[("a", 4)])];
        assert_eq!(counted(&["a", "b"], &direct), [vec![-1, 4], vec![4, -1]]);
    }

    #[test]
    fn a_machine_without_the_library_has_no_answer() {
        if Library::open().is_none() {
            assert_eq!(links(&[]), None);
        }
    }
}
