//! The one layer every call to a daemon passes: it asks the kernel who calls, looks the method up in the
//! table of rights, and refuses what has no row.

use std::pin::Pin;
use std::task::{Context, Poll};

use spur_core::auth::{Actor, Level, Who, method_rule};
use spur_core::errors::SlurmError;
use spur_core::ids::{Gid, NodeName, Uid};
use tonic::codegen::http;
use tonic::transport::server::UdsConnectInfo;
use tonic::{Extensions, Request};
use tower::{Layer, Service};

use crate::status::to_status;

/// Puts the door in front of all services.
#[derive(Clone, Copy)]
pub struct DoorLayer;

impl<S> Layer<S> for DoorLayer {
    type Service = Door<S>;

    fn layer(&self, inner: S) -> Door<S> {
        Door { inner }
    }
}

/// Lets in whom the table lets in.
#[derive(Clone)]
pub struct Door<S> {
    inner: S,
}

impl<S, B, R> Service<http::Request<B>> for Door<S>
where
    S: Service<http::Request<B>, Response = http::Response<R>>,
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

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        match let_in(request.uri().path(), request.extensions()) {
            Some(actor) => {
                request.extensions_mut().insert(actor);
                Box::pin(self.inner.call(request))
            }
            None => {
                let refused = to_status(SlurmError::AccessDenied).into_http();
                Box::pin(std::future::ready(Ok(refused)))
            }
        }
    }
}

/// Who calls; the door has put it there.
pub fn caller_of<T>(request: &Request<T>) -> Actor {
    request.extensions().get::<Actor>().cloned().unwrap_or(Actor::Anonymous)
}

fn let_in(method: &str, extensions: &http::Extensions) -> Option<Actor> {
    let rule = method_rule(method)?;
    let mut actor = actor(extensions);
    match rule.who {
        Who::Node => actor = local_agent(actor),
        Who::Controller => actor = local_controller(actor),
        Who::Anyone | Who::User | Who::Administrator => {}
    }
    rule.who.admits(&actor).then_some(actor)
}

/// The caller on this connection, as the kernel tells.
fn actor(extensions: &Extensions) -> Actor {
    let Some(credentials) = extensions.get::<UdsConnectInfo>().and_then(|info| info.peer_cred)
    else {
        return Actor::Anonymous;
    };
    let uid = Uid(credentials.uid());
    let level = if is_ours(uid) { Level::Administrator } else { Level::None };
    Actor::User { uid, gid: Gid(credentials.gid()), level }
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
