//! The GPUs of this machine, found below a root so that trees of other machines can be read too.

mod amd;
mod files;
mod nvidia;
#[cfg(test)]
mod tests;
pub mod usage;

use std::path::Path;

use spur_core::jobenv::GpuVendor;
use spur_core::node::Gres;

pub use files::GpuFiles;
pub use spur_core::gres::{GPU, SHARD};

/// A GPU, or a part of one that is given to jobs by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Who made it.
    pub vendor: GpuVendor,
    /// `mi300x`, as jobs ask for it.
    pub kind: String,
    /// Its number among those of its maker, as programs count.
    pub number: u32,
    /// What programs call it where a number is not enough, as for parts of NVIDIA's; else empty.
    pub name: String,
    /// Its device files, the one to show first.
    pub files: Vec<String>,
    /// Device files that it needs and shares with others of its maker.
    pub shared_files: Vec<String>,
    /// The kernel's numbers of the processors near it, as `0-7,16-23`; empty if not known.
    pub cpus: String,
    /// The memory node near it.
    pub numa: Option<u32>,
    /// How many links lead to each of the machine's GPUs, in order; -1 to itself. Empty: not known.
    pub links: Vec<i64>,
}

/// Finds all GPUs below a root, in the order in which they are counted: those of one kind together.
pub fn find(root: &Path) -> Vec<Gpu> {
    let makers = [amd::find(root), nvidia::find(root)];
    let mut found: Vec<Gpu> = Vec::new();
    for of_one_maker in makers {
        let before = found.len();
        for mut gpu in of_one_maker {
            if !gpu.links.is_empty() {
                gpu.links.splice(0..0, std::iter::repeat_n(0, before));
            }
            found.push(gpu);
        }
    }
    for gpu in &mut found {
        gpu.shared_files.sort();
    }
    together(found)
}

/// Errors of a GPU's memory that could not be corrected since its driver was loaded, where that is told.
pub fn uncorrectable(root: &Path, gpu: &Gpu) -> Option<u64> {
    match gpu.vendor {
        GpuVendor::Amd => amd::uncorrectable(root, gpu),
        GpuVendor::Nvidia => nvidia::uncorrectable(root, gpu),
        GpuVendor::Intel | GpuVendor::Unknown => None,
    }
}

/// Puts those of one kind beside each other, and their links into the same order.
fn together(found: Vec<Gpu>) -> Vec<Gpu> {
    let total = found.len();
    let mut kinds: Vec<&str> = Vec::new();
    for gpu in &found {
        if !kinds.contains(&gpu.kind.as_str()) {
            kinds.push(&gpu.kind);
        }
    }
    let mut order: Vec<usize> = (0..total).collect();
    order.sort_by_key(|place| kinds.iter().position(|kind| *kind == found[*place].kind));
    let links = |gpu: &Gpu| match gpu.links.is_empty() {
        true => Vec::new(),
        false => order.iter().map(|place| gpu.links.get(*place).copied().unwrap_or(0)).collect(),
    };
    order
        .iter()
        .map(|place| Gpu { links: links(&found[*place]), ..found[*place].clone() })
        .collect()
}

/// As a node registers them. `near` turns the kernel's numbers of processors into the node's.
pub fn registered(gpus: &[Gpu], near: impl Fn(&str) -> String) -> Vec<Gres> {
    let kinds = gpus.chunk_by(|left, right| left.kind == right.kind);
    let gres = kinds.map(|alike| {
        let all_of = |get: &dyn Fn(&Gpu) -> String| -> Vec<String> {
            let texts: Vec<String> = alike.iter().map(get).collect();
            if texts.iter().all(String::is_empty) { Vec::new() } else { texts }
        };
        let links = |gpu: &Gpu| gpu.links.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        Gres {
            name: GPU.to_string(),
            kind: alike.first().map(|gpu| gpu.kind.clone()).unwrap_or_default(),
            count: alike.len() as u64,
            files: all_of(&|gpu| gpu.files.first().cloned().unwrap_or_default()),
            cores: all_of(&|gpu| near(&gpu.cpus)),
            links: all_of(&links),
            no_consume: false,
        }
    });
    gres.collect()
}
