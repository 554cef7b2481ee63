//! Trees of machines, written from their public data sheets, and what is found in them.

use std::fs;
use std::path::Path;

use spur_core::jobenv::GpuVendor;

use super::*;

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("has a folder")).expect("makes folders");
    fs::write(path, text).expect("writes");
}

/// AMD devices behind two sockets, each split into `parts`, all linked with all of the same group.
fn amd(root: &Path, device_id: u32, devices: u32, parts: u32, linked: impl Fn(u32, u32) -> bool) {
    let nodes = "sys/class/kfd/kfd/topology/nodes";
    for socket in 0..2 {
        write(root, &format!("{nodes}/{socket}/properties"), "cpu_cores_count 96\nsimd_count 0\n");
        let first = socket * 48;
        let cpulist = format!("{first}-{},{}-{}\n", first + 47, first + 96, first + 143);
        write(root, &format!("sys/devices/system/node/node{socket}/cpulist"), &cpulist);
    }
    let total = devices * parts;
    for gpu in 0..total {
        let (node, device) = (gpu + 2, gpu / parts);
        let minor = 128 + gpu;
        let properties = format!(
            "simd_count 1216\nvendor_id 4098\ndevice_id {device_id}\ngfx_target_version 90402\n\
             drm_render_minor {minor}\nunique_id {}\nnum_xcc {}\n",
            900 + device,
            8 / parts
        );
        write(root, &format!("{nodes}/{node}/properties"), &properties);
        write(root, &format!("{nodes}/{node}/gpu_id"), "4711\n");
        fs::create_dir_all(root.join(format!("sys/class/drm/renderD{minor}/device/drm/card{gpu}")))
            .expect("makes folders");
        let socket = device * 2 / devices;
        let link = |to: u32, kind: u32| format!("type {kind}\nnode_from {node}\nnode_to {to}\n");
        write(root, &format!("{nodes}/{node}/io_links/0/properties"), &link(socket, 2));
        for (place, to) in (0..total).filter(|to| *to != gpu && linked(gpu, *to)).enumerate() {
            let file = format!("{nodes}/{node}/io_links/{}/properties", place + 1);
            write(root, &file, &link(to + 2, 11));
        }
    }
}

fn nvidia(root: &Path, model: &str, count: u32) {
    for gpu in 0..count {
        let bus = format!("0000:{:02x}:00.0", 0x18 + gpu);
        let information = format!(
            "Model: \t\t {model}\nIRQ:   \t\t 1{gpu}\nGPU UUID: \t GPU-{gpu}\nDevice Minor: \t {gpu}\n"
        );
        write(root, &format!("proc/driver/nvidia/gpus/{bus}/information"), &information);
        let numa = gpu * 2 / count;
        write(root, &format!("sys/bus/pci/devices/{bus}/numa_node"), &format!("{numa}\n"));
        let cpus = format!("{}-{}\n", numa * 32, numa * 32 + 31);
        write(root, &format!("sys/bus/pci/devices/{bus}/local_cpulist"), &cpus);
    }
}

fn root() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn a_machine_without_gpus_has_none() {
    assert_eq!(find(root().path()), []);
}

#[test]
fn eight_mi300x_linked_each_with_each() {
    let root = root();
    amd(root.path(), 0x74a1, 8, 1, |_, _| true);
    let gpus = find(root.path());
    assert_eq!(gpus.len(), 8);
    let fourth = &gpus[3];
    assert_eq!((fourth.vendor, fourth.kind.as_str()), (GpuVendor::Amd, "mi300x"));
    assert_eq!(fourth.files, ["/dev/dri/renderD131", "/dev/dri/card3"]);
    assert_eq!(fourth.shared_files, ["/dev/kfd"]);
    assert_eq!((fourth.numa, fourth.cpus.as_str()), (Some(0), "0-47,96-143"));
    assert_eq!(fourth.links, [1, 1, 1, -1, 1, 1, 1, 1]);
    assert_eq!(gpus[4].numa, Some(1));
    let [gres] = &registered(&gpus, str::to_string)[..] else { panic!("one kind") };
    assert_eq!((gres.name.as_str(), gres.kind.as_str(), gres.count), ("gpu", "mi300x", 8));
    assert_eq!(gres.files[7], "/dev/dri/renderD135");
    assert_eq!(gres.links[0], "-1,1,1,1,1,1,1,1");
    assert_eq!(gres.cores[7], "48-95,144-191");
}

