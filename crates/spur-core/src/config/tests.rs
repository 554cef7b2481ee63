use super::sections::{Node, Partition};
use super::words::{Plugin, Unreachable};
use super::*;
use crate::limit::Limit;
use proptest::prelude::*;

const MINIMAL: &str = include_str!("../../../../examples/minimal.conf");
const SINGLE: &str = include_str!("../../../../examples/single.conf");
const GPU: &str = include_str!("../../../../examples/gpu-cluster.conf");
const THREE: &str = include_str!("../../../../examples/three-controllers.conf");
const DOCUMENT: &str = include_str!("../../../../docs/admin/configuration.md");

fn refused(text: &str) -> Vec<String> {
    read(text).unwrap_err().lines("spur.conf").collect()
}

#[test]
fn an_empty_file_runs_a_cluster() {
    for empty in ["", "\n", "# nothing\n"] {
        let config = read(empty).unwrap();
        assert_eq!(config, Config::default());
        let partition = config.default_partition().unwrap();
        assert_eq!(partition.name, "default");
        assert_eq!(config.members(partition), Members::All);
        assert_eq!(config.admit("anything"), Ok(None));
        assert_eq!(config.default_memory(partition), DefaultMemory::Share);
        assert_eq!(config.controller.listen_addr.to_string(), "[::]:6817");
        assert!(config.warnings().is_empty());
    }
}

#[test]
fn the_gpu_cluster_reads_as_meant() {
    let config = read(GPU).unwrap();
    assert_eq!(config.cluster.cluster_name, "production");
    assert_eq!(config.controller.state_dir, "/var/spool/spur");
    let hosts: Vec<&str> = config.controller.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(hosts, ["ctrl1", "ctrl2"]);
    assert_eq!(config.scheduler.plugin, Plugin::Backfill);
    assert_eq!(config.scheduler.interval_secs, 1);
    assert_eq!(config.scheduler.fairshare_halflife_days, 14.0);
    assert!(config.update.check_on_startup && !config.update.auto_update);
    let gpu = config.default_partition().unwrap();
    assert_eq!((gpu.name.as_str(), gpu.max_time.0), ("gpu", Limit::Is(72 * 60)));
    let Members::These(nodes) = config.members(gpu) else { panic!("all nodes") };
    assert_eq!(nodes.len(), 64);
    let node = config.admit("gpu064").unwrap().unwrap();
    let shape = node.shape().unwrap().unwrap();
    assert_eq!((shape.sockets, shape.cores_per_socket, shape.threads_per_core), (1, 128, 1));
    assert_eq!(node.memory_mb, Some(Megabytes(512_000)));
    assert_eq!((node.gres[0].name.as_str(), node.gres[0].count), ("gpu", 8));
    assert_eq!(config.warnings().len(), 1, "two controllers survive the loss of none");
}

#[test]
fn every_example_reads() {
    for (name, text) in
        [("minimal", MINIMAL), ("single", SINGLE), ("gpu-cluster", GPU), ("three", THREE)]
    {
        if let Err(problems) = read(text) {
            panic!("{name}: {problems}");
        }
    }
    let three = read(THREE).unwrap();
    let services = three.partition("services").unwrap();
    assert_eq!(three.unreachable(services), Unreachable::Wait);
    assert_eq!(three.unreachable(three.partition("batch").unwrap()), Unreachable::Fence);
    let Members::These(big) = three.members(services) else { panic!("all nodes") };
    assert_eq!(big.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["n31", "n32"]);
    assert_eq!(read(SINGLE).unwrap().cluster.licenses.0["matlab"], 2);
}

