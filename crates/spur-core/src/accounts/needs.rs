//! How much of each resource a job asks for, or holds, as limits and usage count it.

use crate::accounts::limits::Needs;
use crate::config::sections;
use crate::config::words::PriorityFlag;
use crate::gres;
use crate::job::{Allocation, Demand, JobSpec};
use crate::license;
use crate::node::Node;
use crate::tres::{self, Tres};

/// What nodes have together.
pub fn of_nodes<'a>(nodes: impl Iterator<Item = &'a Node>) -> Needs {
    let mut there = Needs::new();
    for node in nodes {
        *there.entry(Tres::Cpu).or_insert(0) += u64::from(node.inventory.cpus);
        *there.entry(Tres::Memory).or_insert(0) += node.inventory.memory_mb;
        *there.entry(Tres::Node).or_insert(0) += 1;
        for gres in &node.inventory.gres {
            add_gres(&mut there, &gres.name, &gres.kind, gres.count);
        }
    }
    there
}

/// What is asked for.
pub fn requested(spec: &JobSpec, partition: &sections::Partition, jobs: &sections::Jobs) -> Needs {
    let demand = Demand::of(spec);
    let (nodes, tasks) = (u64::from(demand.nodes_min), u64::from(demand.tasks));
    let cpus = u64::from(demand.cpus());
    let mut needs = Needs::from([(Tres::Cpu, cpus), (Tres::Node, nodes)]);
    let per_cpu = |mb: u64| mb.saturating_mul(cpus);
    let per_node = |mb: u64| mb.saturating_mul(nodes);
    let memory = (spec.memory_per_node.map(per_node))
        .or_else(|| spec.memory_per_cpu.map(per_cpu))
        .or_else(|| partition.def_mem_per_cpu.map(|mb| per_cpu(mb.0)))
        .or_else(|| partition.def_mem_per_node.map(|mb| per_node(mb.0)))
        .or_else(|| jobs.def_mem_per_cpu.map(|mb| per_cpu(mb.0)))
        .or_else(|| jobs.def_mem_per_node.map(|mb| per_node(mb.0)));
    needs.extend(memory.filter(|mb| *mb > 0).map(|mb| (Tres::Memory, mb)));
    let others = gres::parse(&spec.gres).unwrap_or_default().into_iter();
    let others = others.filter(|it| it.name != gres::GPU).map(|it| times(it, nodes));
    for request in others.chain(gpus(spec, nodes, tasks)) {
        let model = request.model.as_deref().unwrap_or("");
        add_gres(&mut needs, &request.name, model, request.count);
    }
    add_licenses(&mut needs, spec);
    needs
}

/// The GPUs of each model that are asked for over all nodes: as many as the option says that asks for most of it.
pub fn gpus(spec: &JobSpec, nodes: u64, tasks: u64) -> Vec<gres::Request> {
    let gpu = spec.gpu();
    let said = |list: &str| gres::parse_gpus(list).unwrap_or_default();
    let of_nodes = gres::parse(&spec.gres).unwrap_or_default().into_iter();
    let sockets = u64::from(spec.layout().sockets_per_node.unwrap_or(1));
    let generated = gpu.generated_gpus.map(|count| gres::Request {
        name: gres::GPU.to_string(),
        model: None,
        count: count.into(),
    });
    let lists = [
        (said(&gpu.gpus), 1),
        (of_nodes.filter(|it| it.name == gres::GPU).collect(), nodes),
        (said(&gpu.gpus_per_node), nodes),
        (said(&gpu.gpus_per_socket), nodes.saturating_mul(sockets)),
        (said(&gpu.gpus_per_task), tasks),
        (generated.into_iter().collect(), 1),
    ];
    let mut most: Vec<gres::Request> = Vec::new();
    for (list, each) in lists {
        for request in list.into_iter().map(|request| times(request, each)) {
            match most.iter_mut().find(|known| known.model == request.model) {
                Some(known) => known.count = known.count.max(request.count),
                None => most.push(request),
            }
        }
    }
    most
}

fn times(mut request: gres::Request, times: u64) -> gres::Request {
    request.count = request.count.saturating_mul(times);
    request
}

/// What is held.
pub fn held(allocation: &Allocation, spec: &JobSpec) -> Needs {
    let mut needs = Needs::from([
        (Tres::Cpu, allocation.cpus().into()),
        (Tres::Node, allocation.shares.len() as u64),
    ]);
    let memory: u64 = allocation.shares.iter().map(|share| share.memory_mb).sum();
    if memory > 0 {
        needs.insert(Tres::Memory, memory);
    }
    for gres in allocation.shares.iter().flat_map(|share| &share.gres) {
        add_gres(&mut needs, &gres.name, &gres.kind, gres.count);
    }
    add_licenses(&mut needs, spec);
    needs
}

/// A typed one counts under its type and under its name.
pub fn add_gres(needs: &mut Needs, name: &str, kind: &str, amount: u64) {
    let typed = (!kind.is_empty()).then(|| format!("{name}:{kind}"));
    for name in std::iter::once(name.to_string()).chain(typed).filter(|_| amount > 0) {
        let tres = Tres::Named { kind: "gres".to_string(), name };
        let sum = needs.entry(tres).or_insert(0);
        *sum = sum.saturating_add(amount);
    }
}