#[test]
fn eight_mi210_in_two_islands() {
    let root = root();
    amd(root.path(), 0x740f, 8, 1, |from, to| from / 4 == to / 4);
    let gpus = find(root.path());
    assert_eq!(gpus[0].kind, "mi210");
    assert_eq!(gpus[0].links, [-1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(gpus[5].links, [0, 0, 0, 0, 1, -1, 1, 1]);
}

#[test]
fn parts_of_an_mi300x_are_told_apart_from_a_whole_one() {
    let root = root();
    amd(root.path(), 0x74a1, 8, 8, |_, _| true);
    let gpus = find(root.path());
    assert_eq!(gpus.len(), 64);
    assert!(gpus.iter().all(|gpu| gpu.kind == "mi300x_cpx"));
    assert_eq!(gpus[63].files[0], "/dev/dri/renderD191");
    assert_eq!(gpus[63].numa, Some(1));
}

#[test]
fn eight_h100() {
    let root = root();
    nvidia(root.path(), "NVIDIA H100 80GB HBM3", 8);
    let gpus = find(root.path());
    assert_eq!(gpus.len(), 8);
    assert_eq!((gpus[5].vendor, gpus[5].kind.as_str()), (GpuVendor::Nvidia, "h100"));
    assert_eq!(gpus[5].files, ["/dev/nvidia5"]);
    assert!(gpus[5].shared_files.contains(&"/dev/nvidiactl".to_string()));
    assert_eq!((gpus[5].numa, gpus[5].cpus.as_str()), (Some(1), "32-63"));
    let [gres] = &registered(&gpus, str::to_string)[..] else { panic!("one kind") };
    assert_eq!(gres.links, Vec::<String>::new(), "only the library knows them");
}

#[test]
fn instances_of_an_h100_have_names_and_files_of_their_own() {
    let root = root();
    nvidia(root.path(), "NVIDIA H100 80GB HBM3", 1);
    for (instance, minors) in [(1, (12, 13)), (2, (21, 22))] {
        let folder = format!("proc/driver/nvidia/capabilities/gpu0/mig/gi{instance}");
        let access = |minor| format!("DeviceFileMinor: {minor}\nDeviceFileMode: 292\n");
        write(root.path(), &format!("{folder}/access"), &access(minors.0));
        write(root.path(), &format!("{folder}/ci0/access"), &access(minors.1));
    }
    let gpus = find(root.path());
    assert_eq!(gpus.len(), 2);
    assert_eq!((gpus[1].kind.as_str(), gpus[1].name.as_str()), ("h100_mig", "MIG-GPU-0/2/0"));
    let files = ["/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22", "/dev/nvidia0"];
    assert_eq!(gpus[1].files, files);
    let facts = GpuFiles::of(&gpus, root.path()).facts(&[1], true).expect("has one");
    assert_eq!(facts.given[0].name, "MIG-GPU-0/2/0");
}

#[test]
fn two_makers_in_one_machine_are_counted_on_and_told_apart() {
    let root = root();
    amd(root.path(), 0x740f, 2, 1, |_, _| true);
    nvidia(root.path(), "NVIDIA A100-SXM4-40GB", 2);
    let gpus = find(root.path());
    let kinds: Vec<&str> = gpus.iter().map(|gpu| gpu.kind.as_str()).collect();
    assert_eq!(kinds, ["mi210", "mi210", "a100", "a100"]);
    assert_eq!(registered(&gpus, str::to_string).len(), 2);
    let files = GpuFiles::of(&gpus, root.path());
    let facts = files.facts(&[2, 3], false).expect("has some");
    let told: Vec<_> = facts.given.iter().map(|it| (it.id, it.vendor, it.number)).collect();
    assert_eq!(told, [(2, GpuVendor::Nvidia, 0), (3, GpuVendor::Nvidia, 1)]);
    assert_eq!(facts.withheld, [GpuVendor::Amd], "none of those was given, and all can be opened");
    let none = files.facts(&[], false).expect("there are some");
    assert_eq!(none.withheld, [GpuVendor::Amd, GpuVendor::Nvidia]);
    assert_eq!(files.facts(&[], true), None, "who cannot open any needs no telling");
}

#[test]
fn who_has_one_gpu_is_denied_the_others() {
    let root = root();
    amd(root.path(), 0x74a1, 2, 1, |_, _| true);
    let files = GpuFiles::of(&find(root.path()), root.path());
    let denied = |given: &[u32]| -> Vec<String> {
        let below =
            |file: &str| file.strip_prefix(&*root.path().to_string_lossy()).map(str::to_owned);
        files.denied(given).into_iter().filter_map(below).collect()
    };
    assert_eq!(denied(&[1]), ["/dev/dri/card0", "/dev/dri/renderD128"]);
    let all = [
        "/dev/dri/card0",
        "/dev/dri/card1",
        "/dev/dri/renderD128",
        "/dev/dri/renderD129",
        "/dev/kfd",
    ];
    assert_eq!(denied(&[]), all, "who has none sees none");
    assert_eq!(denied(&[0, 1]), Vec::<String>::new());
}

#[test]
fn gpus_are_apart_only_where_all_others_have_a_file_to_deny() {
    let root = root();
    amd(root.path(), 0x74a1, 3, 1, |_, _| true);
    let files = GpuFiles::of(&find(root.path()), root.path());
    let apart = |given: &[u32], there: &[&str]| {
        files.can_be_closed(given, |file| there.iter().any(|end| file.ends_with(end)))
    };
    assert!(apart(&[0], &["renderD129", "renderD130"]));
    assert!(!apart(&[0], &["renderD128", "renderD129"]), "anybody could open the third");
    assert!(apart(&[0, 1, 2], &[]), "there are no others");
    assert!(!apart(&[], &["kfd"]));
}

#[test]
fn what_is_written_for_shepherds_reads_back() {
    let (root, spool) = (root(), root());
    amd(root.path(), 0x74a1, 2, 1, |_, _| true);
    let files = GpuFiles::of(&find(root.path()), root.path());
    files.write(spool.path()).expect("writes");
    assert_eq!(GpuFiles::read(spool.path()), files);
    GpuFiles::default().write(spool.path()).expect("removes");
    assert_eq!(GpuFiles::read(spool.path()), GpuFiles::default());
}

/// Real trees of AMD machines, where they are at hand: `SPUR_AMD_TREES` names the folder of
/// `topo-mi300-cpx/topology` and its like.
#[test]
fn captured_trees_are_read() {
    let Some(trees) = std::env::var_os("SPUR_AMD_TREES") else {
        eprintln!("SKIPPED: SPUR_AMD_TREES is not set");
        return;
    };
    let captured = [
        ("topo-mi210-xgmi-pcie", "mi210", 8),
        ("topo-mi300-cpx/topology", "mi300x_cpx", 63),
        ("topology-parsing-mi308/topology", "mi308x_cpx", 32),
    ];
    for (tree, kind, count) in captured {
        let root = root();
        let kfd = root.path().join("sys/class/kfd/kfd");
        fs::create_dir_all(&kfd).expect("makes folders");
        std::os::unix::fs::symlink(Path::new(&trees).join(tree), kfd.join("topology"))
            .expect("links");
        let gpus = find(root.path());
        assert_eq!(gpus.len(), count, "{tree}");
        assert!(
            gpus.iter().all(|gpu| gpu.kind == kind && gpu.numa.is_some()),
            "{tree}: {:?}",
            gpus[0]
        );
        assert!(gpus[0].links.iter().any(|links| *links > 0), "{tree}");
    }
}

#[test]
fn errors_are_counted_over_all_blocks_of_a_device() {
    let root = tempfile::tempdir().expect("a folder");
    let gpu = Gpu {
        vendor: GpuVendor::Amd,
        kind: "mi300x".to_string(),
        number: 0,
        name: String::new(),
        files: vec!["/dev/dri/renderD128".to_string()],
        shared_files: Vec::new(),
        cpus: String::new(),
        numa: None,
        links: Vec::new(),
    };
    assert_eq!(super::uncorrectable(root.path(), &gpu), None, "nobody counts");
    let ras = root.path().join("sys/class/drm/renderD128/device/ras");
    std::fs::create_dir_all(&ras).expect("a folder");
    for (block, text) in [("umc", "ue: 2\nce: 7\n"), ("gfx", "ue: 1\nce: 0\n")] {
        std::fs::write(ras.join(format!("{block}_err_count")), text).expect("writes");
    }
    std::fs::write(ras.join("features"), "feature mask: 0x1\n").expect("writes");
    assert_eq!(super::uncorrectable(root.path(), &gpu), Some(3));
}
