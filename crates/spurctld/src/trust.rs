//! The authority as this controller has it, machines that wait to be let in, and who a caller is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use spur_core::accounts::book::Book;
use spur_core::auth::{Actor, Level};
use spur_core::ids::{Gid, NodeName, Uid};
use spur_core::state::{Settings, State};
use spur_net::authority::Secrets;
use spur_net::identity::Bearer;
use spur_net::jwt::{self, Claims, Keys};
use spur_net::{Authority, PublicKey, Role};
use spur_proto::door::{Judge, local_user};
use spur_proto::entrance::{Peer, Register, now};
use spur_proto::internal::JoinReply;

use crate::audit::Audit;
use crate::shell::Inbox;
use crate::turns::Turns;

/// The authority, and who waits for it.
pub struct Trusted {
    dir: PathBuf,
    authority: OnceLock<Authority>,
    /// Where other machines find this controller, if anywhere.
    pub advertised: Option<String>,
    /// Where other machines find accounting, if they do.
    pub accounting: Option<String>,
    /// The site's own key for users' tokens.
    site_key: Option<Vec<u8>>,
    /// How long certificates are good for.
    lifetime: Duration,
    waiting: Mutex<BTreeMap<String, Waiting>>,
}

/// A machine that nobody has let in yet.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// What it wants to be.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: PublicKey,
    /// Where it called from.
    pub from: String,
    /// When it first did.
    pub since: i64,
    /// When it last did.
    heard: Instant,
}

/// Who waits and has not asked again for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// The most machines that may wait, and of one address: anybody may ask.
const MOST_WAITING: usize = 1_000;
const MOST_OF_ONE: usize = 32;

impl Trusted {
    /// What this state directory has; `make` makes an authority where there is none.
    pub fn open(
        state_dir: &Path,
        make: bool,
        advertised: Option<String>,
        accounting: Option<String>,
        site_key: Option<Vec<u8>>,
        lifetime: Duration,
    ) -> Result<Trusted, spur_net::Error> {
        let dir = Trusted::dir(state_dir);
        let found = if make { Some(Authority::open(&dir)?) } else { Authority::load(&dir)? };
        let authority = OnceLock::new();
        if let Some(found) = found {
            let _ = authority.set(found.lasting(lifetime));
        }
        let waiting = Mutex::default();
        Ok(Trusted { dir, authority, advertised, accounting, site_key, lifetime, waiting })
    }

    /// Where a controller keeps the authority.
    pub fn dir(state_dir: &Path) -> PathBuf {
        state_dir.join("authority")
    }

    /// The authority, once it is known.
    pub fn authority(&self) -> Option<&Authority> {
        self.authority.get()
    }

    /// Takes over the authority of the controllers that this one has joined.
    pub fn adopt(&self, reply: &JoinReply) -> Result<(), spur_net::Error> {
        if self.authority.get().is_some() || reply.authority.is_empty() {
            return Ok(());
        }
        let secrets = Secrets {
            certificate: reply.authority.clone(),
            key: reply.authority_key.clone(),
            users: reply.users_key.clone(),
        };
        let taken = Authority::from_secrets(&secrets, &self.dir)?;
        let _ = self.authority.set(taken.lasting(self.lifetime));
        Ok(())
    }

    /// What a controller that joins is told.
    pub fn for_controllers(&self) -> JoinReply {
        let Some(authority) = self.authority() else { return JoinReply::default() };
        let Secrets { certificate, key, users } = authority.secrets();
        JoinReply { authority: certificate, authority_key: key, users_key: users }
    }

    /// Somebody asks to be let in.
    pub fn wait(&self, role: Role, name: &str, key: PublicKey, from: String) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        waiting.retain(|_, it| it.heard.elapsed() < FORGOTTEN);
        let place = key.fingerprint();
        // What an administrator has seen of a key stays true of it: it cannot become something else.
        if let Some(known) = waiting.get_mut(&place) {
            if known.role == role && known.name == name {
                (known.from, known.heard) = (from, Instant::now());
            }
        } else if waiting.len() < MOST_WAITING
            && waiting.values().filter(|it| it.from == from).count() < MOST_OF_ONE
        {
            let (name, heard) = (name.to_string(), Instant::now());
            waiting.insert(place, Waiting { role, name, key, from, since: now(), heard });
        }
    }

    /// Who waits.
    pub fn waiting(&self) -> Vec<Waiting> {
        let Ok(mut waiting) = self.waiting.lock() else { return Vec::new() };
        waiting.retain(|_, it| it.heard.elapsed() < FORGOTTEN);
        waiting.values().cloned().collect()
    }

    /// Somebody waits no longer.
    pub fn let_in(&self, key: &PublicKey) {
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.remove(&key.fingerprint());
        }
    }

    /// What users' tokens are for: this cluster and no other.
    pub fn audience(authority: &Authority) -> String {
        jwt::audience(&authority.hash())
    }

    fn claims(&self, token: &str) -> Option<Claims> {
        let authority = self.authority()?;
        let keys = Keys {
            cluster: authority.users().public(),
            audience: Trusted::audience(authority),
            site: self.site_key.clone(),
        };
        jwt::verify(token, &keys, now())
    }
}

