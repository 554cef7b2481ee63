//! What one pass decides.

use spur_core::job::Reason;

use super::*;
use crate::place::Choice;
use crate::shape::{Cap, Dealt, Sharing};
use crate::view::{Counter, Displaced, Preemptible, Sleep, ViewReservation, ViewShare};

fn tasks(nodes: u32, tasks: u32) -> impl Fn(&mut Shape) {
    move |shape| {
        shape.nodes_min = nodes.max(1);
        shape.nodes_max = if nodes == 0 { tasks } else { nodes };
        shape.units = tasks;
    }
}

#[test]
fn a_lower_job_starts_where_it_delays_nobody() {
    let cluster = cluster(&[4]).job(tasks(0, 3)).started();
    let plan = cluster.job(tasks(0, 4)).job(tasks(0, 1)).plan();
    assert_eq!(plan, ["3 on n1:1", "2 Resources@3600"]);
}

#[test]
fn a_lower_job_that_would_delay_a_promise_waits() {
    let cluster = cluster(&[4]).job(tasks(0, 3)).started();
    let longer = |shape: &mut Shape| shape.secs = 3601;
    assert_eq!(
        cluster.clone().job(tasks(0, 4)).job(longer).plan(),
        ["2 Resources@3600", "3 Priority"]
    );
    // What the promise leaves over may be used beyond it.
    let plan = cluster.job(tasks(0, 3)).job(longer).plan();
    assert_eq!(plan, ["3 on n1:1", "2 Resources@3600"]);
}

#[test]
fn without_backfill_all_wait_for_the_first() {
    let mut cluster = cluster(&[4]).job(tasks(0, 3)).started().job(tasks(0, 4)).job(tasks(0, 1));
    cluster.policy.backfill = false;
    assert_eq!(cluster.plan(), ["2 Resources@3600", "3 Priority"]);
}

#[test]
fn a_promise_takes_nodes_that_are_busy_now() {
    let cluster = cluster(&[1, 1, 1]).job(tasks(2, 2)).started();
    let plan = cluster.job(tasks(2, 2)).job(|shape| shape.secs = 100_000).plan();
    assert_eq!(plan, ["3 on n3:1", "2 Resources@3600"]);
}

#[test]
fn higher_priority_goes_first_and_higher_tiers_before_that() {
    let cluster = cluster(&[1])
        .job(|_| {})
        .job_with(|_| {}, |job| job.priority = 9)
        .job_with(|_| {}, |job| job.partitions = [("all".into(), 2)].into());
    assert_eq!(cluster.plan(), ["3 on n1:1", "1 Priority", "2 Resources@3600"]);
}

#[test]
fn jobs_that_never_fit_stand_in_nobodys_way() {
    let cluster = cluster(&[4])
        .job(tasks(2, 2))
        .job(tasks(0, 9))
        .job(|shape| shape.constraint = "big".into())
        .job(|shape| shape.nodelist = vec!["n9".into()])
        .job(|_| {});
    let reasons =
        ["1 PartitionNodeLimit", "2 PartitionConfig", "3 BadConstraints", "4 ReqNodeNotAvail"];
    assert_eq!(cluster.plan()[1..], reasons);
    assert_eq!(cluster.plan()[0], "5 on n1:1");
}

#[test]
fn a_job_whose_nodes_are_down_says_so() {
    let cluster =
        cluster(&[4, 2]).node("n1", |node| node.usable = false).job(tasks(0, 4)).job(|_| {});
    // Two of four tasks fit, so no.
    assert_eq!(cluster.plan(), ["2 on n2:1", "1 ReqNodeNotAvail"]);
}

#[test]
fn lighter_nodes_are_used_first_then_the_fullest_that_fits() {
    let cluster = cluster(&[8, 4, 8]).node("n3", |node| node.weight = 0);
    assert_eq!(cluster.clone().job(|_| {}).plan(), ["1 on n3:1"]);
    assert_eq!(cluster.clone().job(tasks(2, 2)).plan(), ["1 on n2:1 n3:1"]);
    let mut loaded = cluster.node("n3", |node| node.weight = 1);
    loaded.policy.choice = Choice::LeastLoaded;
    assert_eq!(loaded.job(|_| {}).plan(), ["1 on n1:1"]);
}