#[test]
fn all_problems_are_said_at_once_with_line_and_nearest_word() {
    let text = "\
cluster_nam = \"x\"

[schedular]
plugin = \"backfill\"

[timeouts]
kill_wait = \"soon\"
interval_secs = 1
SlurmdTimeout = 300
RealMemory = 5

[[partitions]]
name = \"gpu\"
defualt = true
max_time = \"72:00:0x\"

[limits]
max_array_size = -1
colour = 1
";
    assert_eq!(
        refused(text),
        [
            "spur.conf:1: unknown key \"cluster_nam\" at the top of the file; did you mean \
             \"cluster_name\"?",
            "spur.conf:3: unknown section [schedular]; did you mean [scheduler]?",
            "spur.conf:7: kill_wait = \"soon\" in [timeouts]: expected seconds, or \"30s\", \"5m\", \
             \"2h\", \"7d\"",
            "spur.conf:8: unknown key \"interval_secs\" in [timeouts]; it belongs to [scheduler]",
            "spur.conf:9: unknown key \"SlurmdTimeout\" in [timeouts]; did you mean \"node_timeout\"?",
            "spur.conf:10: unknown key \"RealMemory\" in [timeouts]; did you mean \"memory_mb\" in \
             [[nodes]]?",
            "spur.conf:14: unknown key \"defualt\" in [[partitions]]; did you mean \"default\"?",
            "spur.conf:15: max_time = \"72:00:0x\" in [[partitions]]: expected minutes, \
             \"HH:MM:SS\", \"D-HH:MM:SS\", \"90m\", \"12h\", \"7d\", or \"unlimited\"",
            "spur.conf:18: max_array_size = -1 in [limits]: expected a number from 0 to 4294967295",
            "spur.conf:19: unknown key \"colour\" in [limits]",
        ]
    );
}

#[test]
fn a_name_in_doubt_hides_only_what_refers_to_names() {
    let text = "\
[[nodes]]
names = \"n[3-1]\"

[[partitions]]
name = \"a\"
nodes = \"n9\"
min_nodes = 5
max_nodes = 2
";
    assert_eq!(
        refused(text),
        [
            "spur.conf:2: names = \"n[3-1]\" in [[nodes]]: invalid range `3-1' in a host list",
            "spur.conf:8: max_nodes = 2 in [[partitions]]: less than min_nodes",
        ]
    );
}

#[test]
fn what_is_wrong_between_keys_is_said_beside_what_cannot_be_read() {
    let text = "\
[timeouts]
kill_wait = \"soon\"

[[partitions]]
name = \"gpu\"
min_nodes = 5
max_nodes = 2

[[partitions]]
name = \"gpu\"

[[nodes]]
names = \"n1\"
cpus = 4
sockets = 2
cores_per_socket = 8
wieght = 3
";
    assert_eq!(
        refused(text),
        [
            "spur.conf:2: kill_wait = \"soon\" in [timeouts]: expected seconds, or \"30s\", \"5m\", \
             \"2h\", \"7d\"",
            "spur.conf:7: max_nodes = 2 in [[partitions]]: less than min_nodes",
            "spur.conf:10: name = \"gpu\" in [[partitions]]: another partition has that name",
            // Of the node no more is said: what was meant by it is not known.
            "spur.conf:17: unknown key \"wieght\" in [[nodes]]; did you mean \"weight\"?",
        ]
    );
}

#[test]
fn an_unknown_plugin_is_a_named_error() {
    assert_eq!(
        refused("[scheduler]\nplugin = \"magic\"\n"),
        [
            "spur.conf:2: plugin = \"magic\" in [scheduler]: expected one of \"backfill\", \"builtin\""
        ]
    );
}

#[test]
fn brackets_are_counted() {
    assert_eq!(
        refused("[partitions]\nname = \"a\"\n[[rest]]\n"),
        [
            "spur.conf:1: [partitions] is written [[partitions]]",
            "spur.conf:3: [[rest]] is written [rest]"
        ]
    );
}

#[test]
fn slips_of_form_are_named() {
    for (text, expected) in [
        ("a = 1\n\n[update]\n[update]\n", "spur.conf:4: \"update\" is said twice"),
        ("partitions = 3\n", "spur.conf:1: partitions is written [[partitions]]"),
        (
            "[[nodes]]\nnames = \"a\"\nmemory = 5\n",
            "spur.conf:3: unknown key \"memory\" in [[nodes]]; did you mean \"memory_mb\"?",
        ),
        (
            "[timeouts]\nkill_wait_secs = 5\n",
            "spur.conf:2: unknown key \"kill_wait_secs\" in [timeouts]; did you mean \"kill_wait\"?",
        ),
        (
            "[licenses]\n\nmatlab = \"x\"\n",
            "spur.conf:3: [licenses]: matlab: expected a whole number",
        ),
        (
            "ClusterName=hydra\nNodeName=n[1-4] CPUs=8\n",
            "spur.conf: this looks like a slurm.conf; `spur config import` turns it into a spur.conf",
        ),
    ] {
        let lines = refused(text);
        assert!(lines.iter().any(|line| line == expected), "{expected}\n{lines:#?}");
    }
}