/// Whom the state of this moment knows.
pub struct Members {
    /// The state.
    pub inbox: Inbox,
    /// The authority.
    pub trusted: Arc<Trusted>,
}

impl Register for Members {
    fn key_of(&self, certificate: &str) -> Option<PublicKey> {
        let published = self.inbox.published();
        let machine = published.state.trust.machines.get(certificate)?;
        PublicKey::new(&machine.key)
    }

    fn user_of(&self, token: &str) -> Option<String> {
        let claims = self.trusted.claims(token)?;
        let revoked = self.inbox.published().state.trust.revoked.get(&claims.user).copied();
        revoked.is_none_or(|revoked| claims.issued > revoked.0).then_some(claims.user)
    }
}

/// Tells who callers are, by the state of this moment: who was thrown out is nobody with the next call.
pub struct Callers {
    inbox: Inbox,
    trusted: Arc<Trusted>,
    audit: Audit,
    users: Mutex<BTreeMap<String, Known>>,
    levels: Mutex<Option<Levels>>,
    turns: Mutex<Turns>,
}

/// Who may do more than others, as told at some moment.
struct Levels {
    at: Instant,
    rules: Arc<Book>,
    settings: Arc<Settings>,
    by_user: BTreeMap<Uid, Rights>,
}

/// What a user may do beyond their own jobs.
#[derive(Clone, Default)]
struct Rights {
    level: Level,
    coordinates: Arc<Vec<String>>,
}

impl Rights {
    fn actor(self, uid: Uid, gid: Gid) -> Actor {
        Actor::User { uid, gid, level: self.level, coordinates: self.coordinates }
    }
}

/// A user as this machine knew them at some moment; nothing when it did not.
type Known = (Instant, Option<(Uid, Gid)>);

/// How long a user's number is remembered.
const REMEMBERED: Duration = Duration::from_secs(60);

impl Callers {
    /// Asks this state.
    pub fn new(inbox: Inbox, trusted: Arc<Trusted>, audit: Audit) -> Callers {
        let (users, levels, turns) = Default::default();
        Callers { inbox, trusted, audit, users, levels, turns }
    }

    fn by_token(&self, state: &State, token: &str) -> Actor {
        let Some(claims) = self.trusted.claims(token) else { return Actor::Anonymous };
        let revoked = state.trust.revoked.get(&claims.user);
        if revoked.is_some_and(|revoked| claims.issued <= revoked.0) {
            return Actor::Anonymous;
        }
        match self.user(&claims.user) {
            Some((uid, gid)) => self.rights(state, uid).actor(uid, gid),
            None => Actor::Anonymous,
        }
    }

    /// What a user may do beyond their own jobs: by the configuration, or by what accounting says.
    fn rights(&self, state: &State, uid: Uid) -> Rights {
        if uid == Uid::ROOT {
            return Rights { level: Level::Administrator, ..Rights::default() };
        }
        let Ok(mut levels) = self.levels.lock() else { return Rights::default() };
        let is_current = levels.as_ref().is_some_and(|it| {
            Arc::ptr_eq(&it.rules, &state.rules)
                && Arc::ptr_eq(&it.settings, &state.settings)
                && it.at.elapsed() < REMEMBERED
        });
        if !is_current {
            *levels = Some(self.levels(state));
        }
        let found = levels.as_ref().and_then(|it| it.by_user.get(&uid).cloned());
        found.unwrap_or_default()
    }

    fn levels(&self, state: &State) -> Levels {
        let cluster = &state.settings.config.cluster;
        let admins = cluster.admins.iter().map(|it| (it.clone(), Level::Administrator));
        let operators = cluster.operators.iter().map(|it| (it.clone(), Level::Operator));
        let said = admins.chain(operators);
        let mut by_user: BTreeMap<Uid, Rights> = BTreeMap::new();
        for (name, level) in said.chain(state.rules.levels()) {
            if let Some((uid, _)) = self.user(&name) {
                let known = by_user.entry(uid).or_default();
                known.level = level.max(known.level);
            }
        }
        for (name, accounts) in state.rules.coordinators() {
            if let Some((uid, _)) = self.user(&name) {
                by_user.entry(uid).or_default().coordinates = Arc::new(accounts);
            }
        }
        let (rules, settings) = (state.rules.clone(), state.settings.clone());
        Levels { at: Instant::now(), rules, settings, by_user }
    }