#[test]
fn gangs_go_where_a_node_in_use_is_kept_the_fewest_days_longer_and_then_where_it_is_fullest() {
    const DAY: i64 = 86_400;
    let for_days = |gpus, days| {
        move |shape: &mut Shape| {
            shape.gres = vec![gpu_need(gpus, Per::Node)];
            shape.secs = days * DAY;
        }
    };
    let mut cluster = cluster(&[8, 8, 8]);
    for name in ["n1", "n2", "n3"] {
        cluster = cluster.node(name, |node| node.gres = gpus(8));
    }
    // Together the two would fit on one node, but none is in use for so long.
    let busy = cluster.job(for_days(5, 1)).started().job(for_days(4, 9)).started();
    let plan = |days| busy.clone().job(for_days(2, days)).plan();
    assert_eq!(plan(1), ["3 on n1:1"]);
    assert_eq!(plan(9), ["3 on n2:1"]);
    // No idle node is begun while one in use has room, and hours make no difference.
    assert_eq!(plan(30), ["3 on n2:1"]);
    let hours = busy.at(6 * 3600).job(for_days(2, 1));
    assert_eq!(hours.plan(), ["3 on n1:1"]);
    assert_eq!(hours.started().job(for_days(4, 9)).plan(), ["4 on n2:1"]);
}

#[test]
fn tasks_without_a_number_of_nodes_take_few() {
    assert_eq!(cluster(&[4, 4]).job(tasks(0, 6)).plan(), ["1 on n1:4 n2:2"]);
    assert_eq!(cluster(&[1, 1, 4]).job(tasks(0, 4)).plan(), ["1 on n3:4"]);
    assert_eq!(cluster(&[8, 8]).job(tasks(2, 6)).plan(), ["1 on n1:5 n2:1"]);
}

#[test]
fn features_are_asked_of_each_node_or_of_all_alike() {
    let with = |cluster: Cluster, name: &str, feature: &'static str| {
        cluster.node(name, move |node| node.features = [feature.into()].into())
    };
    let nodes = cluster(&[1, 1, 1]);
    let nodes = with(with(with(nodes, "n1", "a"), "n2", "b"), "n3", "b");
    let wants = |text: &'static str, count| {
        nodes.clone().job(move |shape| {
            tasks(count, count)(shape);
            shape.constraint = text.into();
        })
    };
    assert_eq!(wants("b", 1).plan(), ["1 on n2:1"]);
    assert_eq!(wants("a|b", 3).plan(), ["1 on n1:1 n2:1 n3:1"]);
    assert_eq!(wants("[a|b]", 2).plan(), ["1 on n2:1 n3:1"]);
    assert_eq!(wants("[a*1&b*2]", 3).plan(), ["1 on n1:1 n2:1 n3:1"]);
    assert_eq!(wants("[a*2&b*1]", 3).plan(), ["1 BadConstraints"]);
    // Outside of brackets one node may stand for several.
    let both = nodes.clone().node("n3", |node| node.features = ["a".into(), "b".into()].into());
    let both = both.job(|shape| {
        tasks(2, 2)(shape);
        shape.constraint = "a*2&b*1".into();
    });
    assert_eq!(both.plan(), ["1 on n1:1 n3:1"]);
}

#[test]
fn jobs_of_a_partition_have_no_more_of_a_socket_than_it_allows() {
    let nodes = cluster(&[8]).node("n1", |node| node.sockets = 2);
    let wants = |cores| {
        move |shape: &mut Shape| {
            shape.unit_cpus = cores;
            shape.cap = Some(Cap { partition: "all".into(), cpus: u32::MAX, socket_cpus: 2 });
        }
    };
    let first = nodes.clone().job(wants(3)).decide().starts;
    let on_first = first[0].shares[0].cores.iter().filter(|core| **core < 4).count();
    assert!((1..=2).contains(&on_first), "two of one socket and one of the other");
    assert_eq!(nodes.clone().job(wants(3)).job(wants(2)).plan(), ["1 on n1:3", "2 Resources@3600"]);
    assert_eq!(nodes.job(wants(5)).plan(), ["1 PartitionConfig"]);
}

