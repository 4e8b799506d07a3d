//! The routes as a connection calls them: each request with the limit of its body (rule Q11), and in the scope of
//! what the server's requests wait for by name (rule H10).

use crate::timeout_body::TimeoutBody;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use krarup::behavior::{InNameScope, NameScope};
use std::sync::Arc;
use std::time::Duration;

type Routes = TowerToHyperService<Router>;

/// Routes whose requests have a [`TimeoutBody`] and wait for names only while the server is not asked to stop.
#[derive(Clone)]
pub(crate) struct RequestRoutes {
    routes: Routes,
    limit: Duration,
    names: Arc<NameScope>,
}

impl RequestRoutes {
    pub(crate) fn new(routes: Router, limit: Duration, names: Arc<NameScope>) -> Self {
        RequestRoutes { routes: TowerToHyperService::new(routes), limit, names }
    }
}

impl Service<Request<Incoming>> for RequestRoutes {
    type Response = <Routes as Service<Request<TimeoutBody>>>::Response;
    type Error = <Routes as Service<Request<TimeoutBody>>>::Error;
    type Future = InNameScope<<Routes as Service<Request<TimeoutBody>>>::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let answer = self.routes.call(request.map(|body| TimeoutBody::new(body, self.limit)));
        self.names.contain(answer)
    }
}
