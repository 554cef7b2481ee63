//! Steps over several components of a heterogeneous job: which they are, and how they become one.

use spur_core::hostlist;
use spur_core::options::argv::Argv;
use spur_core::options::{
    OptionError, Request, Setting, Source, environment, resolve, resolve_components,
};
use spur_proto::internal::WholeStep;

use super::program::Prepared;
use super::run::Part;
use super::{Asked, TOOL, fill};
use crate::commands::submission;

/// What each component is asked to run; nothing when only a question was asked.
pub fn read(args: &[String]) -> Result<Option<Vec<Asked>>, OptionError> {
    let Some(line) = submission::read(TOOL, args)? else { return Ok(None) };
    let size = std::env::var("SLURM_HET_SIZE").ok().and_then(|size| size.parse::<u32>().ok());
    let several = line.len() > 1;
    // Whoever brings no command runs that of the last.
    let last = line.last().map(|part| part.rest.clone()).unwrap_or_default();
    let mut wanted: Vec<(Option<u32>, Vec<Setting>, Vec<String>)> = Vec::new();
    let of_first: Vec<Setting> = line.first().map_or_else(Vec::new, |it| it.settings.clone());
    for (at, Argv { settings, rest, .. }) in (0..).zip(line) {
        let rest = if rest.is_empty() { last.clone() } else { rest };
        for group in groups(&settings, size, at, several)? {
            wanted.push((group, settings.clone(), rest.clone()));
        }
    }
    wanted.sort_by_key(|(group, ..)| *group);
    let mut asked = Vec::new();
    for (group, mut settings, command) in wanted {
        // Each component has variables of its own.
        let own = |name: &str| {
            // The job is the whole one.
            let group = group.filter(|_| !matches!(name, "SLURM_JOB_ID" | "SLURM_JOBID"));
            look_up(name, group, |name| std::env::var(name).ok())
        };
        settings.extend(environment::read(TOOL, own));
        let mut request = match several {
            // What concerns the whole step is said with the first.
            true => {
                let both = [of_first.clone(), settings];
                let resolved = resolve_components(TOOL, &[], &[], &both)?.into_iter().nth(1);
                resolved.unwrap_or_else(|| Request::new(TOOL))
            }
            false => resolve(TOOL, settings)?,
        };
        if !fill(&mut request, args, &command)? {
            return Ok(None);
        }
        asked.push(Asked { request, command, group });
    }
    Ok(Some(asked))
}

/// A variable of a component, or of the whole job. One of the memory of a component makes those of the job void, which
/// may be told in another kind.
fn look_up(
    name: &str,
    group: Option<u32>,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    const MEMORY: [&str; 3] = ["SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE"];
    let own = |name: &str| group.and_then(|group| variable(&format!("{name}_HET_GROUP_{group}")));
    let is_void = MEMORY.contains(&name) && MEMORY.into_iter().any(|name| own(name).is_some());
    own(name).or_else(|| if is_void { None } else { variable(name) })
}

/// The components that are meant: those named, or by place; nothing said is the first, where there are
/// several.
fn groups(
    settings: &[Setting],
    size: Option<u32>,
    at: u32,
    several: bool,
) -> Result<Vec<Option<u32>>, OptionError> {
    let said = settings.iter().rev().find(|setting| {
        setting.option.long == "het-group" && setting.source == Source::CommandLine
    });
    let Some(size) = size else {
        // Where they will be is not known yet; the order is theirs.
        return Ok(vec![several.then_some(at)]);
    };
    let mut groups = match said {
        Some(setting) => numbers(&setting.value),
        None => vec![at],
    };
    groups.sort_unstable();
    groups.dedup();
    match groups.iter().find(|group| **group >= size) {
        Some(group) => Err(OptionError::error(
            format!(
                "Requested het-group offset exceeds highest hetjob index ({group} > {})",
                size.saturating_sub(1)
            ),
            1,
        )),
        None => Ok(groups.into_iter().map(Some).collect()),
    }
}

/// `0,2-3`, which the option table has checked.
fn numbers(list: &str) -> Vec<u32> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?.min(1 << 16))
    });
    ranges.flatten().collect()
}

/// Tells each part about the whole.
pub fn join(job: u32, request: &Request, parts: &mut [Part], prepared: &mut Prepared) {
    let mut nodes: Vec<_> = parts.iter().flat_map(|part| &part.access.nodes).collect();
    // What is told of each node is told in the order of their names, whichever component has it.
    nodes.sort_by(|a, b| hostlist::natural(&a.name, &b.name));
    let mut names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    names.dedup();
    let whole = WholeStep {
        nodes: hostlist::compress(names),
        tasks_per_node: nodes.iter().map(|node| node.ranks.len() as u32).collect(),
        cpus_per_node: nodes.iter().map(|node| node.cpus).collect(),
        job,
        ..WholeStep::default()
    };
    let mut before = (0, 0);
    for part in parts.iter_mut() {
        let (first_rank, first_node) = before;
        part.program.whole = Some(WholeStep { first_rank, first_node, ..whole.clone() });
        before = (first_rank + part.tasks(), first_node + part.access.nodes.len() as u32);
    }
    let tasks = before.0;
    if prepared.manner.label.is_some() {
        prepared.manner.label = Some(tasks.saturating_sub(1).to_string().len());
    }
    let pty = parts.iter().any(|part| part.program.pty);
    prepared.manner.unbuffered = request.step.unbuffered || tasks == 1 || pty;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_component_stands_alone() {
        let set = [
            ("SLURM_MEM_PER_CPU", "1000"),
            ("SLURM_MEM_PER_CPU_HET_GROUP_0", "1000"),
            ("SLURM_MEM_PER_NODE_HET_GROUP_1", "20"),
            ("SLURM_NTASKS", "3"),
        ];
        let found = |name: &str, group| {
            let of = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.to_string());
            look_up(name, group, of)
        };
        assert_eq!(found("SLURM_MEM_PER_CPU", Some(0)).as_deref(), Some("1000"));
        assert_eq!(found("SLURM_MEM_PER_CPU", Some(1)), None);
        assert_eq!(found("SLURM_MEM_PER_NODE", Some(1)).as_deref(), Some("20"));
        assert_eq!(found("SLURM_MEM_PER_CPU", None).as_deref(), Some("1000"));
        assert_eq!(found("SLURM_NTASKS", Some(1)).as_deref(), Some("3"));
    }

    #[test]
    fn groups_are_lists_of_ranges() {
        assert_eq!(numbers("0,2-3"), [0, 2, 3]);
        assert_eq!(numbers("1"), [1]);
    }
}