#[test]
fn processors_are_dealt_out_with_gpus() {
    let nodes = cluster(&[32, 32]).node("n1", |node| node.gres = gpus(8));
    let nodes = nodes.node("n2", |node| node.gres = gpus(8));
    let starts = nodes.job(|shape| {
        shape.gres = vec![gpu_need(1, Per::Unit)];
        (shape.units, shape.nodes_max) = (16, 16);
        shape.dealt = Some(Dealt { cpus: 7, units: 16 });
    });
    let starts = starts.decide().starts;
    let cores: usize = starts[0].shares.iter().map(|share| share.cores.len()).sum();
    assert_eq!(cores, 7);
}

#[test]
fn named_nodes_are_taken_and_excluded_ones_are_not() {
    let nodes = cluster(&[1, 1, 1]);
    let named = nodes.clone().job(|shape| {
        tasks(2, 2)(shape);
        shape.nodelist = vec!["n3".into()];
    });
    assert_eq!(named.plan(), ["1 on n2:1 n3:1"]);
    assert_eq!(nodes.clone().job(|shape| shape.exclude = vec!["n1".into()]).plan(), ["1 on n2:1"]);
    let row = nodes.job(|shape| shape.nodelist = vec!["n2".into()]).started().job(|shape| {
        tasks(2, 2)(shape);
        shape.contiguous = true;
    });
    assert_eq!(row.plan(), ["2 Resources@3600"]);
}

#[test]
fn nodes_are_avoided_while_others_would_do() {
    let avoiding = |names: &'static [&'static str], nodes| {
        cluster(&[1, 1]).job(move |shape: &mut Shape| {
            tasks(nodes, nodes)(shape);
            shape.avoid = names.iter().map(|name| (*name).into()).collect();
        })
    };
    assert_eq!(avoiding(&["n1"], 1).plan(), ["1 on n2:1"]);
    assert_eq!(avoiding(&["n1"], 2).plan(), ["1 on n1:1 n2:1"]);
    assert_eq!(avoiding(&["n1", "n2"], 1).plan(), ["1 on n1:1"]);
}

#[test]
fn memory_is_used_up_as_processors_are() {
    let mb = |mb| move |shape: &mut Shape| shape.memory = Memory::PerNode(mb);
    assert_eq!(
        cluster(&[4]).job(mb(600)).job(mb(600)).job(mb(400)).plan(),
        ["1 on n1:1", "3 on n1:1", "2 Resources@3600"]
    );
    assert_eq!(cluster(&[4]).job(mb(1001)).plan(), ["1 PartitionConfig"]);
    let each = |shape: &mut Shape| {
        tasks(0, 3)(shape);
        shape.memory = Memory::PerCpu(400);
    };
    assert_eq!(cluster(&[4, 4]).job(each).plan(), ["1 on n1:2 n2:1"]);
}

#[test]
fn threads_of_a_core_go_to_one_job() {
    let nodes = cluster(&[2]).node("n1", |node| node.threads = 2);
    assert_eq!(
        nodes.clone().job(tasks(1, 1)).job(tasks(1, 1)).job(tasks(1, 1)).plan(),
        ["1 on n1:1", "2 on n1:1", "3 Resources@3600"]
    );
    assert_eq!(nodes.clone().job(tasks(1, 4)).plan(), ["1 on n1:2"]);
    let one_each = nodes.job(|shape| {
        tasks(1, 3)(shape);
        shape.threads_per_core = Some(1);
    });
    assert_eq!(one_each.plan(), ["1 PartitionConfig"]);
}

#[test]
fn whole_nodes_are_shared_with_nobody() {
    let alone = |shape: &mut Shape| shape.sharing = Sharing::Nobody;
    let plan = cluster(&[4, 4]).job(|_| {}).job(alone).job(|_| {}).plan();
    assert_eq!(plan, ["1 on n1:1", "2 on n2:4", "3 on n1:1"]);
}

#[test]
fn devices_are_given_by_number_and_never_twice() {
    let nodes = cluster(&[8]).node("n1", |node| node.gres = gpus(4));
    let wants = |count| move |shape: &mut Shape| shape.gres = vec![gpu_need(count, Per::Node)];
    let cluster = nodes.job(wants(1)).job(wants(2)).job(wants(2));
    let starts = cluster.decide().starts;
    let devices = |job: usize| starts[job].shares[0].devices.clone();
    assert_eq!((devices(0), devices(1)), (vec![(0, 0, 1)], vec![(0, 1, 1), (0, 2, 1)]));
    assert_eq!(cluster.plan()[2], "3 Resources@3600");
}