    /// A user's numbers as this machine knows them.
    fn user(&self, name: &str) -> Option<(Uid, Gid)> {
        let mut users = self.users.lock().ok()?;
        if let Some((at, found)) = users.get(name)
            && at.elapsed() < REMEMBERED
        {
            return *found;
        }
        let found = nix::unistd::User::from_name(name).ok().flatten();
        let found = found.map(|user| (Uid(user.uid.as_raw()), Gid(user.gid.as_raw())));
        users.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        users.insert(name.to_string(), (Instant::now(), found));
        found
    }
}

impl Judge for Callers {
    fn actor(&self, peer: &Peer, token: Option<&str>) -> Actor {
        let published = self.inbox.published();
        let state = &published.state;
        if let Some(token) = token {
            return self.by_token(state, token);
        }
        match peer {
            Peer::Local { uid, gid } => match local_user(*uid, *gid) {
                Actor::User { uid, gid, level, .. } => {
                    let rights = self.rights(state, uid);
                    Rights { level: level.max(rights.level), ..rights }.actor(uid, gid)
                }
                other => other,
            },
            Peer::Machine(bearer) => machine(state, bearer),
            Peer::User { machine, key, uid, gid } => {
                let rights = |uid| self.rights(state, uid);
                vouched(state, machine, key, Uid(*uid), Gid(*gid), rights)
            }
            Peer::Token(token) => self.by_token(state, token),
            Peer::Nobody => Actor::Anonymous,
        }
    }

    fn refused(&self, method: &str, actor: &Actor) {
        self.audit.refused(spur_core::audit::who(actor), method.to_string());
    }

    fn pause(&self, actor: &Actor) -> Duration {
        let Actor::User { uid, level: Level::None, .. } = actor else { return Duration::ZERO };
        let limits = &self.inbox.published().state.settings.config.limits;
        let Some(rate) = limits.requests_per_second.0.number() else { return Duration::ZERO };
        let Ok(mut turns) = self.turns.lock() else { return Duration::ZERO };
        turns.pause(*uid, rate, Instant::now())
    }

    fn begins(&self) {
        self.inbox.diagnostics().call_begins();
    }

    fn ends(&self, method: &str, actor: &Actor, took: Duration) {
        self.inbox.diagnostics().call_ends(method, actor, took);
    }
}

/// A machine by its certificate, if it still belongs.
pub fn machine(state: &State, bearer: &Bearer) -> Actor {
    match &bearer.role {
        // Whoever has the authority makes these certificates.
        Role::Controller => Actor::Controller,
        role if !state.trust.knows(&role.certificate_name(), &bearer.key.0) => Actor::Anonymous,
        Role::Compute(name) => Actor::Node(NodeName::from(name.as_str())),
        Role::Login(_) | Role::Dbd => Actor::Anonymous,
    }
}

/// A user by a machine's word. A machine where users log in speaks for all of them; one that runs jobs only
/// for users who have one there, and never for root.
fn vouched(
    state: &State,
    certificate: &str,
    key: &PublicKey,
    uid: Uid,
    gid: Gid,
    rights: impl Fn(Uid) -> Rights,
) -> Actor {
    // A connection of a machine that was thrown out stays shut, also when its name is back.
    if !state.trust.knows(certificate, &key.0) {
        return Actor::Anonymous;
    }
    let Some(machine) = state.trust.machines.get(certificate) else { return Actor::Anonymous };
    match machine.role.as_str() {
        "login" => rights(uid).actor(uid, gid),
        "compute" if uid != Uid::ROOT => {
            let jobs = state.index.on_node.get(&NodeName::from(machine.name.as_str()));
            let mut jobs = jobs.into_iter().flat_map(|jobs| jobs.keys());
            let own = jobs.find_map(|job| {
                state.jobs.get(job).filter(|job| job.owner.uid == uid).map(|job| job.owner.gid)
            });
            // The group is the one the job was handed in with, whatever the node says.
            own.map_or(Actor::Anonymous, |gid| Actor::user(uid, gid, Level::None))
        }
        _ => Actor::Anonymous,
    }
}
