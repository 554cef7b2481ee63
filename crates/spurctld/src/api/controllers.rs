//! The controllers themselves.

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
        request: RemoveControllerRequest,
    ) -> Result<RemoveControllerReply, Status> {
        match members::remove(&self.raft, &request.name).await {
            Ok(()) => Ok(RemoveControllerReply {}),
            Err(Trouble::Refused(reason)) => Err(Status::failed_precondition(reason)),
            Err(Trouble::Busy(reason)) => Err(Status::aborted(reason)),
            Err(Trouble::NotLeading | Trouble::Removed) => Err(self.standby()),
        }
    }
}
