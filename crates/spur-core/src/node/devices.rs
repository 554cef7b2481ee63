//! Devices that the configuration tells of, beside those that an agent finds by itself.

use std::collections::BTreeMap;

use super::inventory::{Gres, Inventory};
use crate::config::sections;
use crate::config::{NodeList, gres_count};
use crate::gres::SHARD;
use crate::hostlist;
use crate::ids::NodeName;

/// The most devices that a line stands for one by one; of more only the count matters.
const MOST_DEVICES: u64 = 1 << 10;

impl Inventory {
    /// What the node has with what `[[gres]]` says of it. Devices that were found stay as they are; the file may say
    /// which cores and which of the others they are near.
    pub fn with_devices(&self, node: &NodeName, lines: &[sections::Gres]) -> Inventory {
        let mut told: BTreeMap<(&str, &str), Gres> = BTreeMap::new();
        for line in lines.iter().filter(|line| !line.name.is_empty() && names(line, node)) {
            let kind = line.r#type.as_deref().unwrap_or_default();
            let group = told.entry((&line.name, kind)).or_insert_with(|| Gres {
                name: line.name.clone(),
                kind: kind.to_string(),
                ..Gres::default()
            });
            add(group, line);
        }
        let mut inventory = self.clone();
        for group in told.into_values() {
            let is_it = |found: &&mut Gres| {
                found.name == group.name && (group.kind.is_empty() || found.kind == group.kind)
            };
            match inventory.gres.iter_mut().find(is_it) {
                Some(found) => describe(found, group),
                None => {
                    let mut new = Gres { cores: Vec::new(), links: Vec::new(), ..group.clone() };
                    describe(&mut new, group);
                    inventory.gres.push(new);
                }
            }
        }
        inventory
    }
}

impl Gres {
    /// Whether jobs that hold some of this name and type hold it of these. Shards are parts of GPUs of any type.
    pub fn gives(&self, name: &str, kind: &str) -> bool {
        let of_any = self.name == SHARD && self.kind.is_empty();
        self.name == name && (self.kind == kind || of_any)
    }
}

fn names(line: &sections::Gres, node: &NodeName) -> bool {
    match &line.nodes {
        NodeList::All => true,
        NodeList::Named { names, .. } => names.contains(node),
    }
}

/// Adds the devices of a line.
fn add(group: &mut Gres, line: &sections::Gres) {
    let files = line.files.as_deref().map(|files| hostlist::expand(files).unwrap_or_default());
    let files = files.unwrap_or_default();
    let count = line.count.as_deref().and_then(gres_count);
    let count = count.unwrap_or(files.len().max(1) as u64);
    group.count = group.count.saturating_add(count);
    group.files.extend(files);
    if count <= MOST_DEVICES {
        let each = |text: &Option<String>| {
            let text = text.clone().unwrap_or_default();
            std::iter::repeat_n(text, count as usize)
        };
        group.cores.extend(each(&line.cores));
        group.links.extend(each(&line.links));
    }
}

/// Takes over where the devices are, if it is told of any and of as many as there are.
fn describe(found: &mut Gres, told: Gres) {
    let of_all = |lines: &Vec<String>| {
        lines.len() as u64 == found.count && lines.iter().any(|line| !line.is_empty())
    };
    let (cores, links) = (of_all(&told.cores), of_all(&told.links));
    let files = found.files.is_empty() && told.files.len() as u64 == found.count;
    if cores {
        found.cores = told.cores;
    }
    if files {
        found.files = told.files;
    }
    if links {
        found.links = told.links;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn lines(text: &str) -> Vec<sections::Gres> {
        config::read(text).expect("reads").gres
    }

    fn told(found: &Inventory, lines: &[sections::Gres]) -> Vec<Gres> {
        found.with_devices(&NodeName::from("n1"), lines).gres
    }

    #[test]
    fn lines_add_devices_to_the_nodes_they_name() {
        let lines = lines(
            "[[gres]]\nname = \"fpga\"\nfiles = \"/dev/fpga[0-1]\"\ncores = \"0-3\"\n\
             [[gres]]\nname = \"bandwidth\"\ntype = \"lustre\"\ncount = \"4G\"\n\
             [[gres]]\nnodes = \"n2\"\nname = \"fpga\"\ncount = \"8\"\n",
        );
        let gres = told(&Inventory::simple(4, 100), &lines);
        let seen: Vec<(&str, &str, u64)> =
            gres.iter().map(|it| (it.name.as_str(), it.kind.as_str(), it.count)).collect();
        assert_eq!(seen, [("bandwidth", "lustre", 4 << 30), ("fpga", "", 2)]);
        assert_eq!(gres[1].files, ["/dev/fpga0", "/dev/fpga1"]);
        assert_eq!(gres[1].cores, ["0-3", "0-3"]);
        assert!(gres[1].links.is_empty() && gres[0].cores.is_empty());
    }

    #[test]
    fn what_was_found_is_described_and_not_counted_twice() {
        let one = |links: &str| {
            format!("[[gres]]\nname = \"gpu\"\ntype = \"h100\"\nlinks = \"{links}\"\n")
        };
        let both = lines(&(one("-1,4") + &one("4,-1")));
        let gpu = Gres { name: "gpu".into(), kind: "h100".into(), count: 2, ..Gres::default() };
        let found = Inventory { gres: vec![gpu], ..Inventory::simple(4, 100) };
        let gres = told(&found, &both);
        assert_eq!((gres.len(), gres[0].count), (1, 2));
        assert_eq!(gres[0].links, ["-1,4", "4,-1"]);
        // A line for one of two says nothing about the other.
        assert!(told(&found, &lines(&one("-1,4")))[0].links.is_empty());
    }
}
