use super::*;

/// Two processors, one socket, as the machine that Slurm was asked on.
fn two() -> Machine {
    Machine {
        order: vec![0, 1],
        threads_per_core: 1,
        cores_per_socket: 2,
        domains: vec![vec![0, 1]],
    }
}

fn part(tasks: u32) -> Part {
    Part { cpus: vec![0, 1], tasks, cpus_per_task: 1, fills_sockets: false }
}

/// What was asked, then type, list and the second task's report as real Slurm has them.
#[rustfmt::skip]
const ASKED: &[(&str, &str, &str, &str)] = &[
    ("", "mask_cpu:", "0x1,0x2", "cpu-bind=MASK - n1, task  1  1 [7]: mask 0x2 set\n"),
    ("v", "mask_cpu:", "0x1,0x2", "cpu-bind=MASK - n1, task  1  1 [7]: mask 0x2 set\n"),
    ("none,v", "none", "", "cpu-bind=NONE - n1, task  1  1 [7]: mask 0x0\n"),
    ("v,cores", "mask_cpu:", "0x1,0x2", "cpu-bind=MASK - n1, task  1  1 [7]: mask 0x2 set\n"),
    ("v,threads", "mask_cpu:", "0x1,0x2", "cpu-bind=MASK - n1, task  1  1 [7]: mask 0x2 set\n"),
    ("v,ldoms", "mask_cpu:", "0x3,0x3", "cpu-bind=MASK - n1, task  1  1 [7]: mask 0x3 set\n"),
    ("v,rank", "rank", "", "cpu-bind=RANK - n1, task  1  1 [7]: mask 0x2 set\n"),
    ("v,map_cpu:1,0", "map_cpu:", "1,0", "cpu-bind=MAP  - n1, task  1  1 [7]: mask 0x1 set\n"),
    ("map_cpu:1,v", "map_cpu:", "1", "cpu-bind=MAP  - n1, task  1  1 [7]: mask 0x2 set\n"),
    ("v,mask_cpu:0x2,0x3", "mask_cpu:", "2,3", "cpu-bind=MASK - n1, task  1  1 [7]: mask 0x3 set\n"),
    ("v,rank_ldom", "rank_ldom", "", "cpu-bind=LDRANK - n1, task  1  1 [7]: mask 0x3 set\n"),
    ("v,map_ldom:0", "map_ldom:", "0", "cpu-bind=LDMAP  - n1, task  1  1 [7]: mask 0x3 set\n"),
    ("v,mask_ldom:0x1", "mask_ldom:", "1", "cpu-bind=LDMASK - n1, task  1  1 [7]: mask 0x3 set\n"),
];

#[test]
fn tasks_are_bound_and_told_as_by_slurm() {
    for (asked, kind, list, report) in ASKED {
        let bound = cpus(asked, &two(), &part(2)).expect(asked);
        assert_eq!((bound.kind, bound.list.as_str()), (*kind, *list), "{asked}");
        assert_eq!(bound.report("n1", 1, 1, 7), *report, "{asked}");
        assert_eq!(bound.verbose, asked.split(',').any(|it| it == "v"), "{asked}");
    }
}

#[test]
fn what_cannot_be_met_is_refused_in_slurms_words() {
    let refused = |asked: &str, part: &Part| cpus(asked, &two(), part).expect_err(asked).0;
    assert_eq!(
        refused("v,map_cpu:5", &part(2)),
        "CPU binding outside of job step allocation, allocated CPUs are: 0x3."
    );
    let half = Part { cpus: vec![0], ..part(1) };
    assert_eq!(
        refused("v,rank", &half),
        "Entire node must be allocated for verbose,rank,one_thread"
    );
    assert!(refused("mask_cpu:zz", &half).ends_with("allocated CPUs are: 0x1."));
}

#[test]
fn too_many_tasks_share_what_there_is() {
    let crowd = Part { cpus: vec![0], ..part(3) };
    let bound = cpus("v", &two(), &crowd).expect("binds");
    assert_eq!((bound.list.as_str(), bound.masks), ("0x1", vec![vec![0]; 3]));
    let wide = Part { cpus_per_task: 2, ..part(1) };
    assert_eq!(cpus("", &two(), &wide).expect("binds").list, "0x3");
}