#[test]
fn cores_near_a_device_go_with_it() {
    let near = vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]];
    let group = ViewGres { near, ..ViewGres::devices("gpu", "", 2) };
    let nodes = cluster(&[8]).node("n1", |node| {
        node.gres = [group.clone()].into();
        node.sockets = 2;
    });
    let wants = |shape: &mut Shape| {
        shape.gres = vec![gpu_need(1, Per::Node)];
        shape.unit_cpus = 2;
    };
    let starts = nodes.job(wants).job(wants).decide().starts;
    assert_eq!(
        (&starts[0].shares[0].cores, &starts[1].shares[0].cores),
        (&vec![0, 1], &vec![4, 5])
    );
}

#[test]
fn parts_come_from_devices_that_are_shared_and_from_no_others() {
    let group = |parts| ViewGres::devices("gpu", "", 1).in_parts(parts);
    let nodes = cluster(&[8, 8, 8]).node("n1", |node| node.gres = gpus(4));
    let nodes = nodes.node("n2", |node| node.gres = [group(2)].into());
    // As many shards as devices.
    let nodes = nodes.node("n3", |node| node.gres = [group(1)].into());
    let wants = |count| {
        move |shape: &mut Shape| {
            shape.gres = vec![GresNeed { parts: true, ..gpu_need(count, Per::Node) }];
        }
    };
    let plan = nodes.job(wants(2)).job(wants(1)).job(wants(1)).plan();
    assert_eq!(plan, ["1 on n2:1", "2 on n3:1", "3 Resources@3600"]);
}

#[test]
fn small_gpu_jobs_keep_whole_nodes_for_large_ones() {
    let nodes = cluster(&[8, 8]).node("n1", |node| node.gres = gpus(4));
    let nodes = nodes.node("n2", |node| node.gres = gpus(4));
    let wants = |count| move |shape: &mut Shape| shape.gres = vec![gpu_need(count, Per::Node)];
    let plan = nodes.job(wants(1)).started().job(wants(1)).job(wants(4)).plan();
    assert_eq!(plan, ["2 on n1:1", "3 on n2:1"]);
}

#[test]
fn what_is_counted_for_all_jobs_is_not_exceeded() {
    let mut nodes = cluster(&[4]);
    nodes.view.counters.insert("license/a".into(), Counter { max: 2, reason: Reason::Licenses });
    let uses = |job: &mut PendingJob| job.charges = [charge("license/a", 1)].into();
    let none = |_: &mut Shape| {};
    let plan =
        nodes.job_with(none, uses).job_with(none, uses).job_with(none, uses).job(none).plan();
    assert_eq!(plan, ["1 on n1:1", "2 on n1:1", "4 on n1:1", "3 Licenses"]);
}

#[test]
fn one_record_stands_for_many_tasks() {
    let cluster = cluster(&[2]).job_with(|_| {}, |job| job.count = 100_000).job(|_| {});
    assert_eq!(cluster.plan(), ["1 on n1:1", "1 on n1:1", "1 Resources@3600", "2 Priority"]);
    let starts = cluster.decide().starts;
    assert_eq!((starts[0].task, starts[1].task), (0, 1));
}

#[test]
fn a_job_waits_for_its_moment_and_then_takes_part() {
    let later = |job: &mut PendingJob| job.standing = Standing::From(Timestamp(60));
    let cluster = cluster(&[1]).job_with(|_| {}, later);
    assert_eq!(cluster.plan(), ["1 BeginTime"]);
    let mut planner = Planner::of(&cluster.view, cluster.policy);
    assert_eq!(planner.decide(Timestamp(59)).starts.len(), 0);
    assert_eq!(planner.decide(Timestamp(60)).starts.len(), 1);
}

