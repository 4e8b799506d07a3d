//! A service of gRPC whose answers are those of a function: the protocol `grpc.health.v1`.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::pin::Pin;
use tonic::codegen::{BoxStream, tokio_stream};
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<(), Status>> + Send>>;

struct Answering<F>(F);

#[tonic::async_trait]
impl<F> Health for Answering<F>
where
    F: Fn(Request<HealthCheckRequest>) -> Answer + Send + Sync + 'static,
{
    type WatchStream = BoxStream<HealthCheckResponse>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        (self.0)(request).await?;
        Ok(Response::new(HealthCheckResponse { status: ServingStatus::Serving.into() }))
    }

    /// A stream without an end.
    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(Box::pin(tokio_stream::pending())))
    }
}

/// The routes of a service that answers with this function.
pub(crate) fn answering<F>(answer: F) -> Routes
where
    F: Fn(Request<HealthCheckRequest>) -> Answer + Send + Sync + 'static,
{
    Routes::new(HealthServer::new(Answering(answer)))
}

/// A request for this service.
pub(crate) fn asking(service: &str) -> Request<HealthCheckRequest> {
    Request::new(HealthCheckRequest { service: service.to_owned() })
}

/// The same, from a client that says by this text how long it waits.
pub(crate) fn asking_for(service: &str, timeout: &str) -> Request<HealthCheckRequest> {
    let mut request = asking(service);
    request.metadata_mut().insert("grpc-timeout", timeout.parse().unwrap());
    request
}
