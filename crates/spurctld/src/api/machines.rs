//! Machines that join and leave, and tokens.

use spur_core::auth::{Actor, Level, may_act_as};
use spur_core::errors::SlurmError;
use spur_core::ids::Uid;
use spur_core::job::RequestId;
use spur_core::state::trust::{Machine, Token};
use spur_core::state::{ChangeTrust, Command, TrustChange};
use spur_core::time::Timestamp;
use spur_net::jwt::{self, Claims};
use spur_net::role::is_name;
use spur_net::{Authority, JoinToken, PublicKey, Role, sha256};
use spur_proto::address::Address;
use spur_proto::entrance::now;
use spur_proto::slurm::{
    ApproveMachineReply, ApproveMachineRequest, AuthoritySecrets, CreateTokenReply,
    CreateTokenRequest, EnrolReply, EnrolRequest, IssueTokenReply, IssueTokenRequest,
    ListMachinesReply, MachineView, RemoveMachineReply, RemoveMachineRequest, RevokeTokensReply,
    RevokeTokensRequest,
};
use spur_proto::status::{from_status, to_status};
use tonic::Status;

use super::identify::own_uid;
use super::jobs::optional_name;
use super::service::Service;
use crate::raft::members;
use crate::trust::{Trusted, Waiting};

/// The longest a token may let machines in, or stand for a user.
const LONGEST_SECS: u64 = 366 * 24 * 3600;

/// As long as Slurm's `scontrol token` when nothing is said.
const USUAL_SECS: u64 = 1800;

/// As long as it takes to ask accounting something.
const ACCOUNTING_SECS: u64 = 60;

const MOST_USES: u32 = 100_000;

impl Service {
    pub(super) async fn enrol(
        &self,
        by: Actor,
        from: String,
        request: EnrolRequest,
    ) -> Result<EnrolReply, Status> {
        let published = self.latest().await?;
        let trust = &published.state.trust;
        let key = PublicKey::new(&request.public_key);
        let key = key.ok_or_else(|| Status::invalid_argument("a public key has 32 bytes"))?;
        let word = match request.token.and_then(|id| trust.tokens.get(&id)) {
            Some(token) if request.role.is_empty() => token.role.clone(),
            _ => request.role.clone(),
        };
        if !is_name(&request.name) {
            let name: String = request.name.chars().take(64).collect();
            return Err(Status::invalid_argument(format!("{name} cannot be a machine's name")));
        }
        let role = match (Role::new(&word, &request.name), request.token) {
            (Some(role), _) => role,
            (None, Some(_)) if word.is_empty() => return Err(useless()),
            (None, _) => {
                let name = &request.name;
                return Err(Status::invalid_argument(format!("{name} cannot be a machine's name")));
            }
        };
        let machine = Machine {
            certificate: role.certificate_name(),
            role: role.word().to_string(),
            name: request.name.clone(),
            key: key.0.clone(),
            since: Timestamp(0),
        };
        let authority = self.authority()?;
        let is_known = trust.knows(&machine.certificate, &key.0);
        // Strangers write nothing into the log.
        if !is_known && request.token.is_some_and(|id| !trust.tokens.contains_key(&id)) {
            return Err(useless());
        }
        let token = request.token.map(|id| (id, sha256(&request.secret).to_vec()));
        // Root of this machine needs no token for its own nodes.
        let is_ours =
            matches!(by, Actor::User { level: spur_core::auth::Level::Administrator, .. });
        // Without a network there is nobody to show a certificate to.
        if is_ours && token.is_none() && self.reachable().is_empty() {
            let authority = authority.certificate().to_vec();
            return Ok(EnrolReply { authority, ..EnrolReply::default() });
        }
        if !is_known && token.is_none() && !is_ours {
            if role == Role::Controller {
                return Err(Status::permission_denied(
                    "a controller joins with a token; make one with: \
                     spur token create --role controller",
                ));
            }
            self.trusted.wait(role, &request.name, key, from);
            let authority = authority.certificate().to_vec();
            return Ok(EnrolReply { authority, ..EnrolReply::default() });
        }
        if !is_known {
            let taken = trust.machines.contains_key(&machine.certificate);
            let change = TrustChange::Admit { machine, token };
            let change = ChangeTrust { change, by };
            match self.propose(Command::ChangeTrust(Box::new(change))).await {
                Ok(_) => {}
                Err(status) if from_status(&status) != Some(SlurmError::AccessDenied) => {
                    return Err(status);
                }
                Err(_) if taken => {
                    let name = &request.name;
                    return Err(Status::permission_denied(format!(
                        "another machine has joined as {name}; if it is gone: \
                         spur nodes remove {name}"
                    )));
                }
                Err(_) => return Err(useless()),
            }
            tracing::info!(%role, fingerprint = key.fingerprint(), "a machine has joined");
        }
        self.trusted.let_in(&key);
        let certificate = authority.certify(&role, &key).map_err(failed)?;
        let secrets = (role == Role::Controller).then(|| {
            let secrets = authority.secrets();
            let (certificate, key, users) = (secrets.certificate, secrets.key, secrets.users);
            AuthoritySecrets { certificate, key, users }
        });
        Ok(EnrolReply {
            certificate: certificate.to_vec(),
            authority: authority.certificate().to_vec(),
            controllers: self.reachable().join(","),
            secrets,
            users_public: authority.users().public().0,
        })
    }

