//! Lines compared with what Slurm 22.05 printed for the same cluster.

use super::*;
use crate::fields::check_table;
use crate::fields::format::letters;

fn node(name: &str, state: u32, cpus_allocated: u32, partition: &str) -> Arc<NodeView> {
    let gpus = partition == "gpu";
    Arc::new(NodeView {
        name: name.into(),
        hostname: name.into(),
        state,
        cpus: 64,
        cpus_allocated,
        sockets: 2,
        cores: 32,
        threads: 1,
        memory_mb: 256_000,
        weight: 1,
        features: if gpus { vec!["gpu".into(), "mi300x".into()] } else { Vec::new() },
        gres: if gpus { "gpu:mi300x:8".into() } else { String::new() },
        reason: if name == "n4" { "maintenance".into() } else { String::new() },
        reason_user: if name == "n4" { "root".into() } else { String::new() },
        reason_time: if name == "n4" { 1_794_766_041 } else { 0 },
        partitions: vec!["debug".into(), partition.into()],
        ..NodeView::default()
    })
}

fn cluster() -> (Vec<Arc<PartitionView>>, Vec<Arc<NodeView>>) {
    let partition = |name: &str, minutes| {
        Arc::new(PartitionView {
            name: name.into(),
            is_default: name == "debug",
            is_up: true,
            max_time: Some(Limit::Is(minutes)),
            ..PartitionView::default()
        })
    };
    let partitions = vec![partition("debug", 1440), partition("gpu", 4320), partition("cpu", 120)];
    let nodes = vec![
        node("n1", 5, 21, "gpu"),
        node("n2", 5, 2, "gpu"),
        node("n3", 2 | 0x20_0000, 0, "cpu"),
        node("n4", 2 | 0x200, 0, "cpu"),
    ];
    (partitions, nodes)
}

fn lines(layout: &str) -> Vec<String> {
    let (partitions, nodes) = cluster();
    let columns = letters(SINFO_FIELDS, &fill_widths(layout, 6, 2)).columns;
    let context = RenderContext::default();
    let groups = group(&columns, &partitions, &nodes, false, &context);
    let mut lines = vec![render::header(&columns)];
    lines.extend(groups.iter().map(|group| render::row(&columns, group, &context)));
    lines
}

#[test]
fn the_table_is_sound() {
    check_table(SINFO_FIELDS);
}

#[test]
fn default_layout() {
    let expected = [
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
        "debug*       up 1-00:00:00      1   plnd n3",
        "debug*       up 1-00:00:00      1  drain n4",
        "debug*       up 1-00:00:00      2    mix n[1-2]",
        "gpu          up 3-00:00:00      2    mix n[1-2]",
        "cpu          up    2:00:00      1   plnd n3",
        "cpu          up    2:00:00      1  drain n4",
    ];
    assert_eq!(lines(DEFAULT), expected);
}

#[test]
fn long_layout() {
    let told = lines(LONG);
    assert_eq!(
        told[..2],
        [
            "PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE NODELIST",
            "debug*       up 1-00:00:00 1-infinite   no       NO        all      1     planned n3",
        ]
    );
}

#[test]
fn nodes_without_partitions_are_counted_once() {
    let expected = [
        "NODELIST             CPUS       MEMORY     AVAIL_FEATURES            GRES                ",
        "n[3-4]               64         256000     (null)                    (null)              ",
        "n[1-2]               64         256000     gpu,mi300x                gpu:mi300x:8        ",
    ];
    assert_eq!(lines("%20N %10c %10m %25f %20G"), expected);
}

#[test]
fn one_node_a_line() {
    let (partitions, nodes) = cluster();
    let columns = letters(SINFO_FIELDS, &fill_widths(NODES_LONG, 6, 2)).columns;
    let one = |node: usize, partition: usize| NodeGroup {
        partition: Some(partitions[partition].clone()),
        nodes: vec![nodes[node].clone()],
    };
    let context = RenderContext::default();
    assert_eq!(
        [
            render::header(&columns),
            render::row(&columns, &one(0, 0), &context),
            render::row(&columns, &one(3, 2), &context),
        ],
        [
            "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON              ",
            "n1             1    debug*       mixed 64     2:32:1 256000        0      1 gpu,mi30 none                ",
            "n4             1       cpu     drained 64     2:32:1 256000        0      1   (null) maintenance         ",
        ]
    );
    let columns = letters(SINFO_FIELDS, "%N %C %z %E %H %u %T").columns;
    assert_eq!(
        render::row(&columns, &one(3, 0), &context),
        "n4 0/0/64/64 2:32:1 maintenance 2026-11-15T18:07:21 root drained"
    );
    let columns = letters(SINFO_FIELDS, REASONS_LONG).columns;
    assert_eq!(
        render::row(&columns, &one(3, 0), &context),
        "maintenance          root(0)      2026-11-15T18:07:21 drain  n4"
    );
}

#[test]
fn totals_and_ranges() {
    let (partitions, mut nodes) = cluster();
    Arc::make_mut(&mut nodes[0]).cpus = 32;
    Arc::make_mut(&mut nodes[0]).cpu_load_centi = Some(188);
    Arc::make_mut(&mut nodes[1]).cpu_load_centi = Some(175);
    let group = NodeGroup { partition: Some(partitions[1].clone()), nodes: nodes[..2].to_vec() };
    let columns = letters(SINFO_FIELDS, "%D|%A|%F|%C|%c|%O|%z|%2P|%B").columns;
    let told = render::row(&columns, &group, &RenderContext::default());
    assert_eq!(told, "2|2/0|2/0/0/2|23/73/0/96|32+|1.75-1.88|2:32:1|gp|UNLIMITED");
    let columns = letters(SINFO_FIELDS, "%2P|%.10t|%D").columns;
    let empty = NodeGroup { partition: Some(partitions[0].clone()), nodes: Vec::new() };
    assert_eq!(render::row(&columns, &empty, &RenderContext::default()), "d*|       n/a|0");
}
