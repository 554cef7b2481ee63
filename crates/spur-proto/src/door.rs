//! The one layer every call to a daemon passes: it asks the kernel who calls, looks the method up in the
//! table of rights, and refuses what has no row.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use spur_core::auth::{Actor, Level, Who, method_rule};
use spur_core::errors::SlurmError;
use spur_core::ids::{Gid, NodeName, Uid};
use tonic::body::Body;
use tonic::codegen::http;
use tonic::metadata::MetadataValue;
use tonic::transport::server::UdsConnectInfo;
use tonic::{Code, Request, Status};
use tower::{Layer, Service};

use crate::crowd::{Arriving, Crowd};
use crate::entrance::{Caller, Peer};
use crate::status::to_status;

/// Tells who a caller is to this daemon.
pub trait Judge: Send + Sync + 'static {
    /// What the channel proved, and the token the request shows, if it shows one.
    fn actor(&self, peer: &Peer, token: Option<&str>) -> Actor;

    /// Somebody was turned away.
    fn refused(&self, _method: &str, _actor: &Actor) {}

    /// How long somebody has to wait for their turn.
    fn pause(&self, _actor: &Actor) -> Duration {
        Duration::ZERO
    }

    /// Somebody was let in.
    fn begins(&self) {}

    /// Their call is answered.
    fn ends(&self, _method: &str, _actor: &Actor, _took: Duration) {}
}

/// Knows the users of this machine, and nobody else.
pub struct Local;

impl Judge for Local {
    fn actor(&self, peer: &Peer, token: Option<&str>) -> Actor {
        match (peer, token) {
            (Peer::Local { uid, gid }, None) => local_user(*uid, *gid),
            _ => Actor::Anonymous,
        }
    }

    fn refused(&self, method: &str, actor: &Actor) {
        tracing::warn!(method, who = spur_core::audit::who(actor), "was refused");
    }
}

/// A user of this machine, as the kernel tells.
pub fn local_user(uid: u32, gid: u32) -> Actor {
    let uid = Uid(uid);
    let level = if is_ours(uid) { Level::Administrator } else { Level::None };
    Actor::user(uid, Gid(gid), level)
}

/// Puts the door in front of all services.
#[derive(Clone)]
pub struct DoorLayer {
    judge: Arc<dyn Judge>,
    crowd: Crowd,
}

impl DoorLayer {
    /// With somebody who tells who callers are.
    pub fn new(judge: Arc<dyn Judge>) -> DoorLayer {
        DoorLayer { judge, crowd: Crowd::default() }
    }

    /// For a daemon that only users of this machine talk to.
    pub fn local() -> DoorLayer {
        DoorLayer::new(Arc::new(Local))
    }
}

impl<S> Layer<S> for DoorLayer {
    type Service = Door<S>;

    fn layer(&self, inner: S) -> Door<S> {
        Door { inner, judge: self.judge.clone(), crowd: self.crowd.clone() }
    }
}

/// Lets in whom the table lets in.
#[derive(Clone)]
pub struct Door<S> {
    inner: S,
    judge: Arc<dyn Judge>,
    crowd: Crowd,
}

impl<S, R> Service<http::Request<Body>> for Door<S>
where
    S: Service<http::Request<Body>, Response = http::Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    R: Default + Send + 'static,
{
    type Response = http::Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let entered = let_in(&*self.judge, &request).and_then(|(actor, who)| {
            let from = request.extensions().get::<Caller>().and_then(|caller| caller.from);
            Ok((self.crowd.enter(&actor, from)?, actor, who))
        });
        let (stay, actor, who) = match entered {
            Ok(entered) => entered,
            Err(refusal) => return Box::pin(std::future::ready(Ok(refusal.into_http()))),
        };
        let (judge, method) = (self.judge.clone(), request.uri().path().to_string());
        // A machine's stream goes on for as long as the machine does.
        let mut request = match who {
            Who::Node | Who::Controller => request,
            Who::Anyone | Who::User | Who::Administrator => {
                request.map(|body| Arriving::body(body, stay.clone()))
            }
        };
        request.extensions_mut().insert(actor.clone());
        let pause = self.judge.pause(&actor);
        let answer = self.inner.call(request);
        Box::pin(async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            let open = Open { judge, method, actor, since: Instant::now() };
            open.judge.begins();
            let mut answer = answer.await;
            if let Ok(answer) = &mut answer {
                open.note(answer.headers_mut());
            }
            drop((open, stay));
            answer
        })
    }
}