#[test]
fn a_reservation_over_another_has_its_nodes() {
    let until = |end| ViewReservation { end: Timestamp(end), ..ViewReservation::default() };
    let mut nodes = cluster(&[1, 1]);
    let below = ViewReservation { nodes: ["n1".into(), "n2".into()].into(), ..until(7200) };
    let above = ViewReservation { nodes: ["n2".into()].into(), over: true, ..until(7200) };
    nodes.view.reservations.insert("below".into(), Arc::new(below));
    nodes.view.reservations.insert("above".into(), Arc::new(above));
    let of = |name: &'static str| move |shape: &mut Shape| shape.reservation = name.into();
    let plan = nodes.clone().job(of("above")).job(of("below")).job(of("below")).plan();
    assert_eq!(plan, ["1 on n2:1", "2 on n1:1", "3 Resources@3600"]);
    let plan = nodes.job(of("below")).job(of("below")).job(|_| {}).plan();
    assert_eq!(plan[0], "1 on n1:1", "the other node is not its own: {plan:?}");
    assert_eq!(plan.len(), 3, "{plan:?}");
}

#[test]
fn nothing_runs_into_a_reservation_but_its_own_jobs() {
    let mut nodes = cluster(&[1, 1]);
    let (start, end) = (Timestamp(1800), Timestamp(7200));
    let reservation = ViewReservation {
        start,
        end,
        nodes: ["n1".into()].into(),
        every: None,
        flexible: false,
        ..Default::default()
    };
    nodes.view.reservations.insert("night".into(), Arc::new(reservation));
    let mine = |shape: &mut Shape| shape.reservation = "night".into();
    let short = |shape: &mut Shape| shape.secs = 1800;
    let plan = nodes.clone().job(|_| {}).job(short).job(mine).plan();
    assert_eq!(plan, ["1 on n2:1", "2 on n1:1", "3 Reservation"]);
    // The second could do with the node of the first, and waits for that; seen on Slurm.
    let plan = nodes.clone().job(|_| {}).job(|_| {}).plan();
    assert_eq!(plan, ["1 on n2:1", "2 Resources@3600"]);
    let named = |shape: &mut Shape| shape.nodelist = vec!["n1".into()];
    let plan = nodes.clone().job(named).job(tasks(2, 2)).plan();
    assert_eq!(plan[0], "1 ReqNodeNotAvail@7200", "nothing else would do");
    assert!(plan[1].starts_with("2 ReqNodeNotAvail"), "{plan:?}");
    assert_eq!(nodes.clone().at(1800).job(mine).plan(), ["1 on n1:1"]);
    let busy = nodes.job(|_| {}).started().job(|_| {});
    assert_eq!(busy.plan(), ["2 Resources@3600"]);
}

#[test]
fn a_job_that_can_do_with_less_time_fits_before_a_promise() {
    let cluster = cluster(&[1, 1]).job(|_| {}).started().job(tasks(2, 2)).job(|shape| {
        shape.secs = 86_400;
        shape.secs_min = Some(600);
    });
    assert_eq!(cluster.plan(), ["3 on n2:1", "2 Resources@3600"]);
    assert_eq!(cluster.decide().starts[0].secs, Some(600), "as short as it puts up with");
}

#[test]
fn as_few_as_possible_are_displaced() {
    let mut cluster = cluster(&[2, 2]).job(tasks(1, 2)).job(|_| {}).job(|_| {}).started();
    cluster.policy.preempt = true;
    let low = Preemptible { rank: 1, worth: 1, from: Timestamp(0), how: Displaced::Requeued };
    for run in cluster.view.running.values_mut() {
        *run = Arc::new(RunningJob { preemptible: Some(low), ..(**run).clone() });
    }
    let cluster = cluster.job_with(tasks(1, 2), |job| job.rank = 2);
    let preempts = cluster.decide().preempts;
    assert_eq!(preempts[0].victims, [(RunId(JobId(1), 0), Displaced::Requeued)]);
    let one = cluster.ended(1).job_with(tasks(1, 2), |job| job.rank = 2);
    assert_eq!(one.decide().preempts.len(), 1);
    assert_eq!(one.plan()[0], "4 on n1:2");
}

/// Of what runs, everything with a lower rank.
fn all_may_go(mut cluster: Cluster) -> Cluster {
    cluster.policy.preempt = true;
    let low = Preemptible { rank: 1, worth: 1, from: Timestamp(0), how: Displaced::Requeued };
    for run in cluster.view.running.values_mut() {
        *run = Arc::new(RunningJob { preemptible: Some(low), ..(**run).clone() });
    }
    cluster
}

fn displaced(cluster: &Cluster) -> Vec<u32> {
    let all = cluster.decide().preempts.into_iter().flat_map(|it| it.victims);
    all.map(|(run, _)| run.0.0).collect()
}

