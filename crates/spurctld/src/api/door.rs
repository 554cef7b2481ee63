//! The one layer every call passes: it looks the method up in the table of rights, and refuses what has
//! no row.

use std::pin::Pin;
use std::task::{Context, Poll};

use spur_core::auth::{Actor, Who, method_rule};
use spur_core::errors::SlurmError;
use spur_proto::status::to_status;
use tonic::codegen::http;
use tower::{Layer, Service};

use super::identify;

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

fn let_in(method: &str, extensions: &http::Extensions) -> Option<Actor> {
    let rule = method_rule(method)?;
    let mut actor = identify::actor(extensions);
    if rule.who == Who::Node {
        actor = identify::local_agent(actor);
    }
    rule.who.admits(&actor).then_some(actor)
}