#[test]
fn rules_that_span_keys_are_checked() {
    for (text, expected) in [
        (
            "[[partitions]]\nnodes = \"a\"\n",
            "spur.conf:1: name in [[partitions]]: expected letters",
        ),
        (
            "[[partitions]]\nname = \"a\"\n[[partitions]]\nname = \"a\"\n",
            "spur.conf:4: name = \"a\" in [[partitions]]: another partition has that name",
        ),
        (
            "[[partitions]]\nname = \"a\"\nnodes = \"n[1-3]\"\n[[nodes]]\nnames = \"n[1-2]\"\n",
            "spur.conf:3: nodes = \"n[1-3]\" in [[partitions]]: there is no node \"n3\"; did you mean",
        ),
        (
            "[[nodes]]\nnames = \"n[1-2]\"\n[[nodes]]\nnames = \"n2\"\n",
            "spur.conf:4: names = \"n2\" in [[nodes]]: node \"n2\" is declared twice",
        ),
        (
            "[[nodes]]\nnames = \"n1\"\ncpus = 7\nsockets = 2\ncores_per_socket = 4\n",
            "spur.conf:3: cpus = 7 in [[nodes]]: cpus = 7 is neither all 8 cores nor all 8 threads",
        ),
        (
            "[rest]\nlisten_addr = \"0.0.0.0:6820\"\n",
            "spur.conf:2: listen_addr = \"0.0.0.0:6820\" in [rest]: anything but this machine needs",
        ),
        (
            "[jobs]\ndef_mem_per_cpu = 1\ndef_mem_per_node = 2\n",
            "spur.conf:2: def_mem_per_cpu = 1 in [jobs]: only one of",
        ),
        (
            "[accounting]\ndatabase_url = \"mysql://me:secret@x\"\n",
            "spur.conf:2: database_url = \"mysql://me:...@x\" in [accounting]: expected postgresql://",
        ),
        (
            "[preemption]\nmode = \"suspend\"\n",
            "spur.conf:2: mode = \"suspend\" in [preemption]: suspended jobs are resumed by turns",
        ),
    ] {
        let lines = refused(text);
        assert!(lines[0].starts_with(expected), "{lines:?}");
    }
}

#[test]
fn an_unknown_node_is_refused_with_the_known_ones() {
    let config = read("[[nodes]]\nnames = \"n[1-4]\"\n[[nodes]]\nnames = \"gpu1\"\n").unwrap();
    let refusal = config.admit("m1").unwrap_err();
    assert_eq!(refusal.to_string(), "node \"m1\" is not in spur.conf; it knows n[1-4],gpu1");
    assert!(config.admit("n3").unwrap().is_some());
}

#[test]
fn what_is_missing_of_a_shape_follows_from_the_rest() {
    let shape = |node: Node| {
        let shape = node.shape().unwrap().unwrap();
        (shape.cpus, shape.sockets, shape.cores_per_socket, shape.threads_per_core)
    };
    let cpus = Some(64);
    assert_eq!(shape(Node { cpus, ..Node::default() }), (64, 1, 64, 1));
    assert_eq!(shape(Node { cpus, sockets: Some(2), ..Node::default() }), (64, 2, 32, 1));
    let node = Node { cpus, sockets: Some(2), threads_per_core: Some(2), ..Node::default() };
    assert_eq!(shape(node), (64, 2, 16, 2));
    let node = Node { boards: Some(2), sockets_per_board: Some(2), ..Node::default() };
    assert_eq!(shape(node), (4, 4, 1, 1));
    assert_eq!(Node::default().shape(), Ok(None));
    let many = Some(u32::MAX);
    assert!(Node { sockets: many, cores_per_socket: many, ..Node::default() }.shape().is_err());
}

#[test]
fn one_partition_is_the_default_unless_it_says_no() {
    let named = |rest: &str| read(&format!("[[partitions]]\nname = \"a\"\n{rest}")).unwrap();
    assert!(named("").default_partition().is_some());
    assert!(named("default = false\n").default_partition().is_none());
    assert!(named("[[partitions]]\nname = \"b\"\n").default_partition().is_none());
}

#[test]
fn memory_of_a_partition_goes_before_that_of_the_cluster() {
    let text = "[jobs]\ndef_mem_per_cpu = \"2G\"\n[[partitions]]\nname = \"a\"\ndef_mem_per_node = 0\n\
                [[partitions]]\nname = \"b\"\n";
    let config = read(text).unwrap();
    let memory = |name| config.default_memory(config.partition(name).unwrap());
    assert_eq!(memory("a"), DefaultMemory::PerNode(Megabytes(0)));
    assert_eq!(memory("b"), DefaultMemory::PerCpu(Megabytes(2_048)));
}