#[test]
fn nobody_goes_whose_room_alone_is_too_little() {
    let half = |shape: &mut Shape| shape.nodes_max = 2;
    let wide = move |shape: &mut Shape| {
        tasks(1, 4)(shape);
        half(shape);
    };
    let busy = cluster(&[4, 4]).job(tasks(1, 2)).job(tasks(1, 2)).job(tasks(1, 4)).started();
    let busy = all_may_go(busy);
    assert_eq!(displaced(&busy.job_with(wide, |job| job.rank = 2)), [3]);
    let singles = (0..4).fold(cluster(&[4]), |cluster, _| cluster.job(|_| {}));
    let singles = all_may_go(singles.started());
    assert_eq!(displaced(&singles.job_with(wide, |job| job.rank = 2)), [1, 2, 3, 4]);
}

#[test]
fn nodes_that_give_too_little_do_not_keep_others_from_being_cleared() {
    let on_n1 = |shape: &mut Shape| {
        tasks(1, 2)(shape);
        shape.nodelist = vec!["n1".into()];
    };
    let busy = cluster(&[4, 4, 4]).job(on_n1).started();
    let mut busy = busy.job(tasks(1, 4)).job(tasks(1, 4)).started();
    let stays = busy.view.running[&RunId(JobId(1), 0)].clone();
    busy = all_may_go(busy);
    busy.view.running.insert(RunId(JobId(1), 0), stays);
    // The two processors that are free on the first node are of no use.
    assert_eq!(displaced(&busy.job_with(tasks(2, 8), |job| job.rank = 2)), [2, 3]);
}

#[test]
fn who_has_its_grace_makes_room_for_one_job_and_nobody_else_goes_for_that() {
    let mut busy = all_may_go(
        cluster(&[2, 2, 2]).job(tasks(1, 2)).job(tasks(1, 2)).job(tasks(1, 2)).started(),
    );
    let first = busy.view.running.values_mut().next().expect("it runs");
    *first = Arc::new(RunningJob { preemptible: None, leaves: true, ..(**first).clone() });
    busy.policy.depth = 2;
    let one = busy.job_with(tasks(1, 2), |job| job.rank = 2);
    assert_eq!(displaced(&one), [0u32; 0]);
    assert_eq!(displaced(&one.job_with(tasks(1, 2), |job| job.rank = 2)).len(), 1);
}

#[test]
fn processors_are_shared_by_those_that_put_up_with_it() {
    let share = |layers: u32| {
        move |shape: &mut Shape| {
            tasks(1, 2)(shape);
            shape.sharing = Sharing::Cores(layers);
        }
    };
    let one = cluster(&[2, 2]).job(share(2)).started();
    assert_eq!(one.clone().job(share(2)).plan(), ["2 on n2:2"], "idle ones come first");
    let two = one.job(tasks(1, 2)).started();
    assert_eq!(
        two.clone().job(share(2)).plan(),
        ["3 on n1:2"],
        "not with whoever shares with nobody"
    );
    let three = two.job(share(2)).started();
    assert_eq!(three.clone().job(share(2)).plan(), ["4 Resources@3600"], "two is the most");
    assert_eq!(three.job(tasks(1, 1)).plan(), ["4 Resources@3600"]);
}

#[test]
fn what_sleeps_gives_its_processors_and_wakes_when_they_are_free() {
    let mut cluster = cluster(&[2]).job(tasks(1, 2)).started();
    cluster.policy.preempt = true;
    let low = Preemptible { rank: 1, worth: 1, from: Timestamp(0), how: Displaced::Suspended };
    for run in cluster.view.running.values_mut() {
        *run = Arc::new(RunningJob { preemptible: Some(low), ..(**run).clone() });
    }
    let mut cluster = cluster.job_with(tasks(1, 2), |job| job.rank = 2);
    let preempts = cluster.decide().preempts;
    assert_eq!(preempts[0].victims, [(RunId(JobId(1), 0), Displaced::Suspended)]);
    for run in cluster.view.running.values_mut() {
        let mut asleep = (**run).clone();
        let shares = asleep.shares.iter().map(|it| ViewShare { cores: Vec::new(), ..it.clone() });
        asleep.shares = shares.collect();
        let cores = vec![("n1".into(), vec![0, 1])];
        asleep.sleeps = Some(Arc::new(Sleep { rank: 1, cores }));
        *run = Arc::new(asleep);
    }
    let decisions = cluster.decide();
    assert_eq!((decisions.starts.len(), decisions.wakes.len()), (1, 0), "the other comes first");
    let cluster = cluster.cancelled(2).job(|_| {});
    let decisions = cluster.decide();
    assert_eq!(decisions.wakes, [RunId(JobId(1), 0)]);
    assert_eq!(decisions.starts.len(), 0, "one of its own rank waits");
}

