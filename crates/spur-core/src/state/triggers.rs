//! Triggers are set, noticed and cleared. What has happened is found out by the leader's look at the state; here
//! it is written down, so that nothing is told twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::auth::{Action, Actor, Target, may};
use crate::errors::SlurmError;
use crate::hostlist;
use crate::ids::{NodeName, Uid};
use crate::job::{Job, Phase};
use crate::node::Node;
use crate::state::{Effect, Reply, State};
use crate::time::Timestamp;
use crate::trigger::{Notice, Seen, Subject, Trigger, Watch, events};

/// Takes triggers away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearTriggers {
    /// Who wants it.
    pub by: Actor,
    /// Which.
    pub which: Which,
}

/// Which triggers are meant: those that everything said is true of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// The one of this number.
    pub id: Option<u32>,
    /// Those about a job.
    pub job: Option<u32>,
    /// Those of a user.
    pub uid: Option<u32>,
}

impl Which {
    /// Whether a trigger is meant.
    pub fn means(&self, trigger: &Trigger) -> bool {
        let job = match trigger.about {
            Subject::Job(job) => Some(job.0),
            Subject::Nodes(_) | Subject::Controller => None,
        };
        self.id.is_none_or(|id| trigger.id == id)
            && self.job.is_none_or(|wanted| job == Some(wanted))
            && self.uid.is_none_or(|uid| trigger.owner.uid.0 == uid)
    }
}

/// Programs are run for the user of the controller alone; the edge sees to that.
pub(super) fn set(state: &mut State, asked: &Trigger) -> Result<Reply, SlurmError> {
    let of_users = events(asked.events).all(|event| event.watch != Watch::Nothing);
    if asked.events == 0 || !of_users {
        return Err(SlurmError::NotSupported);
    }
    match &asked.about {
        Subject::Job(job) => {
            let job = state.jobs.get(job).ok_or(SlurmError::InvalidJobId)?;
            if job.phase.is_over() {
                return Err(SlurmError::AlreadyDone);
            }
        }
        Subject::Nodes(names) => {
            let known = |name: &String| state.nodes.contains_key(&NodeName::from(name.as_str()));
            if !names.iter().all(known) {
                return Err(SlurmError::InvalidNodeName);
            }
        }
        Subject::Controller => {}
    }
    let same = |it: &Trigger| {
        it.owner.uid == asked.owner.uid
            && it.about == asked.about
            && it.events == asked.events
            && it.offset_secs == asked.offset_secs
            && it.program == asked.program
    };
    if state.triggers.values().any(|it| same(it)) {
        return Err(SlurmError::TriggerDup);
    }
    let id = state.next_trigger + 1;
    let mut trigger = Trigger { id, since: state.now, ..asked.clone() };
    // What is so already has not happened; but a node that idles may go on to.
    let idle = events(trigger.events).any(|event| event.watch == Watch::Idle);
    let seen = state.nodes_in_state(&trigger).into_iter();
    trigger.seen = seen.map(|node| Seen { node, since: state.now.0, told: !idle }).collect();
    state.next_trigger = id;
    state.triggers.insert(id, Arc::new(trigger));
    Ok(Reply::Done)
}

pub(super) fn clear(state: &mut State, clear: &ClearTriggers) -> Result<Reply, SlurmError> {
    let meant = |it: &Trigger| clear.which.means(it);
    let meant: Vec<(u32, Uid)> =
        state.triggers.values().filter(|it| meant(it)).map(|it| (it.id, it.owner.uid)).collect();
    for (_, owner) in &meant {
        may(&clear.by, Action::ControlJob, Target::Of(*owner))?;
    }
    for (id, _) in &meant {
        state.triggers.remove(id);
    }
    Ok(Reply::Started(meant.len()))
}

pub(super) fn noticed(
    state: &mut State,
    notices: &[Notice],
    effects: &mut Vec<Effect>,
) -> Result<Reply, SlurmError> {
    for notice in notices {
        let Some(trigger) = state.triggers.get(&notice.id).cloned() else { continue };
        if let Some(argument) = &notice.run {
            effects.push(Effect::RunProgram {
                owner: trigger.owner.clone(),
                program: trigger.program.clone(),
                argument: argument.clone(),
            });
        }
        if notice.over || (notice.run.is_some() && !trigger.permanent) {
            state.triggers.remove(&notice.id);
            continue;
        }
        let happened = trigger.happened.filter(|_| notice.run.is_none());
        let seen = notice.seen.clone();
        state
            .triggers
            .insert(notice.id, Arc::new(Trigger { seen, happened, ..(*trigger).clone() }));
    }
    Ok(Reply::Done)
}

