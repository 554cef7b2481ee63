//! About the cluster: its configuration, its licences, a job's script.

use spur_core::auth::{Action, Actor, Target, may};
use spur_core::errors::SlurmError;
use spur_core::ids::{JobId, Uid};
use spur_core::job::JobSpec;
use spur_core::show::config::{self, Facts};
use spur_core::show::{levels, topology};
use spur_core::state::{Assignment, State};
use spur_proto::slurm::{
    GetConfigReply, GetDiagnosticsReply, GetDiagnosticsRequest, GetScriptReply, GetScriptRequest,
    License, ListLicensesReply, SetLoggingReply, SetLoggingRequest, TopologyLine,
};
use spur_proto::status::to_status;
use tonic::Status;

use super::service::Service;
use crate::logging;

/// The version of Slurm whose answers ours are.
const COMPATIBLE: &str = "25.11.0";

impl Service {
    pub(super) async fn config(&self) -> Result<GetConfigReply, Status> {
        let published = self.latest().await?;
        let state = &published.state;
        let host = nix::unistd::gethostname().unwrap_or_default();
        let known = self.controllers().await.map(|reply| reply.controllers).unwrap_or_default();
        let host = host.to_string_lossy();
        let controllers = known.iter().map(|it| format!("{host}({})", it.address)).collect();
        let facts = Facts {
            controllers,
            next_job: state.next_job.0,
            nodes: state.nodes.len(),
            accounting: state.settings.accounting,
            version: COMPATIBLE,
            file: self.file.clone(),
        };
        let rows = config::rows(&state.settings.config, &facts);
        let mut entries: Vec<Assignment> =
            rows.into_iter().map(|(key, value)| Assignment { key, value }).collect();
        let logged = logging::now();
        for entry in &mut entries {
            match (entry.key.as_str(), logged.level) {
                ("SlurmctldDebug", Some(level)) => entry.value = level.to_string(),
                ("DebugFlags", _) if !logged.flags.is_empty() => {
                    let flags: Vec<&str> = logged.flags.iter().copied().collect();
                    entry.value = flags.join(",");
                }
                _ => {}
            }
        }
        let topology = topology::lines(&state.settings.config).into_iter();
        let topology = topology
            .map(|line| TopologyLine { name: line.name, nodes: line.nodes, text: line.text })
            .collect();
        Ok(GetConfigReply { entries, boot_time: self.since, topology })
    }

    /// Changes how much is logged here.
    pub(super) fn logs_as(&self, request: SetLoggingRequest) -> Result<SetLoggingReply, Status> {
        let refused = || Status::invalid_argument("there is no such level or flag");
        let level = match request.level.as_str() {
            "" => None,
            word => Some(levels::level(word).ok_or_else(refused)?),
        };
        let named = |names: &[String]| -> Result<Vec<&'static str>, Status> {
            let name = |name: &String| levels::flag(name).map(|it| it.name).ok_or_else(refused);
            names.iter().map(name).collect()
        };
        let (raise, lower) = (named(&request.raise)?, named(&request.lower)?);
        logging::change(|levels| {
            levels.level = level.or(levels.level);
            levels.flags.extend(raise);
            levels.flags.retain(|flag| !lower.contains(flag));
        });
        Ok(SetLoggingReply {})
    }

    pub(super) async fn script(
        &self,
        actor: Actor,
        request: GetScriptRequest,
    ) -> Result<GetScriptReply, Status> {
        let published = self.latest().await?;
        let job = published.state.jobs.get(&JobId(request.job_id));
        let job = job.ok_or(to_status(SlurmError::InvalidJobId))?;
        may(&actor, Action::ReadJob, Target::from(&**job)).map_err(to_status)?;
        if job.is_allocation() {
            return Err(to_status(SlurmError::JobScriptMissing));
        }
        let script = self.inbox.blob(job.script).await;
        let script = script.ok_or(to_status(SlurmError::JobScriptMissing))?;
        Ok(GetScriptReply { script })
    }

    pub(super) async fn diagnosed(
        &self,
        actor: Actor,
        request: GetDiagnosticsRequest,
    ) -> Result<GetDiagnosticsReply, Status> {
        let published = self.latest().await?;
        let (state, now) = (&published.state, crate::clock::now().wall.0);
        let mut told = self.inbox.diagnostics().told(state, now);
        for caller in &mut told.callers {
            caller.user_name = self.names.of(Uid(caller.uid)).await;
        }
        if request.reset {
            may(&actor, Action::Administer, Target::Cluster).map_err(to_status)?;
            self.inbox.diagnostics().reset(now, state);
        }
        Ok(told)
    }

    pub(super) async fn licenses(&self) -> Result<ListLicensesReply, Status> {
        let published = self.latest().await?;
        Ok(ListLicensesReply { licenses: licenses(&published.state) })
    }
}

/// Every licence there is, how many of it jobs hold, and how many reservations keep at present.
fn licenses(state: &State) -> Vec<License> {
    let used = state.licenses_used();
    let whole = |amount: u64| amount.try_into().unwrap_or(u32::MAX);
    let all = state.settings.config.cluster.licenses.0.iter();
    all.map(|(name, total)| License {
        name: name.clone(),
        total: *total,
        used: whole(used.get(name).copied().unwrap_or(0)),
        reserved: whole(state.licenses_kept(name, &JobSpec::default())),
    })
    .collect()
}
