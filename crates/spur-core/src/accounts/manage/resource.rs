//! Resources that clusters share: `sacctmgr add`, `modify` and `delete resource`.

use super::{Plan, Refusal, Request, Word};
use crate::views::RulesView;
use crate::views::rules::{ResourceShare, ResourceView};

/// The server of those who name none.
const OWN_SERVER: &str = "slurmdb";

/// What the words say.
#[derive(Default)]
struct Said {
    names: Vec<String>,
    servers: Vec<String>,
    clusters: Vec<String>,
    description: Option<String>,
    server_type: Option<String>,
    count: Option<u32>,
    percent: Option<u32>,
    has_type: bool,
}

impl Said {
    fn read<'a>(words: impl Iterator<Item = &'a Word>) -> Result<Said, Refusal> {
        let mut said = Said::default();
        let number = |word: &Word, name: &str| {
            word.value.trim().parse::<u32>().map_err(|_| {
                let value = &word.value;
                Refusal::Wrong(format!("sacctmgr: error: Invalid value for {name} ({value})"))
            })
        };
        for word in words {
            match word {
                word if word.name.is_empty() || word.is(&["names", "resources"]) => {
                    said.names.extend(word.list());
                }
                word if word.name == "servertype" => said.server_type = Some(word.value.clone()),
                word if word.is(&["servers"]) => said.servers.extend(word.list()),
                word if word.is(&["clusters"]) && word.name.len() > 1 && word.name != "co" => {
                    said.clusters.extend(word.list());
                }
                word if word.is(&["count"]) => said.count = Some(number(word, "Count")?),
                word if word.is(&["description"]) => said.description = Some(word.said()),
                word if word.is(&["percentallowed", "allowed"]) => {
                    said.percent = Some(number(word, "PercentAllowed")?);
                }
                word if word.is(&["type"]) => {
                    if !"license".starts_with(&word.value.to_lowercase()) {
                        let text = format!(
                            " Unknown resource type: '{}'  Valid options are License",
                            word.value
                        );
                        return Err(Refusal::Wrong(text));
                    }
                    said.has_type = true;
                }
                word if word.is(&["flags"]) => {}
                word => return Err(Refusal::Nothing(word.unknown_option().text())),
            }
        }
        Ok(said)
    }

    fn means(&self, one: &ResourceView) -> bool {
        let is = |list: &[String], word: &str| list.is_empty() || list.iter().any(|it| it == word);
        is(&self.names, &one.name) && is(&self.servers, &one.server)
    }
}

/// Thinks out an addition.
pub fn add(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let said = Said::read(request.which.iter().chain(&request.set))?;
    if said.names.is_empty() {
        return Err(Refusal::Wrong(" Need name of resource to add.".to_string()));
    }
    super::clusters(rules, &said.clusters)?;
    let server = said.servers.first().cloned().unwrap_or_else(|| OWN_SERVER.to_string());
    let mut plan = Plan::default();
    let (mut lines, mut is_new) = (String::new(), false);
    for name in &said.names {
        let known = rules.resources.iter().find(|one| one.name == *name && one.server == server);
        if known.is_none() && !said.has_type {
            let text = format!(" Need to designate a resource type to initially add '{name}'.");
            return Err(Refusal::Wrong(text));
        }
        let mut one = known.cloned().unwrap_or_else(|| ResourceView {
            name: name.clone(),
            server: server.clone(),
            description: said.description.clone().unwrap_or_else(|| name.clone()),
            server_type: said.server_type.clone().unwrap_or_default(),
            count: said.count.unwrap_or(0),
            shares: Vec::new(),
        });
        let before = one.shares.len();
        let mut shares = String::new();
        for cluster in &said.clusters {
            if !one.shares.iter().any(|share| share.cluster == *cluster) {
                let percent = said.percent.unwrap_or(0);
                shares.push_str(&format!("   Cluster - {cluster}\t{percent}%\n"));
                one.shares.push(ResourceShare { cluster: cluster.clone(), percent });
            }
        }
        if one.promised() > 100 {
            let used = known.map_or(0, ResourceView::promised);
            let (many, percent) = (one.shares.len() - before, said.percent.unwrap_or(0));
            return Err(Refusal::Wrong(format!(
                " Adding this {many} clusters to resource {} at {percent}% each , with {used}% already \
                 used,  would go over 100%.  Please redo your math and resubmit.",
                one.key()
            )));
        }
        is_new |= known.is_none();
        if known.is_none() || one.shares.len() > before {
            lines.push_str(&format!("  {}\n{shares}", one.key()));
            plan.put.push(one.into());
        }
    }
    let Some(last) = plan.put.last().and_then(|row| row.resource.as_ref()) else {
        return Err(Refusal::Nothing(" Nothing new added.".to_string()));
    };
    let server_type = match last.server_type.as_str() {
        "" => String::new(),
        kind => format!("  ServerType     = {kind}\n"),
    };
    let server = format!("  Server         = {}\n", last.server);
    let settings = match is_new {
        true => format!(
            "  Name           = {}\n{server}  Description    = {}\n{server_type}  Count          = {}\n",
            last.name, last.description, last.count
        ),
        // Of what is known only the clusters' parts are new.
        false => server,
    };
    plan.says =
        format!(" Adding Resource(s)\n{lines} Settings\n{settings}  Type           = License\n");
    Ok(plan)
}

