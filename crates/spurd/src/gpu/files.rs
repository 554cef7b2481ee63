//! What a shepherd needs to know of the node's GPUs: written by the agent into the spool.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use spur_core::jobenv::{GpuDevice, GpuFacts, GpuVendor};

use super::{Gpu, usage};

/// In the spool: a line for each GPU.
const FILE: &str = "gpus";

/// The GPUs of the node in their order; those that are only declared have no files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuFiles(Vec<Line>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    vendor: GpuVendor,
    number: u32,
    name: String,
    files: Vec<String>,
    shared_files: Vec<String>,
    gauge: String,
}

impl GpuFiles {
    /// Of those that were found below this root.
    pub fn of(gpus: &[Gpu], root: &Path) -> GpuFiles {
        let below = |files: &[String]| -> Vec<String> {
            let below = |file: &String| root.join(file.trim_start_matches('/'));
            files.iter().map(|file| below(file).display().to_string()).collect()
        };
        let lines = gpus.iter().map(|gpu| Line {
            vendor: gpu.vendor,
            number: gpu.number,
            name: gpu.name.clone(),
            files: below(&gpu.files),
            shared_files: below(&gpu.shared_files),
            gauge: usage::gauge(gpu, root),
        });
        GpuFiles(lines.collect())
    }

    /// Writes them down; nothing is kept of a node without any.
    pub fn write(&self, spool: &Path) -> io::Result<()> {
        if self.0.is_empty() {
            return match fs::remove_file(spool.join(FILE)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            };
        }
        let temporary = spool.join("gpus-new");
        fs::write(&temporary, self.0.iter().map(Line::to_text).collect::<String>())?;
        fs::rename(temporary, spool.join(FILE))
    }

    /// Reads them.
    pub fn read(spool: &Path) -> GpuFiles {
        let text = fs::read_to_string(spool.join(FILE)).unwrap_or_default();
        GpuFiles(text.lines().filter_map(Line::parse).collect())
    }

    /// The device files that must not be opened by who has been given these.
    pub fn denied(&self, given: &[u32]) -> BTreeSet<&str> {
        let is_given = |place: usize| given.contains(&(place as u32));
        let all =
            |line: &Line| -> Vec<String> { [&line.files[..], &line.shared_files[..]].concat() };
        let allowed: BTreeSet<String> = (self.0.iter().enumerate())
            .filter(|(place, _)| is_given(*place))
            .flat_map(|(_, line)| all(line))
            .collect();
        let files = self.0.iter().flat_map(|line| line.files.iter().chain(&line.shared_files));
        files.map(String::as_str).filter(|file| !allowed.contains(*file)).collect()
    }

    /// Whether each of the others has a file that can be closed to who has been given these. `is_device` tells of a
    /// file whether it is one.
    pub fn can_be_closed(&self, given: &[u32], is_device: impl Fn(&str) -> bool) -> bool {
        let denied = self.denied(given);
        let others = self.0.iter().enumerate().filter(|(at, _)| !given.contains(&(*at as u32)));
        let mut files = others.map(|(_, line)| line.files.iter().map(String::as_str));
        files.all(|mut files| files.any(|file| denied.contains(file) && is_device(file)))
    }

    /// What the environment tells of those given; nothing on a node without any.
    pub fn facts(&self, given: &[u32], others_hidden: bool) -> Option<GpuFacts> {
        if given.is_empty() && (others_hidden || self.0.is_empty()) {
            return None;
        }
        let device = |id: &u32| match self.0.get(*id as usize) {
            Some(line) => GpuDevice {
                id: *id,
                vendor: line.vendor,
                number: line.number,
                name: line.name.clone(),
                gauge: line.gauge.clone(),
            },
            None => GpuDevice { id: *id, number: *id, ..GpuDevice::default() },
        };
        let given_here: Vec<GpuDevice> = given.iter().map(device).collect();
        let mut withheld: Vec<GpuVendor> = Vec::new();
        for line in self.0.iter().filter(|_| !others_hidden) {
            let has_one = given_here.iter().any(|device| device.vendor == line.vendor);
            if !has_one && !withheld.contains(&line.vendor) {
                withheld.push(line.vendor);
            }
        }
        Some(GpuFacts {
            given: given_here,
            seen: given.to_vec(),
            others_hidden,
            withheld,
            bind: String::new(),
        })
    }
}

impl Line {
    fn to_text(&self) -> String {
        let vendor = match self.vendor {
            GpuVendor::Amd => "amd",
            GpuVendor::Nvidia => "nvidia",
            GpuVendor::Intel => "intel",
            GpuVendor::Unknown => "unknown",
        };
        let (files, shared) = (self.files.join(","), self.shared_files.join(","));
        format!("{vendor} {} {} {files} {shared} {}\n", self.number, self.name, self.gauge)
    }

    fn parse(line: &str) -> Option<Line> {
        let fields: Vec<&str> = line.splitn(6, ' ').collect();
        let [vendor, number, name, files, shared, gauge @ ..] = &fields[..] else { return None };
        let list = |text: &str| -> Vec<String> {
            text.split(',').filter(|file| !file.is_empty()).map(str::to_string).collect()
        };
        Some(Line {
            vendor: match *vendor {
                "amd" => GpuVendor::Amd,
                "nvidia" => GpuVendor::Nvidia,
                "intel" => GpuVendor::Intel,
                _ => GpuVendor::Unknown,
            },
            number: number.parse().ok()?,
            name: (*name).to_string(),
            files: list(files),
            shared_files: list(shared),
            gauge: gauge.first().map(|it| (*it).to_string()).unwrap_or_default(),
        })
    }
}