#[test]
fn nobody_is_bound_who_could_use_more() {
    assert!(part(2).is_bound_by_itself(&two()));
    assert!(!part(1).is_bound_by_itself(&two()), "its threads may use both");
    let wide = Part { cpus_per_task: 2, ..part(1) };
    assert!(wide.is_bound_by_itself(&two()));
}

#[test]
fn sockets_take_turns_and_cores_are_whole() {
    // Two sockets of two cores of two threads; the kernel counts second threads last.
    let machine = Machine {
        order: vec![0, 4, 1, 5, 2, 6, 3, 7],
        threads_per_core: 2,
        cores_per_socket: 2,
        domains: Vec::new(),
    };
    let whole = Part { cpus: (0..8).collect(), tasks: 2, cpus_per_task: 2, fills_sockets: false };
    let list = |asked: &str, part: &Part| cpus(asked, &machine, part).expect("binds").list;
    assert_eq!(list("cores", &whole), "0x11,0x44", "one core of each socket");
    let packed = Part { fills_sockets: true, ..whole.clone() };
    assert_eq!(list("cores", &packed), "0x11,0x22");
    assert_eq!(list("sockets", &whole), "0x33,0xcc");
    let single = Part { cpus_per_task: 1, ..whole };
    assert_eq!(list("cores", &single), "0x11,0x11");
    assert_eq!(list("threads", &single), "0x1,0x10");
}

#[test]
fn masks_are_as_long_as_they_need_to_be() {
    assert_eq!(hexadecimal(&[]), "0x0");
    assert_eq!(hexadecimal(&[0, 4, 67]), "0x80000000000000011");
    assert_eq!(mask("0x80000000000000011"), Some(vec![0, 4, 67]));
    assert_eq!((mask(""), mask("0x"), mask("g")), (None, None, None));
    assert_eq!(repeated("1,2*3", number), [1, 2, 2, 2]);
}

#[test]
fn each_task_sees_its_gpus() {
    let seen = |asked: &str| [0, 1].map(|rank| gpus(asked, &[4, 5], rank, 2).0);
    assert_eq!(seen("closest"), [[4, 5], [4, 5]]);
    assert_eq!(seen("single:1"), [[4], [5]]);
    assert_eq!(seen("single:2"), [[4], [4]]);
    assert_eq!(seen("per_task:1"), [[4], [5]]);
    assert_eq!(seen("map_gpu:1,0"), [[5], [4]]);
    assert_eq!(seen("mask_gpu:0x3,0x1"), [vec![4, 5], vec![4]]);
    let (_, said) = gpus("verbose,map_gpu:1,0", &[0, 1], 0, 2);
    let expected =
        "gpu-bind: usable_gres=0x2; bit_alloc=0x3; local_inx=0; global_list=1; local_list=1\n";
    assert_eq!(said.as_deref(), Some(expected));
}

#[test]
fn memory_is_bound_as_asked() {
    let local = memory("v,local", 1, &[0]).expect("bound");
    assert_eq!(
        local.told("n1", 1, 1, 7).as_deref(),
        Some("mem-bind=LOC - n1, task  1  1 [7]: mask 0x1 set\n")
    );
    assert_eq!(memory("map_mem:1,0", 0, &[0]).expect("bound").domains, [1]);
    assert!(memory("prefer,rank", 3, &[0]).expect("bound").preferred);
    assert_eq!((memory("none", 0, &[0]), memory("", 0, &[0])), (None, None));
}

#[test]
fn what_was_asked_for_is_told_where_nothing_can_be_bound() {
    let told = |asked: &str| words(asked, false).map(|(_, kind, list)| format!("{kind}|{list}"));
    for (asked, expected) in [
        ("none", "none|"),
        ("q,rank", "rank|"),
        ("cores", "cores|cores"),
        ("v,cores", "cores|v,cores"),
        ("map_cpu:0,1", "map_cpu:|0,1"),
        ("mask_cpu:0x1,0x2", "mask_cpu:|1,2"),
        ("verbose", "|verbose"),
    ] {
        assert_eq!(told(asked).as_deref(), Some(expected), "{asked}");
    }
    let implied = |asked: &str| words(asked, true).map(|(_, kind, list)| format!("{kind}|{list}"));
    assert_eq!(implied("threads").as_deref(), Some("threads|"));
    assert_eq!(implied("verbose,threads").as_deref(), Some("threads|verbose"));
    assert_eq!(implied("quiet,threads").as_deref(), Some("threads|"));
    assert_eq!(words("quiet", false).or_else(|| words("", false)), None);
}