#[test]
fn a_reload_names_what_changes_and_what_waits() {
    let old = read(GPU).unwrap();
    let new = GPU
        .replace("interval_secs = 1", "interval_secs = 5")
        .replace("[::]:6817", "[::]:7817")
        .replace("72:00:00", "24:00:00")
        .replace("spur:spur@db1", "spur:secret@db2")
        .replace("name = \"cpu\"", "name = \"compute\"");
    let changes = changes::between(&old, &read(&new).unwrap());
    assert_eq!(
        changes.to_string().lines().collect::<Vec<_>>(),
        [
            "controller.listen_addr: \"[::]:6817\" becomes \"[::]:7817\" (after a restart of spurctld)",
            "accounting.database_url: \"postgresql://spur:...@db1/spur\" becomes \
             \"postgresql://spur:...@db2/spur\" (after a restart of spurdbd)",
            "scheduler.interval_secs: 1 becomes 5",
            "partitions.gpu.max_time: \"3-00:00:00\" becomes \"1-00:00:00\"",
            "partitions.compute added",
            "partitions.cpu removed",
        ]
    );
    assert_eq!(changes.after_restart().count(), 2);
    assert_eq!(changes.at_run_time().count(), 4);
    assert!(changes::between(&old, &old).is_empty());
}

#[test]
fn every_setting_can_be_shown_without_its_secrets() {
    let shown = read(GPU).unwrap().settings();
    let value = |section: &str, key: &str| {
        let is_it = |it: &&Shown| it.section == section && it.key.name == key;
        shown.iter().find(is_it).unwrap().value.clone()
    };
    assert_eq!(value("", "cluster_name"), "\"production\"");
    assert_eq!(value("timeouts", "kill_wait"), "\"30s\"");
    assert_eq!(value("accounting", "database_url"), "\"postgresql://spur:...@db1/spur\"");
}

#[test]
fn the_document_is_printed_from_the_table() {
    let printed = document();
    let differs = |(there, printed): &(&str, &str)| there != printed;
    if let Some((there, printed)) = DOCUMENT.lines().zip(printed.lines()).find(differs) {
        panic!("run `cargo xtask docs`\n  in the document: {there}\n  from the table:  {printed}");
    }
    assert_eq!(DOCUMENT.lines().count(), printed.lines().count(), "run `cargo xtask docs`");
}

#[test]
fn every_default_can_be_written_out() {
    for table in sections::TABLES {
        let mut text = match (table.name, table.repeated) {
            ("", _) => String::new(),
            (name, false) => format!("[{name}]\n"),
            (name, true) => format!("[[{name}]]\n"),
        };
        for (key, default) in table.keys.iter().zip((table.defaults)()) {
            // What a thing is called has no default.
            let value = match (key.name, default.as_str()) {
                (_, "") => continue,
                ("name" | "names", _) => "\"a\"".to_string(),
                _ => default,
            };
            text.push_str(&format!("{} = {value}\n", key.name));
        }
        if let Err(problems) = read(&text) {
            panic!("{}: {problems}", table.heading());
        }
    }
}

#[test]
fn a_partition_without_nodes_has_all_and_one_with_an_empty_list_none() {
    let config = read("[[partitions]]\nname = \"a\"\nnodes = \"\"\n").unwrap();
    assert_eq!(config.members(&config.partitions[0]), Members::These(Default::default()));
    assert_eq!(config.members(&Partition::default()), Members::All);
}

proptest! {
    #[test]
    fn reading_never_panics(text in "(?s).{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn values_of_any_kind_are_taken_or_refused(
        section in 0..sections::TABLES.len(),
        key in 0usize..64,
        value in prop_oneof![
            "-?[0-9]{1,22}", "\"[a-zA-Z0-9:,\\[\\]()*=.-]{0,20}\"", Just("[]".to_string()),
            Just("[1, \"a\", {}]".to_string()), Just("{ a = 1 }".to_string()),
            Just("true".to_string()), Just("inf".to_string()), Just("nan".to_string()),
            Just("1979-05-27".to_string()), Just("1.5".to_string()),
        ],
    ) {
        let table = &sections::TABLES[section];
        let key = table.keys[key % table.keys.len()].name;
        let heading = if table.name.is_empty() { String::new() } else { table.heading() };
        let _ = read(&format!("{heading}\n{key} = {value}\n"));
    }
}
