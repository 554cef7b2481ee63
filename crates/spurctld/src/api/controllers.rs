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
        // Who has no majority is told so by the removal.
        if self.latest().await.is_ok() && self.was_done(&by, &request.request_id)? {
            return Ok(RemoveControllerReply {});
        }
        let service = self.clone();
        let removal = tokio::spawn(async move {
            let done = service.remove_and_note(&by, &request.name).await?;
            // What went out is out, whether or not this finds a majority yet.
            let _ = service.remember(&by, &request.request_id).await;
            Ok(done)
        });
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
