//! Triggers: set, listed, cleared.

use nix::unistd::geteuid;
use spur_core::auth::Actor;
use spur_core::errors::SlurmError;
use spur_core::hostlist;
use spur_core::ids::JobId;
use spur_core::job::Owner;
use spur_core::state::{ClearTriggers, Command, Reply, Which};
use spur_core::time::Timestamp;
use spur_core::trigger::{self, Kind, Subject, Trigger};
use spur_proto::slurm::{
    self, ClearTriggersReply, ClearTriggersRequest, ListTriggersReply, SetTriggerReply,
    SetTriggerRequest,
};
use spur_proto::status::{remarked, to_status};
use tonic::{Code, Status};

use super::service::Service;

/// The longest program taken, with its arguments.
const MAX_PROGRAM: usize = 4096;

/// Triggers that one user may have.
const MOST: usize = 1000;

impl Service {
    pub(super) async fn triggers(&self) -> Result<ListTriggersReply, Status> {
        let published = self.latest().await?;
        let triggers = published.state.triggers.values().map(|it| view(it)).collect();
        Ok(ListTriggersReply { triggers })
    }

    /// Programs are run for the user of the controller alone, as for Slurm's own.
    pub(super) async fn set_trigger_of(
        &self,
        actor: Actor,
        request: SetTriggerRequest,
    ) -> Result<SetTriggerReply, Status> {
        let Actor::User { uid, gid, .. } = actor.clone() else {
            return Err(to_status(SlurmError::AccessDenied));
        };
        if geteuid().as_raw() != uid.0 {
            return Err(to_status(SlurmError::AccessDenied));
        }
        let asked = request.trigger.unwrap_or_default();
        if !asked.program.starts_with('/') || asked.program.len() > MAX_PROGRAM {
            let message = format!("a program is a whole path of at most {MAX_PROGRAM} bytes");
            return Err(Status::new(Code::InvalidArgument, message));
        }
        let set = self.inbox.published();
        let own = set.state.triggers.values().filter(|it| it.owner.uid == uid).count();
        if own >= MOST {
            let message = format!("the user has {own} triggers, the limit is {MOST}");
            return Err(remarked(SlurmError::NotSupported, &message));
        }
        let mut events = 0;
        for name in &asked.events {
            events |= trigger::bit(name).ok_or(to_status(SlurmError::NotSupported))?;
        }
        let of_controller =
            trigger::events(events).any(|it| !matches!(it.kind, Kind::Job | Kind::Node));
        let about = match asked.job_id {
            Some(job) => Subject::Job(JobId(job)),
            None if of_controller => Subject::Controller,
            None => Subject::Nodes(
                hostlist::expand(&asked.nodes)
                    .map_err(|_| to_status(SlurmError::InvalidNodeName))?,
            ),
        };
        let trigger = Trigger {
            id: 0,
            owner: Owner { uid, gid, name: self.names.of(uid).await },
            about,
            events,
            offset_secs: asked.offset_secs,
            program: asked.program,
            permanent: asked.permanent,
            since: Timestamp(0),
            seen: Vec::new(),
            happened: None,
        };
        let command = Command::SetTrigger(Box::new(trigger));
        self.propose_once(&actor, &request.request_id, command).await?;
        Ok(SetTriggerReply {})
    }

    pub(super) async fn clear_triggers_of(
        &self,
        by: Actor,
        request: ClearTriggersRequest,
    ) -> Result<ClearTriggersReply, Status> {
        let which = Which { id: request.id, job: request.job_id, uid: request.uid };
        let command = Command::ClearTriggers(ClearTriggers { by: by.clone(), which });
        match self.propose_once(&by, &request.request_id, command).await? {
            Reply::Started(count) => Ok(ClearTriggersReply { cleared: count as u32 }),
            _ => Ok(ClearTriggersReply::default()),
        }
    }
}

fn view(it: &Trigger) -> slurm::Trigger {
    let (job_id, nodes) = match &it.about {
        Subject::Job(job) => (Some(job.0), String::new()),
        Subject::Nodes(nodes) => (None, hostlist::compress(nodes.iter().map(String::as_str))),
        Subject::Controller => (None, String::new()),
    };
    slurm::Trigger {
        id: it.id,
        uid: it.owner.uid.0,
        user_name: it.owner.name.clone(),
        job_id,
        nodes,
        events: trigger::events(it.events).map(|event| event.name.to_string()).collect(),
        offset_secs: it.offset_secs,
        program: it.program.clone(),
        permanent: it.permanent,
    }
}
