//! NVIDIA's GPUs, as the driver describes them in `/proc/driver/nvidia`, and their links by its library.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use spur_core::jobenv::GpuVendor;

use super::Gpu;
use crate::machine::nvml;

/// Finds them in the order in which programs count: by bus address, as `CUDA_DEVICE_ORDER=PCI_BUS_ID` and
/// as their device files are numbered.
pub(super) fn find(root: &Path) -> Vec<Gpu> {
    let Ok(entries) = fs::read_dir(root.join("proc/driver/nvidia/gpus")) else { return Vec::new() };
    let mut cards: Vec<Card> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let bus = entry.file_name().into_string().ok()?.to_ascii_lowercase();
            let text = fs::read_to_string(entry.path().join("information")).ok()?;
            Card::parse(bus, &text)
        })
        .collect();
    cards.sort_by_key(|card| card.minor);
    // The library speaks of this machine only.
    let buses: Vec<&str> = cards.iter().map(|card| card.bus.as_str()).collect();
    let links = if root == Path::new("/") { nvml::links(&buses) } else { None };
    let links = links.unwrap_or_else(|| vec![Vec::new(); cards.len()]);
    let mut found = Vec::new();
    for (card, links) in cards.iter().zip(links) {
        let whole = card.gpu(root, found.len() as u32, links);
        let parts = card.parts(root, &whole);
        if parts.is_empty() {
            found.push(whole);
        } else {
            found.extend(parts);
        }
    }
    // Links between cards say nothing of parts.
    if found.len() != cards.len() {
        found.iter_mut().for_each(|gpu| gpu.links.clear());
    }
    found
}

/// What the library has counted since the driver was loaded.
pub(super) fn uncorrectable(root: &Path, gpu: &Gpu) -> Option<u64> {
    // The library speaks of this machine only.
    let minor = minor(gpu).filter(|_| root == Path::new("/"))?;
    nvml::uncorrectable(minor)
}

/// The number of its device file.
pub(super) fn minor(gpu: &Gpu) -> Option<u32> {
    gpu.files.iter().find_map(|file| file.strip_prefix("/dev/nvidia")?.parse().ok())
}

struct Card {
    bus: String,
    model: String,
    uuid: String,
    minor: u32,
}

impl Card {
    /// Reads `Name: value` lines.
    fn parse(bus: String, information: &str) -> Option<Card> {
        let lines: BTreeMap<&str, &str> = information
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        Some(Card {
            bus,
            model: (*lines.get("Model")?).to_string(),
            uuid: lines.get("GPU UUID").copied().unwrap_or_default().to_string(),
            minor: lines.get("Device Minor")?.parse().ok()?,
        })
    }

    fn gpu(&self, root: &Path, number: u32, links: Vec<i64>) -> Gpu {
        let device = root.join("sys/bus/pci/devices").join(&self.bus);
        let read = |file| fs::read_to_string(device.join(file)).unwrap_or_default();
        Gpu {
            vendor: GpuVendor::Nvidia,
            kind: kind(&self.model),
            number,
            name: String::new(),
            files: vec![format!("/dev/nvidia{}", self.minor)],
            shared_files: SHARED.iter().map(|file| (*file).to_string()).collect(),
            cpus: read("local_cpulist").trim().to_string(),
            numa: read("numa_node").trim().parse().ok(),
            links,
        }
    }

    /// The instances it is split into, each with the files of its capabilities.
    fn parts(&self, root: &Path, whole: &Gpu) -> Vec<Gpu> {
        let capabilities =
            root.join(format!("proc/driver/nvidia/capabilities/gpu{}/mig", self.minor));
        let mut parts = Vec::new();
        for (instance, folder) in numbered(&capabilities, "gi") {
            let Some(access) = capability(&folder) else { continue };
            for (part, folder) in numbered(&folder, "ci") {
                let Some(part_access) = capability(&folder) else { continue };
                let mut files = vec![access.clone(), part_access];
                files.extend(whole.files.iter().cloned());
                parts.push(Gpu {
                    kind: format!("{}_mig", whole.kind),
                    number: whole.number + parts.len() as u32,
                    name: format!("MIG-{}/{instance}/{part}", self.uuid),
                    files,
                    links: Vec::new(),
                    ..whole.clone()
                });
            }
        }
        parts
    }
}

/// What all of them need.
static SHARED: &[&str] = &["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];

fn numbered(folder: &Path, prefix: &str) -> Vec<(u32, std::path::PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(u32, std::path::PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}

fn capability(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("access")).ok()?;
    let minor: u32 = text
        .lines()
        .find_map(|line| line.strip_prefix("DeviceFileMinor:"))
        .and_then(|minor| minor.trim().parse().ok())?;
    Some(format!("/dev/nvidia-caps/nvidia-cap{minor}"))
}

/// `NVIDIA H100 80GB HBM3` becomes `h100`, `NVIDIA GeForce RTX 4090` `rtx_4090`, `A100-SXM4-40GB` `a100`.
fn kind(model: &str) -> String {
    let words = model.split([' ', '-']).filter(|word| !word.is_empty());
    let words = words.skip_while(|word| ["NVIDIA", "Tesla", "GeForce", "Quadro"].contains(word));
    let mut kind: Vec<String> = Vec::new();
    for word in words {
        kind.push(word.to_ascii_lowercase().replace(|it: char| !it.is_ascii_alphanumeric(), "_"));
        if word.bytes().any(|byte| byte.is_ascii_digit()) {
            break;
        }
    }
    kind.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_short() {
        for (model, expected) in [
            ("NVIDIA H100 80GB HBM3", "h100"),
            ("NVIDIA A100-SXM4-40GB", "a100"),
            ("Tesla V100-SXM2-32GB", "v100"),
            ("NVIDIA GeForce RTX 4090", "rtx_4090"),
            ("NVIDIA RTX A6000", "rtx_a6000"),
            ("NVIDIA GH200 480GB", "gh200"),
            ("NVIDIA L40S", "l40s"),
        ] {
            assert_eq!(kind(model), expected);
        }
    }
}