    pub(super) async fn create_join_token(
        &self,
        by: Actor,
        request: CreateTokenRequest,
    ) -> Result<CreateTokenReply, Status> {
        if Role::new(&request.role, "x").is_none() {
            let role = &request.role;
            let words = spur_net::role::WORDS.join(", ");
            return Err(Status::invalid_argument(format!("{role} is no role; say {words}")));
        }
        if !(1..=LONGEST_SECS).contains(&request.lifetime_secs) {
            return Err(Status::invalid_argument("a token is good for a second to a year"));
        }
        if !(1..=MOST_USES).contains(&request.uses) {
            return Err(Status::invalid_argument("a token can be used 1 to 100000 times"));
        }
        let reachable = self.reachable();
        if reachable.is_empty() {
            return Err(Status::failed_precondition(
                "this cluster listens on no network; start spurctld with --listen [::]:6817",
            ));
        }
        let authority = self.authority()?;
        let token = JoinToken::generate(authority.hash(), reachable.join(","));
        let mut token = token.map_err(failed)?;
        // Asked again because the answer was lost, this one takes the place of the one that nobody got.
        if let Some(RequestId(name)) = optional_name(&request.request_id)? {
            token.id = name as u64;
        }
        let kept = Token {
            secret_hash: token.secret_hash().to_vec(),
            role: request.role,
            expires: Timestamp(now()).plus_secs(request.lifetime_secs as i64),
            uses: request.uses,
        };
        let change = TrustChange::CreateToken { id: token.id, token: kept };
        self.propose(Command::ChangeTrust(Box::new(ChangeTrust { change, by }))).await?;
        Ok(CreateTokenReply { token: token.to_string() })
    }

    pub(super) async fn machines(&self) -> Result<ListMachinesReply, Status> {
        let published = self.latest().await?;
        let machines = published.state.trust.machines.values().map(machine_view);
        let waiting = self.trusted.waiting();
        let waiting = waiting.iter().map(waiting_view);
        Ok(ListMachinesReply { machines: machines.chain(waiting).collect() })
    }

    pub(super) async fn approve(
        &self,
        by: Actor,
        request: ApproveMachineRequest,
    ) -> Result<ApproveMachineReply, Status> {
        self.latest().await?;
        let ApproveMachineRequest { name, fingerprint, request_id } = request;
        if self.was_done(&by, &request_id)? {
            let published = self.inbox.published();
            let machine = published.state.trust.machines.values().find(|it| it.name == name);
            return Ok(ApproveMachineReply { machine: machine.map(machine_view) });
        }
        let mut waiting = self.trusted.waiting();
        waiting.retain(|it| it.name == name);
        waiting.retain(|it| fingerprint.is_empty() || it.key.fingerprint() == fingerprint);
        let [chosen] = waiting.as_slice() else {
            return Err(Status::failed_precondition(match waiting.is_empty() {
                true => format!("no machine waits to join as {name}"),
                false => format!("several machines wait to join as {name}; say --fingerprint"),
            }));
        };
        let machine = Machine {
            certificate: chosen.role.certificate_name(),
            role: chosen.role.word().to_string(),
            name: chosen.name.clone(),
            key: chosen.key.0.clone(),
            since: Timestamp(0),
        };
        self.change_trust(by, &request_id, TrustChange::Admit { machine, token: None }).await?;
        self.trusted.let_in(&chosen.key);
        Ok(ApproveMachineReply { machine: Some(waiting_view(chosen)) })
    }

