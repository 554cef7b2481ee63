//! Federations: `sacctmgr add`, `modify` and `delete federation`, and which one a cluster is in.
//!
//! Clusters of ours do not share jobs, so a federation has one cluster: what Slurm's commands tell of it is kept, and
//! a second one is refused.

use super::{Conditions, Plan, Refusal, Request, Word};
use crate::accounts::settings::Change;
use crate::views::{ClusterView, FederationView, RulesView};

const STATES: &[&str] = &["ACTIVE", "DRAIN", "DRAIN+REMOVE", "INACTIVE"];

/// What the words say of clusters: added, taken away, or all there are.
struct Said<'a> {
    names: Vec<String>,
    clusters: Option<(Change, Vec<&'a ClusterView>)>,
}

fn read<'a>(rules: &'a RulesView, words: &[Word], all: bool) -> Result<Said<'a>, Refusal> {
    let mut said = Said { names: Vec::new(), clusters: None };
    for word in words {
        match word {
            word if all && (word.name.is_empty() || word.is(&["names", "federations"])) => {
                said.names.extend(word.list());
            }
            word if word.is(&["clusters"]) => {
                let (_, found) = said.clusters.get_or_insert((word.change, Vec::new()));
                for name in word.list() {
                    let Some(cluster) = rules.clusters.iter().find(|it| it.name == name) else {
                        let text = format!(" The cluster {name} doesn't exist. Please add first.");
                        return Err(Refusal::Wrong(text));
                    };
                    if !found.contains(&cluster) {
                        found.push(cluster);
                    }
                }
            }
            word if word.is(&["flags"]) => {
                let text = " Unknown federation flag used in:\n '{}'\n Valid federation flags are\n  \
                            '(null)'";
                return Err(Refusal::Wrong(text.replace("{}", &word.value)));
            }
            word => return Err(word.unknown_option()),
        }
    }
    Ok(said)
}

/// Refuses a federation that would have several clusters.
fn alone(rules: &RulesView, name: &str, joining: &[&ClusterView]) -> Result<(), Refusal> {
    let there = rules.clusters.iter().filter(|it| it.federation == name);
    let mut all: Vec<&str> = there.chain(joining.iter().copied()).map(|it| &*it.name).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() < 2 {
        return Ok(());
    }
    Err(Refusal::Wrong(format!(
        " Error with request: Clusters do not share jobs here, so that a federation has one cluster, not {}",
        all.join(" and ")
    )))
}

fn join(cluster: &ClusterView, name: &str) -> ClusterView {
    ClusterView {
        federation: name.to_string(),
        federation_id: 1,
        federation_state: "ACTIVE".to_string(),
        ..cluster.clone()
    }
}

fn leave(cluster: &ClusterView) -> ClusterView {
    ClusterView {
        federation: String::new(),
        federation_id: 0,
        federation_state: String::new(),
        ..cluster.clone()
    }
}

/// That clusters come from elsewhere.
fn leaving(clusters: &[&ClusterView], name: &str) -> String {
    let elsewhere = clusters.iter().filter(|it| !it.federation.is_empty() && it.federation != name);
    let line = |it: &&ClusterView| {
        format!(" The cluster {} is assigned to federation {}\n", it.name, it.federation)
    };
    elsewhere.map(line).collect()
}

/// Thinks out an addition.
pub fn add(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let words: Vec<Word> = request.which.iter().chain(&request.set).cloned().collect();
    let said = read(rules, &words, true)?;
    if said.names.is_empty() {
        return Err(Refusal::Wrong(" Need name of federation to add.".to_string()));
    }
    let clusters = said.clusters.map(|(_, list)| list).unwrap_or_default();
    if said.names.len() > 1 && !clusters.is_empty() {
        let text = " Can't assign clusters to multiple federations.";
        return Err(Refusal::Wrong(text.to_string()));
    }
    let known = |name: &&String| rules.federations.iter().any(|one| one.name == **name);
    let (old, new): (Vec<&String>, Vec<&String>) = said.names.iter().partition(known);
    let told: Vec<String> = old
        .iter()
        .map(|name| format!(" This federation {name} already exists.  Not adding."))
        .collect();
    if new.is_empty() {
        return Err(Refusal::Nothing(told.join("\n")));
    }
    let mut plan = Plan::default();
    for line in &told {
        plan.says.push_str(&format!("{line}\n"));
    }
    plan.says.push_str(&leaving(&clusters, new[0]));
    plan.says.push_str(" Adding Federation(s)\n");
    for name in &new {
        alone(rules, name, &clusters)?;
        plan.says.push_str(&format!("  {name}\n"));
        plan.put.push(FederationView { name: (*name).clone() }.into());
        plan.put.extend(clusters.iter().map(|cluster| join(cluster, name).into()));
    }
    if !clusters.is_empty() {
        plan.says.push_str(" Settings\n");
        for cluster in &clusters {
            plan.says.push_str(&format!("  Cluster       = {}\n", cluster.name));
        }
    }
    Ok(plan)
}

