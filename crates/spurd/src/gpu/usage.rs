//! How busy GPUs are, where the machine tells.

use std::fs;
use std::path::Path;

use spur_core::jobenv::{GpuFacts, GpuVendor};
use spur_core::views::GpuUsage;

use super::{Gpu, nvidia};
use crate::machine::nvml;

/// What NVIDIA's gauges begin with: the number of the device file follows.
const BY_LIBRARY: &str = "nvml:";

/// Where a GPU's load is told: the driver's folder of the device, or its library. Parts of a GPU have no gauge of
/// their own.
pub(super) fn gauge(gpu: &Gpu, root: &Path) -> String {
    match (gpu.vendor, gpu.name.is_empty(), gpu.files.first()) {
        (GpuVendor::Amd, true, Some(file)) => {
            let render = file.rsplit('/').next().unwrap_or_default();
            root.join("sys/class/drm").join(render).join("device").display().to_string()
        }
        (GpuVendor::Nvidia, true, _) if root == Path::new("/") => {
            nvidia::minor(gpu).map(|minor| format!("{BY_LIBRARY}{minor}")).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The gauges of GPUs that were given.
pub fn gauges(gpus: Option<&GpuFacts>) -> Vec<String> {
    let given = gpus.map(|gpus| &gpus.given[..]).unwrap_or_default();
    given.iter().map(|it| it.gauge.clone()).filter(|gauge| !gauge.is_empty()).collect()
}

/// All of them together; nothing where none can be read.
pub fn read(gauges: &[String]) -> Option<GpuUsage> {
    let told = gauges.iter().filter_map(|gauge| match gauge.strip_prefix(BY_LIBRARY) {
        Some(minor) => nvml::usage(minor.parse().ok()?),
        None => of_folder(Path::new(gauge)),
    });
    told.reduce(|sum, one| GpuUsage {
        memory_bytes: sum.memory_bytes + one.memory_bytes,
        busy_percent: sum.busy_percent + one.busy_percent,
    })
}

fn of_folder(folder: &Path) -> Option<GpuUsage> {
    let number = |file| fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok();
    Some(GpuUsage {
        memory_bytes: number("mem_info_vram_used")?,
        busy_percent: number("gpu_busy_percent").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_tell_are_added_up() {
        let root = tempfile::tempdir().expect("a folder");
        let gauges: Vec<String> =
            ["a", "b", "silent"].map(|name| root.path().join(name).display().to_string()).to_vec();
        assert_eq!(read(&gauges), None);
        for (folder, memory, busy) in [("a", "1000\n", "60\n"), ("b", "24\n", "7\n")] {
            let folder = root.path().join(folder);
            fs::create_dir(&folder).expect("makes");
            fs::write(folder.join("mem_info_vram_used"), memory).expect("writes");
            fs::write(folder.join("gpu_busy_percent"), busy).expect("writes");
        }
        assert_eq!(read(&gauges), Some(GpuUsage { memory_bytes: 1024, busy_percent: 67 }));
        assert_eq!(read(&[]), None);
    }
}