    pub(super) async fn remove_machine_of(
        &self,
        by: Actor,
        request: RemoveMachineRequest,
    ) -> Result<RemoveMachineReply, Status> {
        let change = TrustChange::Remove { name: request.name };
        self.change_trust(by, &request.request_id, change).await?;
        Ok(RemoveMachineReply {})
    }

    /// Everybody for themselves, administrators for all.
    pub(super) async fn issue_token_to(
        &self,
        by: Actor,
        request: IssueTokenRequest,
    ) -> Result<IssueTokenReply, Status> {
        let (user, uid) = self.token_user(&by, request.user_name).await?;
        may_act_as(&by, uid, own_uid()).map_err(to_status)?;
        let authority = self.authority()?;
        let (lifetime, audience) = match (request.accounting, request.lifetime_secs) {
            (true, _) => (ACCOUNTING_SECS, jwt::accounting_audience(&authority.hash())),
            (false, 0) => (USUAL_SECS, Trusted::audience(authority)),
            (false, said) => (said.min(LONGEST_SECS), Trusted::audience(authority)),
        };
        let issued = now();
        let claims =
            Claims { user, issued, expires: issued + lifetime as i64, audience: Some(audience) };
        let token = jwt::sign(&claims, authority.users());
        // One for accounting is made with every question that is put to it.
        if !request.accounting {
            let what = format!("make a token of {lifetime} s for user {}", claims.user);
            self.note(&by, what, &Ok(()));
        }
        Ok(IssueTokenReply { token, authority: authority.certificate().to_vec() })
    }

    pub(super) async fn revoke_tokens_of(
        &self,
        by: Actor,
        request: RevokeTokensRequest,
    ) -> Result<RevokeTokensReply, Status> {
        let (user, uid) = self.token_user(&by, request.user_name).await?;
        self.change_trust(by, &request.request_id, TrustChange::Revoke { user, uid }).await?;
        Ok(RevokeTokensReply {})
    }

    async fn change_trust(
        &self,
        by: Actor,
        request: &[u8],
        change: TrustChange,
    ) -> Result<(), Status> {
        let command = ChangeTrust { change, by: by.clone() };
        let command = Command::ChangeTrust(Box::new(command));
        self.propose_once(&by, request, command).await.map(|_| ())
    }

    async fn token_user(&self, by: &Actor, asked: String) -> Result<(String, Uid), Status> {
        let own = by.uid().ok_or(to_status(SlurmError::AccessDenied))?;
        let own_name = self.names.of(own).await;
        if asked.is_empty() || asked == own_name {
            return Ok((own_name, own));
        }
        if !matches!(by, Actor::User { level: Level::Administrator, .. }) {
            return Err(to_status(SlurmError::AccessDenied));
        }
        let name = asked.clone();
        let found = tokio::task::spawn_blocking(move || nix::unistd::User::from_name(&name));
        match found.await.ok().and_then(Result::ok).flatten() {
            Some(user) => Ok((user.name, Uid(user.uid.as_raw()))),
            None => Err(to_status(SlurmError::UserIdMissing)),
        }
    }

    fn authority(&self) -> Result<&Authority, Status> {
        let missing = || Status::unavailable("this controller does not know the authority yet");
        self.trusted.authority().ok_or_else(missing)
    }

    /// Where other machines find controllers.
    fn reachable(&self) -> Vec<String> {
        let listed = members::list(&self.raft).into_iter().map(|member| member.address);
        let network = |text: &String| matches!(Address::parse(text), Some(Address::Tls { .. }));
        let mut found: Vec<String> = listed.filter(network).collect();
        if let Some(own) = &self.trusted.advertised
            && !found.contains(own)
        {
            found.insert(0, own.clone());
        }
        found
    }
}

fn machine_view(machine: &Machine) -> MachineView {
    MachineView {
        name: machine.name.clone(),
        role: machine.role.clone(),
        fingerprint: PublicKey(machine.key.clone()).fingerprint(),
        waiting: false,
        since: machine.since.0,
        address: String::new(),
    }
}

fn useless() -> Status {
    Status::permission_denied(
        "the token is used up, expired, or for something else; make another with: \
         spur token create --role compute",
    )
}

fn failed(error: impl std::fmt::Display) -> Status {
    Status::internal(error.to_string())
}

fn waiting_view(waiting: &Waiting) -> MachineView {
    MachineView {
        name: waiting.name.clone(),
        role: waiting.role.word().to_string(),
        fingerprint: waiting.key.fingerprint(),
        waiting: true,
        since: waiting.since,
        address: waiting.from.clone(),
    }
}
