//! AMD's GPUs, as the kernel's compute driver describes them in `/sys/class/kfd`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use spur_core::jobenv::GpuVendor;

use super::Gpu;

/// Finds them in the order in which programs count.
pub(super) fn find(root: &Path) -> Vec<Gpu> {
    let nodes = nodes(root);
    let gpus: Vec<&Node> = nodes.iter().filter(|node| node.is_gpu()).collect();
    let gpu = |(number, node): (usize, &&Node)| {
        let render = format!("renderD{}", node.number("drm_render_minor"));
        let device = root.join("sys/class/drm").join(&render).join("device");
        let numa =
            nearest(&nodes, node).or_else(|| trimmed(&device.join("numa_node"))?.parse().ok());
        let cpus = trimmed(&device.join("local_cpulist")).or_else(|| {
            let node = format!("sys/devices/system/node/node{}/cpulist", numa?);
            trimmed(&root.join(node))
        });
        let mut files = vec![format!("/dev/dri/{render}")];
        files.extend(cards(&device).into_iter().map(|card| format!("/dev/dri/{card}")));
        Gpu {
            vendor: GpuVendor::Amd,
            kind: kind(node, &gpus, &device),
            number: number as u32,
            name: String::new(),
            files,
            shared_files: vec!["/dev/kfd".to_string()],
            cpus: cpus.unwrap_or_default(),
            numa,
            links: gpus.iter().map(|other| links(node, other)).collect(),
        }
    };
    gpus.iter().enumerate().map(gpu).collect()
}

/// What the driver has counted in each block of the device: files such as `ras/umc_err_count` with lines
/// `ue: 0` and `ce: 0`.
pub(super) fn uncorrectable(root: &Path, gpu: &Gpu) -> Option<u64> {
    let render = gpu.files.first()?.rsplit('/').next()?;
    let folder = root.join("sys/class/drm").join(render).join("device/ras");
    let counts = fs::read_dir(folder).ok()?.flatten();
    let counts = counts.filter(|file| file.file_name().to_string_lossy().ends_with("_err_count"));
    let of_file = |path: PathBuf| -> u64 {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines =
            text.lines().filter_map(|line| line.strip_prefix("ue:")?.trim().parse::<u64>().ok());
        lines.sum()
    };
    Some(counts.map(|file| of_file(file.path())).sum())
}

/// A node of the driver's topology: a processor socket, a GPU, or a part of one.
struct Node {
    id: u32,
    properties: BTreeMap<String, u64>,
    links: Vec<BTreeMap<String, u64>>,
}

impl Node {
    fn number(&self, name: &str) -> u64 {
        self.properties.get(name).copied().unwrap_or(0)
    }

    fn is_gpu(&self) -> bool {
        self.number("simd_count") > 0
    }
}

fn nodes(root: &Path) -> Vec<Node> {
    let folder = root.join("sys/class/kfd/kfd/topology/nodes");
    let mut nodes: Vec<Node> = numbered(&folder)
        .into_iter()
        .map(|(id, path)| {
            let links = numbered(&path.join("io_links"));
            let links = links.iter().map(|(_, link)| properties(&link.join("properties")));
            Node { id, properties: properties(&path.join("properties")), links: links.collect() }
        })
        .collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}

/// The kernel's numbers for kinds of links.
const PCI_EXPRESS: u64 = 2;
const XGMI: u64 = 11;

fn links(from: &Node, to: &Node) -> i64 {
    if from.id == to.id {
        return -1;
    }
    let leads = |link: &&BTreeMap<String, u64>| {
        link.get("type") == Some(&XGMI) && link.get("node_to") == Some(&u64::from(to.id))
    };
    from.links.iter().filter(leads).count() as i64
}

/// The memory node it is attached to: processors come first in the topology, in the order of theirs.
fn nearest(nodes: &[Node], gpu: &Node) -> Option<u32> {
    let to_processors = gpu.links.iter().filter(|link| link.get("type") == Some(&PCI_EXPRESS));
    let targets = to_processors.filter_map(|link| link.get("node_to").copied());
    let is_processor =
        |id: &u64| nodes.iter().any(|node| u64::from(node.id) == *id && !node.is_gpu());
    targets.filter(is_processor).min().map(|id| id as u32)
}

/// The model, and how it is split up where several nodes are one device.
fn kind(node: &Node, gpus: &[&Node], device: &Path) -> String {
    let id = node.number("device_id");
    let known = MODELS.iter().find(|(known, _)| *known == id).map(|(_, name)| (*name).to_string());
    let model = known.or_else(|| trimmed(&device.join("product_name")).map(|name| plain(&name)));
    let model = model.unwrap_or_else(|| generation(node.number("gfx_target_version")));
    let whole = node.number("unique_id");
    let parts = gpus.iter().filter(|other| whole > 0 && other.number("unique_id") == whole).count();
    match (parts, node.number("num_xcc")) {
        (0 | 1, _) => model,
        (_, 1) => format!("{model}_cpx"),
        (2, _) => format!("{model}_dpx"),
        (3, _) => format!("{model}_tpx"),
        (4, _) => format!("{model}_qpx"),
        (parts, _) => format!("{model}_{parts}"),
    }
}

/// By the number of the PCI device.
static MODELS: &[(u64, &str)] = &[
    (0x66a1, "mi60"),
    (0x738c, "mi100"),
    (0x738e, "mi100"),
    (0x7408, "mi250x"),
    (0x740c, "mi250x"),
    (0x740f, "mi210"),
    (0x74a0, "mi300a"),
    (0x74a1, "mi300x"),
    (0x74a2, "mi308x"),
    (0x74a5, "mi325x"),
    (0x74a8, "mi308x"),
    (0x74a9, "mi300x_hf"),
    (0x75a0, "mi350x"),
    (0x75a3, "mi355x"),
];

/// `gfx942` of 90402: two digits each for the minor number and the step, the step in hexadecimal.
fn generation(version: u64) -> String {
    let (major, minor, step) = (version / 10_000, version / 100 % 100, version % 100);
    format!("gfx{major}{minor}{step:x}")
}

/// `AMD Instinct MI300X OAM` becomes `mi300x`: the word with a number in it.
fn plain(product: &str) -> String {
    let has_digit = |word: &&str| word.bytes().any(|byte| byte.is_ascii_digit());
    let word = product.split_ascii_whitespace().find(has_digit).unwrap_or(product);
    word.to_ascii_lowercase().replace(|byte: char| !byte.is_ascii_alphanumeric(), "_")
}

fn cards(device: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(device.join("drm")) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut cards: Vec<String> = names.filter(|name| name.starts_with("card")).collect();
    cards.sort();
    cards
}

/// The entries of a folder whose names are numbers.
fn numbered(folder: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entries = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))
    });
    entries.collect()
}

/// `name value` lines; what is no number is left out.
fn properties(file: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_string(), value.trim().parse().ok()?))
    });
    lines.collect()
}

fn trimmed(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}
