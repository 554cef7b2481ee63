//! NVIDIA's management library, if this machine has it: the one source that tells which GPUs are linked.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use spur_core::views::GpuUsage;

/// How many links lead from each of these devices to each other one, -1 to itself. None without library.
pub fn links(buses: &[&str]) -> Option<Vec<Vec<i64>>> {
    let library = Library::open()?;
    let ends: Vec<BTreeMap<String, i64>> =
        buses.iter().map(|bus| library.far_ends(bus)).collect::<Option<_>>()?;
    Some(counted(buses, &ends))
}

/// Memory errors of the device with this number that could not be corrected, since its driver was loaded.
pub fn uncorrectable(minor: u32) -> Option<u64> {
    let (library, device) = Library::with(minor)?;
    let mut count = 0;
    // SAFETY: the library fills in a value of our own, and the handle is one that it gave.
    let done = unsafe { (library.errors?)(device, UNCORRECTED, SINCE_LOADED, &raw mut count) };
    (done == 0).then_some(count)
}

/// What the device with this number does now.
pub fn usage(minor: u32) -> Option<GpuUsage> {
    let (library, device) = Library::with(minor)?;
    let (mut memory, mut busy) = (Memory::default(), Busy::default());
    // SAFETY: the library fills in values of our own, and the handle is one that it gave.
    let done = unsafe {
        (library.memory?)(device, &raw mut memory) == 0
            && (library.busy?)(device, &raw mut busy) == 0
    };
    let told = GpuUsage { memory_bytes: memory.used, busy_percent: busy.device.into() };
    done.then_some(told)
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
type Count = unsafe extern "C" fn(*mut c_uint) -> c_int;
type ByIndex = unsafe extern "C" fn(c_uint, *mut Handle) -> c_int;
type Minor = unsafe extern "C" fn(Handle, *mut c_uint) -> c_int;
type Errors = unsafe extern "C" fn(Handle, c_uint, c_uint, *mut u64) -> c_int;
type MemoryInfo = unsafe extern "C" fn(Handle, *mut Memory) -> c_int;
type Utilization = unsafe extern "C" fn(Handle, *mut Busy) -> c_int;
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

#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
#[derive(Default)]
struct Busy {
    device: c_uint,
    memory: c_uint,
}

/// The library's words.
const UNCORRECTED: c_uint = 1;
const SINCE_LOADED: c_uint = 0;

struct Library {
    by_bus: ByBus,
    link_state: LinkState,
    far_end: FarEnd,
    count: Option<Count>,
    by_index: Option<ByIndex>,
    minor: Option<Minor>,
    errors: Option<Errors>,
    memory: Option<MemoryInfo>,
    busy: Option<Utilization>,
}

/// No GPU so far has more.
const MOST_LINKS: c_uint = 18;

impl Library {
    fn open() -> Option<Library> {
        Library::load(c"libnvidia-ml.so.1")
    }

    /// The library, and its handle of the device with this number.
    fn with(minor: u32) -> Option<(Library, Handle)> {
        let library = Library::open()?;
        let device = library.device(minor)?;
        Some((library, device))
    }

    fn device(&self, minor: u32) -> Option<Handle> {
        let (mut count, mut device, mut found) = (0, std::ptr::null_mut(), 0);
        // SAFETY: the library fills in values of our own, and the handles are those that it gave.
        unsafe {
            if (self.count?)(&raw mut count) != 0 {
                return None;
            }
            for index in 0..count {
                if (self.by_index?)(index, &raw mut device) == 0
                    && (self.minor?)(device, &raw mut found) == 0
                    && found == minor
                {
                    return Some(device);
                }
            }
        }
        None
    }

    fn load(name: &CStr) -> Option<Library> {
        // SAFETY: the library is the driver's own and stays loaded until the end; each function is looked
        // up by its name and has the type that the library's public header gives it.
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
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
            let library = Library {
                by_bus,
                link_state,
                far_end,
                count: find(c"nvmlDeviceGetCount_v2")
                    .map(|it| std::mem::transmute::<*mut c_void, Count>(it)),
                by_index: find(c"nvmlDeviceGetHandleByIndex_v2")
                    .map(|it| std::mem::transmute::<*mut c_void, ByIndex>(it)),
                minor: find(c"nvmlDeviceGetMinorNumber")
                    .map(|it| std::mem::transmute::<*mut c_void, Minor>(it)),
                errors: find(c"nvmlDeviceGetTotalEccErrors")
                    .map(|it| std::mem::transmute::<*mut c_void, Errors>(it)),
                memory: find(c"nvmlDeviceGetMemoryInfo")
                    .map(|it| std::mem::transmute::<*mut c_void, MemoryInfo>(it)),
                busy: find(c"nvmlDeviceGetUtilizationRates")
                    .map(|it| std::mem::transmute::<*mut c_void, Utilization>(it)),
            };
            (init() == 0).then_some(library)
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

    /// Two devices whose order is not that of their files.
    const STAND_IN: &str = r"
        int nvmlInit_v2(void) { return 0; }
        int nvmlDeviceGetHandleByPciBusId_v2(const char *b, void **d) { return 1; }
        int nvmlDeviceGetNvLinkState(void *d, unsigned l, unsigned *a) { return 1; }
        int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *d, unsigned l, void *i) { return 1; }
        int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
        int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(long)(i + 1); return 0; }
        int nvmlDeviceGetMinorNumber(void *d, unsigned *m) { *m = 2 - (unsigned)(long)d; return 0; }
        int nvmlDeviceGetTotalEccErrors(void *d, unsigned t, unsigned c, unsigned long long *n)
            { *n = t == 1 && c == 0 ? 40 + (long)d : 0; return 0; }
        int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m)
            { m[0] = 100; m[1] = 30; m[2] = 70; return 0; }
    ";

    #[test]
    fn devices_are_found_by_the_number_of_their_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, library) = (folder.path().join("a.c"), folder.path().join("a.so"));
        std::fs::write(&source, STAND_IN).expect("writes");
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
        if !compiler.status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: no C compiler");
            return;
        }
        let name = CString::new(library.display().to_string()).expect("no NUL");
        let library = Library::load(&name).expect("loads");
        let device = library.device(1).expect("is there");
        assert_eq!(device as usize, 1, "the first of the library has the second file");
        assert!(library.device(7).is_none() && library.busy.is_none());
        let mut count = 0;
        let errors = library.errors.expect("is there");
        // SAFETY: the handle is the library's.
        assert_eq!(unsafe { errors(device, UNCORRECTED, SINCE_LOADED, &raw mut count) }, 0);
        assert_eq!(count, 41);
    }

    #[test]
    fn a_machine_without_the_library_has_no_answer() {
        if Library::open().is_none() {
            assert_eq!(links(&[]), None);
        }
    }
}