/// A call that is being answered; callers who go away end it too.
struct Open {
    judge: Arc<dyn Judge>,
    method: String,
    actor: Actor,
    since: Instant,
}

impl Open {
    /// Whatever was refused behind the door is written down too, unless whoever refused has said more about it.
    fn note(&self, headers: &mut http::HeaderMap) {
        let is_noted = headers.remove(NOTED).is_some();
        let denied = (Code::PermissionDenied as i32).to_string();
        let is_denied = headers.get("grpc-status").is_some_and(|code| *code == *denied);
        if is_denied && !is_noted {
            self.judge.refused(&self.method, &self.actor);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.judge.ends(&self.method, &self.actor, self.since.elapsed());
    }
}

/// Who calls; the door has put it there.
pub fn caller_of<T>(request: &Request<T>) -> Actor {
    request.extensions().get::<Actor>().cloned().unwrap_or(Actor::Anonymous)
}

/// Marks a refusal that is written down already.
const NOTED: &str = "spur-noted";

/// A refusal that is written down already, in more words than the name of the method.
pub fn noted(mut status: Status) -> Status {
    status.metadata_mut().insert(NOTED, MetadataValue::from_static("1"));
    status
}

fn let_in<B>(judge: &dyn Judge, request: &http::Request<B>) -> Result<(Actor, Who), Status> {
    let method = request.uri().path();
    let peer = peer(request.extensions());
    let mut actor = judge.actor(&peer, token(request.headers()));
    let Some(rule) = method_rule(method) else {
        judge.refused(method, &actor);
        return Err(to_status(SlurmError::AccessDenied));
    };
    // A machine's own word counts only on its own socket.
    if let Peer::Local { .. } = peer {
        actor = match rule.who {
            Who::Node => local_agent(actor),
            Who::Controller => local_controller(actor),
            Who::Anyone | Who::User | Who::Administrator => actor,
        };
    }
    if rule.who.admits(&actor) {
        return Ok((actor, rule.who));
    }
    judge.refused(method, &actor);
    Err(to_status(SlurmError::AccessDenied))
}

/// Who is at the other end of this connection.
fn peer(extensions: &http::Extensions) -> Peer {
    if let Some(caller) = extensions.get::<Caller>() {
        return (*caller.peer).clone();
    }
    let credentials = extensions.get::<UdsConnectInfo>().and_then(|info| info.peer_cred);
    credentials.map_or(Peer::Nobody, |found| Peer::Local { uid: found.uid(), gid: found.gid() })
}

/// The token a request shows, as the standard or as Slurm's REST clients name it.
fn token(headers: &http::HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
    bearer.or_else(|| text("x-slurm-user-token"))
}

/// An agent of this machine: root, or whoever runs this daemon, may speak for its nodes.
fn local_agent(actor: Actor) -> Actor {
    match actor {
        Actor::User { level: Level::Administrator, .. } => Actor::Node(NodeName::from("")),
        other => other,
    }
}

/// A controller of this machine: root, or whoever runs this daemon.
fn local_controller(actor: Actor) -> Actor {
    match actor {
        Actor::User { uid, .. } if is_ours(uid) => Actor::Controller,
        other => other,
    }
}

fn is_ours(uid: Uid) -> bool {
    uid == Uid::ROOT || uid.0 == nix::unistd::geteuid().as_raw()
}