#[test]
fn a_pass_may_be_cut_short_and_goes_on() {
    let mut cluster = cluster(&[4]).job(|_| {}).job(|_| {}).job(|_| {});
    cluster.policy.starts_max = 2;
    assert!(cluster.decide().cut_short);
    assert_eq!(cluster.started().plan(), ["3 on n1:1"]);
}

#[test]
fn who_comes_while_a_long_queue_starts_waits_for_one_slice_at_most() {
    let mut cluster = cluster(&[64]);
    cluster.policy.starts_max = 2;
    for _ in 0..20 {
        cluster = cluster.job(|_| {});
    }
    let cluster = cluster.started().job_with(|_| {}, |job| job.priority = 9);
    assert_eq!(cluster.plan()[..2], ["21 on n1:1", "3 on n1:1"]);
}

#[test]
fn a_reservation_comes_again_and_a_flexible_one_binds_nobody() {
    let mut nodes = cluster(&[1, 1]);
    let daily = ViewReservation {
        start: Timestamp(0),
        end: Timestamp(600),
        nodes: ["n1".into()].into(),
        every: Some(86_400),
        flexible: false,
        ..ViewReservation::default()
    };
    nodes.view.reservations.insert("daily".into(), Arc::new(daily.clone()));
    let day = |shape: &mut Shape| shape.secs = 86_400;
    let hours = |shape: &mut Shape| shape.secs = 80_000;
    assert_eq!(nodes.clone().at(600).job(day).job(day).plan()[0], "1 on n2:1");
    assert_eq!(nodes.clone().at(600).job(day).job(hours).plan()[1], "2 on n1:1");
    // Its own job ends with it, so another may be promised the node then.
    let mine = |shape: &mut Shape| {
        day(shape);
        shape.reservation = "none,daily".into();
    };
    let two = nodes.clone().job(mine).started().job(tasks(2, 2));
    assert_eq!(two.plan(), ["2 Resources@600"]);
    let flexible = ViewReservation { flexible: true, start: Timestamp(60), ..daily };
    nodes.view.reservations.insert("daily".into(), Arc::new(flexible));
    let both = |shape: &mut Shape| {
        tasks(2, 2)(shape);
        shape.reservation = "daily".into();
    };
    assert_eq!(nodes.job(both).plan(), ["1 on n1:1 n2:1"]);
}

#[test]
fn nodes_of_a_flexible_reservation_come_first() {
    let mut nodes = cluster(&[1; 6]);
    let flexible = ViewReservation {
        start: Timestamp(0),
        end: Timestamp(600),
        nodes: ["n3".into(), "n4".into()].into(),
        flexible: true,
        ..ViewReservation::default()
    };
    nodes.view.reservations.insert("flex".into(), Arc::new(flexible));
    let on = |count: u32| {
        let job = move |shape: &mut Shape| {
            tasks(count, count)(shape);
            shape.reservation = "flex".into();
        };
        nodes.clone().job(job).plan()
    };
    assert_eq!(on(1), ["1 on n3:1"]);
    assert_eq!(on(2), ["1 on n3:1 n4:1"]);
    assert_eq!(on(3)[0].matches(":1").count(), 3);
    assert!(on(3)[0].contains("n3:1 n4:1"), "{:?}", on(3));
}