/// Nobody is promised more than there is.
fn within(one: &ResourceView) -> Result<(), Refusal> {
    let promised = one.promised();
    if promised <= 100 {
        return Ok(());
    }
    let line =
        |share: &ResourceShare| format!("   Cluster - {}\t {}%\n", share.cluster, share.percent);
    let parts: String = one.shares.iter().map(line).collect();
    Err(Refusal::Wrong(format!(
        "sacctmgr: error: You can not allocate more than 100% of a resource\n If change was accepted it \
         would look like this...\n  {}\n{parts}   total\t\t{promised}%",
        one.key()
    )))
}

/// Thinks out a modification.
pub fn modify(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    let which = Said::read(request.which.iter())?;
    let set = Said::read(request.set.iter())?;
    if request.set.is_empty() {
        return Err(Refusal::Wrong(" You didn't give me anything to set".to_string()));
    }
    let mut plan = Plan::default();
    for one in rules.resources.iter().filter(|one| which.means(one)) {
        let mut changed = one.clone();
        let mut own = false;
        if let Some(count) = set.count {
            (changed.count, own) = (count, true);
        }
        if let Some(text) = &set.description {
            (changed.description, own) = (text.clone(), true);
        }
        if let Some(kind) = &set.server_type {
            (changed.server_type, own) = (kind.clone(), true);
        }
        let meant = |share: &ResourceShare| {
            which.clusters.is_empty() || which.clusters.contains(&share.cluster)
        };
        let mut shares = String::new();
        for share in changed.shares.iter_mut().filter(|share| meant(share)) {
            share.percent = set.percent.unwrap_or(share.percent);
            shares.push_str(&format!("  Cluster - {}\t- {}\n", share.cluster, one.key()));
        }
        within(&changed)?;
        if own || (set.percent.is_some() && !shares.is_empty()) {
            let head = if own { format!("  {}\n", one.key()) } else { String::new() };
            plan.says.push_str(&format!("{head}{shares}"));
            plan.put.push(changed.into());
        }
    }
    if plan.put.is_empty() {
        return Err(Refusal::Nothing(" Nothing modified".to_string()));
    }
    plan.says = format!(" Modified server resource ...\n{}", plan.says);
    Ok(plan)
}

/// Thinks out a removal: of a cluster's part, or of the whole.
pub fn remove(rules: &RulesView, request: &Request) -> Result<Plan, Refusal> {
    if request.which.is_empty() && request.set.is_empty() {
        let text = " No conditions given to remove, not executing.";
        return Err(Refusal::Wrong(text.to_string()));
    }
    let said = Said::read(request.which.iter().chain(&request.set))?;
    let mut plan = Plan::default();
    for one in rules.resources.iter().filter(|one| said.means(one)) {
        if said.clusters.is_empty() {
            plan.says.push_str(&format!("  {}\n", one.key()));
            for share in &one.shares {
                plan.says.push_str(&format!("  Cluster - {}\t- {}\n", share.cluster, one.key()));
            }
            plan.remove.push(one.clone().into());
            continue;
        }
        let mut left = one.clone();
        left.shares.retain(|share| !said.clusters.contains(&share.cluster));
        for share in one.shares.iter().filter(|share| said.clusters.contains(&share.cluster)) {
            plan.says.push_str(&format!("  Cluster - {}\t- {}\n", share.cluster, one.key()));
        }
        if left != *one {
            plan.put.push(left.into());
        }
    }
    if plan.put.is_empty() && plan.remove.is_empty() {
        return Err(Refusal::Nothing(" Nothing deleted".to_string()));
    }
    plan.says = format!(" Deleting resource(s)...\n{}", plan.says);
    Ok(plan)
}
