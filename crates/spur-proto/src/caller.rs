//! Calls that outlive a controller: they find the one that leads, wait for it, and ask again.

use std::time::Duration;

use spur_core::errors::SlurmError;
use tokio::time::{Instant, timeout};
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use crate::client::{self, Address};
use crate::proof::{self, Proof};
use crate::slurm::controller_client::ControllerClient;
use crate::slurm::{IssueTokenReply, IssueTokenRequest, PingRequest};
use crate::status::{from_status, leader_hint, remark};

/// Why a call came to nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The controller said no.
    #[error("{0}")]
    Refused(SlurmError),
    /// The same, with something to be said before it.
    #[error("{1}")]
    Remarked(String, SlurmError),
    /// The controller said no, in words of its own.
    #[error("{0}")]
    Said(String),
    /// Nobody answered in time.
    #[error("Unable to contact slurm controller (connect failure)")]
    Unreachable,
}

/// A connection that is made again when it breaks, to whichever controller leads. Every call it is given
/// must be safe to repeat.
pub struct Caller {
    addresses: Vec<Address>,
    /// The one to ask: by its place in the list, or where a controller said the leader is.
    next: usize,
    hint: Option<Address>,
    /// The last one that did not answer: others may still believe that it leads.
    silent: Option<Address>,
    client: Option<ControllerClient<Channel>>,
    patience: Duration,
}

impl Caller {
    /// Will call one of these controllers, and wait for an answer as long as this.
    pub fn new(addresses: impl Into<Vec<Address>>, patience: Duration) -> Caller {
        Caller {
            addresses: addresses.into(),
            next: 0,
            hint: None,
            silent: None,
            client: None,
            patience,
        }
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
        let mut pause = SHORTEST_PAUSE;
        loop {
            match self.try_call(&ask).await {
                Tried::Answer(answer) => return answer,
                Tried::Elsewhere => {}
                Tried::Nothing if Instant::now() + pause > deadline => {
                    return Err(CallError::Unreachable);
                }
                Tried::Nothing => {
                    // One round through all of them, then a rest.
                    self.next += 1;
                    if self.next >= self.addresses.len() {
                        self.next = 0;
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
        }
    }

    async fn try_call<T, F>(&mut self, ask: impl Fn(ControllerClient<Channel>) -> F) -> Tried<T>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let Some(client) = self.client().await else { return Tried::Nothing };
        let asked = client.clone();
        let status = match ask(client).await {
            Ok(response) => {
                self.silent = None;
                return Tried::Answer(Ok(response.into_inner()));
            }
            Err(status) => status,
        };
        match (from_status(&status), status.code()) {
            (Some(SlurmError::InStandbyMode), _) => {
                self.client = None;
                // Sent here by another one, and wrongly: the list is gone through instead.
                if self.hint.take().is_some() {
                    return Tried::Nothing;
                }
                let is_news = |leader: &Address| self.silent.as_ref() != Some(leader);
                self.hint = leader_hint(&status).filter(is_news);
                if matches!(self.hint, Some(Address::Tls { .. })) && !proof::is_set() {
                    introduce(asked).await;
                }
                if self.hint.is_some() { Tried::Elsewhere } else { Tried::Nothing }
            }
            (Some(error), _) => Tried::Answer(Err(match remark(&status) {
                Some(remark) => CallError::Remarked(remark, error),
                None => CallError::Refused(error),
            })),
            // Without a number of ours the answer is the transport's: the line broke.
            (None, Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal) => {
                self.client = None;
                self.silent = self.hint.take().or_else(|| self.addresses.get(self.next).cloned());
                Tried::Nothing
            }
            (None, _) => Tried::Answer(Err(CallError::Said(status.message().to_string()))),
        }
    }

    async fn client(&mut self) -> Option<ControllerClient<Channel>> {
        if let Some(client) = &self.client {
            return Some(client.clone());
        }
        let address = self.hint.as_ref().or_else(|| self.addresses.get(self.next)).cloned()?;
        let connected = match self.addresses.len() {
            1 => client::connect_to_only(&address).await,
            _ => client::connect(&address).await,
        };
        let client = match connected {
            Ok(channel) => client::controller(channel),
            Err(_) => {
                self.silent = Some(address);
                self.hint = None;
                return None;
            }
        };
        // One that is stopped takes calls all the same, and never answers: better to know before.
        if self.addresses.len() > 1
            && timeout(GLANCE, client.clone().ping(PingRequest {})).await.is_err()
        {
            self.silent = Some(address);
            self.hint = None;
            return None;
        }
        Some(self.client.insert(client).clone())
    }
}

/// The leader is on another machine: this machine's controller, which knows the caller from the kernel, gives
/// them a token to show there.
async fn introduce(mut client: ControllerClient<Channel>) {
    let own = IssueTokenRequest { lifetime_secs: TOKEN_SECS, ..IssueTokenRequest::default() };
    if let Ok(reply) = client.issue_token(own).await {
        let IssueTokenReply { token, authority } = reply.into_inner();
        proof::set(Proof::Token { token, authority });
    }
}

/// As long as a command may want to be known by it, in the memory of its process.
const TOKEN_SECS: u64 = 24 * 3600;

/// What a try came to.
enum Tried<T> {
    Answer(Result<T, CallError>),
    /// Another controller is said to lead: ask there, at once.
    Elsewhere,
    Nothing,
}

/// How long a controller may take to show that it is there, where there are others to ask.
const GLANCE: Duration = Duration::from_millis(400);
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