/// Thinks out a modification.
pub fn modify(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let which = Conditions::read(&request.which)?;
    let said = read(rules, &request.set, false)?;
    let Some((change, clusters)) = said.clusters else {
        return Err(Refusal::Wrong(" You didn't give me anything to set".to_string()));
    };
    let [name] = which.names.as_slice() else {
        let text = " Can't assign clusters to multiple federations.";
        return Err(Refusal::Wrong(text.to_string()));
    };
    if !rules.federations.iter().any(|one| one.name == *name) {
        return Err(Refusal::Wrong(format!(" The federation {name} doesn't exist.")));
    }
    let mut plan = Plan { says: leaving(&clusters, name), ..Plan::default() };
    plan.says.push_str(" Setting\n");
    let mut line = |sign: &str, cluster: &ClusterView| {
        plan.says.push_str(&format!("  Cluster      {sign} {}\n", cluster.name));
    };
    let here = || rules.clusters.iter().filter(|it| it.federation == *name);
    if change == Change::Remove {
        clusters.iter().for_each(|it| line("-=", it));
        let gone = here().filter(|it| clusters.contains(it));
        plan.put.extend(gone.map(|it| leave(it).into()));
    } else {
        // All there are: the others leave.
        let gone = here().filter(|it| change == Change::Set && !clusters.contains(it));
        let gone: Vec<&ClusterView> = gone.collect();
        gone.iter().for_each(|it| line("-=", it));
        clusters.iter().for_each(|it| line("+=", it));
        let mut without = rules.clone();
        gone.iter().for_each(|it| without.put(leave(it).into()));
        alone(&without, name, &clusters)?;
        plan.put.extend(gone.iter().map(|it| leave(it).into()));
        plan.put.extend(clusters.iter().map(|it| join(it, name).into()));
    }
    plan.says.push_str(&format!(" Modified federation...\n  {name}\n"));
    Ok(plan)
}

/// Thinks out a removal; its clusters are in none then.
pub fn remove(rules: &RulesView, names: &[String]) -> Result<Plan, Refusal> {
    let mut plan = Plan { says: " Deleting federations...\n".to_string(), ..Plan::default() };
    for one in rules.federations.iter().filter(|one| names.contains(&one.name)) {
        plan.says.push_str(&format!("  {}\n", one.name));
        plan.remove.push(one.clone().into());
        let here = rules.clusters.iter().filter(|it| it.federation == one.name);
        plan.put.extend(here.map(|it| leave(it).into()));
    }
    match plan.remove.is_empty() {
        true => Err(Refusal::Nothing(" Nothing deleted".to_string())),
        false => Ok(plan),
    }
}

/// The words of `modify cluster` that are about federations.
pub(super) const OF_CLUSTER: &[&str] = &["federation", "features", "fedstate"];

/// A cluster with what these words say, and how that is told.
pub(super) fn of_cluster(
    rules: &RulesView,
    cluster: &ClusterView,
    words: &[Word],
) -> Result<(ClusterView, String), Refusal> {
    let (mut changed, mut told) = (cluster.clone(), String::new());
    for word in words {
        if word.name.len() > 3 && "federation".starts_with(&word.name) {
            let name = word.value.to_lowercase();
            told.push_str(&format!("  Federation     = {name}\n"));
            if name.is_empty() {
                changed = leave(&changed);
                continue;
            }
            if !rules.federations.iter().any(|one| one.name == name) {
                return Err(Refusal::Left(format!(" The federation {name} doesn't exist.")));
            }
            alone(rules, &name, &[cluster])?;
            changed = join(&changed, &name);
        } else if word.is(&["fedstate"]) && word.name.len() > 3 {
            let said = word.value.to_uppercase();
            let Some(state) = STATES.iter().find(|it| **it == said) else {
                return Err(Refusal::Wrong(format!("Invalid FedState {}.", word.value)));
            };
            told.push_str(&format!("  FedState       = {state}\n"));
            changed.federation_state = state.to_string();
        } else if word.is(&["features"]) {
            let list = word.list();
            let sign = match word.change {
                Change::Set if list.is_empty() => "    =",
                Change::Set => "      =",
                Change::Add => "    +=",
                Change::Remove => "    -=",
            };
            let shown = if list.is_empty() { vec![String::new()] } else { list.clone() };
            shown.iter().for_each(|it| told.push_str(&format!("  Feature {sign} {it}\n")));
            if word.change == Change::Set {
                changed.features.clear();
            }
            changed.features.retain(|it| !list.contains(it));
            if word.change != Change::Remove {
                changed.features.extend(list);
            }
        }
    }
    Ok((changed, told))
}
