//! The controllers themselves.

use spur_core::auth::Actor;
use spur_proto::slurm::{
    ControllerView, ListControllersReply, RemoveControllerReply, RemoveControllerRequest,
};
use tonic::Status;

use super::service::Service;
use crate::raft::members::{self, Listed, Trouble};

impl Service {
    pub(super) async fn controllers(&self) -> Result<ListControllersReply, Status> {
        self.latest().await?;
        let view = |listed: Listed| ControllerView {
            id: listed.id,
            address: listed.address,
            leads: listed.leads,
            votes: listed.votes,
            behind: listed.behind,
        };
        let controllers = members::list(&self.raft).into_iter().map(view).collect();
        Ok(ListControllersReply { controllers })
    }

    pub(super) async fn remove_controller(
        &self,
        by: Actor,
        request: RemoveControllerRequest,
    ) -> Result<RemoveControllerReply, Status> {
        // It goes on, and is written down, also when the caller does not wait for it.
        let (service, name) = (self.clone(), request.name.clone());
        let removal = tokio::spawn(async move { service.remove_and_note(&by, &name).await });
        removal.await.unwrap_or_else(|_| Err(self.standby()))
    }

    async fn remove_and_note(
        &self,
        by: &Actor,
        name: &str,
    ) -> Result<RemoveControllerReply, Status> {
        let done = match members::remove(&self.raft, name).await {
            Ok(()) => Ok(RemoveControllerReply {}),
            Err(Trouble::Refused(reason)) => Err(Status::failed_precondition(reason)),
            Err(Trouble::Busy(reason)) => Err(Status::aborted(reason)),
            Err(Trouble::NotLeading | Trouble::Removed) => Err(self.standby()),
        };
        self.note(by, format!("remove controller {name}"), &done);
        done
    }
}
