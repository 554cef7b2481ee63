//! What counts against associations and QOS now: `scontrol show assoc_mgr`.

use std::collections::{BTreeMap, BTreeSet};

use spur_core::accounts::limits::{Needs, Purse};
use spur_core::auth::Actor;
use spur_core::ids::NodeName;
use spur_core::job::{Job, Phase};
use spur_core::state::State;
use spur_core::tres::Tres;
use spur_proto::slurm::{Holding, ListHoldingsReply};
use spur_sched::priority::Basis;
use tonic::Status;

use super::service::Service;
use super::shares::{always, listed, minutes_left};
use super::sight::Sight;

/// Against whom something counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Association(u32),
    Qos(u32),
    AccountOfQos(u32, String),
    UserOfQos(u32, u32),
}

/// How much.
#[derive(Default)]
struct Sum {
    jobs: u64,
    accruing: u64,
    submitted: u64,
    held: Needs,
    nodes: BTreeSet<NodeName>,
    run_minutes: Needs,
}

impl Service {
    pub(super) async fn holdings(&self, actor: Actor) -> Result<ListHoldingsReply, Status> {
        let shares = self.shares(actor.clone()).await?.shares;
        let published = self.latest().await?;
        let state = &published.state;
        if state.rules.is_empty() {
            return Ok(ListHoldingsReply::default());
        }
        let own = match actor.uid() {
            Some(uid) => self.names.of(uid).await,
            None => String::new(),
        };
        let sight = Sight::of(&actor, state);
        let mut rules = state.rules.rules().clone();
        rules.associations.retain(|one| {
            one.cluster == state.rules.cluster() && sight.share(&own, &one.user_name, &one.account)
        });
        rules.users.retain(|user| sight.share(&own, &user.name, ""));
        let seen: BTreeSet<u32> = rules.associations.iter().map(|one| one.id).collect();
        let basis = Basis::of(state, state.now.0);
        let always = always(state);
        let holdings = sums(state).into_iter().filter_map(|(whose, sum)| {
            let mut holding = Holding {
                jobs: sum.jobs,
                accruing: sum.accruing,
                submitted: sum.submitted,
                tres: listed(&always, &sum.held),
                tres_run_minutes: listed(&always, &sum.run_minutes),
                ..Holding::default()
            };
            let purse = match whose {
                Whose::Association(id) if !seen.contains(&id) => return None,
                Whose::Association(id) => {
                    holding.association_id = id;
                    Some(Purse::Association(id))
                }
                Whose::Qos(id) => {
                    holding.qos_id = id;
                    Some(Purse::Qos(id))
                }
                Whose::AccountOfQos(id, account) => {
                    (holding.qos_id, holding.account) = (id, account);
                    None
                }
                Whose::UserOfQos(id, uid) => {
                    (holding.qos_id, holding.uid) = (id, Some(uid));
                    None
                }
            };
            let usage = purse.and_then(|purse| basis.usage.get(&purse));
            let spent = usage.map(|usage| usage.spent()).unwrap_or_default();
            holding.tres_minutes = listed(&always, &spent.minutes);
            holding.wall_minutes = spent.wall_minutes as f64;
            holding.raw_usage = usage.map_or(0.0, |usage| usage.billed());
            Some(holding)
        });
        Ok(ListHoldingsReply { holdings: holdings.collect(), shares, rules: Some(rules) })
    }
}

/// Everything that is not over, added up. Every association and QOS has a sum, if of nothing.
fn sums(state: &State) -> BTreeMap<Whose, Sum> {
    let associations = state.rules.associations().map(|one| Whose::Association(one.id));
    let all = associations.chain(state.rules.all_qos().map(|qos| Whose::Qos(qos.id)));
    let mut sums: BTreeMap<Whose, Sum> = all.map(|whose| (whose, Sum::default())).collect();
    for job in state.jobs.values().filter(|job| !job.phase.is_over()) {
        let needs = state.needs_of(job);
        let asks = state.asks_of(job, &needs);
        let mut against = Vec::new();
        if let Some(own) = state.association_of(job) {
            let line = state.rules.lineage(own);
            against.extend(line.iter().map(|one| Whose::Association(one.id)));
        }
        if let Some(qos) = state.rules.qos(asks.qos) {
            against.push(Whose::Qos(qos.id));
            against.push(Whose::AccountOfQos(qos.id, job.spec.account.clone()));
            against.push(Whose::UserOfQos(qos.id, job.owner.uid.0));
        }
        for whose in against {
            sums.entry(whose).or_default().add(state, job, &needs);
        }
    }
    sums
}

impl Sum {
    fn add(&mut self, state: &State, job: &Job, needs: &Needs) {
        let tasks = job.waiting_tasks().map_or(1, |tasks| tasks.ids().count() as u64);
        self.submitted += tasks;
        let Some(held) = job.phase.holds() else {
            if job.phase == Phase::Pending && state.obstacle(job).is_none() {
                self.accruing += tasks;
            }
            return;
        };
        self.jobs += 1;
        let left = minutes_left(state, job);
        for (tres, amount) in needs {
            *self.held.entry(tres.clone()).or_insert(0) += amount;
            *self.run_minutes.entry(tres.clone()).or_insert(0) += amount * left.unwrap_or(0);
        }
        // Jobs that share a node have one together.
        self.nodes.extend(held.shares.iter().map(|share| share.node.clone()));
        self.held.insert(Tres::Node, self.nodes.len() as u64);
    }
}