/// A configuration came in: from a controller that leads anew, or because somebody changed it.
pub(super) fn configured(state: &mut State, life: u64, changed: bool) {
    let new_leader = state.leader_life != 0 && state.leader_life != life;
    state.leader_life = life;
    let matters = |it: &Trigger| {
        events(it.events).any(|event| match event.watch {
            Watch::NewLeader => new_leader,
            Watch::Reconfigured => changed,
            _ => false,
        })
    };
    let all: Vec<Arc<Trigger>> =
        state.triggers.values().filter(|it| matters(it)).cloned().collect();
    for it in all {
        let happened = it.happened.or(Some(state.now));
        state.triggers.insert(it.id, Arc::new(Trigger { happened, ..(*it).clone() }));
    }
}

impl State {
    /// What there is to note about a trigger now, if anything.
    pub fn look_at(
        &self,
        trigger: &Trigger,
        now: Timestamp,
        ends_at: &dyn Fn(&Job) -> Option<Timestamp>,
    ) -> Option<Notice> {
        let due = |at: Timestamp| at.plus_secs(i64::from(trigger.offset_secs)) <= now;
        let mut notice =
            Notice { id: trigger.id, seen: self.seen(trigger, now), ..Notice::default() };
        let fresh = |seen: &Seen| !seen.told && due(Timestamp(seen.since));
        if notice.seen.iter().any(fresh) {
            let told = notice.seen.iter_mut().filter(|seen| fresh(seen));
            let nodes = told.map(|seen| {
                seen.told = true;
                seen.node.clone()
            });
            let nodes: Vec<String> = nodes.collect();
            notice.run = Some(hostlist::compress(nodes.iter().map(String::as_str)));
        }
        if trigger.happened.is_some_and(due) {
            notice.run.get_or_insert_default();
        }
        if let Subject::Job(id) = trigger.about {
            let job = self.jobs.get(&id);
            let ended = match job.map(|job| &job.phase) {
                Some(Phase::Ended { at, .. }) => Some(*at),
                Some(_) => None,
                None => Some(now),
            };
            let wants = |watch: Watch| events(trigger.events).any(|event| event.watch == watch);
            let limit = job.and_then(|job| ends_at(job));
            if (wants(Watch::JobLimit) && limit.is_some_and(due))
                || (wants(Watch::JobEnd) && ended.is_some_and(due))
            {
                notice.run = Some(id.to_string());
            }
            notice.over = ended.is_some() && !wants(Watch::JobEnd);
        }
        let same = notice.run.is_none() && !notice.over && notice.seen == trigger.seen;
        (!same).then_some(notice)
    }

    /// The nodes in the state that a trigger waits for, and since when.
    fn seen(&self, trigger: &Trigger, now: Timestamp) -> Vec<Seen> {
        let known = |node: &String| trigger.seen.iter().find(|seen| seen.node == *node).cloned();
        let nodes = self.nodes_in_state(trigger).into_iter();
        nodes.map(|node| known(&node).unwrap_or(Seen { node, since: now.0, told: false })).collect()
    }

    fn nodes_in_state(&self, trigger: &Trigger) -> Vec<String> {
        let watched = |watch: Watch| {
            matches!(watch, Watch::Down | Watch::Up | Watch::Drained | Watch::Failing | Watch::Idle)
        };
        let watches: Vec<Watch> =
            events(trigger.events).map(|event| event.watch).filter(|it| watched(*it)).collect();
        if watches.is_empty() {
            return Vec::new();
        }
        let about: Option<BTreeSet<&str>> = match &trigger.about {
            Subject::Nodes(names) if names.is_empty() => None,
            Subject::Nodes(names) => Some(names.iter().map(String::as_str).collect()),
            Subject::Job(id) => {
                let held = self.jobs.get(id).and_then(|job| job.phase.holds());
                let shares = held.into_iter().flat_map(|held| &held.shares);
                Some(shares.map(|share| share.node.as_str()).collect())
            }
            Subject::Controller => Some(BTreeSet::new()),
        };
        let nodes = self.nodes.values().filter(|node| {
            about.as_ref().is_none_or(|about| about.contains(node.name.as_str()))
                && watches.iter().any(|watch| self.is_in_state(node, *watch))
        });
        nodes.map(|node| node.name.to_string()).collect()
    }

    fn is_in_state(&self, node: &Node, watch: Watch) -> bool {
        let down = !node.link.is_up() || node.service.down;
        let has_jobs = self.index.on_node.contains_key(&node.name);
        match watch {
            Watch::Down => down,
            Watch::Up => !down,
            Watch::Drained => node.service.drain && !has_jobs,
            Watch::Failing => node.service.fail,
            Watch::Idle => node.takes_jobs() && !has_jobs,
            _ => false,
        }
    }
}