#[test]
fn some_cores_of_a_node_are_kept_and_the_others_are_not() {
    let mut nodes = cluster(&[8]);
    let half = ViewReservation {
        end: Timestamp(7200),
        nodes: ["n1".into()].into(),
        cores: [4].into(),
        ..ViewReservation::default()
    };
    nodes.view.reservations.insert("half".into(), Arc::new(half));
    let mine = |count: u32| {
        move |shape: &mut Shape| {
            tasks(1, count)(shape);
            shape.reservation = "half".into();
        }
    };
    let others = nodes.clone().job(tasks(1, 4)).job(tasks(1, 1));
    assert_eq!(others.plan()[..1], ["1 on n1:4"]);
    assert!(others.plan()[1].starts_with("2 "), "the rest is kept");
    let both = others.started().cancelled(2).job(mine(4)).job(mine(1));
    assert_eq!(both.plan()[0], "2 on n1:4");
    assert_eq!(nodes.clone().job(mine(5)).decide().starts.len(), 0);
    let alone = |shape: &mut Shape| shape.sharing = Sharing::Nobody;
    assert_eq!(nodes.clone().job(alone).decide().starts.len(), 0);
    // Who waits for a part of what is kept takes nothing of the rest, as on Slurm.
    let full = nodes.clone().job(mine(4)).started().job(mine(1)).job(tasks(1, 4));
    assert_eq!(full.plan()[0], "3 on n1:4");
    let waits = nodes.job(mine(5)).job(tasks(1, 5)).plan();
    assert_eq!(waits, ["1 Resources@7200", "2 ReqNodeNotAvail@10800"]);
}

#[test]
fn some_reservations_draw_jobs_in() {
    let mut nodes = cluster(&[1, 1]);
    let magnet = ViewReservation {
        end: Timestamp(60),
        nodes: ["n2".into()].into(),
        ..ViewReservation::default()
    };
    nodes.view.reservations.insert("magnet".into(), Arc::new(magnet));
    let drawn = |shape: &mut Shape| shape.drawn = "magnet".into();
    let both = |shape: &mut Shape| {
        tasks(2, 2)(shape);
        drawn(shape);
    };
    let plan = nodes.clone().job(both).plan();
    assert!(!plan[0].contains(" on "), "half inside and half outside: {plan:?}");
    assert_eq!(nodes.job(drawn).job(drawn).plan(), ["1 on n2:1", "2 on n1:1"]);
}

#[test]
fn those_of_least_worth_are_displaced_first() {
    let mut cluster = cluster(&[2, 2]).job(tasks(1, 2)).job(tasks(1, 2)).started();
    cluster.policy.preempt = true;
    for (id, run) in &mut cluster.view.running {
        let worth = if id.0 == JobId(1) { 5 } else { 1 };
        let it = Preemptible { rank: worth, worth, from: Timestamp(0), how: Displaced::Requeued };
        *run = Arc::new(RunningJob { preemptible: Some(it), ..(**run).clone() });
    }
    let cluster = cluster.job_with(tasks(1, 2), |job| job.rank = 9);
    assert_eq!(cluster.decide().preempts[0].victims[0].0, RunId(JobId(2), 0));
}

#[test]
fn sockets_that_are_asked_for_have_free_cores() {
    let nodes = cluster(&[4, 4]);
    let nodes = nodes.node("n1", |node| node.sockets = 2).node("n2", |node| node.sockets = 2);
    let both = |shape: &mut Shape| (shape.sockets_min, shape.cores_per_socket_min) = (2, 2);
    assert_eq!(nodes.clone().job(both).plan(), ["1 on n1:1"]);
    assert_eq!(nodes.job(|_| {}).started().job(both).plan(), ["2 on n2:1"]);
}

/// Classes without jobs are used again once they are many, and one whose first job has just come is not one of them.
#[test]
fn no_job_is_forgotten_when_classes_are_tidied_up() {
    let cluster = Cluster::default().node("n1", |_| {}).node("n2", |_| {});
    let mut planner = Planner::of(&cluster.view, cluster.policy);
    let job = |number: u32, secs: i64| {
        let one = Cluster::default().job(|shape| shape.secs = secs);
        let one = one.view.pending.values().next().cloned().expect("it waits");
        Arc::new(PendingJob { id: JobId(number), ..(*one).clone() })
    };
    for number in 1..=2000 {
        planner.put_job(&job(number, 60 * i64::from(number)));
        planner.remove_job(JobId(number));
    }
    for number in [2001, 2002] {
        planner.put_job(&job(number, 60 * i64::from(number)));
        let starts = planner.decide(cluster.view.now).starts;
        let started: Vec<u32> = starts.iter().map(|start| start.job.0).collect();
        assert_eq!(started, (2001..=number).collect::<Vec<u32>>());
    }
}
