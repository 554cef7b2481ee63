//! Crontabs: read, and taken as a whole.

use spur_core::auth::{Action, Actor, Target, may, may_act_as};
use spur_core::blob::BlobHash;
use spur_core::cron::Schedule;
use spur_core::errors::SlurmError;
use spur_core::ids::{Gid, Uid};
use spur_core::job::{JobSpec, Owner};
use spur_core::state::{Blob, Command, Entry, NewLine, Origin, SetCrontab, State, Submit, apply};
use spur_core::time::Timestamp;
use spur_proto::slurm::{
    CrontabLine, GetCrontabReply, GetCrontabRequest, SetCrontabReply, SetCrontabRequest,
};
use spur_proto::status::{from_status, to_status};
use tonic::{Code, Status};

use super::identify::own_uid;
use super::jobs::{asked_by, name};
use super::service::Service;
use super::{groups, limits};
use crate::clock;

/// The longest crontab taken, and the most lines in force.
const MAX_TEXT: usize = 1 << 20;
const MAX_LINES: usize = 1000;

impl Service {
    pub(super) async fn crontab(
        &self,
        actor: Actor,
        request: GetCrontabRequest,
    ) -> Result<GetCrontabReply, Status> {
        let uid = whose(&actor, request.uid)?;
        let published = self.latest().await?;
        let table = published.state.crontabs.get(&uid);
        Ok(GetCrontabReply { text: table.map(|table| table.text.clone()) })
    }

    pub(super) async fn set_crontab_of(
        &self,
        actor: Actor,
        request: SetCrontabRequest,
    ) -> Result<SetCrontabReply, Status> {
        let uid = whose(&actor, request.uid)?;
        may_act_as(&actor, uid, own_uid()).map_err(to_status)?;
        if request.text.len() > MAX_TEXT || request.lines.len() > MAX_LINES {
            let message = format!("a crontab has at most {MAX_TEXT} bytes and {MAX_LINES} lines");
            return Err(Status::new(Code::InvalidArgument, message));
        }
        let owner = self.owner(&actor, uid).await?;
        let now = clock::now().wall;
        let lines = request.lines.into_iter().map(|line| new_line(line, &owner, &actor, now));
        let lines: Vec<NewLine> = lines.collect::<Result<_, Status>>()?;
        let mut specs: Vec<&JobSpec> = Vec::new();
        for NewLine { submit, .. } in &lines {
            specs.push(&submit.spec);
            specs.extend(&submit.others);
        }
        let published = self.inbox.published();
        let checked = groups::check(&published.state, specs.into_iter(), &owner);
        checked.await.map_err(to_status)?;
        let set = SetCrontab { by: actor, owner, text: request.text, lines };
        for line in &set.lines {
            if let Err(status) = self.gauge(&line.submit) {
                return refusal(line, &status).ok_or(status);
            }
        }
        let command = Command::SetCrontab(Box::new(set.clone()));
        let Err(status) = self.propose_once(&set.by, &request.request_id, command).await else {
            return Ok(SetCrontabReply::default());
        };
        // The first line that would be refused by itself is the culprit.
        let state = &self.inbox.published().state;
        let culprit = set.lines.iter().find(|line| is_refused(state, &set, line));
        culprit.and_then(|line| refusal(line, &status)).ok_or(status)
    }

    /// A user as this machine knows them; the caller's group is the channel's word.
    async fn owner(&self, actor: &Actor, uid: Uid) -> Result<Owner, Status> {
        let name = self.names.of(uid).await;
        if let Actor::User { uid: own, gid, .. } = actor
            && *own == uid
        {
            return Ok(Owner { uid, gid: *gid, name });
        }
        let look_up = move || nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid.0));
        let found = tokio::task::spawn_blocking(look_up).await.ok().and_then(Result::ok).flatten();
        let user = found.ok_or_else(|| to_status(SlurmError::UserIdMissing))?;
        Ok(Owner { uid, gid: Gid(user.gid.as_raw()), name })
    }
}

/// Whose crontab is meant: one's own, or for operators anybody's.
fn whose(actor: &Actor, uid: Option<u32>) -> Result<Uid, Status> {
    let own = actor.uid().ok_or_else(|| to_status(SlurmError::AccessDenied))?;
    let uid = uid.map_or(own, Uid);
    may(actor, Action::ControlJob, Target::Of(uid)).map_err(to_status)?;
    Ok(uid)
}

/// A line with its job, which begins when the line is due next.
fn new_line(
    line: CrontabLine,
    owner: &Owner,
    actor: &Actor,
    now: Timestamp,
) -> Result<NewLine, Status> {
    let refuse = |error| Status::new(Code::InvalidArgument, format!("line {}: {error}", line.last));
    let schedule: Schedule =
        line.when.parse().map_err(|bad: spur_core::cron::BadSchedule| refuse(bad.to_string()))?;
    let begin = schedule.next(now, &clock::Local);
    let begin = begin.ok_or_else(|| refuse("it never comes".to_string()))?;
    let job = line.job.unwrap_or_default();
    limits::submission(&job)?;
    let mut spec = job.spec.unwrap_or_default();
    let mut others = job.others;
    std::iter::once(&mut spec).chain(&mut others).try_for_each(|it| asked_by(actor, it))?;
    spec.begin = Some(begin.0);
    let submit = Submit {
        request: name(&job.request_id)?,
        owner: owner.clone(),
        spec,
        others,
        script: BlobHash::of(&job.script),
        environment: BlobHash::of(&job.environment),
        blobs: vec![Blob { bytes: job.script }, Blob { bytes: job.environment }],
    };
    Ok(NewLine { first: line.first, last: line.last, when: line.when, submit })
}

fn is_refused(state: &State, set: &SetCrontab, line: &NewLine) -> bool {
    let alone = SetCrontab { lines: vec![line.clone()], ..set.clone() };
    let command = Command::SetCrontab(Box::new(alone));
    let entry = Entry { at: clock::now().wall, origin: Origin::default(), command };
    apply(&mut state.clone(), &entry).reply.is_err()
}

fn refusal(line: &NewLine, status: &Status) -> Option<SetCrontabReply> {
    let error = from_status(status)?;
    Some(SetCrontabReply { first: line.first, last: line.last, error_number: error.number() })
}