fn add_licenses(needs: &mut Needs, spec: &JobSpec) {
    for license in license::parse(&spec.placement().licenses).unwrap_or_default() {
        let tres = Tres::Named { kind: "license".to_string(), name: license.name };
        *needs.entry(tres).or_insert(0) += u64::from(license.count);
    }
}

/// Adds what is charged for all of it: processors, or what the partition's weights make of the rest.
pub fn bill(
    needs: &mut Needs,
    partition: Option<&sections::Partition>,
    rules: &sections::Priority,
) {
    let cpus = needs.get(&Tres::Cpu).copied().unwrap_or(0);
    let weights = partition.and_then(|it| it.tres_billing_weights.as_ref());
    let amount = match weights {
        None => cpus,
        Some(weights) => {
            let parts = weights.0.iter().filter_map(|(name, weight)| {
                let tres = tres::parse_name(name).ok()?;
                let amount = needs.get(&tres).copied().unwrap_or(0) as f64;
                Some((tres, amount * weight.per_unit(name)))
            });
            let of_node = |tres: &Tres| {
                matches!(tres, Tres::Cpu | Tres::Memory)
                    || matches!(tres, Tres::Named { kind, .. } if kind == "gres")
            };
            let sum = match rules.flags.contains(&PriorityFlag::MaxTres) {
                false => parts.map(|(_, part)| part).sum::<f64>(),
                // The largest of what nodes have, and everything else.
                true => {
                    let (nodes, rest): (Vec<_>, Vec<_>) =
                        parts.partition(|(tres, _)| of_node(tres));
                    let largest = nodes.into_iter().map(|(_, part)| part).fold(0.0, f64::max);
                    largest + rest.into_iter().map(|(_, part)| part).sum::<f64>()
                }
            };
            sum.max(0.0) as u64
        }
    };
    needs.insert(Tres::Billing, amount);
}

/// Adds what the partition charges that charges most for all of it; without any, processors.
pub fn bill_most<'a>(
    needs: &mut Needs,
    partitions: impl Iterator<Item = &'a sections::Partition>,
    rules: &sections::Priority,
) {
    let amounts = partitions.map(|partition| {
        bill(needs, Some(partition), rules);
        needs.remove(&Tres::Billing).unwrap_or(0)
    });
    match amounts.max() {
        Some(amount) => drop(needs.insert(Tres::Billing, amount)),
        None => bill(needs, None, rules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Setting;
    use crate::config::Weights;
    use crate::job::spec::GpuSpec;

    #[test]
    fn gpus_of_each_model_are_counted_where_most_are_asked_for() {
        let counted = |gpu: GpuSpec, nodes, tasks| {
            let spec = JobSpec { gpu: Some(Box::new(gpu)), ..JobSpec::default() };
            gpus(&spec, nodes, tasks).iter().map(|it| it.count).sum::<u64>()
        };
        let none = GpuSpec::default;
        let all = |gpus: &str, on_node: &str, of_task: &str| GpuSpec {
            gpus: gpus.into(),
            gpus_per_node: on_node.into(),
            gpus_per_task: of_task.into(),
            ..none()
        };
        assert_eq!(counted(all("4", "2", ""), 2, 2), 4);
        assert_eq!(counted(all("a100:3", "", "mi300x:2"), 1, 3), 9);
        assert_eq!(counted(all("a100:3", "mi300x:2", ""), 2, 2), 7);
        assert_eq!(counted(all("", "mi300x:2,a100:1", "a100:1"), 1, 3), 5);
        assert_eq!(counted(all("mi300x:2,a100:3", "", "mi300x:1"), 1, 2), 5);
    }

    #[test]
    fn gpus_count_by_name_and_model_and_are_billed_by_weight() {
        let mut spec = JobSpec { nodes_min: Some(2), ntasks: Some(4), ..JobSpec::default() };
        spec.gres = "gpu:mi300x:3".to_string();
        spec.memory_per_node = Some(1000);
        let mut partition = sections::Partition::default();
        let mut needs = requested(&spec, &partition, &sections::Jobs::default());
        bill(&mut needs, Some(&partition), &sections::Priority::default());
        let shown = |needs: &Needs| -> Vec<String> {
            needs.iter().map(|(tres, amount)| format!("{tres}={amount}")).collect()
        };
        assert_eq!(
            shown(&needs),
            ["cpu=4", "mem=2000", "node=2", "billing=4", "gres/gpu=6", "gres/gpu:mi300x=6"]
        );
        let weights = Weights::from_slurm("CPU=1.0,Mem=0.25G,GRES/gpu=10").expect("weights");
        partition.tres_billing_weights = Some(weights);
        bill(&mut needs, Some(&partition), &sections::Priority::default());
        assert_eq!(needs.get(&Tres::Billing), Some(&64));
        // A node is told by the partition that charges most.
        let (plain, rules) = (sections::Partition::default(), sections::Priority::default());
        needs.insert(Tres::Billing, 9);
        bill_most(&mut needs, [&partition, &plain].into_iter(), &rules);
        assert_eq!(needs.get(&Tres::Billing), Some(&64));
        bill_most(&mut needs, std::iter::empty(), &rules);
        assert_eq!(needs.get(&Tres::Billing), Some(&4));
    }
}
