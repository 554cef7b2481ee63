//! Calls that outlive a restart of the controller: they wait for it, and ask again.

use std::time::Duration;

use spur_core::errors::SlurmError;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use crate::client::{self, Address};
use crate::slurm::controller_client::ControllerClient;
use crate::status::from_status;

/// Why a call came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The controller said no.
    #[error("{0}")]
    Refused(SlurmError),
    /// The controller said no, in words of its own.
    #[error("{0}")]
    Said(String),
    /// Nobody answered in time.
    #[error("Unable to contact slurm controller (connect failure)")]
    Unreachable,
}

/// A connection that is made again when it breaks. Every call it is given must be safe to repeat.
pub struct Caller {
    address: Address,
    client: Option<ControllerClient<Channel>>,
    patience: Duration,
}

impl Caller {
    /// Will call this controller, and wait for it as long as this.
    pub fn new(address: Address, patience: Duration) -> Caller {
        Caller { address, client: None, patience }
    }

    /// Calls until there is an answer, or patience ends.
    pub async fn call<T, F>(
        &mut self,
        ask: impl Fn(ControllerClient<Channel>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let deadline = Instant::now() + self.patience;
        let answer = tokio::time::timeout_at(deadline, self.call_until(deadline, ask));
        answer.await.unwrap_or(Err(CallError::Unreachable))
    }

    /// The same for a call whose answer may take for ever: patience is only with a controller that is away.
    pub async fn call_and_wait<T, F>(
        &mut self,
        ask: impl Fn(ControllerClient<Channel>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        self.call_until(Instant::now() + self.patience, ask).await
    }

    async fn call_until<T, F>(
        &mut self,
        deadline: Instant,
        ask: impl Fn(ControllerClient<Channel>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let mut pause = Duration::from_millis(10);
        loop {
            match self.try_call(&ask).await {
                Some(answer) => return answer,
                None if Instant::now() + pause > deadline => return Err(CallError::Unreachable),
                None => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }

    /// The answer, or nothing when another try may bring one.
    async fn try_call<T, F>(
        &mut self,
        ask: impl Fn(ControllerClient<Channel>) -> F,
    ) -> Option<Result<T, CallError>>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let client = match &self.client {
            Some(client) => client.clone(),
            None => {
                let channel = client::connect(&self.address).await.ok()?;
                self.client.insert(client::controller(channel)).clone()
            }
        };
        let status = match ask(client).await {
            Ok(response) => return Some(Ok(response.into_inner())),
            Err(status) => status,
        };
        match (from_status(&status), status.code()) {
            (Some(SlurmError::InStandbyMode), _) => None,
            (Some(error), _) => Some(Err(CallError::Refused(error))),
            // Without a number of ours the answer is the transport's: the line broke.
            (None, Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal) => {
                self.client = None;
                None
            }
            (None, _) => Some(Err(CallError::Said(status.message().to_string()))),
        }
    }
}
